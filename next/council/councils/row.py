"""Conversations as a row of the table of kinds: how their runs are told, heard and filed away."""

from __future__ import annotations

import os
from datetime import datetime

from council.councils import decisions, hearing, kind, rules, sight
from council.councils.model import Event, Heard, State
from council.councils.service_views import place, transition
from council.kernel import ids, times
from council.kernel.errors import NotFound, Refusal
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.kernel.document import Document
    from council.runs.drivers.output import Output
    from council.runs.starting import Started


class _Conversations(KindRow):
    """See `KindRow`, which says what each function returns."""

    name = "conversation"
    place_in_report = "conversations"
    module = kind

    def names(self, app: App) -> list[str]:
        return app.conversations()

    def document(self, app: App, name: str) -> Document[Any]:
        return app.conversation(name)

    def place(self, name: str) -> tuple[str, str]:
        return f"conversations/{name}", f"../council-{name}-conversation.md"

    def ident(self, state: State) -> str:
        return state.conversation_id

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        from council.councils import service  # late: an idle heartbeat tells nobody anything

        run = None if by_hand else one.ident(state.conversation_id)
        return service.prompt_of(app, state, one.agent, one.task, run)

    def variables(self, state: State, one: Work) -> dict[str, str]:
        return {
            "COUNCIL_NAME": state.name,
            "COUNCIL_PHASE": state.phase,
            "COUNCIL_TOUR": str(one.tour),
            "COUNCIL_ROUND": state.round().mark,
            "COUNCIL_TRACE": state.conversation_id,
        }

    def run_bounds(self, state: State) -> dict[str, Any]:
        config, used = state.config, state.runs
        return {
            "phase": state.phase,
            "max_tokens": max(1, config.max_tokens - used.tokens) if config.max_tokens else 0,
            "max_usd": max(0.0001, config.max_usd - used.usd) if config.max_usd else 0.0,
        }

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        when = times.text(at)
        is_past = run.tour != state.tour or run.agent not in rules.asked(state)
        answered = is_past and _has_answered(state, run)
        if answered:  # by command, while it worked; what it prints besides is no second answer
            return [work.answered(run.id, when, output.use, output.cut)]
        if output.code:
            end = work.failed(run.id, when, output.code, output.words, output.use, output.again)
            return [end]
        if state.tour == run.tour and not state.round().ended_at:
            stated, prompt = hearing.Stated(status=output.status), self._told(app, run)
            heard = hearing.heard(state, run.agent, output.text, stated, prompt)
            if any(fault.code == "nothing-said" for fault in heard.heard.faults):
                words = "it printed nothing that is an answer"
                return [work.failed(run.id, when, "no-answer", words, output.use)]
        else:
            heard = hearing.Understood(text=output.text, heard=Heard())
        try:
            events = decisions.respond(
                state, run.agent, heard.text, heard.heard, at=at, status=output.status,
                origin="verified", task=run.id, cut_off=output.cut, question=heard.question,
            )  # fmt: skip
        except Refusal as refusal:
            return [work.failed(run.id, when, "refused", refusal.message, output.use)]
        return [*events, work.answered(run.id, when, output.use, output.cut)]

    def _told(self, app: App, run: Run) -> str:
        """Return the prompt of a run as it was given, "" where it is gone."""
        try:
            with open(f"{app.state_folder}/runs/{run.id}/prompt.md", encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    def passed(self, one: Work, code: str, words: str, at: datetime) -> list[Event]:
        event = {"agent": one.agent, "tour": one.tour, "at": times.text(at)}
        return [{"type": "passed", **event, "code": code, "words": words}]

    def given_up(self, state: State) -> list[Work]:
        if not self.may_run(state) or not state.rounds or state.round().ended_at:
            return []
        absent, others = state.round().absent.items(), ("timeout", "ceiling", "lost")
        who = [agent for agent, why in absent if why.code not in others]
        return [Work(agent=agent, task="", tour=state.tour) for agent in who]

    def is_over(self, state: State) -> bool:
        return state.ended_at is not None

    def finish(self, app: App, name: str) -> str:
        from council.archive import minutes as archived  # late: only at the end
        from council.kernel.lock import Lock  # late: as above
        from council.runs import heartbeat  # late: as above

        document = app.conversation(name)
        try:
            state = document.read()
        except NotFound:  # another process was quicker
            return ""
        if not state.ended_at:
            return ""
        if name != state.name:
            state = _on_its_own(app, document, name)
        heartbeat.end_runs(app, state.runs.by_id.values())
        with Lock(f"{app.state_folder}/minutes.lock", 30):  # one file, whoever comes first
            path = archived.write(app.root, *_minutes_of(app, state), state.ended_at[:10])
        made: Event = {"type": "archived", "path": os.path.relpath(path, app.root)}
        made["at"] = times.text(app.now)
        ident = state.conversation_id

        def is_meant(now: State) -> bool:  # its name may have been given anew meanwhile
            return bool(now.conversation_id == ident)

        def decide(now: State) -> list[Event]:
            return [made] if is_meant(now) and not now.minutes else []

        try:
            app.changed(document.change(decide, by="council", at=app.now))
            document.close(ident, is_meant)
        except NotFound:
            pass  # another process was quicker
        return path

    def may_run(self, state: State) -> bool:
        return state.paused_at is None and state.ended_at is None

    def report(
        self, state: State, events: list[Event], started: Started, filed: str
    ) -> dict[str, Any]:
        return {
            **place(state),
            "transition": transition(state, events),
            **{"woken": started.woken, "waiting": started.waiting, "owed": rules.asked(state)},
            "running": sum(run.is_open() for run in state.runs.by_id.values()),
            "archived": filed,
        }


def _has_answered(state: State, run: Run) -> bool:
    """Return whether an agent has answered the round of a run since it was claimed."""
    if run.task == "question":
        return run.tour == state.tour and run.agent not in state.round().asked
    return any(
        entry.agent == run.agent and entry.tour == run.tour and not entry.late
        for entry in state.entries
        if entry.kind != "guidance"
    )


def _on_its_own(app: App, document: Document[Any], name: str) -> State:
    """Give a conversation that began as a copy of a page an id of its own; return its state."""

    def decide(state: State) -> list[Event]:
        ident = state.conversation_id
        known = os.path.isdir(f"{app.state_folder}/closed/{ident}") or app.is_there(state.name)
        own = ids.uuid4(bytes.fromhex(ids.digest(f"{ident}:{name}"))) if known else ident
        renamed = state.copy(name=name, conversation_id=own).to_json()
        return [{"type": "adopted", "state": renamed}] if name != state.name else []

    made: State = document.change(decide, by="council", at=app.now).state
    return made


def _minutes_of(app: App, state: State) -> tuple[dict[str, Any], str]:
    from council.councils import minutes, session  # late: only at the end

    decision = session.decision(state)["decision"]
    return minutes.minutes(state, sight.tally(state), decision, times.text(app.now))


def rewrite_minutes(app: App, state: State) -> None:
    """Write the minutes of a closed conversation again, after words were taken out of it."""
    from council.archive import minutes as archived  # late: only for `forget`

    front, body = _minutes_of(app, state)
    archived.write(app.root, front, body, (state.ended_at or "")[:10], replace=True)


CONVERSATIONS = _Conversations()
