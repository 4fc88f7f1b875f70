"""The ledger of calls as a row of the table of kinds: how its runs are told and heard."""

from __future__ import annotations

from council.delegation import ledger
from council.delegation.ledger import Event, State
from council.kernel import times
from council.kernel.document import Document
from council.kernel.record import TYPE_CHECKING
from council.kernel.times import datetime
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers import Output

_SHOWN = 20_000  # bytes of an artifact that stand in a prompt


class _Calls(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module = "call", "calls", ledger
    hooks = {"agent.call.error": "failed"}

    def names(self, app: App) -> list[str]:
        return [ledger.IDENT] if self.document(app, "").exists() else []

    def place(self, name: str) -> tuple[str, str]:
        return ledger.IDENT, ""

    def time_limit(self, app: App, state: State, one: Work, usual: float) -> float:
        call = state.call(one.tour)
        left = (times.instant(call.timeout_at) - app.now).total_seconds()
        return max(1.0, min(call.limits["timeoutMs"] / 1000, left))

    def places_lent(self, state: State, one: Work) -> int:
        return len(state.call(one.tour).path) - 1  # as many wait for it, each in its place

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        from council.kernel import codec  # late: an idle heartbeat tells nobody anything

        call = state.call(one.tour)
        texts = [{"id": ident, "text": _text_of(app, ident)} for ident in call.artifact_ids]
        form = call.expected_schema
        schema = "" if form is None else codec.encoded(form).decode()
        values = {"call": call, "most": ledger.SUMMARY, "texts": texts, "schema": schema}
        return app.told("prompts/{lang}/call.md", one.agent, state, values)

    def trace(self, state: State, run: Run) -> tuple[str, dict[str, str]]:
        call = state.call(run.tour)
        return call.trace_id, call.carrier

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        from council.agents.expressions import unwrapped  # late: few calls are heard

        call, when, text = state.call(run.tour), times.text(at), output.text.strip()
        text = text if output.code else unwrapped(text)
        end = work.answered(run.id, when, output.use, output.cut)
        if call.status:
            return [end]
        status, fault, kept = ledger.OK, "", tuple[str, ...]()
        if output.code or not text:
            code, fault = output.code or "no-answer", output.words or "it printed no answer"
            end = work.failed(run.id, when, code, fault, output.use)
            status = ledger.TIMEOUT if code == "timed-out" else ledger.ERROR
        elif call.expected_schema is not None:
            from council.delegation import schemas  # late: few calls expect a form

            found, fault = schemas.result(text, call.expected_schema)
            text, status = found or text, ledger.INVALID if fault else ledger.OK
        if text and (fault or len(text) > ledger.SUMMARY):
            from council.archive import artifacts  # late: most answers are short

            of = (artifacts.TEXT, call.to_agent_id, call.trace_id, when)
            kept = (artifacts.publish(app.root, text.encode("utf-8", "replace"), *of).artifact_id,)
        return [end, ledger.ended(call, when, status, text, fault, kept)]


def _text_of(app: App, ident: str) -> str:
    """Return an artifact as text, or how to read one that is none or too long for a prompt."""
    from council.archive import artifacts  # late: most calls have none

    data = artifacts.fetch(app.root, ident)
    if len(data) > _SHOWN or b"\0" in data:
        return f"`council artifact fetch {ident} --out FILE`"
    return data.decode("utf-8", "replace")


CALLS = _Calls()


def news(app: App, agent: str, until: str) -> str:
    """Return what an agent has not seen of its messages; what came by `until` it has seen now."""
    calls: Document[State] = CALLS.document(app, ledger.IDENT)
    if not calls.exists():
        return ""  # whoever made its folder died before the first line
    state = calls.peek()
    found = ledger.waiting(state, agent)
    if until and found:
        calls.change(lambda now: ledger.seen(now, agent, app.now, until), by=agent, at=app.now)
    told = app.told("prompts/{lang}/inbox.md", agent, state, {"messages": found})
    return "\n" + told if found else ""
