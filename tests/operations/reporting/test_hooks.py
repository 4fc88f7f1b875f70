"""Hooks: each event is reported once, in order, to real commands that may misbehave."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from council.operations.conversations.answer import respond
from council.operations.conversations.steer import cancel
from council.operations.reporting import hooks
from council.operations.reporting.hooks import HOOKS, begin_telling, plan_of, tell_all, tell_hooks
from council.store.events import read_mark, write_mark
from tests.operations.tables import SPEAKS, Table, all_is_quiet

PAIR = ("ann", "bob")
WRITES = f"""#!{sys.executable}
import json, os, sys
told = json.load(sys.stdin)
told["environment"] = dict(os.environ)
with open("told.jsonl", "a") as file:
    file.write(json.dumps(told) + chr(10))
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table(tmp_path / "workspace").seat_all(SPEAKS, PAIR)
    hook = table.root / "write-down"
    hook.write_text(WRITES)
    hook.chmod(0o755)
    return table


def with_hooks(table: Table, **argvs: object) -> Table:
    lines = [f"{name} = {json.dumps(argv)}" for name, argv in argvs.items()]
    file = table.root / "council.toml"
    file.write_text(file.read_text() + "\n".join(["[hooks]", *lines]) + "\n")
    return table


def told(table: Table, *wanted: str) -> list[dict[str, object]]:
    file = table.root / "told.jsonl"
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [one for one in found if not wanted or one["hook"] in wanted]


def test_a_whole_council_tells_its_phases_and_its_end_once_each_in_order(table: Table):
    with_hooks(table, phase_changed=["./write-down"], closed=["./write-down"])
    table.convene(agents=PAIR)
    all_is_quiet()
    for _ in range(3):
        table.beat_to_rest(timedelta(minutes=5))

    assert [(one["hook"], one["data"].get("to")) for one in told(table)] == [
        ("phase_changed", "CHALLENGE"),
        ("phase_changed", "RESOLVE"),
        ("phase_changed", "SYNTHESIZE"),
        ("closed", None),
    ]
    assert {one["name"] for one in told(table)} == {"active"}
    assert told(table, "closed")[0]["data"]["path"] == f"conseils/{table.minutes()[0].name}"
    ids = [one["eventId"] for one in told(table)]
    assert len(set(ids)) == 4


def test_waiting_for_a_person_failure_consensus_and_cancelling_are_told(table: Table):
    table.seat({"ann": {}, "bob": {}, "cyd": {"argv": ["/no/such/program"]}})
    with_hooks(table, **{hook: ["./write-down"] for hook in HOOKS})
    table.convene(agents=("ann", "cyd"), name="one")
    table.convene(agents=PAIR, name="two", sealed=False)
    for status in ("responded", "agreed"):
        for agent in PAIR:
            respond(table.place, "two", agent, f"I have {status}.", status=status)
        all_is_quiet()
    respond(table.place, "two", "ann", "So be it.")
    cancel(table.place, "one")
    all_is_quiet()

    waiting = told(table, "waiting_for_person")
    assert {one["agentId"] for one in waiting} == {"ann", "bob"}
    assert told(table, "failed")[0]["agentId"] == "cyd"
    assert [one["name"] for one in told(table, "consensus")] == ["two"]
    assert sorted(one["name"] for one in told(table, "closed")) == ["one", "two"]


@pytest.mark.req("HR-024")
def test_a_question_to_people_is_told_as_waiting_for_a_person(table: Table):
    table.seat({"ann": {}, "bob": {}})
    with_hooks(table, waiting_for_person=["./write-down"])
    table.convene(agents=PAIR, sealed=False)
    respond(table.place, "active", "ann", "I would.\n\n@human, what is the budget?")
    all_is_quiet()
    asked = [one for one in told(table) if one["type"] == "person.asked"]
    assert [(one["hook"], one["agentId"]) for one in asked] == [("waiting_for_person", "ann")]
    assert asked[0]["data"]["text"] == "@human, what is the budget?"


