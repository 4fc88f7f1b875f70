"""One more kind of document, and nothing outside of this file knows it: errands for agents."""

from __future__ import annotations  # the fields of a record are read as texts

import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from council.app import App
from council.kernel import files, times
from council.kernel.record import Any, Record
from council.observe import explain, forget, named, status
from council.runs import heartbeat, supervisor, work
from council.runs.kinds import KindRow
from council.setup import init
from tests.runs.processes import until

NOW = datetime(2126, 11, 28, 9, tzinfo=UTC)  # a run that began long ago would be late


class Errand(Record):
    """What an agent is asked to do, and what it said."""

    rev: int = 0
    mark: str = ""
    name: str = "errand"
    agent: str = ""
    wish: str = ""
    until: str = ""
    said: str = ""
    runs: work.Runs = work.Runs()


def evolve(state: Errand, event: Any) -> None:
    if event["type"].startswith("run."):
        work.evolve(state.runs, event)
    else:
        state.__dict__.update({key: event[key] for key in event if key in Errand._kinds})


def due(state: Errand, now: datetime) -> list[Any]:
    late = state.until and not state.said and times.text(now) >= state.until
    return [{"type": "errand.ended", "said": "nothing in time"}] if late else []


def wanted(state: Errand, now: datetime) -> list[work.Work]:
    done = state.said or state.runs.by_id
    return [] if done else [work.Work(agent=state.agent, task="errand", tour=1)]


def wake(state: Errand, by_hand: Any = frozenset()) -> datetime | None:
    return None if state.said else times.instant(state.until)


TYPES = dict.fromkeys(("errand.wished", "errand.ended", *work.TYPES))
KIND = SimpleNamespace(
    EVENTS=TYPES, new=Errand, evolve=evolve, due=due, work=wanted, wake=wake, render=None
)


class Errands(KindRow):
    name, place_in_report, folder, module = "errand", "errands", "errands", KIND

    def names(self, app: App) -> list[str]:
        return sorted(files.names(f"{app.state_folder}/errands"))

    def prompt(self, app: App, state: Errand, one: work.Work, by_hand: bool = False) -> str:
        return state.wish

    def handed_in(self, app: App, state: Errand, run: Any, output: Any, at: Any) -> list[Any]:
        said = {"type": "errand.ended", "said": output.text.strip(), "agent": run.agent}
        return [work.answered(run.id, times.text(at), output.use), said]


class Workspace(App):
    kinds = property(lambda self: [*super().kinds, Errands()])  # type: ignore[assignment]


def forked(app: App) -> Any:
    """Return what sees a run through in a copy of this process, which knows the kind."""

    def begin(app: App, row: Errands, name: str, claimed: list[Any]) -> None:
        if os.fork():
            claimed[0].leave()
            return
        try:
            os.setsid()
            app.fixed = None
            supervisor.Supervisor(app, row, name, claimed[0]).see_through()
        finally:
            os._exit(0)

    return begin


def test_it_is_advanced_run_explained_listed_logged_and_forgotten(tmp_path):
    init.init(str(tmp_path), ["ada"], "en", dict(os.environ))
    with (tmp_path / "council.toml").open("a") as file:
        file.write('\n[agents.ada]\nargv = ["sh", "-c", "cat; echo done"]\n')
    app, row = Workspace(str(tmp_path), NOW), Errands()
    wish = {"type": "errand.wished", "agent": "ada", "wish": "Fetch milk: "}
    wish["until"] = times.text(NOW + timedelta(days=1))
    row.document(app, "milk").change(lambda _: [wish], by="anna", at=NOW, create=True)
    (seen,) = status.status(app)["errands"]
    assert (seen["name"], seen["waiting"]) == ("milk", ["ada"])
    assert explain.explain(app, "milk")["waitsFor"][0]["agentId"] == "ada"
    report = heartbeat.beat(app, begin=forked(app))
    assert report["errands"][0]["woken"] == ["ada"]
    assert until(lambda: row.document(app, "milk").peek().said) == "Fetch milk: done"
    told = [line for one in named.log(app, "milk") for line in one["lines"]]
    assert (told[0], told[-1]) == ("errand.wished: ada", "errand.ended: ada")
    late = {**wish, "until": times.text(NOW - timedelta(hours=1))}
    row.document(app, "late").change(lambda _: [late], by="anna", at=NOW, create=True)
    assert row.document(app, "late").peek().said == "nothing in time"
    forget.carry_out(app, forget.plan(app, "milk"))
    assert row.names(app) == ["late"]
