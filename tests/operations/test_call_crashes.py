"""Calls and messages are killed at every call to the system; each start gets its one end."""

from __future__ import annotations

import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from council.operations.delegation.handing_over import finish_all
from council.operations.examining.doctor import examine_delegation
from council.operations.reporting.explaining import find_problems
from council.store.protocol.inboxes import read_inbox
from council.store.slots import Slots
from tests.operations.calls import REPEATS, CallTable, call_table, calls
from tests.operations.crashes import killed_at
from tests.operations.tables import all_is_quiet, running_processes, until
from tests.store.processes import forked, status_of

MANY_CALLS = 900
CALL_EVENTS = ("agent.call.start", "agent.call.end", "agent.call.error")


def steps(wide: int) -> list[object]:
    """Return where to begin and how far to jump: a sample always, every call when long ones run."""
    every = [
        pytest.param(start, wide, id=f"every-{wide}th-from-{start}", marks=pytest.mark.long)
        for start in range(2, wide + 1)
    ]
    return [pytest.param(1, wide, id=f"every-{wide}th-from-1"), *every]


def assert_each_start_has_its_end(table: CallTable) -> None:
    found = table.events(*CALL_EVENTS)
    starts = [one["data"]["task"] for one in found if one["type"] == "agent.call.start"]
    ends = [one["data"]["task"] for one in found if one["type"] != "agent.call.start"]
    assert sorted(starts) == sorted(ends)
    assert len(set(starts)) == len(starts)
    assert table.notes() == []


def lines_of(table: CallTable, agent: str, session: str) -> list[str]:
    folder = table.root / "memory" / "agents" / agent / "sessions"
    if not (folder / f"{session}.jsonl").exists():
        return []
    return [str(one["id"]) for one in table.transcript(agent, session)]


@pytest.mark.long
@pytest.mark.req("P8-028", "XC-001", "P8-061")
@pytest.mark.parametrize(("start", "wide"), steps(9))
def test_a_call_killed_at_any_point_has_one_end_for_its_start(
    tmp_path: Path, start: int, wide: int
):
    for number in range(start, MANY_CALLS, wide):
        table = call_table(tmp_path / str(number), sage=REPEATS)
        was_killed = killed_at(number, partial(table.call, "sage"))
        all_is_quiet()

        table.beat()

        assert_each_start_has_its_end(table)
        said = lines_of(table, "sage", "agent:sage:workflow:t1")
        assert max(Counter(said).values(), default=1) == 1
        started = len(table.events("agent.call.start"))
        assert len(said) == 2 * started
        assert Slots(table.place.paths.places, 4).running_agents() == ()
        again = table.call("sage")
        assert (again.status, again.summary) == ("ok", "sage was asked.")
        assert_each_start_has_its_end(table)
        if not was_killed:
            assert again.told == {"repeated": True}
            return
    raise AssertionError("it never came to its end")


@pytest.mark.req("P8-013", "P8-014", "XC-001")
@pytest.mark.parametrize(("start", "wide"), steps(5))
def test_a_message_killed_at_any_point_is_whole_or_not_there(tmp_path: Path, start: int, wide: int):
    for number in range(start, MANY_CALLS, wide):
        table = call_table(tmp_path / str(number), sage=REPEATS)
        was_killed = killed_at(number, partial(table.message, "sage"))

        table.beat()

        events = [one["eventId"] for one in table.events("agent.message")]
        assert lines_of(table, "sage", "agent:sage:inbox") == events
        assert [one.id for one in read_inbox(table.place.paths, ["sage"])] == events
        assert len(events) <= 1
        assert table.notes() == []
        if not was_killed:
            assert len(events) == 1
            return
    raise AssertionError("it never came to its end")


@pytest.mark.req("XC-001")
@pytest.mark.parametrize(("start", "wide"), steps(4))
def test_whoever_finishes_for_another_may_be_killed_as_well(tmp_path: Path, start: int, wide: int):
    for number in range(start, MANY_CALLS, wide):
        table = call_table(tmp_path / str(number), sage="cat >/dev/null; sleep 60")
        killed_caller(table)
        was_killed = killed_at(number, partial(finish_all, table.place))

        table.beat()

        assert_each_start_has_its_end(table)
        assert len(lines_of(table, "sage", "agent:sage:workflow:t1")) == 2
        if not was_killed:
            return
    raise AssertionError("it never came to its end")


