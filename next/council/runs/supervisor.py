"""The supervisor of a run: a detached process that starts an agent, waits, and hands its answer in.

It holds its place until it ends. When its run is over it starts what the answer made due; one of
those runs it supervises itself, copies of it the others. After a failure it waits
for the next attempt, so a council goes on without cron.
"""

from __future__ import annotations

import os
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
    """One supervisor and the runs that it sees through, one after the other.

    Signals only leave a note, since they may come in the middle of a write: SIGTERM that the run
    has to end (`ended`), SIGUSR1 that its agent has answered by command (`nudged`).
    """

    def __init__(self, app: App, row: KindRow, name: str) -> None:
        import _signal  # type: ignore[import-not-found]  # `signal` is slow to import

        self.app, self.row, self.name = app, row, name
        self.folder = row.document(app, name).folder  # it is moved away when the document is over
        self.ended = self.nudged = False
        _signal.signal(_signal.SIGTERM, lambda *_: setattr(self, "ended", True))
        _signal.signal(_signal.SIGUSR1, lambda *_: setattr(self, "nudged", True))

    def see_through(self, claim: Claim | None) -> None:
        """Supervise a run, then what follows from it, until nothing is left for this process."""
        while claim is not None:
            self._supervise(claim)
            claim = None if self.ended else self._next_claim()

    def _supervise(self, claim: Claim) -> None:
        """Run one agent and record how the run ended."""
        app, row = self.app, self.row

        def end(state: Any) -> list[work.Event]:
            run = state.runs.by_id.get(claim.run)
            return row.handed_in(app, state, run, output, app.now) if run and run.is_open() else []

        try:
            output = self._run(claim)
            document = row.document(app, self.name)
            change = document.change(end, by=claim.work.agent, at=app.now, via="run")
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
        bounds = {"max_bytes": app.settings.max_text_bytes, **row.run_bounds(state)}
        where: dict[str, Any] = {"folder": f"{app.state_folder}/runs/{claim.run}", "tour": one.tour}
        where |= {"variables": row.variables(state, one), "environ": app.env, **bounds}
        place = RunPlace(root=app.root, id=claim.run, agent=one.agent, token=claim.token, **where)
        told, lease = row.prompt(app, state, one), times.instant(state.runs.by_id[claim.run].lease)
        ends = lease - starting.GRACE
        return drivers.run(agent, told, place, now=app.now, deadline=ends, stop=self._stop)

    def _stop(self) -> str:
        """Return `ended` where the run has to end; start what its agent's answer made due."""
        if self.nudged and not self.ended:
            self.nudged = False
            self.app.again()
            self._start_in(self.row, self.name)
        return "ended" if self.ended or not os.path.isdir(self.folder) else ""

    def _next_claim(self) -> Claim | None:
        """Start what is due now; keep one run for this process, and wait for a further attempt."""
        app, row, alone = self.app, self.row, -1
        most = time.monotonic() + LONGEST_WAIT
        try:
            while not self.ended:
                self.nudged = False
                app.again()
                served = heartbeat.serve(app, row, self.name, starts=False)
                if served["archived"]:
                    break
                mine = starting.claims(app, row, self.name, Started())
                while len(mine) > 1:
                    self.hand_over(mine.pop(), mine, alone)
                if mine:
                    return mine[0]
                wake = served["wake"]
                pause = (times.instant(wake) - app.now).total_seconds() if wake else LONGEST_WAIT
                # One process waits for a document: it locks its folder.
                alone = places.locked(self.folder) if alone < 0 else alone
                if alone < 0 or time.monotonic() + pause >= most:
                    break
                self._pause(max(0.2, pause) + 0.02)
        except (NotFound, Refusal):
            pass  # it is over, or damaged: the heartbeat says so
        finally:
            if alone >= 0:
                os.close(alone)
        if not self.ended:
            self._serve_others()
        return None

    def hand_over(self, claim: Claim, others: list[Claim], alone: int = -1) -> None:
        """See a run through in a copy of this process, which has all its modules already."""
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            claim.place.leave()
            return
        try:
            os.setsid()
            if os.fork() == 0:  # nobody's child, so nobody has to wait for it
                for descriptor in [*(one.place.descriptor for one in others), alone]:
                    if descriptor >= 0:
                        os.close(descriptor)
                claim.place.note(claim.run)
                self.see_through(claim)
        finally:
            os._exit(0)

    def _pause(self, seconds: float) -> None:
        """Sleep, but end early where this process is told to, or the document is gone."""
        until = time.monotonic() + seconds
        while not (self.ended or self.nudged) and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
            if not os.path.isdir(self.folder):
                return

    def _serve_others(self) -> None:
        """A place is free now: start what waits for one in other documents."""
        for row in self.app.kinds:
            for name in row.names(self.app):
                if (row.name, name) != (self.row.name, self.name):
                    self._start_in(row, name)

    def _start_in(self, row: KindRow, name: str) -> None:
        try:
            starting.start(self.app, row, name)
        except (Refusal, OSError):
            return  # the heartbeat says what is wrong with it


def main(app: App, argv: list[str]) -> None:
    """Supervise the runs that the arguments name: kind, name; then run, place, descriptor of each.

    The process of the first run is copied for the others.
    """
    app.env = app.world
    kind, name, *rest = argv
    row = next(one for one in app.kinds if one.name == kind)
    supervisor = Supervisor(app, row, name)  # signals are heard before the place names this process
    known = row.document(app, name).peek().runs.by_id
    tokens = app.env.pop("COUNCIL_SUPERVISED", "").split()
    made: list[Claim] = []
    for index, token in enumerate(tokens):
        run, number, descriptor = rest[3 * index : 3 * index + 3]
        os.set_inheritable(int(descriptor), False)
        place, found = Place(number=int(number), descriptor=int(descriptor)), known[run]
        task = work.Work(**{key: getattr(found, key) for key in work.Work._kinds})
        made.append(Claim(kind=kind, name=name, work=task, run=run, token=token, place=place))
    while len(made) > 1:
        supervisor.hand_over(made.pop(), made)
    made[0].place.note(made[0].run)
    supervisor.see_through(made[0])
