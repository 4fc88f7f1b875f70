"""The values of channels: rooms in which agents speak in turn.

A channel is what document 001 decides on: members, a mode, an order of
speaking, who has the floor. Its messages lie in a log of their own; of them a
channel remembers only up to which one it has taken notice. Who has the floor
and why is decided in `floor`.

The words of the JSON form are those of document 001. Reading it is strict about meaning and
lenient about what is missing; it says which field is wrong. Fields that are not known
are kept and written back.

Source: DG-003, DG-031 to DG-039, DG-061 to DG-066, XC-013, XC-014, A-20, A-22.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum

from council.core.conversations.conversation import Origin, Task
from council.core.errors import CouncilError, InvalidInputError, NewerVersionError
from council.core.events import Event
from council.core.ids import is_name
from council.core.reading import Reader
from council.core.record import Any, Record
from council.core.times import parse_duration

SCHEMA_VERSION = 1
SILENT_MODEL = "dirigent/no-reply"
ENDED_RUNS_KEPT = 200


class Mode(StrEnum):
    """What a channel is for; it is chosen at creation or by `channel mode`."""

    NONE = "none"
    WORK = "work"
    REPORT = "report"
    DISCUSSION = "discussion"
    CHAT = "chat"


class TurnState(StrEnum):
    """How turns are taken in a channel."""

    DISABLED = "disabled"
    DEAD = "dead"
    NORMAL = "normal"
    SHUFFLE = "shuffle"
    ARCHIVED = "archived"


# Where turns are taken, a member has the floor or the room is asleep.
TAKES_TURNS = (TurnState.NORMAL, TurnState.SHUFFLE)


class MessageKind(StrEnum):
    """What a message is; all but the first are written by the moderator."""

    MESSAGE = "message"
    MODERATOR = "moderator"
    GUIDE = "guide"
    REMINDER = "reminder"
    AUTO = "auto"
    SUMMARY = "summary"


class Member(Record):
    """One account in a channel: an agent, a person (`agent` is ""), or the moderator."""

    _keys = "account:- agent:agentId?"

    account: str
    agent: str = ""
    name: str = ""
    moderator: bool = False
    joined_at: datetime | None = None
    extra: dict[str, Any] = {}


class Result(Record):
    """How a turn of the cycle under way ended.

    `alike` says of a real turn that it repeats what its agent said the time before.
    """

    _keys = "agent:agentId run:runId"

    agent: str
    empty: bool = True
    run: str = ""
    alike: bool = False
    extra: dict[str, Any] = {}


class Delivery(Record):
    """A real turn that is over and waits until its text has arrived in the channel."""

    _keys = "agent:agentId run:runId"

    agent: str
    account: str
    run: str = ""
    anchor: int = 0
    tail: str
    since: datetime
    ends_at: datetime
    extra: dict[str, Any] = {}


class Discussion(Record):
    """What a channel of mode `discussion` has besides.

    `guide_id` is the number of the message that holds the guide, 0 until it is
    posted. `reminded_at` is when the initiator was informed that the room is idle,
    None until then and again once it has woken up. Of a completed one `minutes`
    is where its minutes lie and `called_back_at` when its summary was posted
    where it was called from.
    """

    initiator: str
    callback: str = ""
    guide: str = ""
    guide_id: int = 0
    reminded_at: datetime | None = None
    summary: str = ""
    completed_at: datetime | None = None
    closed_reason: str = ""
    called_back_at: datetime | None = None
    minutes: str = ""
    extra: dict[str, Any] = {}


class Tie(Record):
    """The channel of Discord that a room is tied to, and how far both are alike (DG-088).

    Args:
        channel: Its id there, "" as long as it is still to be made in `guild`.
        guild: The server in which we make it, "" where it was there before.
        token_env: The variable that holds the token of the bot.
        anchor: The newest message there that was taken in.
        taken: The newest message of our log when that was written down.
        posted: The newest of our messages all of which lies there.
        parts: How many fragments of the one after it lie there.
        own: The newest message there that is known to be ours.
        cycle: For which cycle its members were read last, 0 for none.
        signalled: The last turn whose signal was given there.
        trouble: What is in the way, a cause of `texts/causes.txt`; `said` stands in its sentence.
        until: Nothing is tried before, None for no such limit.
    """

    channel: str
    guild: str = ""
    token_env: str = "DISCORD_TOKEN"
    anchor: str = ""
    taken: int = 0
    posted: int = 0
    parts: int = 0
    own: str = ""
    cycle: int = 0
    signalled: int = 0
    trouble: str = ""
    said: str = ""
    until: datetime | None = None
    extra: dict[str, Any] = {}


class Channel(Record):
    """Everything that is decided of one channel; its messages lie elsewhere.

    Args:
        guild: The workspace it belongs to, "" for the root it lies in.
        topic: A free line for people.
        lang: The language of its document.
        members: By account, in the order in which they joined.
        speakers: The agents of this cycle, in the order in which they speak.
        speaker: Who has the floor, "" for none.
        cycle: The number of the cycle under way, 0 before the first.
        turn: How often the floor was given.
        results: The turns of this cycle that are over.
        anchor: The newest message when the turn began.
        run: The run in which the speaker began its turn, "" if it gave none.
        turn_at: When the floor was given.
        began_at: When the speaker began its turn, None before.
        ended_runs: The last runs that ended a turn, each as `<agent> <run>`.
        tasks: Runs that the heartbeat claimed for the floor, by task id.
        roused_at: Since when there is something to answer; no agent is woken before.
        dormant_at: When the room fell asleep, None while it is awake.
        interjected: Whether one spoke whom an agent of this cycle has not heard.
        cycles_alone: How many cycles began since a person spoke.
        repeats: How many cycles running brought only repetitions.
        said: The gist of what each agent said last in a real turn.
        calmed: Why the room was put to sleep by a guard, "" if it was not.
        seen: The newest message that was taken notice of.
        signalled: The last turn whose signal was given.
        unanswered: Messages to which an automatic answer is due.
        discord: The channel of Discord it is tied to, None for none.
    """

    _keys = "state:turnState speaker:currentSpeaker? run:runId delivery:awaitingDelivery discord~"

    schema_version: int = SCHEMA_VERSION
    rev: int = 0
    channel_id: str
    name: str
    mode: Mode = Mode.NONE
    private: bool = False
    created_at: datetime
    updated_at: datetime
    created_by: str = ""
    guild: str = ""
    topic: str = ""
    lang: str = "en"
    state: TurnState = TurnState.DISABLED
    speaker: str = ""
    turn_at: datetime | None = None
    began_at: datetime | None = None
    run: str = ""
    anchor: int = 0
    speakers: tuple[str, ...] = ()
    cycle: int = 0
    turn: int = 0
    results: list[Result] = []
    delivery: Delivery | None = None
    roused_at: datetime | None = None
    dormant_at: datetime | None = None
    calmed: str = ""
    interjected: bool = False
    cycles_alone: int = 0
    repeats: int = 0
    said: dict[str, str] = {}
    seen: int = 0
    signalled: int = 0
    unanswered: list[int] = []
    discord: Tie | None = None
    members: dict[str, Member] = {}
    discussion: Discussion | None = None
    tasks: dict[str, Task] = {}
    ended_runs: list[str] = []
    extra: dict[str, Any] = {}


class Message(Record):
    """One message of a channel.

    `id` runs from 1. `author` is the account, `agent` its agent or "" for a
    person. `run` is the run that wrote it, `reply_to` the message it answers, 0 for none.
    """

    _keys = "agent:agentId? run:runId~ reply_to~"

    id: int
    at: datetime
    author: str = ""
    agent: str = ""
    content: str
    kind: MessageKind = MessageKind.MESSAGE
    run: str = ""
    reply_to: int = 0
    extra: dict[str, Any] = {}


class FloorRules(Record):
    """What may be chosen of the floor, once for all channels of a workspace.

    Args:
        tail_chars: How many characters of a text's end prove that it arrived.
        patience: How long a real turn waits for its text.
        turn_timeout: How long an agent that was woken may keep the floor.
        max_cycles: Most cycles without a word from a person; 0 for no bound.
        max_repeats: Most cycles running that bring only repetitions; 0 for no bound.
        alike: From 0 to 1, how alike two texts of an agent must be to count as repetition.
        rest: After so much sleep a word of an agent counts as a new topic.
        silent_model: The model to which a run of another than the speaker is sent.
    """

    tail_chars: int = 40
    patience: timedelta = timedelta(seconds=15)
    turn_timeout: timedelta = timedelta(hours=1)
    max_cycles: int = 30
    max_repeats: int = 3
    alike: float = 0.9
    rest: timedelta = timedelta(hours=1)
    silent_model: str = SILENT_MODEL


# In a message that was said on Discord: its id there, and the name its author has there.
DISCORD, NAMED = "discord", "named"


def author_of(message: Message) -> str:
    """Return who said a message as people read it: the agent, else the name and the account."""
    named = message.extra.get(NAMED)
    shown = f"{named} ({message.author})" if isinstance(named, str) and named else message.author
    return message.agent or shown


RULES = FloorRules()
PROOF = "proof"
_PROOF_CHARS = 32
_DURATIONS = ("patience", "turn_timeout", "rest")
_COUNTS = ("tail_chars", "max_cycles", "max_repeats")


def floor_rules(table: Mapping[str, Any]) -> FloorRules:
    """Return what `[channels]` of the settings says; what it does not say has its default.

    Raises:
        InvalidInputError: A value cannot be what it is, or no setting is called so.

    Source: DG-074, DG-082, DG-087, `cli.md` section 4.
    """
    return RULES.copy(**{key: _rule(key, value) for key, value in table.items()})


def _rule(key: str, value: Any) -> str | int | float | timedelta:
    if key == "silent_model" and isinstance(value, str) and value.isprintable() and value:
        return value
    if key in _COUNTS and type(value) is int and 0 <= value < 2**31:
        return value
    if key == "alike" and type(value) in (int, float) and 0 <= value <= 1:
        return float(value)
    if key in _DURATIONS and isinstance(value, str):
        with suppress(CouncilError):
            return parse_duration(value)
    raise InvalidInputError(
        f"council.toml: channels.{key} cannot be {value!r}",
        f"known are silent_model, alike (0 to 1), {', '.join((*_COUNTS, *_DURATIONS))}",
    )


class ChannelStep(Record):
    """The result of one rule: the next state of a channel and what happened on the way.

    `outcome` and `reason` are words for the caller; each rule says which. `allowed`
    and `model` are the answer to a begin.
    """

    channel: Channel
    events: list[Event] = []
    outcome: str = ""
    reason: str = ""
    allowed: bool = False
    model: str = ""

    def then(self, following: ChannelStep) -> ChannelStep:
        """Return this step followed by another one that started from its channel."""
        return ChannelStep(
            channel=following.channel,
            events=self.events + following.events,
            outcome=self.outcome or following.outcome,
            reason=self.reason or following.reason,
            allowed=self.allowed or following.allowed,
            model=self.model or following.model,
        )


def agents_of(members: Mapping[str, Member]) -> tuple[str, ...]:
    """Return the agents among members, each once; the moderator does not take part (DG-066)."""
    return tuple(
        dict.fromkeys(one.agent for one in members.values() if one.agent and not one.moderator)
    )


def account_of(channel: Channel, agent: str) -> str:
    """Return the account under which an agent is a member, its id if it is none."""
    for one in channel.members.values():
        if one.agent == agent and not one.moderator:
            return one.account
    return agent


def is_asleep(channel: Channel) -> bool:
    """Return true if turns are taken here and the floor is free (DG-096)."""
    return channel.state in TAKES_TURNS and not channel.speaker


def is_awaited(channel: Channel) -> bool:
    """Return true if a room is at work: a member has the floor and something to answer."""
    return bool(channel.speaker) and (channel.roused_at is not None or channel.delivery is not None)


def is_concluded(channel: Channel) -> bool:
    """Return true if this is a discussion that was completed."""
    return channel.discussion is not None and channel.discussion.completed_at is not None


class Transaction:
    """A copy of a channel under one rule, and what the rule has done so far.

    Args:
        channel: The state before; it stays as it is.
        now: The instant.
        rules: What may be chosen of the floor.
    """

    def __init__(self, channel: Channel, now: datetime, rules: FloorRules = RULES) -> None:
        self.channel = channel.copy()
        self.now = now
        self.rules = rules
        self.events: list[Event] = []

    def tell(self, kind: str, agent: str = "", /, **data: Any) -> None:
        """Note an event."""
        self.events.append(Event(type=kind, agent=agent, data=data))

    def step(self, outcome: str = "", **answer: Any) -> ChannelStep:
        """Return what the rule comes to; `answer` are further fields of the step."""
        return ChannelStep(channel=self.channel, events=self.events, outcome=outcome, **answer)


# --- Whether it can be shown who said a word

# A line of the log names its agent, and anybody who can add lines can name any agent. So a
# message that a run of that agent wrote bears a proof, made with the key of the workspace
# from all that the message says of itself and from its number. What an agent says without
# one is claimed. People and the moderator have no marks (XC-014, `trust.md`).


def proof_of(key: bytes, channel_id: str, message: Message) -> str:
    """Return the proof that a message of a channel bears."""
    import hmac  # only words of runs need it, and it loads a library

    said = [channel_id, message.id, message.author, message.agent, message.run, message.content]
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:_PROOF_CHARS]


def proved(key: bytes, channel_id: str, message: Message) -> Message:
    """Return a message, which has its number, with its proof."""
    return message.copy(extra={**message.extra, PROOF: proof_of(key, channel_id, message)})


def origin_of(key: bytes | None, channel_id: str, message: Message) -> str:
    """Return `verified` or `claimed`, "" for a word of a person or of the moderator.

    Args:
        key: The key of the workspace, None where there is none.
        channel_id: The channel in whose log the message stands.
        message: The message.
    """
    if not message.agent:
        return ""
    given = message.extra.get(PROOF)
    if key is not None and isinstance(given, str):
        from council.core.trust import is_token

        if is_token(given, proof_of(key, channel_id, message)):
            return str(Origin.VERIFIED)
    return str(Origin.CLAIMED)


# --- The JSON form of a channel and of its messages

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
    """Refuse a floor that could not have been given."""
    speaker = channel.speaker
    if speaker and channel.state not in TAKES_TURNS:
        raise read.fail("currentSpeaker", f"null (turnState is {channel.state})")
    if speaker and speaker not in channel.speakers:
        raise read.fail("currentSpeaker", f"one of the speakers (it is {speaker!r})")
    waiting = channel.delivery
    if waiting is not None and waiting.agent != speaker:
        raise read.fail("awaitingDelivery", "of the current speaker, or null")
    tie = channel.discord
    ids = "" if tie is None else tie.channel + tie.guild + tie.anchor + tie.own
    if ids and not (ids.isascii() and ids.isdecimal()):
        raise read.fail("discord", "a tie with numbers for ids")
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


def message_from_record(record: object, *, default_at: datetime | None = None) -> Message:
    """Read one line of the message log, with the id that its place gives it.

    A line that a person wrote may leave out everything but `content`: it then gets
    the time that is given here.

    Raises:
        InvalidStateError: A field is missing or has a value it cannot have.
    """
    read = Reader(record, "message")
    at = read.instant("at") or default_at
    number = read.left.pop("id", None)
    if type(number) is not int or not 0 < number < 2**53:
        raise read.fail("id", "a whole number from 1")
    if at is None:
        raise read.fail("at", "given")
    return read.make(Message, id=number, at=at)
