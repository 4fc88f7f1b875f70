"""Forgetting a context of the protocol for good: after it nothing of it is found."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.errors import ConflictError, NotFoundError, UsageError
from council.core.protocol.registering import Joining
from council.operations import forget
from council.operations.forget import doomed, gc, purge
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.protocol import registry, tasks
from council.operations.protocol.asking import request
from council.operations.protocol.exchanging import contexts
from council.operations.protocol.orchestrating import succeed
from council.operations.protocol.roster import Roster
from council.operations.reporting.explaining import explain
from council.store import slots
from council.store.delegation import artifacts
from council.store.purging.subjects import note_path
from tests.cli.commands import at_rest
from tests.operations.calls import CallTable, call_table, calls
from tests.operations.tables import all_is_quiet
from tests.store.processes import at_call, die, forked, status_of

SECRET = "violet-heron"
# An agent is a line of shell here, and so its words stand in the settings as well.
SETTINGS = ("council.toml", "settings-cache.json")
CONTEXT = "context"


def office(root: Path, **habits: str) -> CallTable:
    """Return a workspace whose agents have joined as W1, W2 and so on."""
    table = call_table(root, **habits)
    for agent in habits:
        registry.join(table.place, Joining(agent=agent, capabilities=(agent,)))
    return table


def ask(table: CallTable, text: str, *caps: str) -> str:
    context = request(table.place, text, caps=caps).context
    beat(table.place)
    all_is_quiet()
    return context


def everywhere(root: Path, *words: str) -> list[str]:
    """Return the files under a workspace in whose name or bytes any of the words stands."""
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file()
        and path.name not in SETTINGS
        and any(one in path.name or one.encode() in path.read_bytes() for one in words)
    )


def trace_of(table: CallTable, context: str) -> str:
    return contexts(table.place).read(context).exchange.trace_id


def of(table: CallTable, context: str) -> list[str]:
    """Return all that is said of a context by events, letters and log."""
    protocol = table.root / "memory/shared/protocol"
    lines = [
        line
        for folder in (table.root / "memory/shared/events", protocol / "inbox", protocol / "log")
        for path in sorted(folder.iterdir())
        for line in path.read_text().splitlines()
    ]
    return [one for one in lines if f'"{context}' in one or f"[{context}]" in one]


@pytest.fixture
def table(tmp_path: Path) -> CallTable:
    """Two contexts that are over; both called an agent and left traces in many files."""
    says = 'cat >/dev/null; cat "$COUNCIL_ROOT/said"'
    asks = calls("hen", '$(head -1 "$COUNCIL_ROOT/said")')
    made = office(tmp_path / "workspace", fox=f"{says}; {asks} >/dev/null", hen=says)
    (made.root / "said").write_text(f"The {SECRET}; it stands.\n" * 40)
    assert ask(made, f"Where is the {SECRET}?", "fox") == "S1"
    made.call("hen", f"What of the {SECRET}?", trace="S1")
    (made.root / "said").write_text("The cow; it stands.\n" * 40)
    made.now += timedelta(minutes=5)
    assert ask(made, "Where is the cow?", "fox") == "S2"
    (made.root / "said").unlink()
    at_rest(made.root)
    return made


@pytest.mark.req("XC-018")
def test_after_a_purge_nothing_of_a_context_is_found_and_nothing_of_others_is_missing(
    table: CallTable,
):
    trace, other = trace_of(table, "S1"), trace_of(table, "S2")
    hen = table.root / f"memory/agents/hen/sessions/agent:hen:workflow:{trace}.jsonl"
    assert SECRET in hen.read_text()
    cow, others = of(table, "S2"), everywhere(table.root, other, "cow")
    assert len(everywhere(table.root, SECRET)) > 8

    done = purge(table.place, "S1", CONTEXT)

    assert done.left == []
    assert everywhere(table.root, SECRET, trace) == []
    assert of(table, "S1") == []
    assert of(table, "S2") == cow
    # A line of a journal may say only what differs from the trace before; anew it says all.
    ledger = "memory/shared/.council/delegation/sent.jsonl"
    assert everywhere(table.root, other, "cow") == sorted({*others, ledger})
    assert other in (table.root / ledger).read_text()
    assert {Path(one).name for one in done.files} == {"S1.jsonl", "S1.md"}
    assert len(done.calls) >= 3
    assert done.events > 10
    assert len(done.artifacts) >= 1
    with pytest.raises(NotFoundError, match="S1"):
        doomed(table.place, "S1")
    # The note of the next number is a cache, and may be lost at any time before that.
    (table.root / "memory/shared/protocol/.told/next").unlink()
    purge(table.place, "S2", CONTEXT)
    assert everywhere(table.root, "cow", other) == []
    assert tasks.open_context(table.place).exchange.context == "S3", "no number comes again"
    assert not table.beat().errors
    assert everywhere(table.root, SECRET, "cow", trace, other) == []


@pytest.mark.req("XC-018")
def test_a_context_that_is_open_is_refused_with_the_way_out(tmp_path: Path):
    table = office(tmp_path, fox="")
    context = request(table.place, "Where is the heron?", caps=("fox",)).context
    for refused in (
        lambda: doomed(table.place, context),
        lambda: purge(table.place, context, CONTEXT),
    ):
        with pytest.raises(ConflictError, match=f"{context} is still open") as caught:
            refused()
        assert caught.value.hint == f"first: council ctx close {context}"
    with pytest.raises(ConflictError):  # and once more under its lock
        contexts(table.place).forget(context)
    assert contexts(table.place).read(context).exchange.is_open

    tasks.close_context(table.place, context)
    assert purge(table.place, context, CONTEXT).tasks == [], "it was taken back at the end"
    assert everywhere(table.root, "heron") == []


def test_a_context_whose_run_is_under_way_is_not_purged(table: CallTable):
    mark = slots.mark_path(table.place.paths.runs, "fox")
    descriptor = slots.begin_mark(mark, "S1", "S1.1.W1.1")
    try:
        with pytest.raises(ConflictError, match="under way"):
            purge(table.place, "S1", CONTEXT)
    finally:
        slots.end_mark(descriptor)
    purge(table.place, "S1", CONTEXT)
    assert Path(mark).read_text() == "", "a mark that nobody holds names it no more"


@pytest.mark.req("OP-016")
def test_the_files_of_runs_that_split_and_composed_go_with_it(table: CallTable):
    names = (
        "S1.split-t1.fox.1.log",
        "S1.compose-t1.fox.2.log",
        "S1.compose-t1.fox.2.prompt.md",
    )
    for name in names:
        Path(table.place.paths.runs, name).write_text("…\nexit: 0\n")

    done = purge(table.place, "S1", CONTEXT)

    assert [name for name in os.listdir(table.place.paths.runs) if name.startswith("S1.")] == []
    assert done.left == []
    assert {os.path.basename(path) for path in done.runs} >= set(names)


@pytest.mark.req("XC-018", "PR-644")
def test_contexts_that_go_on_in_each_other_are_forgotten_together(tmp_path: Path):
    table = office(tmp_path, fox="")
    first = tasks.open_context(table.place).exchange.context
    tasks.set_values(table.place, first, {"bird": "heron"})
    exchange = contexts(table.place).read(first).exchange
    succeed(Roster(table.place, table.now), exchange)
    second = contexts(table.place).read(first).exchange.successor
    with pytest.raises(ConflictError, match=f"{second} is still open"):
        purge(table.place, first, CONTEXT)
    tasks.close_context(table.place, second)
    trace = trace_of(table, second)

    gc(Place(str(table.root), {}, table.now + timedelta(days=60)), timedelta(days=30))
    assert not contexts(table.place).exists(first), "its document is pruned, its events stay"
    purge(table.place, second, CONTEXT)

    assert everywhere(table.root, trace, "heron") == []
    assert of(table, first) == of(table, second) == []


@pytest.mark.req("XC-018")
def test_the_trace_of_a_caller_keeps_what_is_not_of_the_context(tmp_path: Path):
    table = office(tmp_path, fox="")
    trace = "5" * 32
    environ = {**table.environ, "traceparent": f"00-{trace}-{'6' * 16}-01"}
    place = Place(str(table.root), environ, table.now)
    one, other = (request(place, text).context for text in ("The heron", "The cow"))
    for context in (one, other):
        tasks.close_context(place, context)
    kept = of(table, other)

    done = purge(place, one, CONTEXT)

    assert everywhere(table.root, "heron") == []
    assert of(table, one) == []
    assert of(table, other) == kept
    assert done.events > 1
    purge(place, other, CONTEXT)
    assert everywhere(table.root, "cow", trace) == []


@pytest.mark.req("XC-018")
def test_what_was_called_for_it_in_the_trace_of_a_caller_is_forgotten_there(tmp_path: Path):
    says = 'cat >/dev/null; cat "$COUNCIL_ROOT/said"'
    asks = calls("hen", '$(head -1 "$COUNCIL_ROOT/said")')
    table = office(tmp_path, fox=f"{says}; {asks} >/dev/null", hen=says)
    trace = "5" * 32
    environ = {**table.environ, "traceparent": f"00-{trace}-{'6' * 16}-01"}
    for bird in ("heron", "cow"):
        (table.root / "said").write_text(f"The {bird}.\n")
        request(Place(str(table.root), environ, table.now), f"And the {bird}?", caps=("fox",))
        beat(table.place)
        all_is_quiet()
        table.now += timedelta(minutes=5)
    (table.root / "said").unlink()
    assert [one["owner"] for one in table.ledger(trace)["calls"]] == ["S1", "S2"]
    kept = everywhere(table.root, "cow")

    done = purge(table.place, "S1", CONTEXT)

    assert everywhere(table.root, "heron") == []
    assert everywhere(table.root, "cow") == kept
    assert done.left == []
    first, second = table.ledger(trace)["calls"]
    assert (first["number"], first["state"], first["message"]) == (1, "ok", "")
    assert second["message"] == "The cow."
    told = explain(table.place, trace)
    assert told.kind == "trace", "what is left of it can be read"


@pytest.mark.req("XC-018")
def test_artifacts_that_it_alone_refers_to_go_with_it(tmp_path: Path):
    table = office(tmp_path, fox="")
    paths = table.place.paths

    def publish(text: str) -> str:
        return artifacts.publish(paths, text.encode(), trace="", now=table.now).artifact_id

    inner = publish("the inner heron")
    own, wanted, foreign = publish(f"see #REF:{inner}"), publish("a cow"), publish("a hen")
    (table.root / "memory/shared/note.md").write_text(f"#REF:{wanted}")
    context = request(table.place, f"Read #REF:{own} and #REF:{wanted}").context
    tasks.close_context(table.place, context)

    purge(table.place, context, CONTEXT)

    assert set(artifacts.ids(paths)) == {wanted, foreign}


@pytest.mark.req("XC-018")
@pytest.mark.parametrize(
    ("by", "step"), [pytest.param("purge", 1, marks=pytest.mark.long), ("purge", 11), ("gc", 7)]
)
def test_a_purge_of_a_context_that_was_killed_at_any_call_is_finished_by_the_next(
    tmp_path: Path, by: str, step: int
):
    killed, number, finished = True, 0, 0
    while killed:
        number += step
        table = office(tmp_path / str(number), fox="")
        wanted = artifacts.publish(table.place.paths, b"The heron.", trace="", now=table.now)
        asked = f"Where is the heron? #REF:{wanted.artifact_id}"
        context = request(table.place, asked, caps=("fox",)).context
        beat(table.place)
        tasks.close_context(table.place, context)

        def dying(place: Place = table.place, number: int = number, it: str = context) -> None:
            at_call(number, die)
            purge(place, it, CONTEXT)

        killed = status_of(forked(dying)) != 0
        begun = note_path(table.place.paths, CONTEXT, context)
        if by == "purge" and killed and (contexts(table.place).exists(context) or _is_file(begun)):
            purge(table.place, doomed(table.place, context).conversation_id, CONTEXT)
        elif by == "gc" and _is_file(begun):
            gc(table.place, timedelta(days=30))
            finished += 1
        elif by == "gc" and contexts(table.place).exists(context):
            continue  # nothing had begun yet
        assert everywhere(table.root, "heron") == [], f"killed at {number}"
        assert list(artifacts.ids(table.place.paths)) == [], f"killed at {number}"
        assert of(table, context) == [], f"killed at {number}"
        assert not _is_file(begun)
    assert number > 30
    assert finished > 3 or by == "purge"


def _is_file(path: str) -> bool:
    return os.path.isfile(path)


@pytest.mark.req("XC-018")
def test_what_writers_left_who_were_killed_goes_too_and_nothing_that_is_being_written(
    table: CallTable,
):
    protocol = table.root / "memory/shared/protocol"
    known = (protocol / "contexts/closed/S1.jsonl").read_text()
    torn = protocol / "contexts/.tmp-0123456789abcdef"
    torn.write_text(known[: len(known) // 2])
    answer = protocol / "answers/.tmp-00112233445566ff"
    answer.write_text(f"The {SECRET}.")
    an_hour_ago = time.time() - 3600
    os.utime(answer, (an_hour_ago, an_hour_ago))
    fresh = protocol / "answers/.tmp-ffffffffffffffff"
    fresh.write_text("The answer to S2.")

    purge(table.place, "S1", CONTEXT)

    assert (torn.exists(), answer.exists(), fresh.exists()) == (False, False, True)
    assert everywhere(table.root, SECRET) == []


def test_who_names_a_task_is_told_to_name_its_context(table: CallTable):
    with pytest.raises(UsageError) as caught:
        doomed(table.place, "S1/T1")
    assert caught.value.hint == "for all of it: council purge S1"


def test_a_context_that_cannot_be_read_is_forgotten_as_well(table: CallTable):
    trace = trace_of(table, "S1")
    path = Path(contexts(table.place).closed_files("S1")[0])
    path.write_text(json.dumps({"schemaVersion": 1, "exchange": f"the {SECRET}"}))
    assert doomed(table.place, "S1") == forget.Doomed(conversation_id="S1", topic="", kind=CONTEXT)
    purge(table.place, "S1", CONTEXT)
    assert everywhere(table.root, trace) == []
    assert not os.path.lexists(path)