def killed_caller(table: CallTable) -> None:
    """Let a process that waits for sage be killed."""
    child = forked(lambda: table.call("sage"))
    until(table.has("agent.call.start"), "the call began")
    os.kill(child, signal.SIGKILL)
    assert status_of(child) == -signal.SIGKILL


@pytest.mark.req("P8-028", "P8-061")
def test_a_killed_caller_takes_its_agent_along_and_the_next_who_comes_writes_the_end(
    tmp_path: Path,
):
    table = call_table(tmp_path / "workspace", sage="cat >/dev/null; sleep 63", owl=REPEATS)
    killed_caller(table)
    until(
        lambda: not [one for one in running_processes(table.root) if "sleep 63" in one],
        "it is gone",
    )
    assert table.events("agent.call.error") == []

    assert table.call("owl").status == "ok"

    (error,) = table.events("agent.call.error")
    assert (error["data"]["code"], error["toAgentId"]) == ("E99", "sage")
    assert_each_start_has_its_end(table)
    assert table.ledger()["calls"][0]["state"] == "lost"


def test_what_cannot_be_finished_stops_nobody_and_is_reported(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage="cat >/dev/null; sleep 60", owl=REPEATS)
    killed_caller(table)
    ledger = Path(table.place.paths.control) / "delegation" / "traces" / "t1.jsonl"
    whole = ledger.read_bytes()
    ledger.write_text("{")
    (ledger.parent.parent / "calls" / "0.json").write_text('{"kind": "message"}')

    assert table.call("owl", trace="t2").status == "ok"

    assert [error.code for error in finish_all(table.place)] == ["invalid-state"]
    assert ("calls", "invalid-state") in [(name, one.code) for name, one in table.beat().errors]
    found = [one for one in examine_delegation(table.place) if not one.ok]
    assert ["t1.jsonl" in one.found or "cannot be understood" in one.found for one in found] == [
        True,
        True,
    ]
    (aside,) = [path for path in table.notes() if path.name.endswith(".damaged")]
    aside.unlink()
    ledger.write_bytes(whole)
    table.beat()
    assert_each_start_has_its_end(table)


@pytest.mark.req("P8-057")
def test_a_call_that_was_lost_is_no_answer_to_the_same_task(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage="cat >/dev/null; sleep 60")
    killed_caller(table)
    table.seat({"sage": {"argv": ["/bin/sh", "-c", REPEATS]}})

    assert table.call("sage").summary == "sage was asked."


@pytest.mark.req("P8-028")
def test_a_call_that_is_under_way_is_finished_by_nobody_else(tmp_path: Path):
    waits = 'cat >/dev/null; until [ -e "$COUNCIL_ROOT/go" ]; do sleep 0.02; done; echo "Done."'
    table = call_table(tmp_path / "workspace", sage=waits)
    child = forked(lambda: table.call("sage"))
    until(table.has("agent.call.start"), "the call began")

    assert finish_all(table.place) == []
    table.beat()

    assert table.events("agent.call.error") == []
    (table.root / "go").touch()
    assert status_of(child) == 0
    assert_each_start_has_its_end(table)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_caller_that_is_interrupted_ends_all_and_writes_the_end_itself(
    tmp_path: Path, number: signal.Signals
):
    def interrupted() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            table.call("sage")
        except KeyboardInterrupt:
            return
        raise AssertionError("it was not interrupted")

    table = call_table(
        tmp_path / "workspace", sage='cat >/dev/null; touch "$COUNCIL_ROOT/on"; sleep 64 & sleep 65'
    )
    child = forked(interrupted)
    until((table.root / "on").exists, "sage is at work")

    os.kill(child, number)

    assert status_of(child) == 0
    assert not [one for one in running_processes(table.root) if "sleep 6" in one]
    assert_each_start_has_its_end(table)
    assert len(table.events("agent.call.error")) == 1


def test_a_call_that_was_started_to_outlive_its_terminal_does(tmp_path: Path):
    def unheeding() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert table.call("sage").summary == "Done."

    waits = 'cat >/dev/null; touch on; until [ -e go ]; do sleep 0.02; done; echo "Done."'
    table = call_table(tmp_path / "workspace", sage=waits)
    child = forked(unheeding)
    until((table.root / "on").exists, "sage is at work")

    os.kill(child, signal.SIGHUP)
    (table.root / "go").touch()

    assert status_of(child) == 0


