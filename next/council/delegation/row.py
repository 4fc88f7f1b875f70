"""The ledger of calls as a row of the table of kinds: how its runs are told and heard."""

from __future__ import annotations

from datetime import datetime, timedelta

from council.delegation import model, rules
from council.delegation.model import Call, Event, State
from council.kernel import times
from council.kernel.document import Document
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers.output import Output


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
        call = state.call(one.tour)
        left = times.instant(call.timeout_at) - app.now if call else timedelta()
        return max(1.0, left.total_seconds())

    def places_lent(self, state: State, one: Work) -> int:
        call = state.call(one.tour)
        return call.depth if call else 0  # as many wait for it, each in its place

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        from council.delegation import prompts  # late: an idle heartbeat tells nobody anything

        return prompts.prompt(app, state, one)

    def news(self, app: App, agent: str) -> str:
        count = sum(
            len(rules.waiting(self.document(app, name).peek(), agent)) for name in self.names(app)
        )
        lang = app.settings.language if app.settings.language == "fr" else "en"
        values = {"count": count, "agent": agent}
        return app.filled(f"prompts/{lang}/inbox.md", values) if count else ""

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
            failed = work.failed(run.id, when, code, words, output.use)
            kept, late = _kept(app, call, text), code == "timed-out"
            how = (model.TIMEOUT, text, kept, "E20", "timeoutMs", words)
            how = how if late else (model.ERROR, text, kept, "E30", "", words)
            return [failed, rules.ended(call, when, *how)]
        answered, fault = work.answered(run.id, when, output.use, output.cut), ""
        if call.expected_schema is not None:
            from council.delegation import schemas  # late: few calls expect a form

            found, fault = schemas.result(text, call.expected_schema)
            text = found or text
        if fault and run.task != "question":
            asked = {"number": call.number, "fault": fault, "agentId": call.to_agent_id}
            asked |= {"traceId": call.trace_id, "at": when}
            return [answered, {"type": "agent.call.asked", **asked}]
        kept = _kept(app, call, text) if fault or len(text) > model.SUMMARY else []
        how = (model.INVALID, text, kept, "E10", "expectedSchema", fault)
        return [answered, rules.ended(call, when, *(how if fault else (model.OK, text, kept)))]

    # What observers ask

    def status(self, app: App, name: str, state: State) -> dict[str, Any]:
        unread = sum(one.fate() == "unread" for one in state.messages)
        return {**super().status(app, name, state), "unread": unread}

    def line(self, row: dict[str, Any]) -> str:
        at_work = f", running: {', '.join(row['running'])}" if row["running"] else ""
        return f"{row['name']}: {row['status']}{at_work}, unread messages: {row['unread']}"

    def shown(self, app: App, name: str, state: State, last: int) -> tuple[dict[str, Any], str]:
        data = {key: getattr(state, key)[-last:] for key in ("calls", "messages")}
        lines = []
        for one in sorted([*data["calls"], *data["messages"]], key=lambda both: both.at):
            at = one.at[:16].replace("T", " ")
            lines += [f"{at} UTC  {one.pair()}  {one.trace_id}  {one.fate()}"]
            lines += [f"    {cut(one.message, 200)}"]
            lines += [f"    = {cut(one.summary, 200)}"] * bool(
                isinstance(one, Call) and one.summary
            )
        made = {key: [one.to_json() for one in many] for key, many in data.items()}
        return {"name": name, **made}, "\n".join(lines)


def _kept(app: App, call: Call, text: str) -> list[str]:
    """Return the artifact that keeps the whole of an answer, none where there is no text."""
    from council.archive import artifacts  # late: most answers are short

    of = (call.to_agent_id, call.trace_id, times.text(app.now))
    data, kind = text.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return [artifacts.publish(app.root, data, kind, *of).artifact_id] if text else []


CALLS = _Calls()
