"""Conversations as traces: OTLP/JSON, a span for the council, for each round and for each run.

Names are those of the GenAI conventions. Ids are hex and 64-bit integers are texts, as OTLP/JSON
asks. What is still open ends at the newest revision; runs under way are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from council import __version__
from council.councils import service
from council.councils.model import State
from council.kernel import files, times
from council.kernel.document import Document
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import tracing, work

if TYPE_CHECKING:
    from council.app import App

_INTERNAL, _ERROR = 1, 2  # SPAN_KIND_INTERNAL, STATUS_CODE_ERROR
_SCOPE = {"name": "council", "version": __version__}
Span = dict[str, Any]


def traces(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield `TracesData` of each conversation, or of `which`, that changed `since` that time."""
    found = [service.document(app, which)] if which else []
    found += [] if which else map(app.conversation, app.conversations())
    found += [] if which else map(app.closed, files.names(f"{app.state_folder}/closed"))
    source = {"attributes": _attributes({"service.name": "council"})}
    for document in found:
        state = document.peek()
        if state.conversation_id and state.updated_at >= since:  # contexts are closed there, too
            made = [{"scope": _SCOPE, "spans": spans(state, _runs(document))}]
            yield {"resourceSpans": [{"resource": source, "scopeSpans": made}]}


def _runs(document: Document[Any]) -> Iterator[work.Run]:
    """Yield the runs that have ended, those of rounds that the state has forgotten among them."""
    runs = work.Runs()
    for event in (event for line in document.history() for event in line.events):
        if event["type"].startswith("run."):
            work.evolve(runs, event)
            if (run := runs.by_id.get(event["id"])) and run.outcome:
                yield runs.by_id.pop(run.id)


def spans(state: State, runs: Iterator[work.Run]) -> list[Span]:
    """Return the spans of a conversation; pure."""
    ident, carrier, end = state.conversation_id, state.carrier, _ns(state.updated_at)
    common: Span = {"traceId": tracing.trace_id(ident, carrier), "kind": _INTERNAL}
    common |= {"traceState": carrier.get(tracing.NAMES[1], "")}

    def span(what: str, above: str, name: str, began: int, ended: int, facts: Span) -> Span:
        made = {**common, "spanId": tracing.span_id(what), "parentSpanId": above, "name": name}
        made |= {"startTimeUnixNano": str(began), "endTimeUnixNano": str(max(began, ended))}
        return {**made, "attributes": _attributes({"gen_ai.conversation.id": ident, **facts})}

    kind, rounds = state.procedure, dict[int, Span]()
    facts: Span = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": kind}
    facts |= {"council.name": state.name, "council.status": state.status}
    ids, began = (ident, tracing.parent(carrier)[1]), _ns(state.created_at)
    whole = span(*ids, f"invoke_workflow {kind}", began, end, facts)
    for one in state.rounds:
        facts = {"council.phase": one.phase, "council.round": one.tour}
        facts["council.reason"] = one.reason
        began, ended = _ns(one.started_at), _ns(one.ended_at or state.updated_at)
        ids = f"{ident}.{one.tour}", whole["spanId"]
        rounds[one.tour] = span(*ids, f"{one.phase} {one.tour}", began, ended, facts)
    made = [whole, *rounds.values()]
    for run in runs:
        facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": run.agent}
        model = getattr(state.participants.get(run.agent), "model", "")  # a writer may be no member
        facts |= {"gen_ai.request.model": model, **_use(run.use)}
        facts |= {"council.task": run.task, "council.attempt": run.attempt, "error.type": run.code}
        began, ended = _ns(run.at), _ns(run.ended or run.at)
        ended = ended if run.use.ms is None else began + run.use.ms * 10**6
        ids = run.id, rounds.get(run.tour, whole)["spanId"]
        made.append(span(*ids, f"invoke_agent {run.agent}", began, ended, facts))
        made[-1] |= {"status": {"code": _ERROR, "message": run.words}} if run.code else {}
    return made


def _use(use: work.Use) -> Span:
    """Return what a run used; where its program told one number only, no split of it is made up."""
    facts = {"tokens": use.tokens, "usd": use.usd, "estimated_tokens": use.estimated}
    made: Span = {f"council.usage.{key}": one for key, one in facts.items()}
    if use.tokens and use.input is not None:
        output = use.tokens - use.input
        made |= {"gen_ai.usage.input_tokens": use.input, "gen_ai.usage.output_tokens": output}
    return made


def _attributes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return attributes of those facts that are known."""
    kinds = {int: "intValue", float: "doubleValue", str: "stringValue"}
    return [
        {"key": key, "value": {kinds[type(one)]: str(one) if type(one) is int else one}}
        for key, one in facts.items()
        if one not in (None, "")
    ]


def _ns(at: str) -> int:
    return int(times.instant(at).timestamp()) * 10**9
