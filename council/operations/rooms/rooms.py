"""Channels at work: looked at, and everything done that is due of the room itself.

Each that comes to a channel, a hook or the heartbeat or a person, first brings
it up to date: messages that were not taken notice of, deliveries that have
come or are out of time. Then follow the automatic answers, the guide and the
reminder of a discussion, in the same revision. Waking a speaker belongs to
the heartbeat.

Source: DG-003, DG-065, DG-081 to DG-087, DG-117, DG-119, XC-007, XC-008, XC-014, `trust.md`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from council.core.conversations.conversation import TaskState
from council.core.conversations.due import Wake
from council.core.errors import ConflictError, CouncilError, RefusedError, StaleError
from council.core.ids import checked_name
from council.core.record import Any, Record
from council.core.rooms import floor
from council.core.rooms.channels import (
    PROOF,
    Channel,
    ChannelStep,
    Discussion,
    FloorRules,
    Member,
    Message,
    MessageKind,
    account_of,
    floor_rules,
    origin_of,
    proved,
)
from council.core.rooms.cycles import shortened
from council.core.rooms.due import Action, PostGuide, Remind, Reply, pending, summary_queued
from council.operations.gone_runs import without_gone_runs
from council.operations.place import Place, is_shown_run
from council.store import files
from council.store.rooms.channels import Channels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeVar

    from council.core.events import Event
    from council.store.rooms.channel_session import ChannelSession

    _Found = TypeVar("_Found")
    Prove = Callable[[Message], Message]
    _Rule = Callable[[ChannelSession, ChannelStep], ChannelStep]

MODERATOR = "moderator"
_MOST_ROUNDS = 8
_IDLE = ".idle.md"


class Outlook(Record):
    """A channel as it would stand if it were brought up to date, and what is then due.

    `due` says that one should: that it differs from what stands, or that
    its files are to be settled.
    """

    channel: Channel
    newest: int
    actions: tuple[Action, ...]
    due: bool


def channels(place: Place) -> Channels:
    """Return the channels of a workspace.

    Raises:
        RefusedError: It is a slave, which has none (DG-155).
    """
    place.refuse_on_slave()

    def resolve(name: str) -> Member:
        from council.operations.rooms.channels import member_of  # only where an agent joins

        return member_of(place, name, place.now())

    return Channels(
        place.paths,
        resolve,
        rules_of(place),
        allow_network_fs=place.settings.force_network_fs,
    )


def rules_of(place: Place) -> FloorRules:
    """Return what the settings say of taking turns."""
    return floor_rules(place.settings.channels)


def open_channels(place: Place) -> list[str]:
    """Return the ids of all channels; archived ones still answer to messages. A slave has none."""
    return [] if place.is_slave else channels(place).ids()


def each(
    place: Place, look: Callable[[Place, str], _Found]
) -> tuple[list[_Found], list[tuple[str, CouncilError]]]:
    """Return what is seen of every channel, and which cannot be read with the reason."""
    found, broken = [], []
    for channel_id in open_channels(place):
        try:
            found.append(look(place, channel_id))
        except CouncilError as error:
            broken.append((channel_id, error))
    return found, broken


def look(place: Place, channel_id: str, now: datetime) -> Outlook:
    """Read a channel without a lock and without writing.

    Raises:
        NotFoundError: There is no such channel.
        InvalidStateError: It cannot be read.
    """
    seen = channels(place).see(channel_id)
    found = without_gone_runs(place, seen.channel, now)
    step = shortened(found, seen.newest, seen.said_id)
    step = step.then(floor.settle(step.channel, seen.messages, now, rules=rules_of(place)))
    actions = pending_in(place, step.channel, now)
    ours = any(isinstance(one, Reply | PostGuide | Remind) for one in actions)
    return Outlook(
        channel=step.channel,
        newest=seen.newest,
        actions=actions,
        due=not seen.settled or ours or step.channel != seen.channel,
    )


def must_open(place: Place, channel_id: str, view: Outlook) -> bool:
    """Return true if a heartbeat has to open a channel: no turn searches for late writes."""
    return view.due or channels(place).has_late_writes(channel_id)


def pending_in(place: Place, channel: Channel, now: datetime) -> tuple[Action, ...]:
    """Return what is due in a channel, with the pauses the settings ask for."""
    return pending(channel, now, backoff=place.settings.retry_backoff, here=place.has)


def unknown(place: Place, channel_id: str) -> Channel:
    """Return what a channel is that was never used (DG-031).

    Raises:
        InvalidInputError: The id is no legal name.
    """
    from council.operations.rooms.channels import members_of

    now = place.now()
    return Channel(
        channel_id=checked_name(channel_id, "channel id"),
        name=channel_id,
        created_at=now,
        updated_at=now,
        members=members_of(place, (), now),
    )


def first_use(place: Place, channel_id: str, *events: Event) -> None:
    """Make a channel in the mode `none`, unless it is there or made meanwhile (DG-006, DG-031)."""
    if channels(place).exists(channel_id):
        return
    step = floor.opened(unknown(place, channel_id), place.now(), rules=rules_of(place))
    with suppress(ConflictError):
        create(place, ChannelStep(channel=step.channel, events=[*step.events, *events]))


def create(place: Place, step: ChannelStep) -> Channel:
    """Make a channel, in the language that its document is written in (XC-012).

    Raises:
        ConflictError: There is one with that id.
    """
    from council.store.settings import language

    made = step.channel.copy(lang=language(place.settings, "", place.environ))
    return channels(place).create(made, place.now(), step.events)


def advance(place: Place, channel_id: str, now: datetime) -> ChannelStep:
    """Bring a channel up to date; `outcome` is `changed` or "".

    Raises:
        NotFoundError: There is no such channel.
        CouncilError: It cannot be read or written.
    """

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        found = without_gone_runs(place, step.channel, now)
        return step.then(floor.settle(found, (), now, rules=session.rules))

    return change(place, channel_id, now, rule)


def act(place: Place, channel_id: str, rule: _Rule, *, actor: str = "") -> ChannelStep:
    """Do what `change` does now, and have the next speaker woken at once (`rouse`)."""
    step = change(place, channel_id, place.now(), rule, actor=actor)
    rouse(place, step.channel)
    return step


def rouse(place: Place, channel: Channel) -> None:
    """Have the speaker, or who is to sum up, woken if a run is due and a driver wakes it.

    A heartbeat is then done by a process of its own; cron stays the safety net. Agents
    that come by themselves, by hooks or by hand, see it from the signal and the state
    document, and their prompt comes with the next heartbeat.

    Source: DG-085, DG-101, `architecture.md` section 3.
    """
    wakes = [one for one in pending_in(place, channel, place.now()) if isinstance(one, Wake)]
    if channel.speaker:  # one that waits for a place gets the next one that becomes free
        wakes = [one for one in wakes if one.task not in channel.tasks]
    if not wakes:
        return
    from council.store.agents import is_woken

    if not any(is_woken(place.root, place.settings, one.agent) for one in wakes):
        return
    from council.operations.detach import wake_next

    wake_next(place)


def change(
    place: Place,
    channel_id: str,
    now: datetime,
    rule: _Rule,
    *,
    actor: str = "",
) -> ChannelStep:
    """Bring a channel up to date, apply a rule, do what follows, and commit it once.

    Args:
        place: The workspace.
        channel_id: Which channel.
        now: The time.
        rule: Gets the session, through which it may post, and the step so far;
            returns the step with what it has done.
        actor: Who does it.

    Raises:
        StaleError: The change is meant for another revision, `place.expected`.
    """
    store = channels(place)
    since: Channel | None = None
    while True:
        with store.open(channel_id, now) as session:
            if since is None and place.expected not in (None, session.channel.rev):
                raise _stale(session, place.expected)
            since = since or session.channel
            if not session.is_behind:
                return _change(place, session, rule, actor, since)
            # Very much was added at once. A process that waits for the lock comes in between.
            with files.explaining("write", session.files.live):
                step = _noticed(session)
                session.commit(step.channel, page=session.page, events=step.events)


def _stale(session: ChannelSession, expected: int) -> StaleError:
    """Return the refusal of a change that was meant for another revision, with the difference."""
    from difflib import unified_diff

    from council.operations.view import readable  # only for who comes too late

    known = [one.head["rev"] for one in session.past.lines]
    lines: list[str] = []
    if expected in known:
        texts = session.past.text_at(known.index(expected)), session.text
        pages = [one.decode("utf-8", "replace") for one in texts]
        told, now = f"revision {expected}", f"revision {session.channel.rev}"
        for shown in (readable, str):  # where the page is the same, the state block differs
            old, new = (shown(page).split("\n") for page in pages)
            lines = lines or list(unified_diff(old, new, told, now, lineterm=""))
    return StaleError(session.channel_id, expected, session.channel.rev, lines)


def _noticed(session: ChannelSession) -> ChannelStep:
    """Return the channel once notice was taken of the messages that were read."""
    step = shortened(session.channel, session.newest, session.tail_of_log.said_id)
    return _settled(session, step)


def _settled(session: ChannelSession, step: ChannelStep) -> ChannelStep:
    settled = floor.settle(step.channel, session.messages, session.now, rules=session.rules)
    return step.then(settled)


def _change(
    place: Place, session: ChannelSession, rule: _Rule, actor: str, since: Channel
) -> ChannelStep:
    """Do what `change` says where notice can be taken of everything at once.

    What was handed over is taken back for the turns that ended after `since`.
    """
    before = session.channel

    with files.explaining("write", session.files.live):
        step = _follow_up(place, session, rule(session, _noticed(session)))
        if step.channel != before:
            session.commit(step.channel, page=session.page, events=step.events, actor=actor)
        else:
            session.say(step.events)
            if since is before:
                return step
    if session.channel.tasks:
        take_back(place, session.channel, since=since)
    if session.channel.discussion is not None:
        _take_back_reminders(place, session.channel, session.channel.discussion)
    step.channel, step.outcome = session.channel, step.outcome or "changed"
    return step


def take_back(place: Place, channel: Channel, *, since: Channel | None = None) -> None:
    """Take away the prompts that were handed over for turns that are over.

    Those that were over in `since` are taken for gone already.
    """
    for task in channel.tasks.values():
        if task.driver != "manual" or task.state is TaskState.R:
            continue
        if since is None or task.id not in since.tasks or since.tasks[task.id].state is TaskState.R:
            files.remove(f"{place.paths.tasks(task.agent)}/{task.id}.md")


def _take_back_reminders(place: Place, channel: Channel, about: Discussion) -> None:
    """Take away the words that a discussion is idle, but for the one that still holds.

    They are looked for by name: who was to take one away may have died.
    """
    folder = place.paths.tasks(about.initiator)
    holds = about.reminded_at is not None and about.completed_at is None
    kept = _reminder(channel) if holds else ""
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    for name in names:
        if name.startswith(f"{channel.channel_id}.") and name.endswith(_IDLE) and name != kept:
            files.remove(f"{folder}/{name}")


def _reminder(channel: Channel) -> str:
    """Return the name of the file that reports an idle discussion; ids hold no dots."""
    return f"{channel.channel_id}.{channel.cycle}{_IDLE}"


def _follow_up(place: Place, session: ChannelSession, step: ChannelStep) -> ChannelStep:
    """Do what is due of the room itself: answers, guide, reminder; queue the run for a summary."""
    now = session.now
    for _ in range(_MOST_ROUNDS):
        step, posted = _settled(session, step), False
        for due in pending(step.channel, now):
            if isinstance(due, Reply | PostGuide):
                session.post(_by_moderator(step.channel, due, now))
                posted = True
            elif isinstance(due, Remind):
                step = step.then(_remind(place, step.channel, now))
                from council.store.agents import is_woken  # an idle discussion alone needs it

                if is_woken(place.root, place.settings, due.agent):
                    step = step.then(summary_queued(step.channel, now))
        if not posted:
            return step
    return step


def _by_moderator(channel: Channel, due: Reply | PostGuide, now: datetime) -> Message:
    if isinstance(due, PostGuide):
        about = channel.discussion
        return of_moderator(now, about.guide if about is not None else "", MessageKind.GUIDE)
    from council.core.rooms.discussions import automatic_answer

    text = automatic_answer(channel)
    return of_moderator(now, text, MessageKind.AUTO, reply_to=due.message)


def of_agent(channel: Channel, agent: str, now: datetime, text: str, run: str) -> Message:
    """Return a message of an agent, said by a run of it."""
    author = account_of(channel, agent)
    return Message(id=1, at=now, author=author, agent=agent, content=text, run=run)


def of_moderator(now: datetime, text: str, kind: MessageKind, **facts: Any) -> Message:
    """Return a message of the moderator; `facts` are further fields of it."""
    return Message(id=1, at=now, author=MODERATOR, content=text, kind=kind, **facts)


def _remind(place: Place, channel: Channel, now: datetime) -> ChannelStep:
    """Leave the initiator of an idle discussion a word in its tasks (DG-119)."""
    from council.core.rooms import discussions

    about = channel.discussion
    assert about is not None
    folder = place.paths.tasks(about.initiator)
    text = (
        f"{discussions.REMINDER}\n\nDiscussion: {channel.name} ({channel.channel_id})\n\n"
        f"    council discussion complete {channel.channel_id} --as {about.initiator} "
        f"--summary memory/shared/{discussions.SUMMARIES}/{channel.channel_id}.md\n"
    )
    files.make_folder(folder)
    files.replace(f"{folder}/{_reminder(channel)}", text.encode("utf-8", "replace"))
    return discussions.reminded(channel, now)


# --- Who speaks: shown by the token of a run, or claimed; and what strict trust refuses


def prover(place: Place, channel_id: str) -> Prove:
    """Return what gives a word of a run the proof that it is of that run's agent."""
    from council.store.keys import run_key

    key = run_key(place.paths)
    return lambda message: proved(key, channel_id, message)


