"""The heartbeat: whatever is due in any conversation is done, once.

Three steps. Look at every open conversation without a lock and without
writing; most of the time nothing is due and that is all. Otherwise, under the
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

from council.core import machine
from council.core.errors import CouncilError, NotFoundError
from council.core.owed import Wake
from council.operations.place import Place
from council.operations.report import Beaten, Report, owed_by, seen_of
from council.store.files import make_folder
from council.store.lock import Lock, try_lock
from council.store.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.gate import Gate


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
    names = [only] if only else place.conversations.names()
    return _beat(place, names, dry_run=dry_run, must_exist=bool(only))


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


def _beat(
    place: Place, names: list[str], *, dry_run: bool = False, must_exist: bool = False
) -> Report:
    now = place.now()
    report = Report(now=now, halted=os.path.lexists(place.paths.halt_mark))
    busy: list[Beaten] = []
    queue: list[Beaten] = []
    gates: list[Gate] = []
    for name in names:
        try:
            seen, due, waits = _look(place, name, now, gates)
        except CouncilError as error:
            if must_exist:
                raise
            report.errors.append((name, error))
            continue
        report.conversations.append(seen)
        if due:
            busy.append(seen)
        elif waits:
            queue.append(seen)
    if dry_run:
        return _without_archived(place, report)
    place.conversations.clear_ended(now)
    slots = Slots(place.paths.places, place.settings.max_runs)
    if queue and (busy or slots.taken() < slots.max_runs):
        busy += queue  # all who wait are looked at together, or a younger one passes an older
    if not busy:
        _end(place)
        return _without_archived(place, report)
    from council.operations.runs import start
    from council.operations.serving import serve

    make_folder(place.paths.control)
    with Lock(place.paths.heartbeat_lock):
        jobs = serve(place, busy, now, report)
    started = [start(place, job, beat_in_turn) for job in jobs]
    _end(place)
    if not all(started):
        report.take_over(beat(place))  # a place is free again, and somebody may wait for it
    return _without_archived(place, report)


def _end(place: Place) -> None:
    place.mark_beat()
    if place.settings.hooks:
        from council.operations.hooks import tell_hooks

        tell_hooks(place)


def _without_archived(place: Place, report: Report) -> Report:
    """Take out what was archived by somebody else between two looks: no fault of anybody."""
    names = place.conversations.names() if report.errors else []
    report.errors = [
        (name, error)
        for name, error in report.errors
        if name in names or not isinstance(error, NotFoundError)
    ]
    return report


def _look(place: Place, name: str, now: datetime, gates: list[Gate]) -> tuple[Beaten, bool, bool]:
    """Look at one conversation without writing.

    Args:
        place: The workspace.
        name: Which conversation.
        now: The time of the look.
        gates: Holds the bounds of the workspace once somebody was found who is owed a start.

    Returns:
        What was found, whether anything is due, whether somebody waits for a place.
    """
    view = place.conversations.page(name, now)
    state = view.state
    step = machine.advance(state, now)
    owed = owed_by(place, step.state, now)
    seen = seen_of(name, state, step)
    wakes = [one for one in owed if isinstance(one, Wake)]
    if wakes and not gates:
        from council.operations.gate import Gate

        gates.append(Gate(place, now))
    held = [one for one in wakes if gates[0].holds(step.state, one)]
    queued = [one for one in wakes if one.task in step.state.tasks and one not in held]
    seen.woken = [
        one.agent for one in wakes if one not in queued and not gates[0].halted and one not in held
    ]
    seen.edited = view.standing != "clean"
    due = bool(step.events) or len(owed) > len(queued) + len(held) or seen.edited
    return seen, due, bool(queued)


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
        report = _beat(place, [only] if only else place.conversations.names())
        for seen in report.conversations:
            if seen.changed:
                tell(seen.to_text())
        whole.take_over(report)
        names = place.conversations.names()
        still_open = only in names if only else bool(names)
        if not still_open or time.monotonic() >= ends_at:
            return whole, still_open
        time.sleep(min(_LOOK_AGAIN_S, max(0.0, ends_at - time.monotonic())))
