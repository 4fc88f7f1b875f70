"""Hand-offs: approved or rejected, answered to their source, with a share of its budget."""

from __future__ import annotations

import pytest

from council.core.protocol.exchange import TaskRules
from council.core.protocol.exchange_due import Answer
from council.core.protocol.registry import Entry, EntryStatus, Registry
from council.wire.carried import line_of
from tests.core.exchanges import HOUR, MINUTE, Context, registered


def analysing(budget: str = "B1000", **options: object) -> Context:
    """Return a context in which W1 analyses code; W2 and W3 make tests."""
    registry = registered(W1="analyze_code", W2="generate_tests", W3="generate_tests")
    context = Context(registry, **options)
    context.order(f"M1|O1>W1|R|T1|P1|N|-|0|S1|{budget}|call=analyze_code;file=main.py")
    return context


@pytest.mark.req("PR-501", "PR-560", "PR-562", "PR-566")
def test_the_flow_of_the_document_goes_there_and_back():
    context = analysing()
    due = context.start("W1")
    context.hear(
        "M2|W1>W2|X|T1|P1|R|-|1|S1|B500|call=generate_tests;src=#REF:T1:code;reason=specialized",
        due.run,
    )
    context.hear("M3|W1>O1|U|T1|P1|R|-|0|S1|B500|handoff=W2;subtask=generate_tests", due.run)
    context.deliver()
    assert [one.worker for one in context.runs()] == ["W2"], "its source waits"

    due = context.start("W2")
    context.hear("M4|W2>W1|S|T1|P1|D|-|1|S1|B300|tests=3;coverage=85%", due.run)
    due = context.start("W1")
    assert due.message == 4
    context.hear("M5|W1>O1|S|T1|P1|D|-|0|S1|B200|analysis=done;tests=3;quality=good", due.run)

    first, second = context.task().hops
    assert (first.depth, first.left, second.depth, second.budget, second.left) == (
        0, 200, 1, 500, 300,
    )  # fmt: skip
    assert (second.source, second.parent, second.result) == ("W1", 1, "tests=3;coverage=85%")
    assert [one.attempt.state for one in context.task().hops] == ["D", "D"]
    steps = [line.split("|") for line in context.lines]
    assert [(number, route, kind, depth) for number, route, kind, *_, depth, _, _, _ in steps] == [
        ("M1", "O1>W1", "R", "0"),
        ("M2", "W1>W2", "X", "1"),
        ("M3", "W1>O1", "U", "0"),
        ("M4", "W2>W1", "S", "1"),
        ("M5", "W1>O1", "S", "0"),
    ]
    assert [type(one) for one in context.due()] == [Answer]


@pytest.mark.req("PR-563")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("W1>W9|X|T1|P1|R|-|1|S1|B10|call=generate_tests", "E41"),
        ("W1>W1|X|T1|P1|R|-|1|S1|B10|call=analyze_code", "E41"),
        ("W1>W2|X|T1|P1|R|-|4|S1|B10|call=generate_tests", "E16"),
        ("W1>W2|X|T1|P1|R|-|1|S1|B1001|call=generate_tests", "E17"),
        ("W1>W2|X|T1|P1|R|-|1|S1|-|call=generate_tests", "E17"),
        ("W1>W2|X|T1|P1|R|-|1|S1|B10|call=translate", "E19"),
        ("W1>W4|X|T1|P1|R|-|1|S1|B10|call=generate_tests", "E30"),
    ],
)
def test_a_handoff_that_is_rejected_never_reaches_its_target(line: str, code: str):
    context = analysing()
    away = Entry(id="W4", capabilities=("generate_tests",), status=EntryStatus.UNAVAILABLE)
    context.registry = context.registry.with_entry(away)
    due = context.start("W1")

    step = context.hear(f"M2|{line}", due.run)

    assert (step.outcome, step.code) == ("refused", code)
    assert context.last("handoff.refused")["code"] == code
    assert [one.to for one in context.exchange.posted[1:]] == [("W1",)]
    assert len(context.task().hops) == 1
    context.deliver()
    assert [one.worker for one in context.runs()] == ["W1"], "its source is told and goes on"


@pytest.mark.req("PR-564")
def test_a_deeper_handoff_than_usual_needs_a_reason_and_has_an_end():
    registry = Registry(entries={one: Entry(id=one, max_depth=9) for one in ("W1", "W2")})
    context = Context(registry)
    context.order("M1|O1>W1|R|T1|P1|N|-|0|S1|B1000|call=x")

    due = context.start("W1")
    assert context.hear("M2|W1>W2|X|T1|P1|R|-|4|S1|B10|call=x", due.run).code == "E16"
    due = context.start("W1")
    step = context.hear("M3|W1>W2|X|T1|P1|R|-|4|S1|B10|call=x;reason=only_it_knows", due.run)

    assert (step.outcome, context.task().hops[1].depth) == ("taken", 4)
    due = context.start("W2")
    deeper = context.hear("M5|W2>W1|X|T1|P1|R|-|4|S1|B1|call=x;reason=again", due.run)
    assert (deeper.outcome, context.task().hops[2].depth) == ("taken", 5)
    due = context.start("W1")
    assert due.hop == 3
    too_deep = context.hear("M6|W1>W2|X|T1|P1|R|-|5|S1|B1|call=x;reason=again", due.run)
    assert too_deep.code == "E16"
    for one in context.exchange.posted:
        assert line_of(one.message), "every message can be written, at any depth"


@pytest.mark.req("PR-565")
def test_the_target_serves_only_depths_below_its_own_limit():
    context = analysing()
    shallow = Entry(id="W2", capabilities=("generate_tests",), max_depth=1)
    context.registry = context.registry.with_entry(shallow)
    due = context.start("W1")

    assert context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B10|call=generate_tests", due.run).code == "E16"


