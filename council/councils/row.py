"""Conversations as a row of the table of kinds: how their runs are told, heard and filed away."""

from __future__ import annotations

import os

from council.councils import decisions, hearing, kind, rules
from council.councils.evolution import said_by
from council.councils.model import Event, Heard, State
from council.councils.views import place, transition
from council.kernel import files, times
from council.kernel.errors import NotFound, Refusal
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import datetime
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers import Output


class _Conversations(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module, by_command = "conversation", "conversations", kind, True

    def names(self, app: App) -> list[str]:
        return app.conversations()

    def place(self, name: str) -> tuple[str, str]:
        return f"conversations/{name}", f"../council-{name}-conversation.md"

    def ident(self, state: State) -> str:
        return state.conversation_id

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        from council.councils import prompts  # late: an idle heartbeat tells nobody anything

        run = None if by_hand else one.ident(state.conversation_id)
        return prompts.prompt_of(app, state, one.agent, one.task, run)

    def schema(self, state: State, one: Work) -> Any:
        from council.councils import prompts  # late: as above

        return prompts.schema(state, one.agent, one.task)

    def variables(self, state: State, run: Run) -> dict[str, str]:
        return super().variables(state, run) | {"COUNCIL_PHASE": state.phase}

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        answered = work.answered(run.id, times.text(at), output.use, output.cut)

        def failed(code: str, words: str) -> list[Event]:
            return [work.failed(run.id, times.text(at), code, words, output.use)]

        is_now = run.tour == state.tour
        is_past = run.agent not in rules.asked(state) if is_now else run.task != "question"
        if is_past and any(entry.agent == run.agent for entry in said_by(state, run.tour)):
            return [answered]  # by command; what it prints besides is no second answer
        if output.code:
            return failed(output.code, output.words)
        heard = hearing.Understood(text=output.text, heard=Heard())
        stated = hearing.Stated(status=output.status, task=run.id)
        if is_now and not state.round().ended_at:
            told = files.read(f"{app.state_folder}/runs/{run.id}/prompt.md")
            prompt = told[0].decode("utf-8", "replace") if told else ""
            heard = hearing.heard(state, run.agent, output.text, stated, prompt)
            for fault in heard.heard.faults:
                if fault.part == "answer":
                    return failed(*hearing.failure(fault))
        try:
            how = {"origin": "verified", "cut_off": output.cut}
            events = decisions.respond(state, run.agent, heard, stated, at=at, **how)
        except Refusal as refusal:
            return failed("refused", refusal.message)
        return [*events, answered]

    def ceiling(self, app: App, state: State) -> str:
        most = {k: getattr(app.settings.limits, f"{k}_per_council") for k in state.config.usual}
        return rules.ceiling(state.copy(config=state.config.copy(**most)), "")

    def mended(self, app: App, state: State) -> list[Work]:
        from council.agents import programs  # late: only after failures
        from council.runs.starting import registry_of  # late: as above

        gone = {} if state.paused_at or state.ended_at else state.round().absent
        last = {run.agent: run for run in state.runs.by_id.values() if run.tour == state.tour}
        able = [who for who in gone if who in last and not rules.ceiling(state, who)]
        found = [last[who] for who in able if last[who].code in work.FINAL]
        known, made = registry_of(app).failing if found else {}, list[Work]()
        for run in [run for run in found if run.agent in known]:
            agent, before = app.agent(run.agent), known[run.agent]
            if before.settings != agent.digest() or run.words.startswith("not found"):
                again = Work(agent=run.agent, task=run.task, tour=run.tour, attempt=run.attempt + 1)
                made += [] if programs.fault(agent, app.world, app.root)[0] else [again]
        return made

    def passed(self, one: Work, code: str, words: str, at: datetime) -> list[Event]:
        return [rules.passed(one.agent, one.tour, times.text(at), code, words)]

    def is_over(self, state: State) -> bool:
        return state.ended_at is not None

    def finish(self, app: App, name: str) -> str:
        from council.runs import heartbeat  # late: as above

        document, path = app.conversation(name), ""
        try:
            if not (state := document.read()).ended_at:
                return ""
            heartbeat.end_runs(app, state.runs.by_id.values())
            with files.Lock(f"{app.state_folder}/minutes.lock"):  # one file, whoever comes first
                path = write_minutes(app, state)
            made: Event = {"type": "archived", "minutes": os.path.relpath(path, app.root)}
            made["at"], ident = times.text(app.now), state.conversation_id

            def is_meant(now: State) -> bool:  # its name may have been given anew meanwhile
                return bool(now.conversation_id == ident)

            def decide(now: State) -> list[Event]:
                return [made] if is_meant(now) and not now.minutes else []

            app.changed(document.change(decide, by="council", at=app.now))
            document.close(ident, is_meant)
        except NotFound:
            pass  # another process was quicker
        return path

    def report(self, state: State, events: list[Event]) -> dict[str, Any]:
        return {**place(state), "transition": transition(state, events)}


def write_minutes(app: App, state: State, replace: bool = False) -> str:
    """Write the minutes of what is over, with `replace` again without words; return their path."""
    from council.archive import minutes as archived  # late: only at the end
    from council.councils import minutes  # late: as above

    front, body = minutes.minutes(state)
    return archived.write(app.root, front, body, front["date"], replace)


CONVERSATIONS = _Conversations()