def check_shown(place: Place, agent: str) -> None:
    """Check that nothing has to be believed, where trust is strict.

    Raises:
        RefusedError: Nothing shows that it is `agent`.
    """
    if place.settings.trust == "strict" and not is_shown_run(place, agent):
        raise RefusedError(
            f"nothing shows that this is {agent}, and trust is strict",
            'speak from the run that was started, or set trust = "open" in council.toml',
        )


def report_refusal(place: Place, channel_id: str, agent: str, error: CouncilError) -> None:
    """Write the event of a refused word or turn; a disk that refuses that hides no refusal."""
    from council.core.events import Event
    from council.store.events import append, loose_records

    data = {"name": channel_id, "code": error.code, "message": error.message}
    event = Event(type="answer.refused", agent=agent, data=data)
    with suppress(CouncilError):
        append(place.paths, loose_records([event], channel_id, place.now()))


def origins_of(place: Place, channel_id: str, messages: Iterable[Message]) -> dict[int, str]:
    """Return the origin of each message by its number; nothing is written.

    Raises:
        CouncilError: The key of the workspace cannot be read.
    """
    from council.store.keys import run_key

    key: bytes | None = None
    found: dict[int, str] = {}
    for one in messages:
        if key is None and PROOF in one.extra and os.path.lexists(place.paths.key):
            key = run_key(place.paths)
        found[one.id] = origin_of(key, channel_id, one)
    return found
