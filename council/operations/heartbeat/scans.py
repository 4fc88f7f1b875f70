"""What is due, found without a lock: a scan of the conversations, of the rooms, of the contexts.

A scan opens those alone that no note vouches for. It says where something is due or
a run waits for a place, and notes until when the others are idle.

Source: XC-007, C0-021, PR-410.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from council.core.errors import CouncilError
from council.core.record import Any
from council.operations.place import Place
from council.operations.report import Report, due_actions, room_seen, seen_of
from council.store.files import explaining
from council.store.heartbeat.survey import ContextSurvey, Survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Task
    from council.core.conversations.due import Wake
    from council.operations.heartbeat.gate import Gate
    from council.operations.heartbeat.queue import Served
    from council.operations.protocol.orchestrating import ContextScanner
    from council.operations.report import Beaten, BeatenRoom


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
        is_dry: Whether nothing is to be done, not even asked of others.
    """

    def __init__(
        self, place: Place, names: list[str], survey: Survey | None, now: datetime
    ) -> None:
        self.busy: list[Any] = []
        self.queue: list[Any] = []
        self.is_dry = False
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
        self.is_dry = True
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
        if any(one.at_once for one in state.tasks.values()):
            from council.operations.heartbeat.gate import with_mended

            state = with_mended(place, state)
        step = machine.advance(state, now)
        seen = seen_of(name, state, step)
        seen.edited = place.conversations.must_settle(view)
        report.conversations.append(seen)

        def holds(gate: Gate, wake: Wake) -> bool:
            after, agent = step.state, wake.agent
            heard = after.participants.get(agent)
            heard_at = heard.last_action if heard is not None else None
            tasks = due.tasks_of(after, agent)
            owner = after.conversation_id
            return gate.holds(owner, wake, after.tasks, tasks, heard_at, each_round=True)

        actions, is_due = due_actions(place, step.state, now), bool(step.events) or seen.edited
        if self._is_idle(seen, actions, step.state.tasks, holds, is_due=is_due) and self._survey:
            due_at = due.next_due(state, backoff=place.settings.retry_backoff, here=place.has)
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
        if view.channel.discord is not None and not self.is_dry:
            from council.operations.rooms.discord import exchange

            exchange(place, name)
            view = rooms.look(place, name, self._now)
        channel, actions = view.channel, view.actions
        seen = room_seen(channel, awaited=is_awaited(channel) or bool(actions))
        seen.tended = rooms.must_open(place, name, view)
        report.rooms.append(seen)

        def holds(gate: Gate, wake: Wake) -> bool:
            return gate.holds(name, wake, channel.tasks, tasks_of_turn(channel))

        is_idle = self._is_idle(seen, actions, channel.tasks, holds, is_due=seen.tended)
        if is_idle and self._survey and channel.discord is None:  # no file shows what is said there
            backoff = place.settings.retry_backoff
            due_at = next_due(channel, rules=rooms.rules_of(place), backoff=backoff, here=place.has)
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