@pytest.mark.req("OP-007", "HR-024")
def test_a_question_of_a_worker_is_told_as_waiting_for_a_person():
    assert hooks.hook_of({"type": "question.asked"}) == "waiting_for_person"


def test_what_happened_before_hooks_were_there_is_told_to_nobody(table: Table):
    table.convene(agents=PAIR)
    all_is_quiet()
    assert len(table.minutes()) == 1

    with_hooks(table, closed=["./write-down"])
    for _ in range(2):
        table.beat_to_rest()

    assert told(table) == []


@pytest.mark.long
def test_a_hook_that_fails_hangs_or_is_missing_hurts_nobody_and_is_an_event(
    table: Table, monkeypatch
):
    monkeypatch.setattr(hooks, "TIME_LIMIT_S", 8)  # enough for the others on a busy machine
    failing = [
        ["/bin/sh", "-c", "echo no >&2; exit 4"],
        ["/bin/sleep", "60"],
        ["/no/such/thing"],
        ["./write-down"],
    ]
    with_hooks(table, closed=failing)
    table.convene(agents=PAIR, phases=("collect",))
    all_is_quiet()

    assert len(table.minutes()) == 1
    reasons = [one["data"]["reason"] for one in table.events("hook.failed")]
    assert reasons == ["exit 4: no", "took longer than 8 s", "No such file or directory"]
    assert len(told(table, "closed")) == 1


def test_a_hook_sees_only_what_it_is_allowed_to(table: Table):
    with_hooks(table, env=["SLACK_URL"], closed=["./write-down"])
    place = table.place
    place.environ.update(SLACK_URL="https://chat", OPENAI_API_KEY="sk", COUNCIL_TASK_ID="t")
    begin_telling(place)
    table.convene(agents=PAIR, phases=("collect",))
    all_is_quiet()
    (table.root / "told.jsonl").unlink()
    mark = read_mark(place.paths.hook_mark)
    write_mark(place.paths.hook_mark, mark.copy(offsets={}, ids=[]))
    tell_all(place)

    (one,) = told(table, "closed")
    seen = one["environment"]
    assert seen["SLACK_URL"] == "https://chat"
    assert seen["COUNCIL_ROOT"] == str(table.root)
    assert seen["COUNCIL_HOOK"] == "closed"
    assert not {"OPENAI_API_KEY", "COUNCIL_TASK_ID", "COUNCIL_TOKEN"} & set(seen)


def test_telling_that_died_between_two_events_goes_on_behind_the_last(table: Table):
    with_hooks(table, phase_changed=["./write-down"])
    table.convene(agents=PAIR)
    all_is_quiet()
    first, second, third = told(table)
    (table.root / "told.jsonl").unlink()
    # As if the process had been killed after the second: its id is kept, the offsets are not.
    write_mark(
        table.place.paths.hook_mark,
        read_mark(table.place.paths.hook_mark).copy(
            offsets={}, ids=[first["eventId"], second["eventId"]]
        ),
    )

    table.beat_to_rest()

    assert [one["eventId"] for one in told(table)] == [third["eventId"]]


def test_a_torn_line_at_the_end_of_the_log_keeps_nobody_busy(table: Table):
    with_hooks(table, closed=["./write-down"])
    begin_telling(table.place)
    table.convene(agents=PAIR, phases=("collect",))
    all_is_quiet()
    log = next((table.root / "memory/shared/events").glob("*.jsonl"))
    with log.open("ab") as file:
        file.write(b'{"eventId": "x')

    tell_hooks(table.place)
    all_is_quiet()

    assert len(told(table, "closed")) == 1


def test_settings_that_are_no_argv_are_faults_and_nothing_is_run():
    plan = plan_of({"closed": "rm -rf /", "failed": [], "opened": ["x"], "consensus": ["a", "b"]})
    assert plan.commands == {"consensus": [["a", "b"]]}
    assert len(plan.faults) == 3
