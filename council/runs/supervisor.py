"""The supervisor of a run: a detached process that starts an agent, waits, and hands its answer in.

It holds its place until the run is over. Then it beats the heart: what the answer made due, or what
waited for a place, is seen through by copies of this process. After a failure it waits for the next
attempt, so a council goes on without cron.
"""

from __future__ import annotations

import _thread
import os
import time

from council.agents import programs
from council.kernel import codec, times
from council.kernel.errors import Away, NotFound, Refusal
from council.kernel.files import locks
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import heartbeat, starting, work
from council.runs.drivers import Output, RunPlace, scripted
from council.runs.processes import Place

if TYPE_CHECKING:
    from council.agents.settings import AgentSettings
    from council.app import App
    from council.runs.kinds import KindRow

LONGEST_WAIT = 180.0  # seconds that a supervisor waits for a further attempt; then cron has to


def run_agent(agent: AgentSettings, prompt: str, place: RunPlace) -> Output:
    """Run an agent once by its driver and return what came of it."""
    code, words = programs.fault(agent, place.environ, place.root)
    if agent.driver == "manual":  # `starting` puts the prompt where a person finds it
        code, words = "bad-settings", f"{agent.id} answers by hand"
    if code:
        return Output(code=code, words=words)
    if agent.driver == "scripted":
        return scripted(place)
    if agent.driver == "openclaw":
        from council.runs.drivers import openclaw as driver  # late: each brings what only it needs
    else:
        from council.runs.drivers import command as driver  # type: ignore[no-redef]
    began = time.monotonic()
    output = driver.run(agent, prompt, place)
    knows = output.use.tokens is not None or output.code in ("missing-program", "bad-settings")
    estimated = None if knows else (len(prompt) + len(output.text)) // 4 + 1
    output.use = output.use.copy(ms=round((time.monotonic() - began) * 1000), estimated=estimated)
    return output


