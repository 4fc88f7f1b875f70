"""A room as a heartbeat serves it: brought up to date, its speaker's run claimed and made.

Called by `serving`, under the heartbeat's lock. Of a discussion that was
completed, what its end still owes is done here if whoever completed it died.

Source: DG-001, DG-034, DG-061, DG-062, DG-074 to DG-080, DG-119, DG-123, DG-141 to DG-145, OP-014,
XC-016, XC-109, `cli.md` section 5.
"""

from __future__ import annotations

import os
from datetime import datetime

from council.core.agents import Agent
from council.core.conversations.conversation import Task, TaskState
from council.core.conversations.owed import Archive, Wake
from council.core.errors import CouncilError, NotFoundError
from council.core.reading_answers.cleaning import clean
from council.core.reading_answers.passes import is_pass
from council.core.record import Record
from council.core.rooms import floor
from council.core.rooms.channels import Channel, ChannelStep, Message, account_of, is_awaited
from council.core.rooms.discussions import SUMMARIES, completed
from council.core.rooms.due import (
    CallBack,
    attempts_used_up,
    task_failed,
    task_queued,
    task_refused,
    task_started,
    tasks_of_turn,
)
from council.core.trust import run_token
from council.drivers.runs import NO_ANSWER, Answer, failed
from council.operations.launching import LEASE_MARGIN, Launch, Settled, launch
from council.operations.place import Place
from council.operations.report import Report
from council.operations.rooms import room_prompts, rooms
from council.operations.rooms.authorship import prover
from council.operations.rooms.discussing import checked_summary
from council.operations.rooms.room_prompts import turn_prompt
from council.operations.rooms.room_report import BeatenRoom
from council.operations.serving import Claimed, Owed, owed_to
from council.store.files import make_folder, remove, replace
from council.store.keys import run_key
from council.store.paths import resolve_inside
from council.store.slots import Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.store.rooms.channel_session import ChannelSession


