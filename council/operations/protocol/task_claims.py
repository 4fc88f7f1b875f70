"""A context as a heartbeat serves it: the runs that it owes are claimed.

Called by `serving`, under the heartbeat's lock. A run for which there is no
place ends a run of the same agent that is in its way, if it may.

Source: PR-309, PR-410, PR-501, PR-553 to PR-557, XC-016, `architecture.md` section 3.
"""

from __future__ import annotations

from council.core.bounds import RESTS
from council.core.conversations.owed import Wake
from council.core.errors import CouncilError
from council.operations.gate import is_halted
from council.operations.protocol import task_runs
from council.operations.serving import Claimed, Owed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from council.operations.place import Place
    from council.operations.protocol.orchestrating import Lookout
    from council.operations.protocol.task_due import Due
    from council.operations.report import Report
    from council.store.slots import Slot


class ServedContext:
    """One context that owes runs.

    Args:
        lookout: Who looked at it; what is done is added to what it saw.
        name: The id of the context.
        tried: Agents whose runs were to make room in this heartbeat already; it is added to.
        afterwards: What a run does when its place is free again.

    Attributes:
        name: The id of the context.
    """

    def __init__(
        self,
        lookout: Lookout,
        name: str,
        tried: set[tuple[str, str]],
        afterwards: Callable[[Place], object],
    ) -> None:
        self.name = name
        self._lookout = lookout
        self._crew = lookout.crew
        self._tried = tried
        self._afterwards = afterwards
        self._report: Report
        self._dues: list[Due]

    @property
    def owner(self) -> str:
        """The id of the context."""
        return self.name

    def advance(self, report: Report) -> None:
        """Read which runs are owed now: what needs none was worked off before.

        Raises:
            CouncilError: It cannot be read.
        """
        self._report = report
        self._dues = self._lookout.dues(self.name)

    def withdraw(self, report: Report) -> None:  # noqa: ARG002
        """Take it out of the report."""
        self._lookout.seen.pop(self.name, None)

    def owed(self) -> list[Owed]:
        """Return the runs that want a place."""
        return [
            Owed(of=self, wake=_wake(due), agent=due.agent, priority=due.owed.priority)
            for due in self._dues
            if due.agent is not None and not due.by_hand
        ]

    def heard_at(self, agent: str) -> datetime | None:  # noqa: ARG002
        """Return None: a context keeps no account of when its workers spoke."""
        return None

    def goes_on_without(self, agent: str) -> bool:  # noqa: ARG002
        """Tell that nothing is passed on: what is refused stays owed, or another is asked."""
        return False

    def hand_over(self, wake: Wake) -> None:
        """Do nothing: who answers by itself gets what it has to read when that is claimed."""

    def claim(self, mine: list[Owed], places: dict[str, Slot]) -> list[Claimed]:
        """Claim what has a place or needs none, write down what waits or is refused.

        What goes wrong with one run stops no other.
        """
        wanted = {one.wake.task: one for one in mine}
        claimed: list[Claimed] = []
        for due in self._dues:
            try:
                if self._claims(due, wanted.get(due.owed.run), places):
                    claimed.append(self._claimed(due, places[due.owed.run]))
            except CouncilError as error:
                self._report.errors.append((self.name, error))
        return claimed

    def _claims(self, due: Due, owed: Owed | None, places: dict[str, Slot]) -> bool:
        """Write down what becomes of one run; tell whether it was claimed and has a place."""
        crew, run = self._crew, due.owed.run
        if owed is None and not is_halted(crew.place):
            self._started(due)
            return False
        if owed is not None and owed.refusal:
            due.refusal, due.elsewhere = owed.refusal, owed.refusal.startswith(RESTS)
            if task_runs.refuse(crew, due):
                self._report.passed_over = True
            return False
        if run in places:
            if self._started(due):
                return True
            self._report.passed_over = True  # it is owed no more, and its place is free
            return False
        if owed is not None and not owed.halted:
            self._make_room(due, owed)
        if run not in due.exchange.runs:
            task_runs.queue(crew, due)
        return False

    def _started(self, due: Due) -> bool:
        if not task_runs.claim(self._crew, due):
            return False
        self._lookout.seen[self.name].woken.append(due.owed.worker)
        return True

    def _make_room(self, due: Due, owed: Owed) -> None:
        """End a run that is in the way, once for all that wait with the same right to it."""
        tried = (owed.agent.id, due.owed.priority)
        if tried not in self._tried:
            self._tried.add(tried)
            task_runs.interrupt(self._crew, due)

    def _claimed(self, due: Due, slot: Slot) -> Claimed:
        return Claimed(
            owner=self.name,
            task=due.owed.run,
            start=lambda: task_runs.start(self._crew, due, slot, self._afterwards),
        )


def _wake(due: Due) -> Wake:
    owed = due.owed
    return Wake(agent=owed.worker, task=owed.run, attempt=owed.number, due_at=owed.due_at)
