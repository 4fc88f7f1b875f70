"""The heartbeat: whatever is due in any conversation is done, once.

Three steps. Look at the open conversations without a lock and without writing
to them: at those alone that the note of an earlier heartbeat does not vouch
for. Most of the time nothing is due and that is all. Otherwise, under the
heartbeat's own lock, advance what is due and claim the runs that are owed,
oldest first and as many as there are places. Then, with no lock held, start
what was claimed. A process that dies anywhere in between leaves a state from
which the next heartbeat goes on.

Source: C0-021 to C0-037, XC-007, XC-016, `architecture.md` section 3.
"""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta

from council.core.errors import CouncilError, NotFoundError
from council.operations.place import Place
from council.operations.report import Beaten, Report
from council.store.files import explaining, make_folder
from council.store.lock import Lock, try_lock
from council.store.survey import Survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.looking import Looked


_LOOK_AGAIN_S = 0.2


def beat(place: Place, only: str = "", *, dry_run: bool = False) -> Report:
    """Advance what is due, wake who is owed a start, archive what is finished.

    Args:
        place: The workspace.
        only: Serve just this conversation; "" serves all.
        dry_run: Say what would be done and do nothing.

    Raises:
        NotFoundError: `only` is not open.
        CouncilError: `only` cannot be served; of all, a broken one is reported.
    """
    return _beat(place, only, dry_run=dry_run, must_exist=bool(only))


def beat_in_turn(place: Place) -> None:
    """Beat, unless somebody who has not looked yet will see all that we could see.

    Many runs that end at once would else stand in line for the heartbeat's
    lock, each to find that the one before it left nothing to do.
    """
    seat = try_lock(f"{place.paths.heartbeat_lock}.next")
    if seat is None:
        return
    try:
        with Lock(place.paths.heartbeat_lock):
            pass  # whoever serves now has looked before us
    finally:
        os.close(seat)
    beat(place)


def _beat(place: Place, only: str, *, dry_run: bool = False, must_exist: bool = False) -> Report:
    now = place.now()
    report = Report(now=now, halted=os.path.lexists(place.paths.halt_mark))
    survey = None if only else _survey(place, now)
    if survey is not None:
        report.idle = survey.idle
    names = [only] if survey is None else survey.doubtful
    busy: list[Beaten] = []
    if names:
        from council.operations.looking import Look

        look = Look(place, survey, now)
        looked = look.at_all(names, report, must_exist=must_exist)
        if not dry_run:
            for name in looked.ended:
                place.conversations.clear_ended(name, now)
            busy = _to_serve(place, looked)
    if dry_run:
        return _without_archived(place, report)
    all_started = _serve(place, busy, now, report) if busy else True
    if survey is not None:
        if busy and survey.is_kept:
            look.again_at([seen.name for seen in busy])
        survey.keep()
        _do_the_rest(place, now, report)
    _end(place)
    if not all_started:
        report.take_over(beat(place))  # a place, or the floor, is free again
    return _without_archived(place, report)


def _do_the_rest(place: Place, now: datetime, report: Report) -> None:
    """Do what is not the matter of one conversation; what goes wrong there stops nothing else."""
    for name, do in _THE_REST:
        try:
            do(place, now, report)
        except CouncilError as error:
            report.errors.append((name, error))


def _scan(place: Place, now: datetime, report: Report) -> None:  # noqa: ARG001
    """Take over identities from another program once its file has changed (DG-017)."""
    if os.path.lexists(place.paths.ego):
        from council.operations.scanning import scan_if_changed

        scan_if_changed(place)


# In this order, at the end of every heartbeat that serves all. Each one looks first whether
# there is anything to do and loads no module before; tasks go before the board, which tells
# of everything. What is done for tasks goes into `report.tasks`.
_THE_REST: tuple[tuple[str, Callable[[Place, datetime, Report], None]], ...] = (
    ("identities", _scan),
)


def _survey(place: Place, now: datetime) -> Survey:
    backoff_s = [one.total_seconds() for one in place.settings.retry_backoff]
    with explaining("list", place.paths.shared):
        # Where several machines write, a time of change is the word of another clock.
        return Survey(place.paths, backoff_s, now, trusting=not place.settings.force_network_fs)


def _to_serve(place: Place, looked: Looked) -> list[Beaten]:
    """Return the conversations in which something can be done now."""
    if not looked.queue:
        return looked.busy
    from council.store.slots import Slots

    slots = Slots(place.paths.places, place.settings.max_runs)
    if looked.busy or slots.taken() < slots.max_runs:
        # All who wait are looked at together, or a younger one passes an older.
        return looked.busy + looked.queue
    return []


def _serve(place: Place, busy: list[Beaten], now: datetime, report: Report) -> bool:
    """Advance and claim under the heartbeat's lock, then start.

    Returns:
        Whether all were started; else somebody else is owed a start in their place.
    """
    from council.operations.runs import start
    from council.operations.serving import serve

    make_folder(place.paths.control)
    with Lock(place.paths.heartbeat_lock):
        jobs = serve(place, busy, now, report)
    started = [start(place, job, beat_in_turn) for job in jobs]  # each, whatever became of one
    return all(started) and not report.passed_over


def _end(place: Place) -> None:
    place.mark_beat()
    if place.settings.hooks:
        from council.operations.hooks import tell_hooks

        tell_hooks(place)


def _without_archived(place: Place, report: Report) -> Report:
    """Take out what was archived by somebody else between two looks: no fault of anybody."""
    gone = {
        name
        for name, error in report.errors
        if isinstance(error, NotFoundError) and not place.conversations.is_open(name)
    }
    report.errors = [one for one in report.errors if one[0] not in gone]
    return report


def wait(
    place: Place, only: str, longest: timedelta, tell: Callable[[str], None]
) -> tuple[Report, bool]:
    """Beat until nothing is open (or `only` is not), or the time is up.

    Args:
        place: The workspace.
        only: Wait for just this conversation; "" waits for all.
        longest: How long to wait.
        tell: Takes a line for people whenever something was done.

    Returns:
        The report of everything that was done, and whether the time ran out.
    """
    ends_at = time.monotonic() + longest.total_seconds()
    whole = Report(now=place.now())
    if only:
        beat(place, only, dry_run=True)  # raises when there is none of that name
    while True:
        report = _beat(place, only)
        for seen in report.conversations:
            if seen.changed:
                tell(seen.to_text())
        whole.take_over(report)
        names = place.conversations.names()
        still_open = only in names if only else bool(names)
        if not still_open or time.monotonic() >= ends_at:
            return whole, still_open
        time.sleep(min(_LOOK_AGAIN_S, max(0.0, ends_at - time.monotonic())))
