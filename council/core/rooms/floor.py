"""Who has the floor of a channel, and when it goes on to the next.

A channel is a room in which agents speak in turn. Nobody runs it: hooks of
agents say that a turn begins or ends, people and agents post, the heartbeat
looks by. Each of them loads the channel, calls one rule of this module and
saves what comes back, so any number of processes agree on one speaker. There
are three situations.

    asleep    ── somebody speaks ──▶   on the floor  ── real turn ──▶  delivering
       ▲                                 │  ▲  │                           │
       └── all passed, or calmed ────────┘  │  └── pass: the next one      │
                                            └── arrived, or out of time ───┘

*On the floor.* One agent has the floor and everybody else is told to stay
silent. An agent ends its turn with a text. If that says nothing, the turn is
a pass and the next one has the floor at once. A turn is over once: the run
that ended it is remembered, and an end that belongs to another turn, by its
run or by the cycle in its task id, is ignored.

*Delivering.* A real turn waits for its text, since a run ends before its words
arrive, and long texts arrive in pieces. The end of the text proves that all is
there. A word of anybody else interrupts: the wait is off and a new cycle begins
with the first speaker, for everybody must hear the new word. If nothing comes
in time, a warning is written and the room goes on.

*Asleep.* A cycle in which all passed puts the room to sleep, unless somebody
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
takes in what came after. What is owed to the world is read from the saved
channel alone, in `channel_owed`.

Source: DG-001 to DG-006, DG-037 to DG-041, DG-061 to DG-103, DG-141 to DG-145,
A-20, A-22 to A-27.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.conversations.conversation import TaskState
from council.core.errors import RefusedError
from council.core.events import Event
from council.core.ids import split_task_id
from council.core.reading_answers.contributions import is_pass
from council.core.rooms.channel_tasks import expire_leases, tasks_of_turn, why_missed
from council.core.rooms.channels import (
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
    TurnState,
    account_of,
    agents_of,
)
from council.core.rooms.cycles import open_cycle, pass_on, skipped, state_now, take_state
from council.core.rooms.delivery import (
    MESSAGES_LOOKED_AT,
    gist,
    has_arrived,
    tail_of,
)
from council.core.rooms.hearing import begin_anew, take_notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FREE_MODES = (Mode.NONE, Mode.CHAT, Mode.REPORT)


def may_change_mode(old: Mode, new: Mode) -> bool:
    """Tell whether `channel mode` may change one mode into the other (DG-037, DG-038)."""
    return old in _FREE_MODES and new in _FREE_MODES


def opened(channel: Channel, now: datetime, *, rules: FloorRules = RULES) -> ChannelStep:
    """Open a channel that was just made: its list of speakers, its first floor."""
    new = channel.copy()
    data = {"name": new.name, "mode": str(new.mode), "members": list(new.members)}
    events = [Event(type="channel.created", agent=new.created_by, data=data)]
    _reconcile(new, now, events, rules)
    return ChannelStep(channel=new, events=events)


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
    new = channel.copy()
    if mode == new.mode:
        return ChannelStep(channel=new, outcome="unchanged")
    events = [Event(type="mode.changed", data={"from": str(new.mode), "to": str(mode)})]
    new.mode = mode
    _reconcile(new, now, events, rules)
    return ChannelStep(channel=new, events=events, outcome="changed")


def begin(
    channel: Channel, agent: str, run: str, newest: int, now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Answer whether `agent` may speak now; the speaker's turn begins with it.

    `allowed` is the answer. Who is not allowed gets the silent `model` and the
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
    new = channel.copy()
    if new.state is TurnState.DISABLED:
        return ChannelStep(channel=new, allowed=True, reason="disabled")
    reason = _why_not(new, agent, run)
    if reason:
        return ChannelStep(channel=new, model=rules.silent_model, reason=reason)
    if new.began_at is not None and run in ("", new.run):
        return ChannelStep(channel=new, allowed=True, outcome="already-begun")
    new.run, new.anchor, new.began_at = run, newest, now
    data = {"cycle": new.cycle, "runId": run, "anchor": newest}
    began = Event(type="turn.began", agent=agent, data=data)
    return ChannelStep(channel=new, events=[began], allowed=True, outcome="begun")


def end(
    channel: Channel, agent: str, run: str, text: str, now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """End the turn of `agent` with its final text.

    `outcome` is `advanced` after a pass, `awaiting-delivery` after a real turn,
    `already-ended` for a run that has ended a turn before, and `ignored`, with
    the `reason`, for an end that is not the speaker's. The last two change nothing.

    Source: DG-004, DG-075 to DG-080, DG-145.
    """
    new = channel.copy()
    mark = f"{agent} {run}"
    if run and mark in new.ended_runs:
        return ChannelStep(channel=new, outcome="already-ended")
    reason = "disabled" if new.state is TurnState.DISABLED else _why_not(new, agent, run)
    if not reason and not _is_of_this_turn(new, agent, run):
        reason = "another-run"
    if reason:
        return ChannelStep(channel=new, outcome="ignored", reason=reason)
    empty = is_pass(text)
    new.results.append(
        Result(agent=agent, empty=empty, run=run, alike=_is_alike(new, agent, text, rules))
    )
    if run:
        new.ended_runs = [*new.ended_runs, mark][-ENDED_RUNS_KEPT:]
    for task in tasks_of_turn(new):
        if task.state is TaskState.R:
            task.state, task.at = TaskState.D, now
    data = {"cycle": new.cycle, "empty": empty, "runId": run}
    events = [Event(type="turn.ended", agent=agent, data=data)]
    if empty:
        pass_on(new, now, events, rules)
        return ChannelStep(channel=new, events=events, outcome="advanced")
    new.said[agent] = gist(text)
    new.delivery = Delivery(
        agent=agent,
        account=account_of(new, agent),
        run=run,
        anchor=new.anchor,
        tail=tail_of(text, rules.tail_chars),
        since=now,
        ends_at=_whole_second(now + rules.patience),
    )
    return ChannelStep(channel=new, events=events, outcome="awaiting-delivery")


def _whole_second(instant: datetime) -> datetime:
    """Return the next whole second: in a file no finer instant can be written."""
    cut = instant.replace(microsecond=0)
    return cut if cut == instant else cut + timedelta(seconds=1)


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
    """Tell whether a run of the speaker may end its turn.

    A run that was refused before its agent had the floor ends, too, and must
    not end the turn that another run of that agent has begun since.
    """
    if not channel.run or not run or run == channel.run:
        return True
    return any(one.id == run and one.agent == agent for one in tasks_of_turn(channel))


def _is_alike(channel: Channel, agent: str, text: str, rules: FloorRules) -> bool:
    """Tell whether a real turn repeats what its agent said the time before."""
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
    new = channel.copy(members={account: one.copy() for account, one in members.items()})
    events: list[Event] = []
    for account, one in channel.members.items():
        if account not in members or members[account].agent != one.agent:
            data = {"account": account}
            events.append(Event(type="member.left", agent=one.agent, data=data))
    for account, one in members.items():
        if account not in channel.members or channel.members[account].agent != one.agent:
            data = {"account": account}
            events.append(Event(type="member.joined", agent=one.agent, data=data))
    _reconcile(new, now, events, rules)
    _go_on(new, now, events, rules)
    return ChannelStep(channel=new, events=events)


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
    new = channel.copy()
    events: list[Event] = []
    _reconcile(new, now, events, rules)
    if new.delivery is not None:
        _confirm(new, [one for one in last if one.id <= new.seen], now, events, rules)
    for place, message in enumerate(last):
        if message.id <= new.seen:
            continue
        _give_up_waiting(new, min(message.at, now), now, events, rules)
        take_notice(new, message, now, events, rules)
        if new.delivery is not None:
            before = max(0, place + 1 - MESSAGES_LOOKED_AT)
            _confirm(new, last[before : place + 1], now, events, rules)
    _go_on(new, now, events, rules)
    return ChannelStep(channel=new, events=events)


def _reconcile(channel: Channel, now: datetime, events: list[Event], rules: FloorRules) -> None:
    """Start or end the taking of turns where mode and members call for it.

    While turns are taken their state changes at the boundary only (A-22).
    """
    wanted = state_now(channel)
    if channel.state in TAKES_TURNS:
        ends = channel.mode not in (Mode.CHAT, Mode.DISCUSSION) or wanted is TurnState.ARCHIVED
        if ends:
            take_state(channel, wanted, events)
        elif not channel.speaker and channel.dormant_at is None:
            channel.dormant_at = now
        return
    if wanted not in TAKES_TURNS:
        take_state(channel, wanted, events)
        return
    if not channel.cycle:
        data = {"state": str(wanted), "speakers": list(agents_of(channel.members))}
        events.append(Event(type="channel.initialized", data=data))
    if channel.discussion is None:
        channel.roused_at = None  # what was said before needs no answer in turn
    begin_anew(channel)
    open_cycle(channel, now, events, rules)


def _confirm(
    channel: Channel,
    messages: Sequence[Message],
    now: datetime,
    events: list[Event],
    rules: FloorRules,
) -> None:
    waiting = channel.delivery
    if waiting is None or waiting.agent not in agents_of(channel.members):
        return
    if has_arrived(
        waiting.tail,
        messages,
        anchor=waiting.anchor,
        author=waiting.account,
        agent=waiting.agent,
    ):
        data = {"cycle": channel.cycle, "runId": waiting.run}
        events.append(Event(type="delivery.confirmed", agent=waiting.agent, data=data))
        pass_on(channel, now, events, rules)


def _give_up_waiting(
    channel: Channel, at: datetime, now: datetime, events: list[Event], rules: FloorRules
) -> bool:
    """Go on without the text of a real turn that has not come until `at` (DG-087)."""
    waiting = channel.delivery
    if waiting is None or at < waiting.ends_at:
        return False
    waited = int((waiting.ends_at - waiting.since).total_seconds())
    data = {"cycle": channel.cycle, "runId": waiting.run, "waitedS": waited}
    events.append(Event(type="delivery.timed_out", agent=waiting.agent, data=data))
    pass_on(channel, now, events, rules)
    return True


def _go_on(channel: Channel, now: datetime, events: list[Event], rules: FloorRules) -> None:
    """Pass over who has left, who does not deliver and who does not answer."""
    while channel.speaker:
        if channel.speaker not in agents_of(channel.members):
            _drop_leaver(channel, events)
            pass_on(channel, now, events, rules)
        elif channel.delivery is not None:
            if not _give_up_waiting(channel, now, now, events, rules):
                return
        else:
            expire_leases(channel, now, events)
            reason = why_missed(channel, now, rules)
            if not reason:
                return
            _miss(channel, reason, now, events, rules)
    expire_leases(channel, now, events)


def _drop_leaver(channel: Channel, events: list[Event]) -> None:
    if channel.delivery is None:
        skipped(channel, channel.speaker, events)
        return
    data = {"cycle": channel.cycle, "runId": channel.delivery.run, "reason": "left"}
    events.append(Event(type="delivery.dropped", agent=channel.speaker, data=data))


def _miss(
    channel: Channel, reason: str, now: datetime, events: list[Event], rules: FloorRules
) -> None:
    """Count the turn of a speaker that does not answer as a pass."""
    data = {"cycle": channel.cycle, "reason": reason}
    events.append(Event(type="turn.missed", agent=channel.speaker, data=data))
    channel.results.append(Result(agent=channel.speaker, empty=True))
    pass_on(channel, now, events, rules)
