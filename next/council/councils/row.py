"""Conversations as a row of the table of kinds: how their runs are told, heard and filed away."""

from __future__ import annotations

from datetime import datetime

from council.councils import decisions, hearing, kind, rules
from council.councils.model import Event, Heard, State
from council.kernel import times
from council.kernel.errors import Refusal
from council.kernel.record import Any
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App
    from council.kernel.document import Document
    from council.runs.drivers.output import Output
    from council.runs.starting import Started


class Conversations(KindRow):
    """See `KindRow`."""

    name = "conversation"
    place_in_report = "conversations"
    module = kind

    def names(self, app: App) -> list[str]:
        """Return the names of the open conversations."""
        return app.conversations()

    def document(self, app: App, name: str) -> Document[Any]:
        """Return a conversation."""
        return app.conversation(name)

    def place(self, name: str) -> tuple[str, str]:
        """Return the folder and the page of a conversation, from `.council` on."""
        return f"conversations/{name}", f"../council-{name}-conversation.md"

    def ident(self, state: State) -> str:
        """Return the conversation's id."""
        return state.conversation_id

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        """Return the prompt of a run; `by_hand`: who reads it answers by command."""
        from council.councils import service  # late: an idle heartbeat tells nobody anything

        run = None if by_hand else one.ident(state.conversation_id)
        return service.prompt_of(app, state, one.agent, one.task, run)

    def variables(self, state: State, one: Work) -> dict[str, str]:
        """Return the COUNCIL_* variables that say what the run is for."""
        return {
            "COUNCIL_NAME": state.name,
            "COUNCIL_PHASE": state.phase,
            "COUNCIL_TOUR": str(one.tour),
            "COUNCIL_ROUND": state.round().mark,
            "COUNCIL_TRACE": state.conversation_id,
        }

    def run_bounds(self, state: State) -> dict[str, Any]:
        """Return what is left of the conversation's ceilings."""
        config, used = state.config, state.runs
        return {
            "phase": state.phase,
            "max_tokens": max(1, config.max_tokens - used.tokens) if config.max_tokens else 0,
            "max_usd": max(0.0001, config.max_usd - used.usd) if config.max_usd else 0.0,
        }

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        """Return the answer of a run and its end; an agent may have answered by command before."""
        when = times.text(at)
        is_past = run.tour != state.tour or run.agent not in rules.asked(state)
        answered = is_past and _has_answered(state, run)
        if answered:  # by command, while it worked; what it prints besides is no second answer
            return [work.answered(run.id, when, output.use, output.cut)]
        if output.code:
            end = work.failed(run.id, when, output.code, output.words, output.use, output.again)
            return [end]
        if state.tour == run.tour and not state.round().ended_at:
            heard = hearing.understood(state, run.agent, output.text, self._told(app, run))
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
        """Return that an agent is absent in its round, or its answer stands as it is."""
        event = {"agent": one.agent, "tour": one.tour, "at": times.text(at)}
        if one.task == "question":
            return [{"type": "unclear", **event}]
        return [{"type": "passed", **event, "code": code, "words": words}]

    def given_up(self, state: State) -> list[Work]:
        """Return whose runs failed for good in the open round."""
        if not self.may_run(state) or not state.rounds or state.round().ended_at:
            return []
        absent, others = state.round().absent.items(), ("timeout", "ceiling", "lost")
        who = [agent for agent, why in absent if why.code not in others]
        return [Work(agent=agent, task="", tour=state.tour) for agent in who]

    def is_over(self, state: State) -> bool:
        """Return whether the minutes are due."""
        return state.ended_at is not None

    def finish(self, app: App, name: str) -> str:
        """Write the minutes and close the conversation; return the path of the minutes."""
        from council.councils import service  # late: see above

        return service.archive(app, name)

    def may_run(self, state: State) -> bool:
        """Return whether runs may be started now."""
        return state.paused_at is None and state.ended_at is None

    def report(
        self, state: State, events: list[Event], started: Started, filed: str
    ) -> dict[str, Any]:
        """Return a row of the heartbeat's report (`json.md`)."""
        closed = [e for e in events if e["type"] == "round.closed"]
        begun = [e for e in events if e["type"] == "round.begun"]
        over = any(e["type"] == "ended" for e in events)
        transition = None
        if closed:
            first = next((r.phase for r in state.rounds if r.tour == closed[0]["tour"]), "")
            to = begun[-1]["phase"] if begun else "" if over else first
            transition = {"from": first, "to": to, "reason": closed[-1]["reason"]}
        return {
            "name": state.name,
            "conversationId": state.conversation_id,
            "status": state.status,
            "phase": state.phase,
            "tour": state.tour,
            "transition": transition,
            "woken": started.woken,
            "waiting": started.waiting,
            "owed": rules.asked(state),
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


CONVERSATIONS = Conversations()
