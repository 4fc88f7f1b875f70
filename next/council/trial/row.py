"""Trials as a row of the table of kinds: how members are asked alone, and how councils are held."""

from __future__ import annotations

import os

from council.kernel import files, ids, times
from council.kernel.document import Document
from council.kernel.errors import Conflict, NotFound
from council.kernel.lock import Lock
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import datetime
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Event, Run, Work
from council.trial import model
from council.trial.model import State, Talk

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers import Output

OPEN = 2  # conversations at once


class _Trials(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module = "trial", "trials", model

    def names(self, app: App) -> list[str]:
        return sorted(files.names(f"{app.state_folder}/trials"))

    def knows(self, app: App, which: str) -> bool:
        return which in self.names(app) or os.path.isdir(f"{app.state_folder}/closed/trial-{which}")

    def document(self, app: App, name: str, over: bool = False) -> Document[Any]:
        folder = f"closed/trial-{name}" if over else f"trials/{name}"
        return Document(f"{app.state_folder}/{folder}", None, model, now=app.fixed)

    def peek(self, app: App, name: str) -> State:
        """Return a trial, open or over."""
        try:
            return self.document(app, name).peek()  # type: ignore[no-any-return]
        except NotFound:
            return self.document(app, name, over=True).peek()  # type: ignore[no-any-return]

    def place(self, name: str) -> tuple[str, str]:
        return f"trials/{name}", ""

    def ident(self, state: State) -> str:
        return state.name

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        number, soul = _number(one.tour), app.soul(one.agent)
        facts, of = state.facts(number)[one.agent], state.questions[number - 1]
        values = {"persona": soul.persona.strip() if soul else "", "facts": facts}
        values |= {"name": (soul and soul.name) or one.agent, "b": ids.digest(state.mark)[:8]}
        return _filled(state, "trial", {**vars(of), **values})

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        when, use = times.text(at), output.use
        if output.code:
            return [work.failed(run.id, when, output.code, output.words, use, output.again)]
        text = model.answer_in(output.text, state.questions[_number(run.tour) - 1])
        said = {"text": text, "ms": use.ms or 0, "tokens": use.tokens or use.estimated or 0}
        event = {"type": "trial.answered", "key": f"{run.tour}.{run.agent}", **said, "usd": use.usd}
        return [work.answered(run.id, when, use, output.cut), event]

    def running(self, state: State) -> list[str]:
        talks = [one.name for one in state.talks.values() if not (one.over or state.paused)]
        return [*super().running(state), *talks]  # so the heartbeat looks again

    def is_over(self, state: State) -> bool:
        return bool(state.ended_at)

    def finish(self, app: App, name: str) -> str:
        from council.trial import report  # late: it imports scipy

        document = self.document(app, name)
        path = report.write(app, document.peek())
        document.close(f"trial-{name}", self.is_over)
        return path

    def exchange(self, app: App, name: str) -> None:
        """Note what came of talks that are over, and open further ones: one process at a time."""
        document: Document[State] = self.document(app, name)

        def note(key: str, talk: Talk) -> State:
            event = {"type": "trial.talked", "key": key, **talk.to_json()}
            return document.change(lambda _: [event], by="trial", at=app.now).state

        try:
            with Lock(f"{document.folder}/exchange.lock"):
                state = document.peek()
                for key, talk in [(key, one) for key, one in state.talks.items() if not one.over]:
                    closed = app.closed(talk.ident)
                    if closed.exists():
                        state = note(key, _result(state, key, closed.peek()))
                    elif not (state.paused or app.is_open(talk.name)):
                        _convene(app, state, key)
                for key in [key for key in state.wanted() if key not in state.talks]:
                    is_full = sum(not one.over for one in state.talks.values()) >= OPEN
                    if is_full or state.paused or not state.may(key):
                        break
                    drawn = bytes.fromhex(ids.digest(f"{name} {state.created_at} {key}"))
                    called = f"trial-{name[-20:].lstrip('-_')}-{key.replace('.', '-')}"
                    state = note(key, Talk(ident=ids.uuid4(drawn), name=called))
                    _convene(app, state, key)
        except Conflict as refusal:
            if refusal.code != "locked":
                raise

    def status(self, app: App, name: str, state: State) -> dict[str, Any]:
        done = len(state.singles) + sum(one.over for one in state.talks.values())
        total = state.tours() * len(state.agents) + len(state.wanted())
        told = f"{done} of {total} done" + (state.paused and f", paused: {state.paused}")
        more = {"done": done, "total": total, "usd": state.usd(), "status": told}
        return {**super().status(app, name, state), **more}

    def shown(self, app: App, name: str, state: State, last: int) -> tuple[dict[str, Any], str]:
        from council.trial import report  # late: it imports scipy

        return (made := report.figures(app, state)), report.text(state, made)


def _number(tour: int) -> int:
    return (tour - 1) // model.TIMES + 1


def _filled(state: State, name: str, values: dict[str, Any]) -> str:
    from council.councils import words  # late: an idle heartbeat tells nobody anything

    return words.fill(words.template(f"prompts/{state.lang}/{name}.md"), values)


def _convene(app: App, state: State, key: str) -> None:
    """Open the conversation of a key, which has its id already: it is never opened twice."""
    from council.councils import service  # late: as above

    arm, number = key.split(".")
    talk, of = state.talks[key], state.questions[int(number) - 1]
    facts = {who: known for who, known in state.facts(int(number)).items() if known}
    brief = _filled(state, "trial-brief", {**vars(of), "facts": facts, arm: True})
    made = service.Opening(topic=ids.cut(of.question, 120), brief=brief, lang=state.lang)
    made.name, made.ident, made.procedure, made.agents = talk.name, talk.ident, arm, state.agents
    made.private = {who: "\n".join(f"- {one}" for one in known) for who, known in facts.items()}
    made.config = {"options": of.options * (arm == "deliberation")}
    service.convene(app, made)


def _result(state: State, key: str, over: Any) -> Talk:
    """Return what came of a conversation that is over."""
    from council.councils import sight, views  # late: as above

    sides, number = sight.tally(over).decision, int(key.split(".")[1])
    text = sides[0] if len(sides) == 1 else ""
    text = views.decision(over)["decision"] if over.procedure == "council" else text
    text = model.answer_in(text, state.questions[number - 1])
    took = times.instant(over.ended_at) - times.instant(over.created_at)
    made = state.talks[key].copy(text=text, over=True, ms=int(took.total_seconds() * 1000))
    used = {"tokens": over.runs.tokens, "runs": over.runs.count, "minutes": over.minutes}
    return made.copy(**used, usd=over.runs.usd or None)


TRIALS = _Trials()