class ServedRoom:
    """One channel in which something is due.

    Args:
        place: The workspace.
        seen: What was found there; what is done is added to it.
        now: The time of the heartbeat.
        afterwards: What a run does when its place is free again.

    Attributes:
        name: The id of the channel.
    """

    def __init__(
        self, place: Place, seen: BeatenRoom, now: datetime, afterwards: Callable[[Place], object]
    ) -> None:
        self.name = seen.name
        self._place = place
        self._seen = seen
        self._now = now
        self._afterwards = afterwards
        self._channel: Channel

    @property
    def owner(self) -> str:
        """The id of the channel."""
        return self.name

    def advance(self, report: Report) -> None:
        """Bring the room up to date, and do what the end of a discussion still owes.

        Raises:
            CouncilError: It cannot be read or written.
        """
        place, now = self._place, self._now
        self._seen.woken, self._seen.tended = [], False
        view = rooms.look(place, self.name, now)
        self._channel = view.channel
        if rooms.must_open(place, self.name, view):
            self._take(rooms.advance(place, self.name, now))
        if any(isinstance(one, CallBack | Archive) for one in view.owed):
            from council.operations.rooms.discussing import finish  # the matter of an end alone

            step, troubles = finish(place, self.name, now)
            self._take(step)
            about = step.channel.discussion
            self._seen.archived = about.minutes if about is not None else ""
            report.errors += [(self.name, trouble) for trouble in troubles]
        self._describe()

    def _take(self, step: ChannelStep) -> None:
        self._seen.tended = self._seen.tended or step.channel.rev != self._seen.rev
        self._channel = step.channel

    def _describe(self) -> None:
        seen, channel = self._seen, self._channel
        seen.mode, seen.state = str(channel.mode), str(channel.state)
        seen.speaker, seen.cycle = channel.speaker, channel.cycle
        seen.awaited = is_awaited(channel)

    def withdraw(self, report: Report) -> None:
        """Take it out of the report."""
        report.rooms.remove(self._seen)

    def owed(self) -> list[Owed]:
        """Return the run that the speaker, or who is to sum up, is owed now.

        Raises:
            CouncilError: An agent's file cannot be read.
        """
        owed = rooms.pending_in(self._place, self._channel, self._now)
        return owed_to(self._place, self, [one for one in owed if isinstance(one, Wake)])

    def heard_at(self, agent: str) -> datetime | None:  # noqa: ARG002
        """Return None: a room keeps no account of when its members spoke."""
        return None

    def goes_on_without(self, agent: str) -> bool:  # noqa: ARG002
        """Return true for a turn, which passes on; a summary waits."""
        return bool(self._channel.speaker)

    def hand_over(self, wake: Wake) -> None:
        """Put the prompt where an agent that answers by itself finds it.

        Raises:
            CouncilError: The prompt cannot be made or written.
        """
        room_prompts.hand_over(self._place, self._channel, wake)

    def claim(self, mine: list[Owed], places: dict[str, Slot]) -> list[Claimed]:
        """Claim the run that has a place, hand over to who answers by hand, queue else.

        Raises:
            CouncilError: The channel cannot be written.
        """
        place, now = self._place, self._place.now()
        tasks = self._channel.tasks
        if all(self._waits_on(one, tasks, places) for one in mine):
            return []
        started: list[Owed] = []

        def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
            started.clear()
            for one in mine:
                if one.wake not in rooms.pending_in(place, step.channel, now):
                    continue  # it spoke, or the floor went on, while we looked
                ended = self._ended_before(session, step.channel, one.wake)
                if ended is not None:
                    step = step.then(ended)
                    continue
                taken = self._taken(step.channel, one, one.wake.task in places, session.newest)
                if taken.outcome == "claimed":
                    started.append(one)
                step = step.then(taken)
            return step

        self._take(rooms.change(place, self.name, now, rule, actor="heartbeat"))
        self._describe()
        self._seen.woken = [one.wake.agent for one in started]
        rooms.take_back(place, self._channel)
        for one in mine:
            if one.by_hand and one.wake.task not in self._channel.tasks:
                room_prompts.withdraw(place, one.wake)  # the floor went on while we looked
        return [self._claimed(one, places[one.wake.task]) for one in started if not one.by_hand]

    def _ended_before(
        self, session: ChannelSession, channel: Channel, wake: Wake
    ) -> ChannelStep | None:
        """Return the end of a turn whose words are there and whose run died; None for none."""
        if wake.attempt == 1 or not channel.speaker:
            return None
        text, run = said_already(session, channel, wake.agent)
        if not run:
            return None
        now, rules = self._place.now(), session.rules
        return floor.end(channel, wake.agent, run, text, now, rules=rules)

    @staticmethod
    def _waits_on(one: Owed, tasks: dict[str, Task], places: dict[str, Slot]) -> bool:
        waits = one.wake.task in tasks and one.wake.task not in places
        return waits and not one.by_hand and not one.refusal

    def _taken(self, channel: Channel, one: Owed, has_place: bool, newest: int) -> ChannelStep:
        now, driver = self._place.now(), one.agent.driver
        if one.halted:
            return task_queued(channel, one.wake, driver=driver, now=now)
        if one.refusal:
            return task_refused(
                channel, one.wake, one.refusal, driver=driver, now=now, final=one.final
            )
        if one.by_hand or has_place:
            lease = self._place.settings.timeout_of(one.agent.settings) + LEASE_MARGIN
            return task_started(
                channel,
                one.wake,
                driver=driver,
                now=now,
                ends_at=None if one.by_hand else now + lease,
                newest=newest,
            )
        return task_queued(channel, one.wake, driver=driver, now=now)

    def _claimed(self, one: Owed, slot: Slot) -> Claimed:
        job = RoomJob(agent=one.agent, wake=one.wake, channel=self._channel, slot=slot)
        return Claimed(
            owner=self.name,
            task=one.wake.task,
            start=lambda: start(self._place, job, self._afterwards),
        )


# --- One run for the floor, from its claimed task to the end of the turn

# What the run prints is its message, and with it its turn is over. A run that
# spoke by `channel post` has said what it had to say, one that ended its turn by
# `turn end` has done so; neither is counted twice. Where nobody has the floor, what
# is printed is the summary that completes the discussion. How an agent is run, `launching` knows.

PHASE = "TURN"
_SILENT = "it neither printed nor posted anything, nor ended its turn"


class RoomJob(Record):
    """A run that is claimed in `channel` and has to be started."""

    agent: Agent
    wake: Wake
    channel: Channel
    slot: Slot


def start(place: Place, job: RoomJob, afterwards: Callable[[Place], object]) -> bool:
    """Start a claimed run in a process of its own; the place goes over to it.

    When the run is over and its place free, that process does `afterwards`:
    the heartbeat that wakes the next speaker.

    Returns:
        False when it could not be started: a failed attempt with its reason.
    """

    def settle(answer: Answer) -> Settled:
        return _settle(place, job, answer)

    channel = job.channel
    try:
        prompt = turn_prompt(place, channel, job.wake)
    except CouncilError as error:  # a template of the workspace is broken
        job.slot.release()
        settle(failed(error.message))
        return False
    key = run_key(place.paths)
    wanted = Launch(
        agent=job.agent,
        owner=channel.channel_id,
        name=channel.channel_id,
        task=job.wake.task,
        phase=PHASE,
        tour=channel.cycle,
        prompt=prompt,
        token=run_token(key, channel.channel_id, channel.cycle, job.agent.id, job.wake.attempt),
        variables={"COUNCIL_CHANNEL": channel.channel_id},
        slot=job.slot,
    )
    return launch(place, wanted, settle, afterwards)


