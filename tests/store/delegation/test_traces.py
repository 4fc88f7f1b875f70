"""Ledgers of traces, notes of what is under way, waits, transcripts and policies on the disk."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from council.core.delegation.delegation import Call, Sent
from council.core.errors import InvalidStateError, NewerVersionError, RefusedError
from council.store.agent_folders import policy_path, read_policy
from council.store.delegation.line import begin_wait
from council.store.delegation.traces import (
    _record_of,
    begin_note,
    delegation_folder,
    edit_sent,
    edit_trace,
    notes_left_behind,
    read_trace,
    trace_path,
    traces,
)
from council.store.delegation.transcripts import (
    Utterance,
    add_utterance,
    transcript_path,
    transcript_size,
)
from council.store.paths import Workspace
from council.store.slots import Slots, is_held
from tests.conftest import NOW
from tests.store.processes import forked, status_of, together
from tests.store.records import put


@pytest.fixture
def paths(workspace: Path) -> Workspace:
    return Workspace(str(workspace))


def add_call(paths: Workspace, target: str = "b") -> int:
    """Write one more call into the ledger `t1`; return its number."""

    def change(ledger) -> int:
        number = ledger.next_number
        ledger.next_number += 1
        ledger.calls.append(
            Call(
                number=number,
                caller="a",
                target=target,
                depth=0,
                path=["a"],
                owner="",
                session="s",
                task_hash="h",
                message="m",
                at=NOW,
            )
        )
        return number

    return edit_trace(paths, "t1", change)


@pytest.mark.req("XC-001", "P8-054")
def test_no_call_is_lost_when_many_processes_write_one_ledger(paths: Workspace):
    statuses = together([lambda: add_call(paths) for _ in range(20)])

    assert statuses == [0] * 20
    ledger = read_trace(paths, "t1")
    assert [one.number for one in ledger.calls] == list(range(1, 21))
    assert traces(paths) == ["t1"]


def test_what_stays_the_same_is_not_written(paths: Workspace):
    edit_trace(paths, "t1", lambda ledger: None)

    assert not Path(trace_path(paths, "t1")).exists()


def test_a_change_that_refuses_changes_nothing(paths: Workspace):
    def refuse(ledger) -> None:
        ledger.next_number = 9
        raise RefusedError("no")

    with pytest.raises(RefusedError):
        edit_trace(paths, "t1", refuse)
    assert read_trace(paths, "t1").next_number == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"traceId": 1}', b"\xff", b"[" * 9999])
def test_a_ledger_that_cannot_be_read_guards_on(paths: Workspace, content: bytes):
    add_call(paths)
    Path(trace_path(paths, "t1")).write_bytes(content)

    with pytest.raises(InvalidStateError, match=r"t1\.json"):
        add_call(paths)
    assert Path(trace_path(paths, "t1")).read_bytes() == content


@pytest.mark.req("XC-013")
def test_a_ledger_of_a_newer_version_is_not_written(paths: Workspace):
    add_call(paths)
    put(trace_path(paths, "t1"), {"schemaVersion": 2, "traceId": "t1"})

    with pytest.raises(NewerVersionError):
        add_call(paths)


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("trace", ["../x", "a/b", ".x"])
def test_a_trace_that_is_a_path_is_refused(paths: Workspace, trace: str):
    with pytest.raises(RefusedError):
        read_trace(paths, trace)


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("content", [b"", b"[1]", b'{"sent": [{}]}', b"{"])
def test_what_was_let_pass_lately_begins_anew_where_it_cannot_be_read(
    paths: Workspace, content: bytes, form: str
):
    folder = Path(delegation_folder(paths))
    folder.mkdir(parents=True)
    (folder / f"sent.{form}").write_bytes(content)
    one = Sent(at=NOW, sender="a", receiver="b")

    before = edit_sent(paths, lambda sent: ([*sent, one], len(sent)))

    assert before == 0
    assert edit_sent(paths, lambda sent: (sent, sent)) == [one]


def test_a_note_is_left_behind_only_by_who_is_gone(paths: Workspace):
    held = begin_note(paths, {"kind": "mine"})

    def dying() -> None:
        begin_note(paths, {"kind": "theirs"})
        os.kill(os.getpid(), signal.SIGKILL)

    assert status_of(forked(dying)) == -signal.SIGKILL
    (found,) = notes_left_behind(paths)
    assert found.record == {"kind": "theirs"}
    assert list(notes_left_behind(paths)) == []  # we hold it now
    found.let_go()
    (again,) = notes_left_behind(paths)
    again.end()
    held.end()
    assert list(notes_left_behind(paths)) == []
    assert os.listdir(f"{delegation_folder(paths)}/calls") == []


def test_a_note_that_was_ended_while_somebody_looked_is_nothing_to_do(paths: Workspace):
    note = begin_note(paths, {"kind": "mine"})
    seen = os.open(note.path, os.O_RDWR)

    note.end()
    Path(note.path).touch()  # by another one who reads

    assert _record_of(note.path, seen) is None
    os.close(seen)


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_a_note_that_says_nothing_is_taken_away(paths: Workspace, content: bytes):
    folder = Path(delegation_folder(paths)) / "calls"
    folder.mkdir(parents=True)
    (folder / "0.json").write_bytes(content)

    assert list(notes_left_behind(paths)) == []
    assert list(folder.iterdir()) == []


@pytest.mark.req("P8-060")
def test_a_wait_that_would_close_a_circle_is_told_instead(paths: Workspace):
    waits = [begin_wait(paths.places, *pair) for pair in (("a", "b"), ("b", "c"), ("a", "d"))]
    assert all(not isinstance(one, list) for one in waits)

    assert begin_wait(paths.places, "c", "a") == ["c", "a", "b", "c"]
    assert begin_wait(paths.places, "a", "a") == ["a", "a"]

    waits[1].end()
    other = begin_wait(paths.places, "c", "a")
    assert not isinstance(other, list)
    for one in (waits[0], waits[2], other):
        one.end()
    assert [name for name in os.listdir(paths.places) if name.startswith("wait-")] == []


def test_the_dead_wait_for_nobody(paths: Workspace):
    def dying() -> None:
        begin_wait(paths.places, "a", "b")
        os.kill(os.getpid(), signal.SIGKILL)

    status_of(forked(dying))

    found = begin_wait(paths.places, "b", "a")

    assert not isinstance(found, list)
    found.end()


@pytest.mark.req("P8-060")
def test_two_never_wait_for_each_other_however_often_they_try_at_once(paths: Workspace):
    def wait_often(waiter: str, target: str) -> None:
        for _ in range(1500):
            begun = begin_wait(paths.places, waiter, target)
            if isinstance(begun, list):
                continue
            marks = [one for one in os.listdir(paths.places) if one.startswith(f"wait-{target}.")]
            both = [one for one in marks if is_held(f"{paths.places}/{one}")]
            begun.end()
            assert both == []

    assert together([lambda: wait_often("a", "b"), lambda: wait_often("b", "a")]) == [0, 0]


@pytest.mark.req("XC-016")
def test_a_run_that_waits_lends_its_place_to_one_run_at_a_time(paths: Workspace):
    slots = Slots(paths.places, 1)
    lender = slots.take("a")
    assert slots.take("b") is None

    lent = slots.take("b", lender="a")

    assert lent is not None
    assert slots.taken() == 1
    assert slots.take("c", lender="a") is None
    assert slots.take("b", lender="x") is None  # it runs already
    lent.release()
    other = slots.take("c", lender="a")
    assert other is not None
    for one in (other, lender):
        one.release()
    assert slots.running_agents() == ()


def said(number: int = 1) -> Utterance:
    return Utterance(
        id=f"m{number}",
        at="2026-02-08T20:00:00Z",
        kind="message",
        trace="t1",
        sender="a",
        receiver="b",
        text="caf\u00e9 \ud800\n<!-- -->",
        priority="P1",
    )


@pytest.mark.req("P8-004")
def test_a_transcript_is_one_line_an_utterance_and_only_grows(paths: Workspace):
    for number in range(3):
        add_utterance(paths, "b", "agent:b:inbox", said(number))

    path = Path(transcript_path(paths, "b", "agent:b:inbox"))
    assert path.parent.name == "sessions"
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["m0", "m1", "m2"]
    assert "café".encode() in path.read_bytes()


def test_what_may_have_been_said_by_the_dead_is_said_once(paths: Workspace):
    since = transcript_size(paths, "b", "s")
    add_utterance(paths, "b", "s", said())

    add_utterance(paths, "b", "s", said(), since=since)
    add_utterance(paths, "b", "s", said(2), since=since)

    lines = Path(transcript_path(paths, "b", "s")).read_bytes().splitlines()
    assert len(lines) == 2


@pytest.mark.req("XC-009", "P8-001")
def test_a_transcript_never_leaves_the_folder_of_its_agent(paths: Workspace):
    with pytest.raises(RefusedError):
        transcript_path(paths, "b", "../../c/sessions/agent:c:inbox")


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000, b"3"])
def test_a_policy_that_cannot_be_read_names_its_file(paths: Workspace, content: bytes):
    path = Path(policy_path(paths, "b"))
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    with pytest.raises(InvalidStateError, match=r"memory/agents/b/policy\.json"):
        read_policy(paths, "b")


def test_a_policy_that_is_not_there_allows_everybody(paths: Workspace):
    assert read_policy(paths, "b").call.admits("anybody")
