"""The heartbeat: whatever is due in any conversation, room or task is done, once.

Three steps. Scan conversations and rooms without a lock and without writing
to them: those alone that the note of an earlier heartbeat does not vouch
for; where nothing is due, it is noted until when that holds. In contexts of tasks that
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
from datetime import datetime, timedelta

from council.core.errors import CouncilError, NotFoundError
from council.core.ids import folded, is_name
from council.core.record import Any
from council.operations.place import Place
from council.operations.report import Report, due_actions, room_seen, seen_of
from council.store.files import explaining, make_folder
from council.store.heartbeat.survey import ContextSurvey, RoomSurvey, Survey
from council.store.lock import Lock, try_lock
from council.store.paths import record_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Task
    from council.core.conversations.due import Wake
    from council.operations.heartbeat.gate import Gate
    from council.operations.heartbeat.queue import Served
    from council.operations.protocol.orchestrating import ContextScanner
    from council.operations.report import Beaten, BeatenRoom, Reported

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
    now = place.now()
    guard = place.host_guard if dry_run else place.guard_note
    report = Report(now=now, halted=os.path.lexists(place.paths.halt_mark), guard=guard)
    surveys = [] if only else _surveys(place, now, report)
    scans = _scans(place, only, surveys, now)
    for scan in scans:
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
    from council.drivers.cron import openclaw
    from council.operations.detach import detach

    argv = ["openclaw", "cron", "run", place.clock_job]
    detach(lambda: openclaw(argv, place.environ), log_file=place.paths.failure_log)


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
    """Bring calls and messages to their end whose process died (P8-028)."""
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
    # Where several machines write, a time of change is the word of another clock.
    trusting = not place.settings.force_network_fs
    with explaining("list", place.paths.shared):
        found = [Survey(place.paths, rules, now, trusting=trusting)]
        report.idle = found[0].idle
        if os.path.isdir(place.paths.channels):
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
        Whether all were started; else another run is due in their place.
    """
    from council.operations.heartbeat.queue import serve

    make_folder(place.paths.control)
    with Lock(place.paths.heartbeat_lock):
        claimed = serve(place, busy, now, report)
    started = [one.of.start(one, slot) for one, slot in claimed]  # each, whatever became of one
    return all(started) and not report.passed_over


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


# --- What is due, found without a lock


class Scan:
    """The scan of things of one kind at one time.

    Args:
        place: The workspace.
        names: Which have to be opened.
        survey: Where to note which are idle, None to note nothing.
        now: The time of the scan.

    Attributes:
        busy: Where something is due.
        queue: Where a run waits for a place and nothing else is due.
    """

    def __init__(
        self, place: Place, names: list[str], survey: Survey | None, now: datetime
    ) -> None:
        self.busy: list[Any] = []
        self.queue: list[Any] = []
        self._place = place
        self._names = names
        self._survey = survey
        self._now = now
        self._gate: Gate | None = None
        self._served: list[str] = []
        self._ended: list[str] = []

    def each(self, report: Report, *, must_exist: bool = False) -> None:
        """Examine all of them and report each; one that is broken hides no other.

        Raises:
            CouncilError: One that must exist cannot be read.
        """
        for name in self._names:
            try:
                self._at(name, report, must_exist=must_exist)
            except CouncilError as error:
                if must_exist:
                    raise
                report.errors.append((name, error))

    def to_serve(self) -> list[Served]:
        """Return those in which something is due or a run waits, to be served."""
        chosen = self.busy + self.queue
        self._served = [seen.name for seen in chosen]
        return [self._to_serve(seen) for seen in chosen]

    def again(self) -> None:
        """Note those that were served and are idle now."""
        if self._survey is None or not self._survey.is_kept:
            return
        for name in self._served:
            try:
                self._at(name, Report(now=self._now))
            except CouncilError:
                continue  # the next scan reports it

    def _at(self, name: str, report: Report, *, must_exist: bool = False) -> None:
        """Examine one of them; report what was found, and note it if it is idle."""
        raise NotImplementedError

    def _to_serve(self, seen: Any) -> Served:
        raise NotImplementedError

    def _take_stamps(self, name: str, identity: str) -> None:
        """Take the stamps of what is about to be read: what changes from now on is seen later."""
        if self._survey is not None:
            self._survey.look(name, identity)

    def _is_idle(
        self,
        seen: Beaten | BeatenRoom,
        actions: tuple[Any, ...],
        tasks: dict[str, Task],
        holds: Callable[[Gate, Wake], bool],
        *,
        is_due: bool,
    ) -> bool:
        """Say which runs will be started, and keep what is to be served; return if it is idle.

        Args:
            seen: What was found.
            actions: What is due there.
            tasks: All its tasks.
            holds: Returns true if a bound keeps a start back, and that is written down already.
            is_due: Whether anything is due besides.
        """
        from council.core.conversations.due import Wake
        from council.operations.gone_runs import has_runs

        wakes = [one for one in actions if isinstance(one, Wake)]
        if wakes and self._gate is None:
            from council.operations.heartbeat.gate import Gate

            self._gate = Gate(self._place, self._now)
        gate = self._gate
        held = [one for one in wakes if gate is not None and holds(gate, one)]
        queued = [one for one in wakes if one.task in tasks and one not in held]
        if gate is not None and not gate.halted:
            seen.woken = [one.agent for one in wakes if one not in queued and one not in held]
        is_due = is_due or len(actions) > len(queued) + len(held)
        if is_due:
            self.busy.append(seen)
        elif queued:
            self.queue.append(seen)
        # That a process is gone changes no file: what runs is opened by each scan.
        return self._survey is not None and not (is_due or actions or has_runs(tasks))