def _settle(place: Place, job: RoomJob, answer: Answer) -> Settled:
    """End the turn or the discussion with what the run said, or write down why it said nothing."""
    channel_id, task = job.channel.channel_id, job.wake.task
    now, rules = place.now(), rooms.rules_of(place)
    silent = answer.exit_code == 0 and answer.reason == NO_ANSWER
    failure: list[str] = []

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        failure.clear()
        if not _is_open(step.channel, task):
            return step  # it ended its turn itself, or the room went on without it
        if not step.channel.speaker:
            summary, why = _summary_of(place, task, answer)
            if not why:
                return step.then(completed(step.channel, job.agent.id, summary, now))
            failure.append(why)
            return step.then(task_failed(step.channel, task, why, now=now, final=answer.is_final))
        posted, _ = said_already(session, step.channel, job.agent.id)
        if not (answer.ok or silent or posted):
            failure.append(answer.reason or NO_ANSWER)
        elif answer.by_tool and not posted:
            failure.append(_SILENT)
        if failure:
            return step.then(
                task_failed(step.channel, task, failure[0], now=now, final=answer.is_final)
            )
        text = posted or clean(answer.text)
        ended = floor.end(step.channel, job.agent.id, task, text, now, rules=rules)
        if ended.outcome == "awaiting-delivery" and not posted:
            said = _message(step.channel, job, text, place)
            session.post(said, prover(place, channel_id))
        return step.then(ended)

    try:
        step = rooms.change(place, channel_id, now, rule, actor=job.agent.id)
    except NotFoundError:  # the channel is gone: nobody waits for it any more
        remove(place.paths.run_file(task, "prompt.md"))
        return Settled(failure="" if answer.ok or silent else answer.reason)
    except CouncilError as error:
        # The task stays claimed: when its lease is over the agent is asked once more.
        return Settled(failure=error.message)
    reason = failure[0] if failure else ""
    if not (answer.ok or silent):
        reason = reason or answer.reason
    return _settled(place, step.channel, task, reason)


def _summary_of(place: Place, task: str, answer: Answer) -> tuple[str, str]:
    """Return the path from the root of the summary of a run, or why there is none.

    What is printed is written there; an agent that answers by tool has done so itself.
    """
    if not answer.ok:
        return "", answer.reason
    text = clean(answer.text)
    try:
        path = resolve_inside(place.paths.shared, f"{SUMMARIES}/{task}.md")
        if not answer.by_tool:
            if is_pass(text):
                return "", NO_ANSWER
            make_folder(os.path.dirname(path))
            replace(path, f"{text.strip()}\n".encode("utf-8", "replace"))
        return checked_summary(place, path), ""
    except CouncilError as error:
        return "", error.message


def _is_open(channel: Channel, task: str) -> bool:
    """Tell whether a run is still the one that the floor waits for."""
    return any(one.id == task and one.state is TaskState.R for one in tasks_of_turn(channel))


def said_already(session: ChannelSession, channel: Channel, agent: str) -> tuple[str, str]:
    """Return what a run of this turn has posted last, and which; "" for nothing.

    A message holds once it is in the log: a run that died before it could say
    that its turn is over has spoken all the same.
    """
    runs = [one.id for one in tasks_of_turn(channel)]
    said = [
        one
        for one in session.said_in(runs, channel.anchor)
        if one.agent == agent and not is_pass(one.content)
    ]
    return (said[-1].content, said[-1].run) if said else ("", "")


def _message(channel: Channel, job: RoomJob, text: str, place: Place) -> Message:
    return Message(
        id=1,
        at=place.now(),
        author=account_of(channel, job.agent.id),
        agent=job.agent.id,
        content=text,
        run=job.wake.task,
    )


def _settled(place: Place, channel: Channel, task: str, failure: str) -> Settled:
    """Return why a run failed, and whether and when the same turn is tried again."""
    tasks = tasks_of_turn(channel)
    failed_now = any(one.id == task and one.state is TaskState.F for one in tasks)
    if not failed_now or attempts_used_up(tasks):
        return Settled(failure=failure)
    failures = sum(one.is_failed_run for one in tasks)
    backoff = place.settings.retry_backoff[:failures]
    pause_s = backoff[-1].total_seconds() if backoff else 0.0
    return Settled(failure=failure, again=True, retry_s=pause_s)
