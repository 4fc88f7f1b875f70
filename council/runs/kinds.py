"""What the heartbeat has to know of a kind of document: one row of the table in `app.py`."""

from __future__ import annotations

import os

from council.kernel import times
from council.kernel.document import Document
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import datetime, timedelta
from council.runs.work import Event, Run, Work

if TYPE_CHECKING:
    from council.agents.settings import AgentSettings
    from council.app import App
    from council.runs.drivers import Output

RETRIES = timedelta(days=366)  # within it everything is tried again that will be


class KindRow:
    """A kind of document whose agents are run; `councils/row.py` has the first one."""

    name: str
    place_in_report: str  # the key of the heartbeat's report that lists its documents
    folder: str = ""  # where they lie, below `.council`
    module: Any  # has the eight functions of the kind
    hooks: dict[str, str] = {"run.failed": "failed"}  # the user's, by the event that fires them
    by_command = False  # `council respond` hands in an answer

    def names(self, app: App) -> list[str]:
        """Return the names of the open documents."""
        raise NotImplementedError

    def knows(self, app: App, which: str) -> bool:
        """Return whether a document has exactly this name, open or over."""
        return which in self.names(app)

    def document(self, app: App, name: str) -> Document[Any]:
        """Return the document of that name."""
        folder, page = self.place(name)
        shown = os.path.normpath(f"{app.state_folder}/{page}") if page else None
        return Document(f"{app.state_folder}/{folder}", shown, self.module, now=app.fixed)

    def place(self, name: str) -> tuple[str, str]:
        """Return folder and page ("" for none) of that document, as paths from `.council` on."""
        return f"{self.folder}/{name}", ""

    def ident(self, state: Any) -> str:
        """Return the id from which run ids are made."""
        return str(state.name)

    def prompt(self, app: App, state: Any, work: Work, by_hand: bool = False) -> str:
        """Return what the agent is told; `by_hand`: it answers by command, not by its output."""
        raise NotImplementedError

    def schema(self, state: Any, work: Work) -> Any:
        """Return the JSON schema of the answer for servers that take one, None for free text."""
        return None

    def trace(self, state: Any, run: Run) -> tuple[str, dict[str, str]]:
        """Return the id of the trace that a run belongs to, and what carried it (`tracing.py`)."""
        return self.ident(state), getattr(state, "carrier", {})

    def variables(self, state: Any, run: Run) -> dict[str, str]:
        """Return the variables of the run, without token, report and task id."""
        from council.runs import tracing  # late: only a run is told

        trace, carrier = self.trace(state, run)
        made = {"NAME": state.name, "PHASE": run.task.upper(), "TOUR": str(run.tour)}
        own = {f"COUNCIL_{key}": value for key, value in {**made, "TRACE": trace}.items()}
        return own | tracing.variables(trace, run.id, carrier)

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

    def report(self, state: Any, events: list[Event]) -> dict[str, Any]:
        """Return what its row of the heartbeat's report has besides (`json.md`)."""
        return {}

    def running(self, state: Any) -> list[str]:
        """Return the agents whose runs are under way."""
        return sorted(run.agent for run in state.runs.open())

    def wake(self, app: App, state: Any) -> datetime | None:
        """Return when it has to be looked at again, None for never."""
        found: datetime | None = self.module.wake(state)
        if found and found <= app.now:  # who works by hand is waited for, not run
            asked = (one.agent for one in self.module.work(state, app.now))
            is_manual = (a for a in asked if app.agent(a).driver == "manual")
            found = self.module.wake(state, frozenset(is_manual))
        return found

    def time_limit(self, app: App, state: Any, work: Work, usual: float) -> float:
        """Return the seconds that a run may take; `usual` are those of its agent."""
        return usual

    def starts(self, state: Any, agent: AgentSettings) -> bool:
        """Return whether its runs are started here: not where another program takes the turns."""
        return True

    def places_lent(self, state: Any, work: Work) -> int:
        """Return how many runs wait for this one, and need no place meanwhile."""
        return 0

    def ceiling(self, app: App, state: Any) -> str:
        """Return which ceiling is reached that the settings have lowered meanwhile, "" for none."""
        return ""

    def mended(self, app: App, state: Any) -> list[Work]:
        """Return further attempts of runs that failed for good, whose agents were mended since."""
        return []

    def passed(self, work: Work, code: str, words: str, at: datetime) -> list[Event]:
        """Return the events by which the document goes on without an agent that is not run."""
        return []

    # What observers and commands ask; `json.md` names the keys.

    def kept(self, state: Any) -> list[str]:
        """Return the files with its words besides folder, page, minutes and runs, from the root."""
        return []

    def exchange(self, app: App, name: str) -> None:
        """Fetch what was said elsewhere, and tell it there; before each look at what is due."""

    def status(self, app: App, name: str, state: Any) -> dict[str, Any]:
        """Return its row of `status` and `list`."""
        running, ends = self.running(state), (app.now, app.now + RETRIES)
        wanted = {one.agent for at in ends for one in self.module.work(state, at)}
        waiting = sorted(wanted - {*running})
        status = "at work" if running or waiting else "quiet"
        made = {"name": name, "status": status, "waiting": waiting, "running": running}
        return {**made, "problems": [], "createdAt": getattr(state, "created_at", "")}

    def line(self, row: dict[str, Any]) -> str:
        """Return a row of `status` as one line for people."""
        return f"{row['name']}: {row['status']}"

    def explained(self, app: App, name: str, state: Any) -> dict[str, Any]:
        """Return what it waits for, what is in the way, and what comes next."""
        row, wake = self.status(app, name, state), self.wake(app, state)
        until = {"since": None, "until": times.text(wake) if wake and wake > app.now else None}
        who = dict.fromkeys([*row["running"], *row["waiting"]])
        waits = [{"what": f"an answer of {one}", "agentId": one, **until} for one in who]
        made = {"kind": self.name, "id": self.ident(state), "name": name, "status": row["status"]}
        made |= {"waitsFor": waits, "hindrances": row["problems"]}
        return {**made, "tried": [], "next": []}

    def shown(self, app: App, name: str, state: Any, last: int) -> tuple[dict[str, Any], str]:
        """Return it as data and as text for people, with the newest `last` parts; 0 is all."""
        return state.to_json(), self.line(self.status(app, name, state))

    def logged(self, event: Event) -> str:
        """Return an event as one line of `log`."""
        keys = "author agent fromAgentId toAgentId code status reason mode file why"
        words = [str(event[key]) for key in keys.split() if event.get(key)]
        words += [f"until {until}"] if (until := event.get("timeoutAt")) else []
        words += [cut(str(event[key]), 60) for key in ("content", "message") if event.get(key)]
        return ": ".join(filter(None, (event["type"], ", ".join(words))))
