"""The JSON form of a channel and of its messages, both ways.

The words are those of document 001. Reading is strict about meaning and
lenient about what is missing; it says which field is wrong. Fields it does
not know are kept and written back.

Source: DG-003, DG-031, XC-013.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.task_records import task_from_record, task_to_record
from council.core.errors import NewerVersionError
from council.core.ids import is_name
from council.core.reading import Reader
from council.core.rooms.channels import (
    ENDED_RUNS_KEPT,
    SCHEMA_VERSION,
    TAKES_TURNS,
    Channel,
    Delivery,
    Discussion,
    Member,
    Message,
    MessageKind,
    Mode,
    Result,
    TurnState,
    is_asleep,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLOCK = "state block"


def channel_to_record(channel: Channel) -> dict[str, Any]:
    """Return the JSON object of a channel's state block, in the order in which it is written."""
    waiting, about = channel.delivery, channel.discussion
    return {
        **channel.as_json(
            "schema_version rev channel_id name mode private created_at updated_at created_by"
            " guild topic lang state:turnState speaker:currentSpeaker? turn_at began_at run:runId"
            " anchor speakers cycle turn"
        ),
        "results": [_result_to_record(one) for one in channel.results],
        "awaitingDelivery": None if waiting is None else _delivery_to_record(waiting),
        **channel.as_json(
            "roused_at dormant_at calmed interjected cycles_alone repeats said seen signalled"
            " unanswered"
        ),
        "members": {one.account: _member_to_record(one) for one in channel.members.values()},
        "discussion": None if about is None else _discussion_to_record(about),
        "tasks": {one.id: task_to_record(one) for one in channel.tasks.values()},
        **channel.as_json("ended_runs"),
        **channel.extra,
    }


def shown(channel: Channel) -> dict[str, Any]:
    """Return what people and programs are shown of a channel: its record, and `dormant`."""
    return {**channel_to_record(channel), "dormant": is_asleep(channel)}


def _member_to_record(one: Member) -> dict[str, Any]:
    return {**one.as_json("agent:agentId? name moderator joined_at"), **one.extra}


def _result_to_record(one: Result) -> dict[str, Any]:
    return {**one.as_json("agent:agentId empty run:runId alike"), **one.extra}


def _delivery_to_record(one: Delivery) -> dict[str, Any]:
    return {**one.as_json("agent:agentId account run:runId anchor tail since ends_at"), **one.extra}


def _discussion_to_record(one: Discussion) -> dict[str, Any]:
    return {
        **one.as_json(
            "initiator callback guide guide_id reminded_at summary completed_at closed_reason"
            " called_back_at minutes"
        ),
        **one.extra,
    }


def channel_from_record(record: object) -> Channel:
    """Read the JSON object of a channel's state block.

    Only the id and the time of creation are required; the rest has defaults.

    Raises:
        NewerVersionError: The block is of a newer major version.
        InvalidStateError: A field is missing or has a value it cannot have.
    """
    read = Reader(record, _BLOCK)
    version = read.whole("schemaVersion", SCHEMA_VERSION, 1)
    if version > SCHEMA_VERSION:
        raise NewerVersionError(_BLOCK, version, SCHEMA_VERSION)
    channel_id = read.text("channelId", None)
    if not is_name(channel_id):
        raise read.fail("channelId", "an identifier")
    created_at = read.given_instant("createdAt")
    channel = Channel(
        channel_id=channel_id,
        name=read.text("name") or channel_id,
        mode=read.choice("mode", Mode, Mode.NONE),
        private=read.flag("private", False),
        created_at=created_at,
        updated_at=read.instant("updatedAt") or created_at,
        created_by=read.text("createdBy"),
        guild=read.text("guild"),
        topic=read.text("topic"),
        lang=read.text("lang") or "en",
        state=read.choice("turnState", TurnState, TurnState.DISABLED),
        speaker=read.text("currentSpeaker"),
        turn_at=read.instant("turnAt"),
        began_at=read.instant("beganAt"),
        run=read.text("runId"),
        anchor=read.whole("anchor", 0),
        speakers=_speakers(read),
        cycle=read.whole("cycle", 0),
        turn=read.whole("turn", 0),
        results=[_result(value) for value in read.items("results")],
        delivery=_delivery(read.left.pop("awaitingDelivery", None)),
        roused_at=read.instant("rousedAt"),
        dormant_at=read.instant("dormantAt"),
        calmed=read.text("calmed"),
        interjected=read.flag("interjected", False),
        cycles_alone=read.whole("cyclesAlone", 0),
        repeats=read.whole("repeats", 0),
        said=read.text_table("said"),
        seen=read.whole("seen", 0),
        signalled=read.whole("signalled", 0),
        unanswered=_ids(read, "unanswered"),
        members={account: _member(account, one) for account, one in read.table("members").items()},
        discussion=_discussion(read.left.pop("discussion", None)),
        tasks={key: task_from_record(key, value) for key, value in read.table("tasks").items()},
        ended_runs=read.texts("endedRuns")[-ENDED_RUNS_KEPT:],
        rev=read.whole("rev", 0),
        schema_version=version,
    )
    _check_floor(read, channel)
    channel.extra = read.left
    return channel


