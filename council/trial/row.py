"""Trials as a row of the table of kinds: how members are asked alone, and how councils are held."""

from __future__ import annotations

import os

from council.kernel import files, ids, times
from council.kernel.document import Document
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import datetime, timedelta
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Event, Run, Work
from council.trial import model
from council.trial.model import Question, State

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers import Output

OPEN, MS = 2, timedelta(milliseconds=1)  # conversations at once


class _Trials(KindRow):
    """See `KindRow`. A trial is open until its report is there; it stays where it is."""

    name, place_in_report, folder, module = "trial", "trials", "trials", model

    def names(self, app: App) -> list[str]:
        names = sorted(files.names(f"{app.state_folder}/trials"))
        return [one for one in names if not os.path.exists(f"{app.root}/trials/{one}.md")]

    def knows(self, app: App, which: str) -> bool:
        return ids.is_name(which) and os.path.isdir(f"{app.state_folder}/trials/{which}")

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        of, facts = _asked(state, one.tour)
        values = {**vars(of), "facts": facts[one.agent]}
        return app.told("prompts/{lang}/trial.md", one.agent, state, values)

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        when, use = times.text(at), output.use
        if output.code:
            return [work.failed(run.id, when, output.code, output.words, use)]
        said = {"text": model.answer_in(output.text, _asked(state, run.tour)[0]), "ms": use.ms or 0}
        said |= {"tokens": use.tokens or use.estimated or 0, "usd": use.usd or 0.0}
        said |= {"type": "trial.answered", "key": f"{run.tour}.{run.agent}"}
        return [work.answered(run.id, when, use, output.cut), said]

    def running(self, state: State) -> list[str]:
        return [*super().running(state), *state.left()[: OPEN * state.may()]]

    def is_over(self, state: State) -> bool:
        return bool(state.ended_at)

    def finish(self, app: App, name: str) -> str:
        from council.trial import report  # late: it imports scipy

        state, path = self.document(app, name).peek(), f"{app.root}/trials/{name}.md"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.replace(path, report.text(state, report.figures(app, state)).encode())
        return path

    def exchange(self, app: App, name: str) -> None:
        """Note what came of conversations, and open further ones: one process at a time."""
        document: Document[State] = self.document(app, name)
        with files.Lock(f"{document.folder}/exchange.lock"):
            state = document.peek()
            closed = {key: app.closed(state.talk(key)[0]) for key in state.left()[:OPEN]}
            over = [_result(state, key, c.peek()) for key, c in closed.items() if c.exists()]
            state = document.change(lambda _: over, by="trial", at=app.now).state
            for key in state.left()[: OPEN * state.may()]:
                if not (app.closed(state.talk(key)[0]).exists() or app.is_open(state.talk(key)[1])):
                    _convene(app, state, key)

    def status(self, app: App, name: str, state: State) -> dict[str, Any]:
        done = len(state.singles) + len(state.talks)
        total = state.tours() * len(state.agents) + len(state.talks) + len(state.left())
        usd = state.runs.usd + sum(one.usd for one in state.talks.values())
        told = f"{done} of {total} answers, ${usd:.2f}"
        left = (app.now - times.instant(state.created_at)) / max(1, done) * (total - done)
        told += f", {times.spoken(left)} left" * (0 < done < total)
        told += f", paused: {state.paused}" * bool(state.paused)
        return {**super().status(app, name, state), "done": done, "total": total, "status": told}

    def shown(self, app: App, name: str, state: State, last: int) -> tuple[dict[str, Any], str]:
        from council.trial import report  # late: it imports scipy

        return (made := report.figures(app, state)), report.text(state, made)


def _asked(state: State, tour: int) -> tuple[Question, dict[str, list[str]]]:
    at = (tour - 1) // model.TIMES
    return state.questions[at], state.facts(at + 1)


def _convene(app: App, state: State, key: str) -> None:
    from council.councils import service  # late: few heartbeats open one

    (ident, name), (arm, number) = state.talk(key), key.split(".")
    of, facts = state.questions[int(number) - 1], state.facts(int(number))
    private = {who: "\n".join(f"- {one}" for one in known) for who, known in facts.items() if known}
    made = service.Opening(topic=ids.cut(of.question, 120), ident=ident, private=private)
    made.brief = app.filled("prompts/{lang}/trial-brief.md", {**vars(of), arm: True})
    made.name, made.procedure, made.agents, made.lang = name, arm, state.agents, state.lang
    made.config = {"options": of.options * (arm == "deliberation")}
    service.convene(app, made)


def _result(state: State, key: str, over: Any) -> Event:
    """Return the event that notes what came of a conversation that is over."""
    from council.councils import sight, views  # late: as above

    sides, use, (arm, number) = sight.tally(over).decision, over.runs, key.split(".")
    text = views.decision(over)["decision"] if arm == "council" else "".join(sides[:1])
    text = model.answer_in(text, state.questions[int(number) - 1]) if len(sides) < 2 else ""
    took = times.instant(over.ended_at) - times.instant(over.created_at)
    made = {"type": "trial.talked", "key": key, "text": text, "ms": took // MS}
    made |= {"minutes": over.minutes, "runs": use.count}
    return {**made, "tokens": use.tokens, "usd": use.usd}


TRIALS = _Trials()
