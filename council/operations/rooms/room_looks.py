"""Looking at rooms: what is due in channels, without a lock and without writing.

As `looking` does for conversations: a heartbeat looks before it serves, only
at those that its note does not vouch for, and notes until when nothing is due
where it finds nothing.

Source: XC-007, XC-016, DG-003, `architecture.md` section 3.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.conversations.owed import Wake
from council.core.errors import CouncilError
from council.core.rooms.channels import Channel, is_awaited
from council.core.rooms.due import next_due, tasks_of_turn
from council.operations.gate import Gate
from council.operations.gone_runs import has_runs
from council.operations.place import Place
from council.operations.report import Report
from council.operations.rooms import rooms
from council.operations.rooms.room_report import BeatenRoom, seen_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.serving import Served
    from council.store.conversations.survey import Survey


class RoomLook:
    """Looks at channels at one time.

    Args:
        place: The workspace.
        ids: Which have to be opened.
        survey: Where to note who is idle, None to note nothing.
        now: The time of the look.

    Attributes:
        busy: Where something is due.
        queue: Where somebody waits for a place and nothing else is due.
    """

    def __init__(self, place: Place, ids: list[str], survey: Survey | None, now: datetime) -> None:
        self.busy: list[BeatenRoom] = []
        self.queue: list[BeatenRoom] = []
        self._place = place
        self._ids = ids
        self._survey = survey
        self._now = now
        self._gate: Gate | None = None
        self._served: list[str] = []

    def at_all(self, report: Report, *, must_exist: bool = False) -> None:
        """Look at all and report each; one that is broken hides no other.

        Raises:
            CouncilError: One that must exist cannot be read.
        """
        for channel_id in self._ids:
            try:
                seen, due, waits = self._at(channel_id)
            except CouncilError as error:
                if must_exist:
                    raise
                report.errors.append((channel_id, error))
                continue
            report.rooms.append(seen)
            if due:
                self.busy.append(seen)
            elif waits:
                self.queue.append(seen)

    def to_serve(self, afterwards: Callable[[Place], object]) -> list[Served]:
        """Return those in which something is due or somebody waits, to be served.

        `afterwards` is what a run does when its place is free again.
        """
        from council.operations.rooms.attending import ServedRoom

        chosen = self.busy + self.queue
        self._served = [seen.name for seen in chosen]
        return [ServedRoom(self._place, seen, self._now, afterwards) for seen in chosen]

    def again(self) -> None:
        """Note those that were served and are idle now."""
        if self._survey is None or not self._survey.is_kept:
            return
        for channel_id in self._served:
            try:
                self._at(channel_id)
            except CouncilError:
                continue  # whoever looks next reports it

    def _at(self, channel_id: str) -> tuple[BeatenRoom, bool, bool]:
        """Look at one channel, and note it if it is idle.

        Returns:
            What was found, whether anything is due, whether somebody waits for a place.
        """
        place, now, survey = self._place, self._now, self._survey
        if survey is not None:
            survey.look(channel_id, channel_id)  # before it is read: what changes now is seen later
        view = rooms.look(place, channel_id, now)
        channel = view.channel
        wakes = [one for one in view.owed if isinstance(one, Wake)]
        held = [one for one in wakes if self._holds(channel, one)]
        queued = [one for one in wakes if one.task in channel.tasks and one not in held]
        seen = seen_of(channel, awaited=is_awaited(channel) or bool(view.owed))
        if not (wakes and self._bounds().halted):
            seen.woken = [one.agent for one in wakes if one not in queued and one not in held]
        seen.tended = rooms.must_open(place, channel_id, view)
        due = seen.tended or len(view.owed) > len(queued) + len(held)
        # That a process is gone changes no file: what runs is opened at each look.
        if survey is not None and not due and not view.owed and not has_runs(channel.tasks):
            backoff = place.settings.retry_backoff
            due_at = next_due(channel, rules=rooms.rules_of(place), backoff=backoff)
            survey.note(channel_id, channel_id, due_at, seen.to_note())
        return seen, due, bool(queued)

    def _holds(self, channel: Channel, wake: Wake) -> bool:
        """Tell whether a start that is owed is kept back, and that is written down already."""
        waits = wake.task in channel.tasks
        gate = self._bounds()
        if gate.halted:
            return waits
        refused = gate.refuses(channel.channel_id, wake.agent)
        if not refused or waits:
            return False
        tasks = tasks_of_turn(channel)
        return bool(tasks) and tasks[-1].state is TaskState.F and tasks[-1].reason == refused

    def _bounds(self) -> Gate:
        """Return the bounds of the workspace, read once somebody was found who is owed a start."""
        if self._gate is None:
            self._gate = Gate(self._place, self._now)
        return self._gate
