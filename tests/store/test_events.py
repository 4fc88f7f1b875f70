"""The event log: whole lines, each event once for a reader."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from council.core.errors import LockTimeoutError
from council.core.events import Event
from council.store import events
from council.store.conversations.session import Session
from council.store.lock import Lock
from council.store.paths import Workspace
from tests.store.processes import together

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
CONVERSATION = "0f8fad5b-d9cb-469f-a165-70867728950e"
TRACE = "0f8fad5bd9cb469fa16570867728950e"


def _records(rev: int, now: datetime = NOW, *types: str) -> list[dict[str, object]]:
    happened = [Event(type=one, agent="henry") for one in types or ("phase.changed",)]
    return events.revision_records(happened, CONVERSATION, rev, "0123456789", now)


def _revisions(found: Iterable[dict[str, Any]]) -> list[str]:
    return [one["eventId"].removeprefix(f"{CONVERSATION}:").partition("-")[0] for one in found]


@pytest.mark.req("XC-008")
def test_events_of_a_revision_lie_in_the_file_of_their_day_in_one_envelope(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    events.append(workspace, _records(3, NOW, "phase.changed", "agent.woken"))
    events.append(workspace, _records(4, NOW + timedelta(days=1)))
    days = sorted(path.name for path in Path(workspace.events).iterdir())
    assert days == ["2026-02-08.jsonl", "2026-02-09.jsonl"]
    first, second, third = events.tail(workspace)
    assert first == {
        "schemaVersion": 1,
        "eventId": f"{CONVERSATION}:3-01234567:0",
        "traceId": TRACE,
        "conversationId": CONVERSATION,
        "agentId": "henry",
        "type": "phase.changed",
        "at": "2026-02-08T20:00:00Z",
        "data": {},
    }
    assert (second["eventId"], third["eventId"]) == (
        f"{CONVERSATION}:3-01234567:1",
        f"{CONVERSATION}:4-01234567:0",
    )
    assert [one["eventId"] for one in events.tail(workspace, since="2026-02-09")] == [
        f"{CONVERSATION}:4-01234567:0"
    ]


def test_an_event_that_was_written_twice_is_read_once(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    events.append(workspace, _records(1))
    events.append(workspace, _records(1) + _records(2))
    assert _revisions(events.tail(workspace)) == ["1", "2"]


def test_events_without_a_revision_have_ids_of_their_own(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    refused = [Event(type="guard.refused")] * 2
    for owner in (CONVERSATION, ""):
        events.append(workspace, events.loose_records(refused, owner, NOW))
    found = list(events.tail(workspace))
    assert len({one["eventId"] for one in found}) == 4
    assert [one["traceId"] == TRACE for one in found] == [True, True, False, False]


def test_a_line_that_somebody_left_torn_harms_no_other(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    events.append(workspace, _records(1))
    path = Path(workspace.events, "2026-02-08.jsonl")
    path.write_bytes(path.read_bytes() + b'{"eventId":"torn')
    events.append(workspace, _records(2))
    assert _revisions(events.tail(workspace)) == ["1", "2"]


def test_a_follower_gets_what_comes_later_and_waits_for_whole_lines(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    events.append(workspace, _records(1))
    path = Path(workspace.events, "2026-02-08.jsonl")
    steps = [
        lambda: events.append(workspace, _records(2)),
        lambda: path.write_bytes(path.read_bytes() + b'{"eventId":"x",'),
        lambda: path.write_bytes(path.read_bytes() + b'"type":"late"}\n'),
        lambda: events.append(workspace, _records(3, NOW + timedelta(days=2))),
    ]

    def more() -> bool:
        if not steps:
            return False
        steps.pop(0)()
        return True

    assert _revisions(events.tail(workspace, more=more)) == ["1", "2", "x", "3"]
    assert list(events.tail(Workspace(str(tmp_path / "empty")))) == []


def test_many_who_write_at_once_lose_nothing(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))

    def write(writer: int) -> None:
        for number in range(10):
            events.append(workspace, _records(writer * 100 + number, NOW, *("a.b",) * 5))

    assert together([lambda writer=one: write(writer) for one in range(8)]) == [0] * 8
    assert len(list(events.tail(workspace))) == 400


@pytest.mark.req("XC-008", "P8-086")
def test_a_lock_that_is_not_obtained_in_time_is_an_event_that_names_its_holder(
    tmp_path: Path,
) -> None:
    workspace = Workspace(str(tmp_path))
    document = Session(workspace, "active", CONVERSATION, NOW, timeout_s=0.05)
    os.makedirs(document.places.folder)

    with Lock(document.places.lock), pytest.raises(LockTimeoutError), document:
        pass

    (told,) = events.tail(workspace)
    assert told["type"] == "lock.timed_out"
    assert told["conversationId"] == CONVERSATION
    assert f"pid {os.getpid()}" in told["data"]["holder"]
    assert told["data"]["lock"].endswith(f"{CONVERSATION}/lock")


@pytest.mark.req("P8-085")
def test_what_one_writer_writes_among_many_stands_in_its_order_and_can_all_be_read(
    tmp_path: Path,
) -> None:
    workspace = Workspace(str(tmp_path))

    def writes(number: int) -> None:
        for count in range(40):
            event = Event(type="x.happened", agent=f"w{number}", data={"count": count})
            at = NOW + timedelta(seconds=count)
            events.append(workspace, events.loose_records([event], "", at))

    assert together([partial(writes, number) for number in range(8)]) == [0] * 8

    found = list(events.tail(workspace))
    assert len(found) == 8 * 40
    for number in range(8):
        mine = [one for one in found if one["agentId"] == f"w{number}"]
        assert [one["data"]["count"] for one in mine] == list(range(40))
        assert [one["at"] for one in mine] == sorted(one["at"] for one in mine)


@pytest.mark.req("IO-002", "P8-082")
def test_an_event_may_be_of_another_trace_than_what_it_is_about(tmp_path: Path) -> None:
    told = Event(type="agent.message", from_agent="a", to_agent="b", trace="f" * 32)

    (own,) = events.loose_records([told], CONVERSATION, NOW)
    (begun_inside,) = events.revision_records(
        [Event(type="phase.changed")], CONVERSATION, 1, "0123456789", NOW, "e" * 32
    )

    assert (own["traceId"], own["fromAgentId"], own["toAgentId"]) == ("f" * 32, "a", "b")
    assert begun_inside["traceId"] == "e" * 32
