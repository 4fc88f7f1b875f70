"""Who has the floor of a channel, and when it goes on to the next.

A channel is a room in which agents speak in turn. It has no process: hooks of
agents say that a turn begins or ends, people and agents post, the heartbeat
comes by. Each of them loads the channel, calls one rule of this module and
saves what comes back, so any number of processes agree on one speaker. There
are three situations.

    asleep    ── a member speaks ──▶   on the floor  ── real turn ──▶  delivering
       ▲                                 │  ▲  │                           │
       └── all passed, or calmed ────────┘  │  └── pass: the next one      │
                                            └── arrived, or out of time ───┘

*On the floor.* One agent has the floor and everybody else is asked to stay
silent. An agent ends its turn with a text. If that says nothing, the turn is
a pass and the next one has the floor at once. A turn is over once: the run
that ended it is remembered, and an end that belongs to another turn, by its
run or by the cycle in its task id, is ignored.

*Delivering.* A real turn waits for its text, since a run ends before its words
arrive, and long texts arrive in pieces. The end of the text proves that all is
there. A word of anybody else interrupts: the wait is off and a new cycle begins
with the first speaker, for everybody must hear the new word. If nothing comes
in time, a warning is written and the room goes on.

*Asleep.* A cycle in which all passed puts the room to sleep, unless a member
joined, or spoke while others had already had their turn: who passed before has
not heard it. Any word wakes the room, but none of the moderator's, since its
reminders would undo the sleep that they remind of. An agent that is alone sleeps
after each answer, and its own words do not wake it.

*The list of speakers* changes between cycles only. Who leaves is skipped, who
joins waits. From the order of members the first list is made; a shuffle is
derived from channel and cycle, after a whole cycle.

*No room goes on for ever.* A real turn is a veto against sleep, so agents that
always answer each other would never stop, whatever they say. Two guards count
instead of judging. After `max_cycles` cycles without a word from a person, or
`max_repeats` cycles running in which every real turn repeats its agent's last
one, the room is calmed: it sleeps, the event says why, and only a person wakes
it. An agent counts as a new topic only after the room has slept for a while.
An agent that is woken and does not answer is tried again, and then its turn
counts as a pass.

*Messages and state* are two files, and a process may die between them. So the
channel knows up to which message it has taken notice (`seen`), and `settle`
takes in what came after. What is due is read from the saved
channel alone, in `due`.

Source: DG-001 to DG-006, DG-037 to DG-041, DG-061 to DG-103, DG-141 to DG-145,
A-20, A-22 to A-27.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from council.core.conversations.conversation import TaskState
from council.core.errors import InvalidInputError, RefusedError
from council.core.ids import split_task_id
from council.core.reading_answers.cleaning import is_pass
from council.core.record import Record
from council.core.rooms.channels import (
    DISCORD,
    ENDED_RUNS_KEPT,
    RULES,
    TAKES_TURNS,
    Channel,
    ChannelStep,
    Delivery,
    FloorRules,
    Member,
    Message,
    Mode,
    Result,
    Transaction,
    TurnState,
    account_of,
    agents_of,
)
from council.core.rooms.cycles import (
    begin_anew,
    open_cycle,
    pass_on,
    skipped,
    state_now,
    take_notice,
    take_state,
)
from council.core.rooms.due import expire_leases, tasks_of_turn, why_missed

_MESSAGES_LOOKED_AT = 20
_GIST_CHARS = 600
_FREE_MODES = (Mode.NONE, Mode.CHAT, Mode.REPORT)


def may_change_mode(old: Mode, new: Mode) -> bool:
    """Return true if `channel mode` may change one mode into the other (DG-037, DG-038)."""
    return old in _FREE_MODES and new in _FREE_MODES


def opened(channel: Channel, now: datetime, *, rules: FloorRules = RULES) -> ChannelStep:
    """Open a channel that was just made: its list of speakers, its first floor."""
    work = Transaction(channel, now, rules)
    data = {"name": channel.name, "mode": str(channel.mode), "members": list(channel.members)}
    work.tell("channel.created", channel.created_by, **data)
    _reconcile(work)
    return work.step()


def change_mode(
    channel: Channel, mode: Mode, now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Change the mode of a channel; `outcome` is `changed` or `unchanged`.

    Raises:
        RefusedError: The mode is locked on either side, the channel is
            archived, or the moderator is no member.
    """
    if channel.mode not in _FREE_MODES:
        raise RefusedError(
            f"{channel.name} is a {channel.mode} channel: its mode is locked for ever",
            "make another channel with: council channel create",
        )
    if not may_change_mode(channel.mode, mode):
        raise RefusedError(
            f"no channel can be changed to {mode}: only its creation sets that mode",
            f"choose among: {', '.join(_FREE_MODES)}",
        )
    check_not_archived(channel)
    if not any(one.moderator for one in channel.members.values()):
        raise RefusedError(
            f"the moderator is no member of {channel.name}", "add it to the members first"
        )
    work = Transaction(channel, now, rules)
    if mode == channel.mode:
        return work.step("unchanged")
    work.tell("mode.changed", **{"from": str(channel.mode), "to": str(mode)})
    work.channel.mode = mode
    _reconcile(work)
    return work.step("changed")


