"""What the heartbeat has to know of a kind of document: one row of the table in `app.py`."""

from __future__ import annotations

from datetime import datetime

from council.kernel.record import Any
from council.runs.work import Event, Run, Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App
    from council.kernel.document import Document
    from council.runs.drivers.output import Output
    from council.runs.starting import Started


class KindRow:
    """A kind of document whose agents are run; `councils/row.py` has the first one.

    `place_in_report` is the key of the heartbeat's report that lists its documents; `module` has
    the eight functions of the kind.
    """

    name: str
    place_in_report: str
    module: Any

    def names(self, app: App) -> list[str]:
        """Return the names of the open documents."""
        raise NotImplementedError

    def document(self, app: App, name: str) -> Document[Any]:
        """Return the document of that name."""
        raise NotImplementedError

    def place(self, name: str) -> tuple[str, str]:
        """Return folder and page ("" for none) of that document, as paths from `.council` on."""
        raise NotImplementedError

    def ident(self, state: Any) -> str:
        """Return the id from which run ids are made."""
        raise NotImplementedError

    def prompt(self, app: App, state: Any, work: Work, by_hand: bool = False) -> str:
        """Return what the agent is told; `by_hand`: it answers by command, not by its output."""
        raise NotImplementedError

    def variables(self, state: Any, work: Work) -> dict[str, str]:
        """Return the COUNCIL_* variables of the run, without token, report and task id."""
        return {}

    def run_bounds(self, state: Any) -> dict[str, Any]:
        """Return what a run may use at most: fields of `RunPlace`."""
        return {}

    def handed_in(
        self, app: App, state: Any, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        """Return the events by which an open run ends, one `run.answered` or `run.failed` of them.

        Pure but for the reading of the answer; may be asked several times.
        """
        raise NotImplementedError

    def is_over(self, state: Any) -> bool:
        """Return whether nothing more will happen, so that it is filed away."""
        return False

    def finish(self, app: App, name: str) -> str:
        """End the runs of a document that is over, file it away and return where; repeatable."""
        return ""

    def report(
        self, state: Any, events: list[Event], started: Started, filed: str
    ) -> dict[str, Any]:
        """Return a row of the heartbeat's report (`json.md`): what changed and who was woken."""
        raise NotImplementedError

    def time_limit(self, app: App, state: Any, work: Work, usual: float) -> float:
        """Return the seconds that a run may take; `usual` are those of its agent."""
        return usual

    def places_lent(self, state: Any, work: Work) -> int:
        """Return how many runs wait for this one, and need no place meanwhile."""
        return 0

    def passed(self, work: Work, code: str, words: str, at: datetime) -> list[Event]:
        """Return the events by which the document goes on without an agent that is not run."""
        return []

    def given_up(self, state: Any) -> list[Work]:
        """Return whose runs failed for good in the round that is open."""
        return []

    def may_run(self, state: Any) -> bool:
        """Return whether runs may be started now: not while it is paused."""
        return True

    # What observers and commands ask; `json.md` names the keys.

    def exchange(self, app: App, name: str) -> None:
        """Fetch what was said elsewhere, and tell it there; before each look at what is due."""

    def status(self, app: App, name: str, state: Any) -> dict[str, Any]:
        """Return its row of `status` and `list`."""
        raise NotImplementedError

    def line(self, row: dict[str, Any]) -> str:
        """Return a row of `status` as one line for people."""
        return f"{row['name']}: {row['status']}"

    def explained(self, app: App, name: str, state: Any) -> dict[str, Any]:
        """Return what it waits for, what is in the way, and what comes next."""
        raise NotImplementedError

    def shown(self, app: App, name: str, state: Any, last: int) -> tuple[dict[str, Any], str]:
        """Return it as data and as text for people, with the newest `last` parts; 0 is all."""
        raise NotImplementedError

    def logged(self, event: Event) -> str:
        """Return an event as one line of `log`."""
        return str(event["type"])

    def remove(self, app: App, name: str) -> None:
        """Remove it with all that it said."""
        raise NotImplementedError
