"""The JSON form of a channel and of its messages, both ways.

The words are those of document 001. Reading is strict about meaning and
lenient about what is missing; it says which field is wrong. Fields it does
not know are kept and written back.

Source: DG-003, DG-031, XC-013.
"""

from __future__ import annotations

from datetime import datetime

from council.core.errors import NewerVersionError
from council.core.ids import is_name
from council.core.reading import Reader
from council.core.rooms.channels import (
    ENDED_RUNS_KEPT,
    SCHEMA_VERSION,
    TAKES_TURNS,
    Channel,
    Member,
    Message,
    Mode,
    is_asleep,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLOCK = "state block"


def shown(channel: Channel) -> dict[str, Any]:
    """Return what people and programs are shown of a channel: its record, and `dormant`."""
    return {**channel.to_record(), "dormant": is_asleep(channel)}


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
    channel = read.make(
        Channel,
        channel_id=channel_id,
        name=read.text("name") or channel_id,
        created_at=created_at,
        updated_at=read.instant("updatedAt") or created_at,
        lang=read.text("lang") or "en",
        speakers=_speakers(read),
        unanswered=_ids(read, "unanswered"),
        members=_members(read),
        ended_runs=read.texts("endedRuns")[-ENDED_RUNS_KEPT:],
        schema_version=version,
    )
    _check_floor(read, channel)
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


def _members(read: Reader) -> dict[str, Member]:
    found = read.records_by_id("members", Member)
    for account, one in found.items():
        at = Reader({}, f"{read.where}: members.{account}")
        if not account:
            raise at.fail("account", "given")
        if one.agent and not is_name(one.agent):
            raise at.fail("agentId", "a legal agent id")
    return found


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
    return read.make(Message, id=number, at=at)
