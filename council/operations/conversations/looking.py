"""Looking: what is due in conversations, without a lock and without writing.

A heartbeat looks before it serves, and only at those that its note does not
vouch for; where it finds nothing due, it notes until when that holds. An idle
heartbeat over many conversations loads none of this.

Source: C0-026, C0-029, XC-007, `architecture.md` section 3.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations import machine, owed
from council.core.conversations.owed import Wake
from council.core.errors import CouncilError
from council.operations.gone_runs import has_runs, without_gone_runs
from council.operations.place import Place
from council.operations.report import Beaten, Report, owed_by, seen_of
from council.store.conversations.naming import standing_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.gate import Gate
    from council.operations.serving import Served
    from council.store.conversations.survey import Survey


class Look:
    """Looks at conversations at one time.

    Args:
        place: The workspace.
        names: Which have to be opened.
        survey: Where to note who is idle, None to note nothing.
        now: The time of the look.

    Attributes:
        busy: Where something is due.
        queue: Where somebody waits for a place and nothing else is due.
    """

    def __init__(
        self, place: Place, names: list[str], survey: Survey | None, now: datetime
    ) -> None:
        self.busy: list[Beaten] = []
        self.queue: list[Beaten] = []
        self._place = place
        self._names = names
        self._survey = survey
        self._now = now
        self._gate: Gate | None = None
        self._ended: list[str] = []
        self._served: list[str] = []

    def at_all(self, report: Report, *, must_exist: bool = False) -> None:
        """Look at all and report each; one that is broken hides no other.

        Raises:
            CouncilError: One that must exist cannot be read.
        """
        for name in self._names:
            conversation_id, has_ended = standing_of(self._place.paths, name)
            if has_ended and not must_exist:
                self._ended.append(name)
                continue
            try:
                seen, due, waits = self._at(name, conversation_id)
            except CouncilError as error:
                if must_exist:
                    raise
                report.errors.append((name, error))
                continue
            report.conversations.append(seen)
            if due:
                self.busy.append(seen)
            elif waits:
                self.queue.append(seen)

    def to_serve(self, afterwards: Callable[[Place], object]) -> list[Served]:
        """Return those in which something is due or somebody waits, to be served.

        `afterwards` is what a run does when its place is free again.
        """
        from council.operations.conversations.claiming import ServedConversation

        chosen = self.busy + self.queue
        self._served = [seen.name for seen in chosen]
        return [ServedConversation(self._place, seen, self._now, afterwards) for seen in chosen]

    def again(self) -> None:
        """Clear away what has ended, and note those that were served and are idle now."""
        for name in self._ended:
            self._place.conversations.clear_ended(name, self._now)
        if self._survey is None or not self._survey.is_kept:
            return
        for name in self._served:
            conversation_id, has_ended = standing_of(self._place.paths, name)
            if conversation_id and not has_ended:
                try:
                    self._at(name, conversation_id)
                except CouncilError:
                    continue  # whoever looks next reports it

    def _at(self, name: str, conversation_id: str) -> tuple[Beaten, bool, bool]:
        """Look at one conversation, and note it if it is idle.

        Returns:
            What was found, whether anything is due, whether somebody waits for a place.
        """
        place, now, survey = self._place, self._now, self._survey
        if survey is not None:
            survey.look(name, conversation_id)  # before it is read: what changes now is seen later
        place.conversations.require_adopted(name)
        view = place.conversations.page(name, now)
        state = without_gone_runs(place, view.state, now)
        step = machine.advance(state, now)
        owing = owed_by(place, step.state, now)
        seen = seen_of(name, state, step)
        wakes = [one for one in owing if isinstance(one, Wake)]
        gate = self._bounds() if wakes else None
        held = [one for one in wakes if gate is not None and gate.holds(step.state, one)]
        queued = [one for one in wakes if one.task in step.state.tasks and one not in held]
        halted = gate is not None and gate.halted
        seen.woken = [
            one.agent for one in wakes if one not in queued and not halted and one not in held
        ]
        seen.edited = place.conversations.must_settle(view)
        due = bool(step.events) or len(owing) > len(queued) + len(held) or seen.edited
        # That a process is gone changes no file: what runs is opened at each look.
        if survey is not None and not due and not owing and not has_runs(state.tasks):
            due_at = owed.next_due(state, backoff=place.settings.retry_backoff)
            survey.note(name, state.conversation_id, due_at, seen.to_note())
        return seen, due, bool(queued)

    def _bounds(self) -> Gate:
        """Return the bounds of the workspace, read once somebody was found who is owed a start."""
        if self._gate is None:
            from council.operations.gate import Gate

            self._gate = Gate(self._place, self._now)
        return self._gate
