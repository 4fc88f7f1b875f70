"""The JSON form of channels and messages, both ways."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from council.core.conversations.due import Wake
from council.core.errors import InvalidStateError, NewerVersionError
from council.core.rooms.channels import (
    Message,
    MessageKind,
    Mode,
    TurnState,
    channel_from_record,
    message_from_record,
    shown,
)
from council.core.rooms.due import pending, task_started
from council.core.rooms.floor import end
from tests.core.rooms.samples import MINUTE, NOW, SECOND, Room

SMALLEST = {"channelId": "room", "createdAt": "2026-02-08T20:00:00Z"}


def full() -> Room:
    """A discussion in the middle of everything."""
    room = Room("ann", "bob", "cyd", mode=Mode.DISCUSSION, topic="Bridges", guild="g")
    room.post("council", "the guide", "guide")
    due = next(one for one in pending(room.channel, room.now) if isinstance(one, Wake))
    ends_at = room.now + MINUTE
    room.take(task_started(room.channel, due, driver="d", now=room.now, ends_at=ends_at))
    room.end("ann", "a real word", due.task)
    room.post("ann", "a real word")
    room.end("bob", "another one", "r2")
    return room


@pytest.mark.req("DG-003")
def test_a_channel_in_the_middle_of_everything_survives_its_record():
    channel = full().channel
    assert channel.delivery and channel.tasks and channel.results and channel.said
    record = json.loads(json.dumps(channel.to_record()))
    assert channel_from_record(record) == channel
    assert channel_from_record(record).to_record() == record


@pytest.mark.req("DG-003")
def test_the_record_speaks_the_words_of_the_document():
    record = full().channel.to_record()
    assert record["channelId"] == "room"
    assert (record["mode"], record["turnState"]) == ("discussion", "shuffle")
    assert record["currentSpeaker"] == "bob"
    assert record["awaitingDelivery"]["agentId"] == "bob"
    assert record["results"][0] == {"agentId": "ann", "empty": False, "runId": "room.1.ann.1",
                                    "alike": False}  # fmt: skip


@pytest.mark.req("DG-096")
def test_a_sleeping_room_shows_nobody_as_speaker_and_says_that_it_is_dormant():
    room = Room("ann", "bob")
    assert shown(room.channel)["dormant"] is False
    room.all_pass()
    record = shown(room.channel)
    assert (record["currentSpeaker"], record["dormant"], record["results"]) == (None, True, [])
    assert shown(Room("ann", mode=Mode.NONE).channel)["dormant"] is False


@pytest.mark.req("DG-031")
def test_the_smallest_record_is_a_channel_of_mode_none():
    channel = channel_from_record(dict(SMALLEST))
    assert (channel.mode, channel.state) == (Mode.NONE, TurnState.DISABLED)
    assert channel.name == "room"


@pytest.mark.req("XC-013")
def test_fields_of_the_future_are_kept_everywhere():
    record = full().channel.to_record()
    for place in (
        record,
        record["members"]["u-ann"],
        record["results"][0],
        record["awaitingDelivery"],
        record["discussion"],
        next(iter(record["tasks"].values())),
    ):
        place["fromTheFuture"] = {"a": [1]}
    assert channel_from_record(record).to_record() == record


@pytest.mark.req("XC-013")
def test_a_newer_version_is_refused():
    with pytest.raises(NewerVersionError):
        channel_from_record({**SMALLEST, "schemaVersion": 2})


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"channelId": "../x"}, "channelId"),
        ({"createdAt": None}, "createdAt"),
        ({"mode": "party"}, "mode"),
        ({"turnState": "awake"}, "turnState"),
        ({"currentSpeaker": "ann"}, "currentSpeaker"),
        ({"mode": "chat", "turnState": "normal", "currentSpeaker": "ann"}, "currentSpeaker"),
        ({"speakers": ["ann", "ann"]}, "speakers"),
        ({"speakers": "ann"}, "speakers"),
        ({"cycle": -1}, "cycle"),
        ({"seen": True}, "seen"),
        ({"private": "yes"}, "private"),
        ({"unanswered": [0]}, "unanswered"),
        ({"members": {"u": {"agentId": "Not A Name"}}}, "agentId"),
        ({"members": {"": {}}}, "account"),
        ({"members": {"u": 7}}, "members.u"),
        ({"results": [{"empty": True}]}, "agentId"),
        ({"mode": "discussion"}, "discussion"),
        ({"discussion": {"initiator": "ann"}}, "discussion"),
        ({"mode": "discussion", "discussion": {}}, "initiator"),
        ({"awaitingDelivery": {"agentId": "ann"}}, "account"),
        ({"tasks": {"t": {"agent": "ann"}}}, "at"),
        ({"said": {"ann": 7}}, "said"),
        ({"turnAt": "yesterday"}, "turnAt"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named(wrong: dict[str, Any], named: str):
    with pytest.raises(InvalidStateError, match=named):
        channel_from_record({**SMALLEST, **wrong})


@pytest.mark.parametrize("record", [None, [], "room", 7])
def test_what_is_no_object_is_refused(record: object):
    with pytest.raises(InvalidStateError):
        channel_from_record(record)


def test_a_deadline_is_never_written_earlier_than_it_is():
    moment = NOW + timedelta(microseconds=1)
    waiting = end(Room("ann", "bob").channel, "ann", "r", "a real word", moment).channel
    assert channel_from_record(waiting.to_record()).delivery.ends_at == NOW + 16 * SECOND


def test_a_message_survives_its_record_with_what_is_not_known():
    message = Message(
        id=7,
        at=NOW,
        author="u-ann",
        agent="ann",
        content="line\nline",
        kind=MessageKind.AUTO,
        run="r",
        reply_to=3,
        extra={"fromTheFuture": 1},
    )
    record = json.loads(json.dumps(message.to_record()))
    assert message_from_record(record) == message
    assert record["replyTo"] == 3


def test_a_line_that_a_person_wrote_needs_nothing_but_its_content():
    line = {"author": "zoe", "content": "hello"}
    message = message_from_record({**line, "id": 4}, default_at=NOW)
    assert (message.id, message.at, message.author, message.agent) == (4, NOW, "zoe", "")
    assert message.kind is MessageKind.MESSAGE


@pytest.mark.parametrize(
    "line",
    [
        {"id": 1, "at": "2026-02-08T20:00:00Z"},
        {"id": 0, "at": "2026-02-08T20:00:00Z", "content": "x"},
        {"id": True, "at": "2026-02-08T20:00:00Z", "content": "x"},
        {"id": 1, "content": "x"},
        {"at": "2026-02-08T20:00:00Z", "content": "x"},
        {"id": 1, "at": "2026-02-08T20:00:00Z", "content": "x", "kind": "song"},
        "hello",
    ],
    ids=str,
)
def test_a_line_that_is_no_message_is_refused(line: object):
    with pytest.raises(InvalidStateError):
        message_from_record(line)