class ConversationScan(Scan):
    """The scan of conversations."""

    def again(self) -> None:
        """Clear away what has ended, and note those that were served and are idle now."""
        for name in self._ended:
            self._place.conversations.clear_ended(name, self._now)
        super().again()

    def _at(self, name: str, report: Report, *, must_exist: bool = False) -> None:
        from council.core.conversations import due, machine
        from council.operations.gone_runs import without_gone_runs
        from council.store.conversations.naming import standing_of

        place, now = self._place, self._now
        conversation_id, has_ended = standing_of(place.paths, name)
        if has_ended and not must_exist:
            self._ended.append(name)
            return
        self._take_stamps(name, conversation_id)
        place.conversations.require_adopted(name)
        view = place.conversations.page(name, now, whole=False)
        state = without_gone_runs(place, view.state, now)
        step = machine.advance(state, now)
        seen = seen_of(name, state, step)
        seen.edited = place.conversations.must_settle(view)
        report.conversations.append(seen)

        def holds(gate: Gate, wake: Wake) -> bool:
            after, agent = step.state, wake.agent
            heard = after.participants.get(agent)
            heard_at = heard.last_action if heard is not None else None
            tasks = due.tasks_of(after, agent)
            return gate.holds(after.conversation_id, wake, after.tasks, tasks, heard_at)

        actions, is_due = due_actions(place, step.state, now), bool(step.events) or seen.edited
        if self._is_idle(seen, actions, step.state.tasks, holds, is_due=is_due) and self._survey:
            due_at = due.next_due(state, backoff=place.settings.retry_backoff)
            self._survey.note(name, state.conversation_id, due_at, seen.to_note())

    def _to_serve(self, seen: Any) -> Served:
        from council.operations.heartbeat.conversations import ServedConversation

        return ServedConversation(self._place, seen, self._now)


class RoomScan(Scan):
    """The scan of channels."""

    def _at(self, name: str, report: Report, *, must_exist: bool = False) -> None:  # noqa: ARG002
        from council.core.rooms.channels import is_awaited
        from council.core.rooms.due import next_due, tasks_of_turn
        from council.operations.rooms import rooms

        place = self._place
        self._take_stamps(name, name)
        view = rooms.look(place, name, self._now)
        channel, actions = view.channel, view.actions
        seen = room_seen(channel, awaited=is_awaited(channel) or bool(actions))
        seen.tended = rooms.must_open(place, name, view)
        report.rooms.append(seen)

        def holds(gate: Gate, wake: Wake) -> bool:
            return gate.holds(name, wake, channel.tasks, tasks_of_turn(channel))

        if self._is_idle(seen, actions, channel.tasks, holds, is_due=seen.tended) and self._survey:
            backoff = place.settings.retry_backoff
            due_at = next_due(channel, rules=rooms.rules_of(place), backoff=backoff)
            self._survey.note(name, name, due_at, seen.to_note())

    def _to_serve(self, seen: Any) -> Served:
        from council.operations.heartbeat.rooms import ServedRoom

        return ServedRoom(self._place, seen, self._now)


class ContextScan:
    """The scan of the contexts of tasks: those in which something may be due, or a place is free.

    Args:
        place: The workspace.
        now: The time of the scan.
        report: Takes what goes wrong, and what was found and done.

    Attributes:
        busy: The contexts in which runs are due.
        queue: Empty: a run that waits for a place may have one made.

    Raises:
        CouncilError: The contexts cannot be listed.
    """

    def __init__(self, place: Place, now: datetime, report: Report) -> None:
        self.busy: list[str] = []
        self.queue: list[str] = []
        self._place = place
        self._now = now
        self._report = report
        self._scanner: ContextScanner | None = None
        rules = [sorted(f"{name}={value}" for name, value in place.settings.tasks.items())]
        trusting = not place.settings.force_network_fs
        with explaining("list", place.paths.protocol):
            self._survey = ContextSurvey(place.paths, rules, now, trusting=trusting)

    def each(self, *, contested: bool) -> None:
        """Do at once what needs no run, and find the runs that are due.

        Args:
            contested: Whether something else wants a place as well.

        Raises:
            CouncilError: The registry or the settings cannot be read.
        """
        names = list(self._survey.doubtful)
        if not self._report.halted:
            names += self._with_a_place(names, contested=contested or bool(names))
        if names:
            from council.operations.protocol.orchestrating import ContextScanner

            self._scanner = ContextScanner(self._place, self._now, self._report, self._survey)
            self.busy = self._scanner.with_due_runs(names)

    def to_serve(self) -> list[Served]:
        """Return those in which runs are due, to be served; see `Scan`."""
        if self._scanner is None:
            return []
        from council.operations.heartbeat.contexts import ServedContext

        scanner, tried = self._scanner, set[tuple[str, str]]()
        return [ServedContext(scanner, name, tried) for name in self.busy]

    def again(self) -> None:
        """Report what was found and done, and note what is idle now."""
        if self._scanner is not None:
            for name in self.busy:
                self._scanner.scan_again(name)
            found = self._scanner.seen.values()
            self._report.tasks += sorted(found, key=lambda one: one.name)
        self._survey.keep()

    def _with_a_place(self, others: list[str], *, contested: bool) -> list[str]:
        """Return those idle contexts in which a run waits whose place may be free by now.

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