def begin(
    channel: Channel, agent: str, run: str, newest: int, now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Answer whether `agent` may speak now; the speaker's turn begins with it.

    `allowed` is the answer. An agent that is not allowed gets the silent `model` and the
    `reason`: `not-the-speaker`, `awaiting-delivery`, `run-over`, `dormant`,
    `dead` or `archived`. The same begin again changes nothing.

    Args:
        channel: The channel.
        agent: Who is about to run.
        run: The id of the run, "" if there is none.
        newest: The newest message: what comes after it belongs to this turn (DG-072).
        now: The time.
        rules: What may be chosen.

    Source: DG-004, DG-061, DG-071 to DG-074.
    """
    work = Transaction(channel, now, rules)
    new = work.channel
    if new.state is TurnState.DISABLED:
        return work.step(allowed=True, reason="disabled")
    reason = _why_not(new, agent, run)
    if reason:
        return work.step(model=rules.silent_model, reason=reason)
    if new.began_at is not None and run in ("", new.run):
        return work.step("already-begun", allowed=True)
    new.run, new.anchor, new.began_at = run, newest, now
    work.tell("turn.began", agent, cycle=new.cycle, runId=run, anchor=newest)
    return work.step("begun", allowed=True)


class Report(Record):
    """What is told of a turn whose text lies elsewhere (DG-157, DG-160).

    Args:
        empty: Whether it was a pass.
        tail: The fingerprint of its text, "" where none was told: no delivery can be confirmed.
        anchor: The newest message when it began; one that is not there, as 0, says nothing, and
            what the channel knows of that holds.
    """

    empty: bool
    tail: str = ""
    anchor: int = 0


def end(
    channel: Channel,
    agent: str,
    run: str,
    text: str | Report,
    now: datetime,
    *,
    rules: FloorRules = RULES,
) -> ChannelStep:
    """End the turn of `agent` with its final text, or with what is told of that.

    `outcome` is `advanced` after a pass, `awaiting-delivery` after a real turn,
    `already-ended` for a run that has ended a turn before, and `ignored`, with
    the `reason`, for an end that is not the speaker's. The last two change nothing.

    Source: DG-004, DG-075 to DG-080, DG-145, DG-157, DG-160.
    """
    work = Transaction(channel, now, rules)
    new = work.channel
    mark = f"{agent} {run}"
    if run and mark in new.ended_runs:
        return work.step("already-ended")
    reason = "disabled" if new.state is TurnState.DISABLED else _why_not(new, agent, run)
    if not reason and not _is_of_this_turn(new, agent, run):
        reason = "another-run"
    if reason:
        return work.step("ignored", reason=reason)
    if isinstance(text, Report):  # a text that is not known is not known to repeat anything
        empty, alike, words = text.empty, False, ""
        tail = text.tail.rstrip()
        new.anchor = max(new.anchor, text.anchor if text.anchor <= new.seen else 0)
    else:
        empty, alike = is_pass(text), _is_alike(new, agent, text, rules)
        tail, words = tail_of(text, rules.tail_chars), gist(text)
    new.results.append(Result(agent=agent, empty=empty, run=run, alike=alike))
    if run:
        new.ended_runs = [*new.ended_runs, mark][-ENDED_RUNS_KEPT:]
    for task in tasks_of_turn(new):
        if task.state is TaskState.R:
            task.state, task.at = TaskState.D, now
    work.tell("turn.ended", agent, cycle=new.cycle, empty=empty, runId=run)
    if empty:
        pass_on(work)
        return work.step("advanced")
    new.said[agent] = words
    ends_at = now + rules.patience
    if ends_at.microsecond:  # in a file no instant within a second can be written
        ends_at = ends_at.replace(microsecond=0) + timedelta(seconds=1)
    new.delivery = Delivery(
        agent=agent,
        account=account_of(new, agent),
        run=run,
        anchor=new.anchor,
        tail=tail,
        since=now,
        ends_at=ends_at,
    )
    return work.step("awaiting-delivery")


def _why_not(channel: Channel, agent: str, run: str) -> str:
    """Return why it is not the turn of this run, "" if it is."""
    if channel.state not in TAKES_TURNS:
        return str(channel.state)
    if not channel.speaker:
        return "dormant"
    if agent != channel.speaker:
        return "not-the-speaker"
    if channel.delivery is not None:
        return "awaiting-delivery"
    task = split_task_id(run)
    if task is not None and task[0] == channel.channel_id and task[1:3] != (channel.cycle, agent):
        return "run-over"
    return "run-over" if run and f"{agent} {run}" in channel.ended_runs else ""


def _is_of_this_turn(channel: Channel, agent: str, run: str) -> bool:
    """Return true if a run of the speaker may end its turn.

    A run that was refused before its agent had the floor ends, too, and must
    not end the turn that another run of that agent has begun since.
    """
    if not channel.run or not run or run == channel.run:
        return True
    return any(one.id == run and one.agent == agent for one in tasks_of_turn(channel))


def _is_alike(channel: Channel, agent: str, text: str, rules: FloorRules) -> bool:
    """Return true if a real turn repeats what its agent said the time before."""
    before, now = channel.said.get(agent, ""), gist(text)
    if is_pass(text) or not before:
        return False
    if before == now:
        return True
    from council.core.deliberation.likeness import are_alike  # only who speaks again needs it

    return are_alike(before, now, rules.alike)


def check_not_archived(channel: Channel) -> None:
    """Check that a channel is not sealed.

    Raises:
        RefusedError: It is archived.

    Source: DG-065.
    """
    if channel.state is TurnState.ARCHIVED:
        raise RefusedError(f"{channel.name} is archived", "make another channel")


def members_changed(
    channel: Channel, members: Mapping[str, Member], now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Take in who is a member now; the list of speakers changes at the boundary.

    A speaker who has left is skipped at once. Where no turns were taken they
    begin as soon as there is an agent.

    Raises:
        RefusedError: The channel is archived: who was in it stays so.

    Source: DG-065, DG-097, DG-098.
    """
    check_not_archived(channel)
    work = Transaction(channel, now, rules)
    before = channel.members
    work.channel.members = {account: one.copy() for account, one in members.items()}
    for kind, some, others in (
        ("member.left", before, members),
        ("member.joined", members, before),
    ):
        for account, one in some.items():
            if account not in others or others[account].agent != one.agent:
                work.tell(kind, one.agent, account=account)
    _reconcile(work)
    _go_on(work)
    return work.step()


def settle(
    channel: Channel, last: Sequence[Message], now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Do everything that is due at `now`, to a fixed point; idempotent.

    Args:
        channel: The channel.
        last: The newest messages, oldest first: at least all after `channel.seen`,
            and the last 20 while a delivery is awaited.
        now: The time.
        rules: What may be chosen.

    Source: DG-081 to DG-087, DG-097, XC-007.
    """
    work = Transaction(channel, now, rules)
    new = work.channel
    _reconcile(work)
    _confirm(work, [one for one in last if one.id <= new.seen])
    for place, message in enumerate(last):
        if message.id <= new.seen:
            continue
        _give_up_waiting(work, min(message.at, now))
        take_notice(work, message)
        if new.delivery is not None:
            _confirm(work, last[max(0, place + 1 - _MESSAGES_LOOKED_AT) : place + 1])
    _go_on(work)
    return work.step()


def _reconcile(work: Transaction) -> None:
    """Start or end the taking of turns where mode and members call for it.

    While turns are taken their state changes at the boundary only (A-22).
    """
    channel = work.channel
    wanted = state_now(channel)
    if channel.state in TAKES_TURNS:
        if channel.mode not in (Mode.CHAT, Mode.DISCUSSION) or wanted is TurnState.ARCHIVED:
            take_state(work, wanted)
        elif not channel.speaker and channel.dormant_at is None:
            channel.dormant_at = work.now
        return
    if wanted not in TAKES_TURNS:
        take_state(work, wanted)
        return
    if not channel.cycle:
        speakers = list(agents_of(channel.members))
        work.tell("channel.initialized", state=str(wanted), speakers=speakers)
    if channel.discussion is None:
        channel.roused_at = None  # what was said before needs no answer in turn
    begin_anew(channel)
    open_cycle(work)


def _confirm(work: Transaction, messages: Sequence[Message]) -> None:
    """Go on if the text of a real turn has arrived among these messages."""
    channel, waiting = work.channel, work.channel.delivery
    if waiting is None or waiting.agent not in agents_of(channel.members):
        return
    if is_delivered(channel, messages):
        work.tell("delivery.confirmed", waiting.agent, cycle=channel.cycle, runId=waiting.run)
        pass_on(work)


def _give_up_waiting(work: Transaction, at: datetime) -> bool:
    """Go on without the text of a real turn that has not come until `at` (DG-087)."""
    waiting = work.channel.delivery
    if waiting is None or at < waiting.ends_at:
        return False
    waited = int((waiting.ends_at - waiting.since).total_seconds())
    data = {"cycle": work.channel.cycle, "runId": waiting.run, "waitedS": waited}
    work.tell("delivery.timed_out", waiting.agent, **data)
    pass_on(work)
    return True


def _go_on(work: Transaction) -> None:
    """Pass over who has left, who does not deliver and who does not answer."""
    channel = work.channel
    while channel.speaker:
        waiting = channel.delivery
        if channel.speaker not in agents_of(channel.members):
            if waiting is None:
                skipped(work, channel.speaker)
            else:
                data = {"cycle": channel.cycle, "runId": waiting.run, "reason": "left"}
                work.tell("delivery.dropped", channel.speaker, **data)
            pass_on(work)
        elif waiting is not None:
            if not _give_up_waiting(work, work.now):
                return
        else:
            expire_leases(work)
            reason = why_missed(channel, work.now, work.rules)
            if not reason:
                return
            # The turn of a speaker that does not answer counts as a pass.
            work.tell(
                "turn.missed", channel.speaker, cycle=channel.cycle, reason=reason.to_record()
            )
            channel.results.append(Result(agent=channel.speaker, empty=True))
            pass_on(work)
    expire_leases(work)


# --- What a turn said, and whether it has arrived

# A run reports that it has ended before its text lies in the channel, and a long text
# arrives in several messages. The end of the text proves that all of it is there.


def final_text(messages: object) -> str:
    """Return what the last message of the assistant says: its parts of type text, joined.

    A content that is a plain text counts as one part. No message of an
    assistant at all says nothing.

    Raises:
        InvalidInputError: The messages are no list, or none of ours could read one.
    """
    if isinstance(messages, dict):
        messages = messages.get("messages")
    if not isinstance(messages, list):
        raise InvalidInputError(
            "the messages of the run are no list", 'give the JSON of `event.messages`, "[…]"'
        )
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "assistant":
            return _joined(message.get("content"))
    return ""


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [
        one.get("text") for one in parts if isinstance(one, dict) and one.get("type") == "text"
    ]
    return "".join(text for text in texts if isinstance(text, str))


def tail_of(text: str, length: int = RULES.tail_chars) -> str:
    """Return the fingerprint of a text: its last characters, without white space at the end."""
    return text.rstrip()[-length:] if length > 0 else ""


def has_arrived(
    tail: str,
    messages: Sequence[Message],
    *,
    anchor: int,
    author: str,
    agent: str = "",
) -> bool:
    """Return true if a text with that fingerprint lies in the channel (DG-083, DG-084).

    Of the 20 newest messages those after the anchor and by that author
    count; the newest of them must end with the fingerprint. A fragment that is
    itself shorter than the fingerprint is read on from the ones before, without
    regard to white space, which is lost where a text is cut.

    Args:
        tail: The fingerprint.
        messages: The newest messages of the channel, oldest first.
        anchor: The newest message when the turn began.
        author: The account of the agent.
        agent: The agent, for messages that name it under another account.
    """
    kept = [
        one.content.rstrip()
        for one in messages[-_MESSAGES_LOOKED_AT:]
        if one.id > anchor and (one.author == author or (agent and one.agent == agent))
    ]
    if not kept or not tail:
        return False
    if len(kept[-1]) >= len(tail):
        return kept[-1].endswith(tail)
    return _squeezed("".join(kept)).endswith(_squeezed(tail))


def is_delivered(channel: Channel, messages: Sequence[Message]) -> bool:
    """Return true if the text that a channel waits for is among messages, oldest first.

    Where a room is tied to Discord, only what lies there counts (DG-088).
    """
    waiting, tie = channel.delivery, channel.discord
    if tie is not None:
        messages = [one for one in messages if one.id <= tie.posted or DISCORD in one.extra]
    return waiting is not None and has_arrived(
        waiting.tail, messages, anchor=waiting.anchor, author=waiting.account, agent=waiting.agent
    )


def _squeezed(text: str) -> str:
    return "".join(text.split())


def gist(text: str) -> str:
    """Return so much of a text as is kept to see whether its author repeats it.

    >>> len(gist("word " * 1000)) <= 600
    True
    """
    plain = " ".join(text.split())
    if len(plain) <= _GIST_CHARS:
        return plain
    return plain[: 2 * _GIST_CHARS // 3] + plain[-_GIST_CHARS // 3 :]
