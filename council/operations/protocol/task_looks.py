"""Which contexts a heartbeat opens: those that may have something due, or a place that is free.

An idle heartbeat loads nothing more than this.

Source: XC-007, XC-016, PR-309, PR-410.
"""

from __future__ import annotations

from datetime import datetime

from council.core.errors import CouncilError
from council.operations.place import Place
from council.store.protocol.context_survey import ContextSurvey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.protocol.orchestrating import Lookout
    from council.operations.report import Report
    from council.operations.serving import Served


class TaskLook:
    """Looks at contexts at one time, as `looking` does at conversations.

    Args:
        place: The workspace.
        now: The time of the look.
        report: Takes what goes wrong, and what was found and done.

    Attributes:
        busy: The contexts that owe runs.
        queue: Nobody: who waits for a place may have one made.

    Raises:
        CouncilError: The contexts cannot be listed.
    """

    def __init__(self, place: Place, now: datetime, report: Report) -> None:
        self.busy: list[str] = []
        self.queue: list[str] = []
        self._place = place
        self._now = now
        self._report = report
        self._lookout: Lookout | None = None
        self._survey = ContextSurvey(
            place.paths,
            [sorted(f"{name}={value}" for name, value in place.settings.tasks.items())],
            now,
            trusting=not place.settings.force_network_fs,
        )

    def at_all(self, *, contested: bool) -> None:
        """Do at once what needs no run, and find the runs that are owed.

        Args:
            contested: Whether somebody else wants a place as well.

        Raises:
            CouncilError: The registry or the settings cannot be read.
        """
        names = self._survey.doubtful()
        if not self._report.halted:
            names += self._who_gets_a_place(names, contested=contested or bool(names))
        if names:
            from council.operations.protocol.orchestrating import Lookout

            self._lookout = Lookout(self._place, self._now, self._report, self._survey)
            self.busy = self._lookout.owing(names)

    def to_serve(self, afterwards: Callable[[Place], object]) -> list[Served]:
        """Return those that owe runs, to be served.

        `afterwards` is what a run does when its place is free again.
        """
        if self._lookout is None:
            return []
        from council.operations.protocol.task_claims import ServedContext

        tried: set[tuple[str, str]] = set()
        return [ServedContext(self._lookout, name, tried, afterwards) for name in self.busy]

    def again(self) -> None:
        """Report what was found and done, and note what is idle now."""
        if self._lookout is not None:
            for name in self.busy:
                self._lookout.look_again(name)
            found = self._lookout.seen.values()
            self._report.tasks += sorted(found, key=lambda one: one.name)
        try:
            self._survey.keep()
        except CouncilError as error:
            self._report.errors.append(("tasks", error))

    def _who_gets_a_place(self, others: list[str], *, contested: bool) -> list[str]:
        """Return those idle contexts in which somebody waits whose place may be free by now.

        Where others want a place as well, one that becomes free until they are
        served must not go to a younger one: then all agents count as free.
        """
        waiting = self._survey.waiting()
        if not waiting:
            return []
        from council.store.slots import Slots

        slots = Slots(self._place.paths.places, self._place.settings.max_runs)
        free = slots.max_runs if contested else slots.max_runs - slots.taken()
        passed = set() if contested else set(slots.running_agents())
        chosen: list[str] = []
        for _, _, agent, context in waiting:
            if free <= 0:
                break
            if agent in passed:
                continue
            passed.add(agent)
            free -= 1
            if context not in chosen and context not in others:
                chosen.append(context)
                self._survey.open_again(context)
        return chosen
