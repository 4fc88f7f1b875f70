"""The heartbeat: whatever is due in any conversation, room or task is done, once.

Three steps. Scan conversations and rooms without a lock and without writing
to them: those alone that the note of an earlier heartbeat does not vouch
for; where nothing is due, it is noted until when that holds. A room that is tied to
Discord is never vouched for: what was said there is fetched first. In contexts of tasks that
a note does not vouch for, what needs no run is
done at once. Most of the time nothing is due and that is all. Otherwise, under the
heartbeat's own lock, advance what is due and claim the runs that are due,
oldest first and as many as there are places. Then, with no lock held, start
what was claimed. A process that dies anywhere in between leaves a state from
which the next heartbeat goes on.

Source: C0-021 to C0-037, XC-007, XC-016, DG-003, PR-309, PR-410, `architecture.md` section 3.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from council.core.errors import CouncilError, NotFoundError, StorageError, TimedOutError
from council.core.ids import folded, is_name
from council.core.record import Any
from council.operations.place import Place
from council.operations.report import Report
from council.store.files import explaining, make_folder
from council.store.heartbeat.survey import RoomSurvey, Survey
from council.store.lock import Lock, try_lock
from council.store.paths import record_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.heartbeat.queue import Served
    from council.operations.heartbeat.scans import ContextScan, Scan
    from council.operations.report import Reported

    Do = Callable[[Place, datetime], list[CouncilError] | None]


_CHECK_EVERY_S = 0.2
_ASK_EVERY_S = 60
_asked_at: dict[str, float] = {}  # when this process has asked the clock of a workspace


def beat(place: Place, only: str = "", *, dry_run: bool = False) -> Report:
    """Advance what is due, start the runs that are due, archive what is finished.

    Args:
        place: The workspace.
        only: Serve just the conversation or the channel of this name; "" serves all.
        dry_run: Say what would be done and do nothing.

    Raises:
        NotFoundError: `only` is not open.
        CouncilError: `only` cannot be served; of all, a broken one is reported.
    """
    place.renew()
    if place.engine is not None and not dry_run:
        from council.operations.engine.outgoing import send

        place.freshen(again=True)
        with suppress(TimedOutError, StorageError):  # it waits on
            send(place)
    report = _beat(place, only, dry_run=dry_run, must_exist=bool(only))
    if report.guard and report.is_anything_open and not dry_run:
        _ask_the_clock(place)
    return report


def beat_in_turn(place: Place) -> None:
    """Beat, unless another one that has not scanned yet will see all that we could see.

    Many runs that end at once would else stand in line for the heartbeat's
    lock, each to find that the one before it left nothing to do.
    """
    seat = try_lock(f"{place.paths.heartbeat_lock}.next")
    if seat is None:
        return
    try:
        with Lock(place.paths.heartbeat_lock):
            pass  # the one that serves now has scanned before us
    finally:
        os.close(seat)
    beat(place)


def _beat(place: Place, only: str, *, dry_run: bool = False, must_exist: bool = False) -> Report:
    report, all_started = _beat_once(place, only, dry_run=dry_run, must_exist=must_exist)
    while not all_started:  # a place, or the floor, is free again
        later, all_started = _beat_once(place, "")
        report.take_over(later)
    return report


def _beat_once(
    place: Place, only: str, *, dry_run: bool = False, must_exist: bool = False
) -> tuple[Report, bool]:
    """Return what was done, and whether all that was claimed was started."""
    place.renew()
    now = place.now()
    guard = place.host_guard if dry_run else place.guard_note
    report = Report(now=now, halted=os.path.lexists(place.paths.halt_mark), guard=guard)
    surveys = [] if only else _surveys(place, now, report)
    scans = _scans(place, only, surveys, now)
    for scan in scans:
        scan.is_dry = dry_run
        scan.each(report, must_exist=must_exist)
    if dry_run:
        return _without_archived(place, report), True
    all_scans: list[Scan | ContextScan] = [*scans]
    if not only:
        all_scans += _scan_tasks(place, scans, now, report)
    busy = _to_serve(place, all_scans)
    all_started = _serve(place, busy, now, report) if busy else True
    for one in all_scans:
        one.again()
    for survey in surveys:
        survey.keep()
    if not only:
        for name, do in _THE_REST:
            _do(name, do, place, report)
    place.mark_beat()
    if place.settings.hooks:
        from council.operations.reporting.hooks import tell_hooks

        tell_hooks(place)
    return _without_archived(place, report), all_started


def _scans(place: Place, only: str, surveys: list[Survey], now: datetime) -> list[Scan]:
    """Return the scans of the conversations and the rooms that have to be opened."""
    named = _of_name(place, folded(only)) if only else ([], [])
    doubtful = [one.doubtful for one in surveys] or named
    if not any(doubtful):
        return []
    from council.operations.heartbeat.scans import ConversationScan, RoomScan

    found = zip((ConversationScan, RoomScan), doubtful, (*surveys, None, None), strict=False)
    return [scan(place, names, survey, now) for scan, names, survey in found if names]


def _of_name(place: Place, name: str) -> tuple[list[str], list[str]]:
    """Return the conversation and the channel that a name stands for: either, or both."""
    if not is_name(name) or not os.path.lexists(f"{place.paths.channels}/{name}.md"):
        return [name], []
    return [name] if place.conversations.is_open(name) else [], [name]


def _scan_tasks(
    place: Place, others: list[Scan], now: datetime, report: Report
) -> list[ContextScan]:
    """Return the scan of the contexts of document 002, nothing where there are none."""
    _do("liveness", _expire, place, report)  # an agent that fell silent is asked nothing more
    if not os.path.lexists(f"{place.paths.protocol}/contexts"):
        return []
    from council.operations.heartbeat.scans import ContextScan

    try:
        scan = ContextScan(place, now, report)
        scan.each(contested=any(one.busy or one.queue for one in others))
    except CouncilError as error:
        report.errors.append(("tasks", error))
        return []
    return [scan]


def _ask_the_clock(place: Place) -> None:
    """Have the clock of OpenClaw start at once what this process may not start (SC-006).

    A process that goes on asking, as one that waits does, asks once a minute.
    """
    last, now = _asked_at.get(place.root), time.monotonic()
    if not place.clock_job or place.is_in_run or (last is not None and now - last < _ASK_EVERY_S):
        return  # what supervises a run goes on by itself
    _asked_at[place.root] = now
    from council.drivers.openclaw_program import openclaw
    from council.operations.detach import detach

    words = ("cron", "run", place.clock_job)
    detach(lambda: openclaw(place.environ, *words), log_file=place.paths.failure_log)


def _do(name: str, do: Do, place: Place, report: Report) -> None:
    """Do what belongs to no one conversation; what goes wrong there stops nothing else."""
    try:
        report.errors += [(name, error) for error in do(place, report.now) or ()]
    except CouncilError as error:
        report.errors.append((name, error))


def _scan_identities(place: Place, _: datetime) -> None:
    """Take over identities from another program once its file has changed (DG-017).

    A registry that is broken stops no room: this is where it is reported (DG-007).
    """
    if place.is_slave:
        return  # its master does
    if os.path.lexists(place.paths.ego):
        from council.operations.rooms.scanning import scan_if_changed

        scan_if_changed(place)
    if os.path.lexists(place.paths.identities):
        from council.store.rooms import identities

        identities.load(place.paths)


def _expire(place: Place, now: datetime) -> None:
    """Mark agents of the protocol that fell silent as unavailable (PR-422)."""
    if record_files(f"{place.paths.protocol}/registry.jsonl"):
        from council.store.notes import liveness_is_due

        if liveness_is_due(place.paths.protocol, now):
            from council.operations.protocol.registry import expire_liveness

            expire_liveness(place, now)


def _finish_calls(place: Place, _: datetime) -> list[CouncilError]:
    """Bring calls and messages to their end whose process died (P8-028).

    Those of other machines to agents that live here are begun (EN-006).
    """
    asked = f"{place.paths.control}/delegation/elsewhere.jsonl"
    if place.engine is not None and os.path.lexists(asked):
        from council.operations.delegation.elsewhere import take_up

        take_up(place)
    try:
        if not os.listdir(f"{place.paths.control}/delegation/calls"):
            return []
    except OSError:
        return []
    from council.operations.delegation.handing_over import finish_all

    return finish_all(place)


def _render_board(place: Place, now: datetime) -> None:
    """Show on the board what is open now and who is to answer (P8-006)."""
    from council.operations.reporting.board import render_board

    render_board(place, now)


# In this order, at the end of every heartbeat that serves all. Each one checks first whether
# there is anything to do and loads no module before; the board shows everything.
_THE_REST: tuple[tuple[str, Do], ...] = (
    ("identities", _scan_identities),
    ("calls", _finish_calls),
    ("board", _render_board),
)


def _surveys(place: Place, now: datetime, report: Report) -> list[Survey]:
    """Return what need not be opened: of conversations, and of rooms where there are any."""
    rules: list[Any] = [one.total_seconds() for one in place.settings.retry_backoff]
    if place.engine is not None:
        from council.operations.engine.living import rules as of_machines

        rules += of_machines(place)
    # Where several machines write, a time of change is the word of another clock.
    trusting = not place.settings.force_network_fs
    with explaining("list", place.paths.shared):
        found = [Survey(place.paths, rules, now, trusting=trusting)]
        report.idle = found[0].idle
        if os.path.isdir(place.paths.channels) and not place.is_slave:
            rules = [*rules, sorted(place.settings.channels.items())]
            found.append(RoomSurvey(place.paths, rules, now, trusting=trusting))
            report.idle_rooms = found[1].idle
    return found


def _to_serve(place: Place, scans: list[Scan | ContextScan]) -> list[Served]:
    """Return the conversations, rooms and contexts in which something can be done now."""
    if not any(scan.busy for scan in scans):
        if not any(scan.queue for scan in scans):
            return []
        from council.store.slots import Slots

        slots = Slots(place.paths.places, place.settings.max_runs)
        if slots.taken() >= slots.max_runs:
            return []
    # All who wait are looked at together, or a younger one passes an older.
    return [one for scan in scans for one in scan.to_serve()]


def _serve(place: Place, busy: list[Served], now: datetime, report: Report) -> bool:
    """Advance and claim under the heartbeat's lock, then start.

    Returns:
        Whether all were started; else another run is due in their place, or, since settings that
        changed meanwhile say so, elsewhere.
    """
    from council.operations.heartbeat.queue import serve, start

    make_folder(place.paths.control)
    with Lock(place.paths.heartbeat_lock):
        if place.renew():
            return False
        claimed = serve(place, busy, now, report)
    return start(place, claimed) and not report.passed_over


def _without_archived(place: Place, report: Report) -> Report:
    """Take out what was archived by another process between two scans: no fault of anybody."""
    gone = {
        name
        for name, error in report.errors
        if isinstance(error, NotFoundError) and not place.conversations.is_open(name)
    } - {one.name for one in report.rooms}
    report.errors = [one for one in report.errors if one[0] not in gone]
    return report


def wait(
    place: Place, only: str, longest: timedelta, tell: Callable[[str], None]
) -> tuple[Report, bool]:
    """Beat until nothing is open and no room is at work (or not `only`), or the time is up.

    A room that sleeps, or in which nothing was said yet, is not waited for, and
    neither is a task that waits for the user or for a worker that answers by itself.

    Args:
        place: The workspace.
        only: Wait for just this conversation or channel; "" waits for all.
        longest: How long to wait.
        tell: Takes a line for people whenever something was done.

    Returns:
        The report of everything that was done, and whether the time ran out.
    """
    ends_at = time.monotonic() + longest.total_seconds()
    whole = Report(now=place.now())
    if only:
        beat(place, only, dry_run=True)  # raises when there is none of that name
    if place.host_guard:
        _ask_the_clock(place)
    while True:
        report = _beat(place, only)
        done: list[Reported] = [*report.conversations, *report.rooms, *report.tasks]
        for seen in done:
            if seen.changed:
                tell(seen.to_text())
        whole.take_over(report)
        names = place.conversations.names()
        still_open = folded(only) in names if only else bool(names)
        still_open = still_open or any(one.awaited for one in report.all_rooms())
        still_open = still_open or any(getattr(one, "awaited", False) for one in report.tasks)
        if not still_open or time.monotonic() >= ends_at:
            return whole, still_open
        time.sleep(min(_CHECK_EVERY_S, max(0.0, ends_at - time.monotonic())))
