"""The supervisor of a run: a detached process that starts an agent, waits, and hands its answer in.

It holds its place until it ends. When its run is over it starts what the answer made due; one of
those runs it supervises itself, the others get a process of their own. After a failure it waits
for the next attempt, so a council goes on without cron.
"""

from __future__ import annotations

import os
import signal
import time

from council.kernel import times
from council.kernel.errors import NotFound, Refusal
from council.kernel.record import Any
from council.runs import drivers, heartbeat, places, starting, work
from council.runs.drivers.output import Output, RunPlace
from council.runs.places import Place
from council.runs.starting import Claim, Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App
    from council.runs.kinds import KindRow

LONGEST_WAIT = 180.0  # seconds that a supervisor waits for a further attempt; then cron has to


class Supervisor:
    """One supervisor and the runs that it sees through, one after the other."""

    def __init__(self, app: App, row: KindRow, name: str) -> None:
        self.app, self.row, self.name = app, row, name
        self.ended = False
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGUSR1, self._start_others)

    def _end(self, *_: Any) -> None:
        """The document is over, or someone stops it: the driver ends the agent."""
        self.ended = True

    def _start_others(self, *_: Any) -> None:
        """The agent has answered by command and is still working: start what that made due."""
        try:
            self.app.again()
            starting.start(self.app, self.row, self.name)
        except (Refusal, OSError):
            pass  # done again when this run ends

    def see_through(self, claim: Claim | None) -> None:
        """Supervise a run, then what follows from it, until nothing is left for this process."""
        while claim is not None:
            self.supervise(claim)
            if self.ended:
                return
            claim = self.next_claim()

    def supervise(self, claim: Claim) -> None:
        """Run one agent and record how the run ended."""
        app, row = self.app, self.row
        output = self._run(claim)
        document = row.document(app, self.name)
        try:
            change = document.change(
                lambda state: self._end_of(state, claim.run, output),
                by=claim.work.agent,
                at=app.now,
                via="run",
            )
            app.changed(change)
            heartbeat.note_end(app, change.state.runs.by_id[claim.run])
        except (NotFound, KeyError):
            pass  # the document is over: nobody waits for this answer
        finally:
            claim.place.leave()

    def _run(self, claim: Claim) -> Output:
        """Start the agent's program and return what it said."""
        app, row, one = self.app, self.row, claim.work
        state = row.document(app, self.name).peek()
        agent = app.settings.agent(one.agent, app.soul(one.agent))
        run = state.runs.by_id[claim.run]
        place = RunPlace(
            root=app.root,
            id=claim.run,
            agent=one.agent,
            folder=f"{app.state_folder}/runs/{claim.run}",
            tour=one.tour,
            token=claim.token,
            variables=row.variables(state, one),
            environ=app.env,
            max_bytes=app.settings.max_text_bytes,
            **row.run_bounds(state),
        )
        return drivers.run(
            agent,
            row.prompt(app, state, one),
            place,
            now=app.now,
            deadline=times.instant(run.lease) - starting.GRACE,
            stop=lambda: "ended" if self.ended else "",
        )

    def _end_of(self, state: Any, run: str, output: Output) -> list[work.Event]:
        found = state.runs.by_id.get(run)
        if found is None or found.outcome:
            return []
        return self.row.handed_in(self.app, state, found, output, self.app.now)

    def next_claim(self) -> Claim | None:
        """Start what is due now; keep one run for this process, and wait for a further attempt."""
        app, row = self.app, self.row
        waiting = -1
        most = time.monotonic() + LONGEST_WAIT
        try:
            while not self.ended:
                app.again()
                served = heartbeat.serve(app, row, self.name, starts=False)
                if served["archived"]:
                    break
                mine = starting.claims(app, row, self.name, Started())
                for other in mine[1:]:
                    starting.spawn(app, other)
                if mine:
                    return mine[0]
                wake = served["wake"]
                pause = (times.instant(wake) - app.now).total_seconds() if wake else LONGEST_WAIT
                if waiting < 0:
                    waiting = self._wait_alone()
                if waiting < 0 or time.monotonic() + pause >= most:
                    break
                self._pause(max(0.02, pause + 0.02))
        except (NotFound, Refusal):
            pass  # it is over, or damaged: the heartbeat says so
        finally:
            if waiting >= 0:
                os.close(waiting)
        if not self.ended:
            self._serve_others()
        return None

    def _wait_alone(self) -> int:
        """Return a lock: one process waits for a document's next instant. -1 if another does."""
        path = f"{self.app.state_folder}/places/wait-{self.row.name}-{self.name}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if places.locks(descriptor):
            return descriptor
        os.close(descriptor)
        return -1

    def _pause(self, seconds: float) -> None:
        """Sleep, but end early where this process is told to end or the document is gone."""
        until = time.monotonic() + seconds
        while not self.ended and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
            if not self.row.document(self.app, self.name).exists():
                return

    def _serve_others(self) -> None:
        """A place is free now: start what waits for one in other documents."""
        for row in self.app.kinds:
            for name in row.names(self.app):
                if (row.name, name) != (self.row.name, self.name):
                    try:
                        starting.start(self.app, row, name)
                    except (Refusal, OSError):
                        continue  # the heartbeat says what is wrong with it


def main(app: App, argv: list[str]) -> None:
    """Supervise the run that the arguments name: kind, name, run, place, descriptor."""
    app.env = app.world
    kind, name, run, number, descriptor = argv
    row = next(one for one in app.kinds if one.name == kind)
    place = Place(number=int(number), descriptor=int(descriptor))
    os.set_inheritable(place.descriptor, False)
    place.note(run)
    state = row.document(app, name).peek()
    found = state.runs.by_id[run]
    task = work.Work(agent=found.agent, task=found.task, tour=found.tour, attempt=found.attempt)
    token = app.env.pop("COUNCIL_SUPERVISED", "")
    claim = Claim(kind=kind, name=name, work=task, run=run, token=token, place=place)
    Supervisor(app, row, name).see_through(claim)