DEAF = "trap '' TERM HUP INT; "


def chain_of_three(root: Path, last: str = "") -> CallTable:
    """Return a workspace where sage calls owl and owl calls newt, who works until it may answer."""
    works = "cat >/dev/null; [ -e again ] && echo Done. && exit; touch on; sleep 66 & sleep 67; :"
    return call_table(root, sage=calls("owl"), owl=calls("newt"), newt=last + works)


def killed_command(table: CallTable, said: str) -> None:
    """Let the command that is called so be killed."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                line = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ")
                mine = str(table.root).encode() in Path(f"/proc/{entry}/environ").read_bytes()
            except OSError:
                continue
            if mine and said.encode() in line and b"/bin/sh" not in line:
                os.kill(int(entry), signal.SIGKILL)
                return
    raise AssertionError(f"nobody runs {said}")


@pytest.mark.long
@pytest.mark.req("P8-028", "P8-023", "XC-001", "XC-016")
@pytest.mark.parametrize("last", ["", DEAF])
def test_a_killed_caller_takes_all_along_that_was_called_below_it(tmp_path: Path, last: str):
    table = chain_of_three(tmp_path / "workspace", last)
    child = forked(lambda: table.call("sage"))
    until((table.root / "on").exists, "all three are at work")

    os.kill(child, signal.SIGKILL)
    assert status_of(child) == -signal.SIGKILL

    until(lambda: not running_processes(table.root), "all are gone")
    table.beat()
    assert_each_start_has_its_end(table)
    assert [one["state"] for one in table.ledger()["calls"]] == ["lost"] * 3
    assert not list(Path(table.place.paths.runs).glob("*.prompt.md"))
    until(lambda: Slots(table.place.paths.places, 4).running_agents() == (), "places are free")
    (table.root / "again").touch()
    assert "Done." in table.call("sage").summary


@pytest.mark.req("XC-016")
def test_nobody_else_runs_an_agent_whose_caller_was_killed_until_it_is_gone(tmp_path: Path):
    works = "cat >/dev/null; [ -e again ] && echo Done. && exit; echo $$ >on; "
    works += "while :; do sleep 1; done"
    table = call_table(tmp_path / "workspace", sage=DEAF + works)
    child = forked(lambda: table.call("sage"))
    until(lambda: (table.root / "on").exists() and (table.root / "on").read_text(), "it works")
    os.kill(child, signal.SIGKILL)
    status_of(child)
    (table.root / "again").touch()

    assert table.call("sage").summary == "Done."

    assert not Path("/proc", (table.root / "on").read_text().strip(), "root").exists()


@pytest.mark.req("P8-028", "XC-001")
@pytest.mark.parametrize(("killed", "lost"), [("owl", {"owl", "newt"}), ("newt", {"newt"})])
def test_a_killed_caller_within_a_run_takes_along_what_it_has_called_alone(
    tmp_path: Path, killed: str, lost: set[str]
):
    table = chain_of_three(tmp_path / "workspace")
    child = forked(lambda: table.call("sage"))
    until((table.root / "on").exists, "all three are at work")

    killed_command(table, f"agent call --to {killed}")

    assert status_of(child) == 0
    until(lambda: not running_processes(table.root), "all are gone")
    table.beat()
    assert_each_start_has_its_end(table)
    found = {one["toAgentId"]: one["state"] for one in table.ledger()["calls"]}
    assert {agent for agent, state in found.items() if state == "lost"} == lost


@pytest.mark.req("P8-028")
def test_a_call_that_was_left_is_a_problem_until_its_end_is_written(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage="cat >/dev/null; touch on; sleep 60")
    assert find_problems(table.place).found == []
    child = forked(lambda: table.call("sage"))
    until((table.root / "on").exists, "sage is at work")
    os.kill(child, signal.SIGKILL)
    status_of(child)

    (found,) = find_problems(table.place).found

    assert (found.code, found.where) == ("left-over", "t1")
    table.beat()
    assert find_problems(table.place).found == []
    log = table.place.paths.run_file("call.t1.1.sage.1", "log")
    assert "outcome: the caller ended" in Path(log).read_text()
