"""The ledger of calls as a row of the table of kinds: how its runs are told and heard."""

from __future__ import annotations

from datetime import datetime

from council.delegation import model, rules
from council.delegation.model import Call, Event, State
from council.kernel import times
from council.kernel.document import Document
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers.output import Output
    from council.runs.starting import Started


class _Calls(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module = "call", "calls", rules

    def names(self, app: App) -> list[str]:
        return [model.IDENT] if self.document(app, model.IDENT).exists() else []

    def document(self, app: App, name: str) -> Document[Any]:
        return Document(f"{app.state_folder}/{model.IDENT}", None, rules, now=app.fixed)

    def place(self, name: str) -> tuple[str, str]:
        return model.IDENT, ""

    def ident(self, state: State) -> str:
        return model.IDENT

    def time_limit(self, app: App, state: State, one: Work, usual: float) -> float:
        return rules.time_limit(state, one.tour, app.now)

    def places_lent(self, state: State, one: Work) -> int:
        call = state.call(one.tour)
        return call.depth if call else 0  # as many wait for it, each in its place

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        from council.delegation import prompts  # late: an idle heartbeat tells nobody anything

        return prompts.prompt(app, state, one)

    def variables(self, state: State, one: Work) -> dict[str, str]:
        call = state.call(one.tour)
        trace = call.trace_id if call else ""
        return {"COUNCIL_TRACE": trace, "COUNCIL_PHASE": "CALL", "COUNCIL_TOUR": str(one.tour)}

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        call, when = state.call(run.tour), times.text(at)
        text = output.text.strip()
        if call is None or call.status:
            return [work.answered(run.id, when, output.use, output.cut)]
        if output.code or not text:
            code, words = output.code or "no-answer", output.words or "it printed no answer"
            late = code == "timed-out"
            status, wire = (model.TIMEOUT, "E20") if late else (model.ERROR, "E30")
            more = {"code": wire, "words": words, "guard": "timeoutMs" if late else ""}
            last = rules.ended(call, when, status, text, _kept(app, call, text), **more)
            return [work.failed(run.id, when, code, words, output.use), last]
        answered = work.answered(run.id, when, output.use, output.cut)
        if call.expected_schema is not None:
            from council.delegation import schemas  # late: few calls expect a form

            found, fault = schemas.result(text, call.expected_schema)
            if fault and run.task != "question":
                asked = {"number": call.number, "fault": fault, "agentId": call.to_agent_id}
                asked |= {"traceId": call.trace_id, "at": when}
                return [answered, {"type": "agent.call.asked", **asked}]
            if fault:
                more = {"code": "E10", "guard": "expectedSchema", "words": fault}
                kept = _kept(app, call, text)
                return [answered, rules.ended(call, when, model.INVALID, text, kept, **more)]
            text = found
        kept = _kept(app, call, text) if len(text) > model.SUMMARY else []
        return [answered, rules.ended(call, when, model.OK, text, kept)]

    def report(
        self, state: State, events: list[Event], started: Started, filed: str
    ) -> dict[str, Any]:
        running = sum(run.is_open() for run in state.runs.by_id.values())
        woken = {"woken": started.woken, "waiting": started.waiting, "running": running}
        return {"name": model.IDENT, **woken, "archived": ""}


def _kept(app: App, call: Call, text: str) -> list[str]:
    """Return the artifact that keeps the whole of an answer, none where there is no text."""
    from council.archive import artifacts  # late: most answers are short

    of = (call.to_agent_id, call.trace_id, times.text(app.now))
    data, kind = text.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return [artifacts.publish(app.root, data, kind, *of).artifact_id] if text else []


CALLS = _Calls()
