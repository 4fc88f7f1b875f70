"""Trials as a row of the table of kinds: how members are asked alone, and how councils are held."""

from __future__ import annotations

import os

from council.kernel import files, times
from council.kernel.document import Document
from council.kernel.errors import Conflict
from council.kernel.ids import cut, digest
from council.kernel.lock import Lock
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import datetime
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Event, Run, Work
from council.trial import model
from council.trial.model import State

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers import Output

CHECK = 10  # seconds that a command may take which checks an answer


class _Trials(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module = "trial", "trials", model

    def names(self, app: App) -> list[str]:
        return sorted(files.names(f"{app.state_folder}/trials"))

    def knows(self, app: App, which: str) -> bool:
        return which in self.names(app) or os.path.isdir(f"{app.state_folder}/closed/trial-{which}")

    def document(self, app: App, name: str) -> Document[Any]:
        is_closed = os.path.isdir(f"{app.state_folder}/closed/trial-{name}")
        return self._at(app, f"closed/trial-{name}" if is_closed else f"trials/{name}")

    def _at(self, app: App, place: str) -> Document[Any]:
        return Document(f"{app.state_folder}/{place}", None, model, now=app.fixed)

    def documents(self, app: App, name: str) -> list[Document[Any]]:
        """Return a trial and its open conversations."""
        document = self.document(app, name)
        names = [one.name for one in document.peek().talks.values() if not one.over]
        return [document, *(app.conversation(one) for one in names if app.is_open(one))]

    def place(self, name: str) -> tuple[str, str]:
        return f"trials/{name}", ""

    def ident(self, state: State) -> str:
        return state.name

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        number, soul = model.of_tour(one.tour), app.soul(one.agent)
        asked, facts = state.questions[number - 1], state.facts(number)[one.agent]
        code = digest(f"{state.mark}{asked.question}{facts}{asked.options}")[:8]
        persona = soul.persona.strip() if soul else ""
        values = {"persona": persona, "name": (soul and soul.name) or one.agent, "facts": facts}
        return _filled(state, "trial", {**values, **vars(asked), "facts": facts, "b": code})

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        if output.code:
            said = output.code, output.words, output.use, output.again
            return [work.failed(run.id, times.text(at), *said)]
        text = model.answer_in(output.text, state.questions[model.of_tour(run.tour) - 1])
        use, of = output.use, {"tour": run.tour, "agent": run.agent, "text": text}
        of |= {"code": "" if text else "unreadable", "ms": use.ms or 0, "usd": use.usd}
        event = {"type": "trial.answered", **of, "tokens": use.tokens or use.estimated or 0}
        return [work.answered(run.id, times.text(at), use, output.cut), event]

    def running(self, state: State) -> list[str]:
        talks = [one.name for one in state.talks.values() if not (one.over or state.paused)]
        return [*super().running(state), *talks]

    def is_over(self, state: State) -> bool:
        return bool(state.ended_at)

    def finish(self, app: App, name: str) -> str:
        from council.trial import report  # late: it needs scipy

        document = self._at(app, f"trials/{name}")  # another process may be quicker
        path = report.write(app, document.peek())
        document.close(f"trial-{name}", self.is_over)
        return path

    def exchange(self, app: App, name: str) -> None:
        """Hold the councils: note those that are over, open further ones, check answers."""
        document = self.document(app, name)
        try:
            with Lock(f"{document.folder}/exchange.lock"):
                self._exchange(app, document)
        except Conflict as error:  # another process is at it
            if error.code != "locked":
                raise

    def _exchange(self, app: App, document: Document[State]) -> None:
        def note(*events: Event) -> State:
            return document.change(lambda _: list(events), by="trial", at=app.now).state

        state = document.peek()
        for key, talk in [(k, t) for k, t in state.talks.items() if not t.over]:
            closed = app.closed(talk.ident)
            if closed.exists():
                state = note(
                    {"type": "talk.over", "key": key, **_result(state, key, closed.peek())}
                )
            elif not (state.paused or app.is_open(talk.name)):
                self._convene(app, state, key)
        for key in [key for key in state.wanted() if key not in state.talks]:
            many = sum(not one.over for one in state.talks.values())
            if many >= model.OPEN or state.paused or not state.may(key.partition(".")[0]):
                break
            state = note(model.claimed(state, key))
            self._convene(app, state, key)
        for key, text in state.unchecked().items():
            of = state.questions[int(key.partition(":")[0]) - 1]
            note({"type": "trial.checked", "key": key, "result": _checked(app, of.check, text)})

    def _convene(self, app: App, state: State, key: str) -> None:
        from council.councils import service  # late: few heartbeats open one

        arm, number = key.split(".")
        talk, of, facts = (
            state.talks[key],
            state.questions[int(number) - 1],
            state.facts(int(number)),
        )
        told = {who: "\n".join(f"- {one}" for one in many) for who, many in facts.items() if many}
        brief = _filled(state, "trial-brief", {**vars(of), "facts": told, arm: True})
        opening = service.Opening(topic=cut(of.question, 120), brief=brief, procedure=arm)
        opening.name, opening.agents, opening.lang = talk.name, state.agents, state.lang
        opening.private, opening.ident = told, talk.ident
        opening.config = {"options": of.options if arm == "deliberation" else []}
        service.convene(app, opening)

    def status(self, app: App, name: str, state: State) -> dict[str, Any]:
        row, done = super().status(app, name, state), sum(t.over for t in state.talks.values())
        total = state.tours() * len(state.agents) + len(state.wanted())
        row["usd"] = state.runs.usd + sum(one.usd or 0 for one in state.talks.values())
        row |= {"done": len(state.singles) + done, "total": total, "paused": state.paused}
        return {
            **row,
            "status": "over" if state.ended_at else (state.paused and "paused") or "open",
        }

    def line(self, row: dict[str, Any]) -> str:
        told = f"{row['name']}: trial, {row['status']}, {row['done']} of {row['total']} done"
        return told + (f" ({row['paused']})" if row["paused"] else "")

    def shown(self, app: App, name: str, state: State, last: int) -> tuple[dict[str, Any], str]:
        from council.trial import report  # late: it needs scipy

        return report.figures(state), report.text(state)


def _filled(state: State, name: str, values: dict[str, Any]) -> str:
    from council.councils import words  # late: an idle heartbeat tells nobody anything

    return words.fill(words.template(f"prompts/{state.lang}/{name}.md"), values)


def _result(state: State, key: str, over: Any) -> dict[str, Any]:
    """Return a `Talk` from the conversation that is over."""
    from council.councils import sight, views  # late: as above

    talk, (arm, number) = state.talks[key], key.split(".")
    came, sides = views.decision(over), sight.tally(over).decision
    text = came["decision"] if arm == "council" else sides[0] if len(sides) == 1 else ""
    text = model.answer_in(text, state.questions[int(number) - 1])
    took = times.instant(over.ended_at) - times.instant(over.created_at)
    used = {"ms": round(took.total_seconds() * 1000), "tokens": over.runs.tokens}
    usd = over.runs.usd if over.runs.unpriced < over.runs.count else None
    done = talk.copy(text=text, code="" if text else came["outcome"], over=True, **used, usd=usd)
    return done.copy(runs=over.runs.count, minutes=over.minutes).to_json()


def _checked(app: App, argv: list[str], text: str) -> str:
    """Return what a command says of an answer: `right`, `wrong`, or what is the matter."""
    import subprocess  # late: few questions are checked by a command

    env = {key: one for key, one in app.env.items() if not key.startswith("COUNCIL_")}
    how: dict[str, Any] = {"cwd": app.root, "env": env, "timeout": CHECK}
    try:
        how |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        done = subprocess.run(argv, input=f"{text}\n".encode(), check=False, **how)
    except subprocess.TimeoutExpired:
        return f"error: {cut(argv[0], 60)} took longer than {CHECK} seconds"
    except (OSError, ValueError) as error:
        return f"error: {cut(str(error), 200)}"
    told = f"error: {cut(argv[0], 60)} ended with {done.returncode}"
    return {0: "right", 1: "wrong"}.get(done.returncode, told)


TRIALS = _Trials()
