"""A room as a heartbeat serves it: brought up to date, its speaker's run is claimed.

Called by `serving`, under the heartbeat's lock. Of a discussion that was
completed, what its end still owes is done here if whoever completed it died.

Source: DG-001, DG-034, DG-061, DG-062, DG-119, DG-123, XC-016, XC-109.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import Task
from council.core.conversations.owed import Archive, Wake
from council.core.rooms import floor
from council.core.rooms.channel_owed import CallBack
from council.core.rooms.channel_tasks import task_queued, task_refused, task_started
from council.core.rooms.channels import Channel, ChannelStep, is_awaited
from council.operations.launching import LEASE_MARGIN
from council.operations.place import Place
from council.operations.report import Report
from council.operations.rooms import room_prompts, rooms
from council.operations.rooms.room_report import BeatenRoom
from council.operations.rooms.room_runs import RoomJob, said_already, start
from council.operations.serving import Claimed, Owed, owed_to
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
            from council.operations.rooms.concluding import finish  # the matter of an end alone

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
        """Return the run that the speaker is owed now.

        Raises:
            CouncilError: An agent's file cannot be read.
        """
        owed = rooms.pending_in(self._place, self._channel, self._now)
        return owed_to(self._place, self, [one for one in owed if isinstance(one, Wake)])

    def heard_at(self, agent: str) -> datetime | None:  # noqa: ARG002
        """Return None: a room keeps no account of when its members spoke."""
        return None

    def goes_on_without(self, agent: str) -> bool:  # noqa: ARG002
        """Tell that a turn passes on."""
        return True

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
        if wake.attempt == 1:
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