@pytest.mark.req("PR-565")
def test_who_does_not_declare_a_depth_serves_up_to_the_third():
    registry = registered("W1", "W2", "W3", "W4")
    context = Context(registry, rules=TaskRules(max_depth=5))
    context.order("M1|O1>W1|R|T1|P1|N|-|0|S1|-|call=x")
    for depth, (source, target) in enumerate((("W1", "W2"), ("W2", "W3"), ("W3", "W4")), 1):
        due = context.start(source)
        said = context.hear(
            f"M{depth + 1}|{source}>{target}|X|T1|P1|R|-|{depth}|S1|-|call=x", due.run
        )
        assert said.outcome == "taken"

    due = context.start("W4")
    assert context.hear("M8|W4>W1|X|T1|P1|R|-|4|S1|-|call=x;reason=y", due.run).code == "E16"


@pytest.mark.req("PR-562")
def test_a_handoff_that_says_a_smaller_depth_is_one_deeper_than_its_source_all_the_same():
    context = analysing()
    due = context.start("W1")

    context.hear("M2|W1>W2|X|T1|P1|R|-|0|S1|B10|call=generate_tests", due.run)

    assert context.lines[-1].startswith("M2|W1>W2|X|T1|P1|R|-|1|")


@pytest.mark.req("PR-566")
def test_parts_that_are_given_away_and_the_rest_never_exceed_what_the_source_had():
    context = analysing()
    due = context.start("W1")

    taken = [
        context.hear(f"M{2 + at}|W1>{to}|X|T1|P1|R|-|1|S1|B{given}|call=generate_tests", due.run)
        for at, (to, given) in enumerate((("W2", 600), ("W3", 300), ("W2", 200)))
    ]

    assert [one.code for one in taken] == ["", "", "E17"]
    assert [hop.left for hop in context.task().hops] == [100, 600, 300]


@pytest.mark.req("PR-562")
def test_a_source_goes_on_when_all_that_it_handed_on_has_come_back():
    context = analysing()
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests", due.run)
    context.hear("M3|W1>W3|X|T1|P1|R|-|1|S1|B100|call=generate_tests", due.run)

    context.work("W2", "S|D|-|1|B50|tests=3")
    context.deliver()
    assert [one.worker for one in context.runs()] == ["W3"]
    context.work("W3", "S|D|-|1|B50|tests=4")
    context.deliver()

    assert [one.worker for one in context.runs()] == ["W1"]


@pytest.mark.req("PR-562")
def test_a_target_that_answers_the_orchestrator_is_heard_by_its_source():
    context = analysing()
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests", due.run)
    due = context.start("W2")

    context.hear("M3|W2>O1|S|T1|P1|D|-|1|S1|B50|tests=3", due.run)

    assert context.lines[-1] == "M3|W2>W1|S|T1|P1|D|-|1|S1|B50|tests=3"
    assert context.last("message.warned")["warning"] == "W_RECEIVER"
    assert context.exchange.posted[-1].to == ("W1",)


@pytest.mark.req("PR-562", "PR-580")
def test_a_part_that_fails_for_good_is_told_to_its_source():
    context = analysing()
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests", due.run)

    context.work("W2", "E|F|E33|1|B50|desc=file not found")

    assert context.lines[-1] == ("M4|O1>W1|E|T1|P1|-|E33|0|S1|B900|desc=file not found;handoff=W2")
    assert context.task().state == "R"
    due = context.start("W1")
    assert due.message == 4


@pytest.mark.req("PR-562", "PR-580")
def test_a_part_whose_worker_is_busy_is_given_to_another_one_in_the_name_of_its_source():
    context = analysing()
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests;n=3", due.run)

    context.work("W2", "E|F|E31|1|B100|BUSY;queue=2")

    assert context.lines[-1] == (
        "M4|W1>W3|X|T1|P1|N|-|1|S1|B100|call=generate_tests;n=3;fallback_from=W2;reason=E31"
    )


@pytest.mark.req("PR-562", "PR-571")
def test_what_was_handed_on_is_cancelled_when_its_source_is_done_without_it():
    context = analysing()
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests", due.run)
    context.start("W2")

    context.hear("M3|W1>O1|S|T1|P1|D|-|0|S1|B50|done=1", due.run)

    assert "|O1>W2|U|T1|P1|X|" in context.lines[-1]
    assert context.task().hops[1].attempt.state == "X"
    assert not context.task().hops[1].is_open
    assert context.task().state == "D"


@pytest.mark.req("PR-555", "PR-562")
def test_no_time_of_its_own_runs_for_a_source_that_waits():
    context = analysing()
    due = context.start("W1", lease=None)
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests", due.run)
    context.start("W2", lease=30 * MINUTE)

    context.beat(29 * MINUTE)

    assert [hop.attempt.state for hop in context.task().hops] == ["R", "R"]
    assert len(context.task().hops[0].attempts) == 1


@pytest.mark.req("PR-562")
def test_the_same_handoff_twice_is_one():
    context = analysing()
    due = context.start("W1")
    line = "M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests"
    context.hear(line, due.run)

    assert context.hear(line, due.run).outcome == "duplicate"
    assert len(context.task().hops) == 2


@pytest.mark.req("PR-555", "PR-562")
def test_what_was_handed_on_is_cancelled_when_its_source_fails():
    context = analysing()
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests", due.run)
    context.start("W2", lease=2 * HOUR)

    context.beat(HOUR)

    assert context.task().hops[0].attempts[0].code == "E20"
    assert context.task().hops[1].attempt.state == "X"
    assert any("|O1>W2|U|T1|P1|X|" in line for line in context.lines)
