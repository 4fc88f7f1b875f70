"""Every guard of a call, through the operation: what is refused, with which code, and the event."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from council.core.delegation.delegation import Refusal
from council.operations.delegation.chains import call_task, call_token, chain_of
from council.operations.delegation.delegating import call
from council.operations.delegation.handing_over import Answered, Request
from council.store.delegation.traces import read_trace
from council.store.delegation.transcripts import transcript_path
from council.store.tally import read_tally
from tests.operations.calls import REPEATS, CallTable, call_table, calls
from tests.operations.tables import running_processes, until
from tests.store.processes import forked, status_of

WAITS = 'cat >/dev/null; until [ -e "$COUNCIL_ROOT/go" ]; do sleep 0.02; done; echo "At last."'
COUNTS = 'cat >/dev/null; echo run >> "$COUNCIL_ROOT/runs"; echo "Counted."'


@pytest.fixture
def many(tmp_path: Path) -> CallTable:
    """Twelve agents who answer at once."""
    return call_table(tmp_path / "workspace", **{f"a{n}": REPEATS for n in range(12)})


def guards(table: CallTable) -> list[tuple[str, str]]:
    """Return guard and code of every refusal that the log holds."""
    return [(one["data"]["guard"], one["data"]["code"]) for one in table.events("guard.rejected")]


def refused_with(done: Answered) -> tuple[str, str, str]:
    return done.status, done.error["code"], done.error["guard"]


@pytest.mark.req("P8-052", "P8-026")
def test_a_run_that_takes_too_long_is_ended_with_all_its_processes(tmp_path: Path):
    table = call_table(
        tmp_path / "workspace", sage="cat >/dev/null; sleep 61 & sleep 62; echo late"
    )

    done = table.call("sage", limits={"timeoutMs": 300})

    assert refused_with(done) == ("timeout", "E20", "timeoutMs")
    assert not [one for one in running_processes(table.root) if "sleep 6" in one]
    (error,) = table.events("agent.call.error")
    assert (error["data"]["status"], error["data"]["code"]) == ("timeout", "E20")


@pytest.mark.long
@pytest.mark.req("P8-052", "P8-028")
def test_who_runs_out_of_time_takes_along_whom_it_called(tmp_path: Path):
    table = call_table(
        tmp_path / "workspace", ann=calls("bob"), bob="cat >/dev/null; sleep 66 & sleep 67"
    )

    # Long enough for ann to call bob, however busy the machine is.
    done = table.call("ann", limits={"timeoutMs": 10_000})

    assert refused_with(done) == ("timeout", "E20", "timeoutMs")
    until(
        lambda: not [one for one in running_processes(table.root) if "sleep 6" in one],
        "all is ended",
    )
    table.beat()
    starts = table.events("agent.call.start")
    ends = table.events("agent.call.end", "agent.call.error")
    assert [one["toAgentId"] for one in starts] == ["ann", "bob"]
    assert sorted(one["toAgentId"] for one in ends) == ["ann", "bob"]
    assert table.notes() == []


@pytest.mark.req("P8-053", "P8-061")
def test_the_fifth_level_is_refused(tmp_path: Path):
    names = ("ann", "bob", "cyd", "dan", "eve")
    line = {one: calls(next_one) for one, next_one in pairwise(names)}
    table = call_table(tmp_path / "workspace", **line, eve=REPEATS)

    table.call("ann")

    assert [one["data"]["depth"] for one in table.events("agent.call.start")] == [0, 1, 2, 3]
    (event,) = table.events("guard.rejected")
    assert (event["data"]["guard"], event["data"]["code"]) == ("maxDepth", "E16")
    assert event["data"]["path"] == ["user", *names]
    (answer,) = [
        one for one in table.transcript("dan", "agent:dan:workflow:t1") if one["kind"] == "answer"
    ]
    told = json.loads(answer["text"].splitlines()[0])
    assert (told["status"], told["error"]["guard"]) == ("rejected", "maxDepth")


@pytest.mark.req("P8-053", "P8-059")
def test_a_tightened_depth_holds_for_the_calls_inside(tmp_path: Path):
    table = call_table(tmp_path / "workspace", ann=calls("bob"), bob=calls("cyd"), cyd=REPEATS)

    table.call("ann", limits={"maxDepth": 1})

    assert guards(table) == [("maxDepth", "E16")]
    assert len(table.events("agent.call.start")) == 2


@pytest.mark.req("P8-054", "P8-061")
def test_the_ninth_call_of_a_trace_is_refused_and_another_trace_goes_on(many: CallTable):
    for n in range(8):
        assert many.call(f"a{n}").status == "ok"

    refused = many.call("a8")

    assert refused_with(refused) == ("rejected", "E17", "maxCallsPerTrace")
    assert guards(many) == [("maxCallsPerTrace", "E17")]
    assert len(many.events("agent.call.start")) == 8
    assert many.call("a8", trace="t2").status == "ok"


@pytest.mark.req("P8-056", "P8-061")
def test_the_seventh_of_a_pair_in_a_minute_is_refused_whether_message_or_call(many: CallTable):
    for n in range(3):
        assert many.message("a1", f"message {n}").status == "ok"
        assert many.call("a1", f"call {n}").status == "ok"

    for refused in (many.message("a1", "seventh"), many.call("a1", "seventh", trace="t2")):
        assert refused_with(refused) == ("rejected", "E31", "pairRateLimitPerMinute")
        assert refused.error["retryAfterMs"] == 60_000
    assert guards(many) == [("pairRateLimitPerMinute", "E31")] * 2
    assert len(many.transcript("a1", "agent:a1:inbox")) == 3
    assert many.call("a1", sender="a2").status == "ok"
    many.now += timedelta(seconds=60)
    assert many.call("a1", "seventh").status == "ok"


@pytest.mark.req("P8-057")
def test_the_same_task_within_a_minute_gets_the_earlier_answer(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage=COUNTS)
    first = table.call("sage", "count  this")

    table.now += timedelta(seconds=59)
    again = table.call("sage", " count\nthis ")

    assert again.to_record() == first.to_record()
    assert again.told == {"repeated": True}
    assert (table.root / "runs").read_text() == "run\n"
    (event,) = table.events("agent.call.repeated")
    assert event["data"] == {"number": 1, "status": "ok"}
    table.now += timedelta(seconds=1)
    table.call("sage", "count this")
    assert (table.root / "runs").read_text() == "run\nrun\n"


@pytest.mark.req("P8-057", "P8-027")
def test_an_earlier_answer_is_held_against_the_form_that_is_expected_now(tmp_path: Path):
    long = "x" * 1000
    table = call_table(
        tmp_path / "workspace", sage=COUNTS, lark=f"cat >/dev/null; echo '\"{long}\"'"
    )
    text, number = {"type": "string"}, {"type": "number"}

    assert table.call("sage", schema=text).error["code"] == "E10"
    assert (table.call("sage").status, table.call("sage").error) == ("ok", None)
    assert table.call("sage", schema=text).error["guard"] == "expectedSchema"
    assert table.call("lark", schema=text).status == "ok"
    again = table.call("lark", schema=text)
    assert (again.status, again.told, len(again.summary)) == ("ok", {"repeated": True}, 800)
    assert "is not of type 'number'" in table.call("lark", schema=number).error["message"]
    assert (table.root / "runs").read_text() == "run\nrun\n", "its one repair question, too"


@pytest.mark.req("P8-057")
def test_another_session_is_another_task(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage=COUNTS)

    table.call("sage")
    table.call("sage", session="agent:sage:workflow:other")
    table.call("sage", trace="t2")

    assert (table.root / "runs").read_text() == "run\n" * 3


@pytest.mark.req("P8-057")
def test_a_session_that_two_traces_share_knows_the_task_of_the_other(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage=COUNTS)

    table.call("sage", session="agent:sage:workflow:shared")
    table.call("sage", session="agent:sage:workflow:shared", trace="t2")

    assert (table.root / "runs").read_text() == "run\n"


@pytest.mark.req("P8-057", "P8-061")
def test_the_same_task_is_refused_while_it_is_being_done(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage=WAITS)
    child = forked(lambda: table.call("sage"))
    until(table.has("agent.call.start"), "the call began")

    refused = table.call("sage")

    assert refused_with(refused) == ("rejected", "E31", "dedupeWindowMs")
    (table.root / "go").touch()
    assert status_of(child) == 0
    assert table.call("sage").summary == "At last."
    assert guards(table) == [("dedupeWindowMs", "E31")]


@pytest.mark.req("P8-059", "P8-061")
def test_a_looser_limit_is_refused_unless_the_target_allows_it(many: CallTable):
    refused = many.call("a1", limits={"timeoutMs": 120_001})

    assert refused_with(refused) == ("rejected", "E17", "limits")
    assert guards(many) == [("limits", "E17")]
    many.policy("a1", {"limits": {"timeoutMs": 600_000}})
    assert many.call("a1", limits={"timeoutMs": 120_001}).status == "ok"
    (start,) = many.events("agent.call.start")
    assert start["limits"]["timeoutMs"] == 120_001


@pytest.mark.req("P8-051")
def test_the_settings_move_the_limits(many: CallTable):
    settings = many.root / "council.toml"
    settings.write_text(settings.read_text() + "[limits]\nmaxCallsPerTrace = 1\n")

    assert many.call("a1").status == "ok"
    assert refused_with(many.call("a2"))[2] == "maxCallsPerTrace"


@pytest.mark.req("P8-060", "P8-061")
def test_a_circle_of_three_is_refused_with_its_path_and_ends(tmp_path: Path):
    table = call_table(tmp_path / "workspace", ann=calls("bob"), bob=calls("cyd"), cyd=calls("ann"))

    done = table.call("ann")

    assert done.status == "ok"
    (event,) = table.events("guard.rejected")
    assert (event["data"]["guard"], event["data"]["code"]) == ("cycle", "E16")
    assert event["data"]["path"] == ["user", "ann", "bob", "cyd", "ann"]
    assert "ann → bob → cyd → ann" in event["data"]["message"]
    (answer,) = [
        one for one in table.transcript("cyd", "agent:cyd:workflow:t1") if one["kind"] == "answer"
    ]
    assert json.loads(answer["text"].splitlines()[0])["error"]["guard"] == "cycle"
    assert answer["text"].endswith("exit 6")


@pytest.mark.req("P8-060", "P8-061")
def test_two_that_wait_for_each_other_in_two_traces_do_not_wait_for_ever(tmp_path: Path):
    meets = (
        'cat >/dev/null; touch "$COUNCIL_ROOT/$COUNCIL_AGENT"; '
        'until [ -e "$COUNCIL_ROOT/ann" ] && [ -e "$COUNCIL_ROOT/bob" ]; do sleep 0.02; done; '
        'council agent call --to {} "please" --json || echo "exit $?"'
    )
    table = call_table(tmp_path / "workspace", ann=meets.format("bob"), bob=meets.format("ann"))

    # The one that is refused answers, and only then can the other one be answered.
    children = [
        forked(lambda agent=agent, trace=trace: table.call(agent, trace=trace))
        for agent, trace in (("ann", "t1"), ("bob", "t2"))
    ]

    assert [status_of(child) for child in children] == [0, 0]
    assert ("cycle", "E16") in guards(table)
    ends = table.events("agent.call.end", "agent.call.error")
    assert len(ends) == len(table.events("agent.call.start"))


@pytest.mark.req("P8-055", "P8-061")
@pytest.mark.parametrize(("reports", "status"), [(24, "ok"), (25, "error")])
def test_a_scripted_agent_is_ended_at_the_25th_tool_call(tmp_path: Path, reports: int, status: str):
    table = CallTable(tmp_path / "workspace").seat({"sage": {"answers": "answers.md"}})
    text = f"## sage CALL using {reports} tools\nI looked it up.\n"
    (table.root / "answers.md").write_text(text)

    done = table.call("sage")

    assert done.status == status
    (event,) = table.events("agent.call.end", "agent.call.error")
    assert event["data"]["toolCalls"] == reports
    if status == "error":
        assert refused_with(done) == ("error", "E17", "maxToolCalls")
        assert guards(table) == [("maxToolCalls", "E17")]


@pytest.mark.req("P8-055")
def test_a_program_that_reports_one_tool_call_too_many_is_ended_at_once(tmp_path: Path):
    text = 'cat >/dev/null; echo one >> "$COUNCIL_REPORT"; echo two >> "$COUNCIL_REPORT"; sleep 60'
    table = call_table(tmp_path / "workspace", sage=text)

    done = table.call("sage", limits={"maxToolCalls": 1})

    assert refused_with(done) == ("error", "E17", "maxToolCalls")
    assert not [one for one in running_processes(table.root) if "sleep 60" in one]


def running_call(table: CallTable, trace: str = "t1") -> tuple[int, str, str]:
    """Start a call to sage that waits; return its process, its task and its token."""
    child = forked(lambda: table.call("sage", trace=trace))
    until(table.has("agent.call.start"), "the call began")
    number = read_trace(table.place.paths, trace).calls[-1].number
    task = call_task(trace, number, "sage")
    return child, task, call_token(table.place, trace, number, "sage")


@pytest.fixture
def waiting(tmp_path: Path):
    """Sage is at work on a call, and owl could be called."""
    table = call_table(tmp_path / "workspace", sage=WAITS, owl=REPEATS)
    child, task, token = running_call(table)
    yield table, task, token
    (table.root / "go").touch()
    assert status_of(child) == 0


@pytest.mark.req("P8-053", "P8-061", "P8-001")
def test_variables_set_no_depth_no_trace_and_no_path(waiting: tuple[CallTable, str, str]):
    table, task, token = waiting
    place = table.inside(task, "sage", token)
    place.environ = {**place.environ, "COUNCIL_DEPTH": "0", "COUNCIL_TRACE": "t9"}
    place.environ["COUNCIL_CALL_PATH"] = ""

    chain = chain_of(place, "", "")

    assert (chain.trace, chain.depth, chain.path) == ("t1", 1, ["user", "sage"])
    other = chain_of(place, "", "t9")
    assert isinstance(other, Refusal)
    assert (other.guard, other.code) == ("chain", "E13")


@pytest.mark.req("P8-053", "P8-061")
@pytest.mark.parametrize(
    "forge",
    [
        lambda task, token: (task, "0" * 64),
        lambda task, token: (task, ""),
        lambda task, token: (task.replace(".1.sage", ".7.sage"), token),
        lambda task, token: ("call.t9.1.sage.1", token),
        lambda task, token: ("nonsense", token),
    ],
)
def test_a_run_that_is_not_what_it_says_is_refused(waiting: tuple[CallTable, str, str], forge):
    table, task, token = waiting
    place = table.inside(forge(task, token)[0], "sage", forge(task, token)[1])

    done = call(place, Request(receiver="owl", message="free me"))

    assert refused_with(done)[1:] == ("E90", "chain")
    assert guards(table) == [("chain", "E90")]
    assert len(table.events("agent.call.start")) == 1


@pytest.mark.req("P8-053")
def test_an_agent_that_hides_its_task_still_stands_in_its_line(waiting: tuple[CallTable, str, str]):
    table, _, _ = waiting

    chain = chain_of(table.place, "sage", "t1")

    assert (chain.depth, chain.path) == (1, ["user", "sage"])


def test_a_run_whose_call_is_over_can_call_nobody(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage=REPEATS, owl=REPEATS)
    table.call("sage")
    place = table.inside(
        call_task("t1", 1, "sage"), "sage", call_token(table.place, "t1", 1, "sage")
    )

    done = call(place, Request(receiver="owl", message="one more thing"))

    assert refused_with(done) == ("rejected", "E15", "chain")


@pytest.mark.req("XC-106", "P8-053")
def test_a_session_of_another_agent_is_kept_with_the_one_who_receives(many: CallTable):
    many.message("a1", session="agent:a2:inbox")

    assert Path(transcript_path(many.place.paths, "a1", "agent:a2:inbox")).exists()
    assert not (many.root / "memory/agents/a2/sessions").exists()


@pytest.mark.req("OP-005")
@pytest.mark.parametrize(("own", "limit", "failures"), [("120s", 100, 0), ("1s", 9000, 1)])
def test_limit_of_the_caller_never_counts_against_the_one_called(
    tmp_path: Path, own: str, limit: int, failures: int
):
    made = call_table(tmp_path / "workspace", owl="cat >/dev/null; sleep 60")
    path = made.root / "council.toml"
    path.write_text(f'run_timeout = "{own}"\n' + path.read_text())
    assert made.call("owl", limits={"timeoutMs": limit}).status == "timeout"
    found = read_tally(made.place.paths).lapses.values()
    assert [one.failures for one in found] == [failures] * failures
