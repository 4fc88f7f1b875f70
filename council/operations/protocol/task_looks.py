"""Which contexts a heartbeat opens: those that may have something due, or a place that is free.

An idle heartbeat loads nothing more than this.

Source: XC-007, XC-016, PR-309, PR-410.
"""

from __future__ import annotations

from datetime import datetime

from council.operations.place import Place
from council.store.protocol.context_survey import ContextSurvey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.report import Report


def serve_tasks(
    place: Place, now: datetime, report: Report, afterwards: Callable[[Place], object]
) -> None:
    """Do what is due in any context, and start the runs that are owed.

    `afterwards` is done whenever such a run is over: the heartbeat that passes its place on.

    Raises:
        CouncilError: The registry or the settings cannot be read, or the contexts not listed.
    """
    survey = ContextSurvey(
        place.paths,
        [sorted(f"{name}={value}" for name, value in place.settings.tasks.items())],
        now,
        trusting=not place.settings.force_network_fs,
    )
    names = survey.doubtful()
    if not report.halted:
        names += _who_gets_a_place(place, survey, names)
    if names:
        from council.operations.protocol.orchestrating import serve_those

        serve_those(place, now, report, survey, names, afterwards)
    survey.keep()


def _who_gets_a_place(place: Place, survey: ContextSurvey, others: list[str]) -> list[str]:
    """Return those idle contexts in which somebody waits whose place may be free by now."""
    waiting = survey.waiting()
    if not waiting:
        return []
    from council.store.slots import Slots

    slots = Slots(place.paths.places, place.settings.max_runs)
    free = slots.max_runs - slots.taken()
    running = set(slots.running_agents())
    chosen: list[str] = []
    for _, _, agent, context in waiting:
        if free <= 0:
            break
        if agent in running:
            continue
        running.add(agent)
        free -= 1
        if context not in chosen and context not in others:
            chosen.append(context)
            survey.open_again(context)
    return chosen