def _check_floor(read: Reader, channel: Channel) -> None:
    """Refuse a floor that nobody could have been given."""
    speaker = channel.speaker
    if speaker and channel.state not in TAKES_TURNS:
        raise read.fail("currentSpeaker", f"null (turnState is {channel.state})")
    if speaker and speaker not in channel.speakers:
        raise read.fail("currentSpeaker", f"one of the speakers (it is {speaker!r})")
    waiting = channel.delivery
    if waiting is not None and waiting.agent != speaker:
        raise read.fail("awaitingDelivery", "of the current speaker, or null")
    if (channel.mode is Mode.DISCUSSION) is not (channel.discussion is not None):
        raise read.fail("discussion", "given for a discussion and null for all others")


def _speakers(read: Reader) -> tuple[str, ...]:
    speakers = tuple(read.texts("speakers"))
    if len(set(speakers)) != len(speakers) or not all(speakers):
        raise read.fail("speakers", "a list of agents, each once")
    return speakers


def _ids(read: Reader, key: str) -> list[int]:
    values = read.items(key)
    if not all(type(value) is int and value > 0 for value in values):
        raise read.fail(key, "a list of message ids")
    return values


def _member(account: str, value: object) -> Member:
    read = Reader(value, f"{_BLOCK}: members.{account}")
    if not account:
        raise read.fail("account", "given")
    one = Member(
        account=account,
        agent=read.text("agentId"),
        name=read.text("name"),
        moderator=read.flag("moderator", False),
        joined_at=read.instant("joinedAt"),
    )
    if one.agent and not is_name(one.agent):
        raise read.fail("agentId", "a legal agent id")
    one.extra = read.left
    return one


def _result(value: object) -> Result:
    read = Reader(value, f"{_BLOCK}: results")
    one = Result(
        agent=read.text("agentId", None),
        empty=read.flag("empty", True),
        run=read.text("runId"),
        alike=read.flag("alike", False),
    )
    one.extra = read.left
    return one


def _delivery(value: object) -> Delivery | None:
    if value is None:
        return None
    read = Reader(value, f"{_BLOCK}: awaitingDelivery")
    one = Delivery(
        agent=read.text("agentId", None),
        account=read.text("account", None),
        run=read.text("runId"),
        anchor=read.whole("anchor", 0),
        tail=read.text("tail", None),
        since=read.given_instant("since"),
        ends_at=read.given_instant("endsAt"),
    )
    one.extra = read.left
    return one


def _discussion(value: object) -> Discussion | None:
    if value is None:
        return None
    read = Reader(value, f"{_BLOCK}: discussion")
    one = Discussion(
        initiator=read.text("initiator", None),
        callback=read.text("callback"),
        guide=read.text("guide"),
        guide_id=read.whole("guideId", 0),
        reminded_at=read.instant("remindedAt"),
        summary=read.text("summary"),
        completed_at=read.instant("completedAt"),
        closed_reason=read.text("closedReason"),
        called_back_at=read.instant("calledBackAt"),
        minutes=read.text("minutes"),
    )
    one.extra = read.left
    return one


def message_to_record(message: Message) -> dict[str, Any]:
    """Return the JSON object of one line of the message log; what is empty is left out."""
    record: dict[str, Any] = message.as_json("id at author agent:agentId? content kind")
    if message.run:
        record["runId"] = message.run
    if message.reply_to:
        record["replyTo"] = message.reply_to
    return {**record, **message.extra}


def message_from_record(
    record: object, *, default_id: int | None = None, default_at: datetime | None = None
) -> Message:
    """Read one line of the message log.

    A line that a person wrote may leave out everything but `content`: it then gets
    the id and the time that are given here.

    Raises:
        InvalidStateError: A field is missing or has a value it cannot have.
    """
    read = Reader(record, "message")
    at = read.instant("at") or default_at
    number = read.left.pop("id", None)
    if number is None:
        number = default_id
    if type(number) is not int or not 0 < number < 2**53:
        raise read.fail("id", "a whole number from 1")
    if at is None:
        raise read.fail("at", "given")
    one = Message(
        id=number,
        at=at,
        author=read.text("author"),
        agent=read.text("agentId"),
        content=read.text("content", None),
        kind=read.choice("kind", MessageKind, MessageKind.MESSAGE),
        run=read.text("runId"),
        reply_to=read.whole("replyTo", 0),
    )
    one.extra = read.left
    return one