class Supervisor:
    """One supervisor and the run that it sees through.

    Signals only leave a note, since they may come in the middle of a write: SIGTERM that the run
    has to end (`ended`), SIGUSR1 that its agent has answered by command (`nudged`).
    """

    def __init__(self, app: App, row: KindRow, name: str, place: Place) -> None:
        import _signal  # type: ignore[import-not-found]  # `signal` is slow to import

        command = ("COUNCIL_NOW", "COUNCIL_TOKEN", starting.CLAIMED)  # of that which claimed it
        app.fixed, app.env = None, {k: v for k, v in app.world.items() if k not in command}
        self.app, self.row, self.name, self.place = app, row, name, place
        self.folder = row.document(app, name).folder  # it is moved away when the document is over
        self.fork: starting.Begin = lambda app, row, name, made: copies(app, row, name, made, place)
        self.ended = self.nudged = False
        _signal.signal(_signal.SIGTERM, lambda *_: setattr(self, "ended", True))
        _signal.signal(_signal.SIGUSR1, lambda *_: setattr(self, "nudged", True))

    def see_through(self) -> None:
        """Supervise the run, then what follows from it, until nothing is left for this process."""
        self.place.note()  # from now on signals reach it
        try:
            self._supervise()
        except (NotFound, KeyError, Away):
            pass  # the document is over, or cannot be reached: nobody waits for this answer
        finally:
            self.place.leave()
        try:
            self._go_on()
        except (Refusal, OSError):
            return  # it is over, or damaged: the heartbeat says so

    def _supervise(self) -> None:
        """Run the agent and record how the run ended."""
        app, row, document = self.app, self.row, self.row.document(self.app, self.name)
        state = document.peek()
        run = state.runs.by_id[self.place.run]
        agent = app.agent(run.agent)
        agent.answer = agent.answer if row.by_command else "stdout"  # as the prompt asks for it
        began = app.now
        left = (times.instant(run.lease) - starting.GRACE - began).total_seconds()
        place = RunPlace(
            root=app.root, id=run.id, agent=run.agent, folder=f"{app.state_folder}/runs/{run.id}",
            token=self.place.token, variables=row.variables(state, run), environ=app.env,
            schema=row.schema(state, run) if agent.answer != "tool" else None,
            max_bytes=app.settings.max_text_bytes, stop=self._must_stop,
            seconds=max(0.0, min(left, row.time_limit(app, state, run, agent.timeout))),
        )  # fmt: skip
        output = run_agent(agent, row.prompt(app, state, run) + app.news(run.agent), place)

        def end(state: Any) -> list[work.Event]:
            now = state.runs.by_id.get(run.id)
            return row.handed_in(app, state, now, output, app.now) if now and now.is_open() else []

        while True:  # an answer waits for a database that is away, until its run counts as lost
            try:
                change = document.change(end, by=run.agent, at=app.now, via="run")
                break
            except Away:
                if times.text(app.now) > run.lease:
                    raise
                time.sleep(1)
        app.changed(change, row)
        done = change.state.runs.by_id[run.id]
        if done.outcome == "answered":
            app.news(run.agent, times.text(began))
        heartbeat.note_ends(app, [done])

    def _must_stop(self) -> bool:
        """Return whether the run has to end; start what its agent's answer made due."""
        if self.nudged and not self.ended:
            self.nudged = False
            self.app.again()
            heartbeat.beat(self.app, self.name, begin=self.fork)
        return self.ended or not os.path.isdir(self.folder)

    def _go_on(self) -> None:
        """Start what is due now; wait for a further attempt, as the one process that does."""
        most, late = time.monotonic() + LONGEST_WAIT, 0
        while not self.ended:
            self.nudged = False
            self.app.again()
            heartbeat.beat(self.app, begin=self.fork)
            state = self.row.document(self.app, self.name).peek()
            wake = self.row.wake(self.app, state)
            leases = [run.lease for run in state.runs.open()]
            if wake is None or times.text(wake) in leases:  # others have the word
                break
            pause = (wake - self.app.now).total_seconds()
            late = late + 1 if pause <= 0 else 0  # it may have come since the beat
            until = time.monotonic() + max(pause, 0.2) + 0.02
            if late > 5 or until > most or not self._waits(until):
                break

    def _waits(self, until: float) -> bool:
        """Wait, unless another process does so for the document: who waits locks its folder."""
        alone = os.open(self.folder, os.O_RDONLY)
        try:
            while is_alone := locks(alone) and os.path.isdir(self.folder):
                if (left := until - time.monotonic()) <= 0 or self.ended or self.nudged:
                    break
                time.sleep(min(left, 0.5))
            return is_alone
        finally:
            os.close(alone)


def main(app: App, kind: str, name: str) -> None:
    """Supervise claimed runs of the document of that kind and name."""
    row = next(one for one in app.kinds if one.name == kind)
    claimed = [Place.from_json(one) for one in codec.loads(app.env[starting.CLAIMED])]
    first = Supervisor(app, row, name, claimed[0])  # it hears signals before its place names it
    first.fork(app, row, name, claimed[1:])
    first.see_through()


def copies(
    app: App, row: KindRow, name: str, claimed: list[Place], own: Place | None = None
) -> None:
    """See claimed runs through in copies of this process, each in a session of its own.

    They leave its `own` place. A supervisor, which has all modules already, and a command that
    waits for a run anyway, have no need of new processes.
    """
    for at, place in enumerate(claimed):
        if os.fork():
            place.leave()
            continue
        try:
            os.setsid()
            for other in (*claimed[at + 1 :], *((own,) if own else ())):
                other.leave()
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            Supervisor(app, row, name, place).see_through()
        finally:
            os._exit(0)


def apart() -> starting.Begin | None:
    """Return what sees claimed runs through in copies of this process.

    A process with threads (a server) cannot be copied: None, and new processes are started.
    """
    return None if _thread._count() else copies
