"""What workers and orchestrators are told: the prompts of document 002, section 13."""

from __future__ import annotations

from council.agents.registry import Worker
from council.kernel.record import TYPE_CHECKING, Any
from council.tasks.model import Context, Hop
from council.tasks.wire import tables
from council.tasks.wire.writing import from_line, line_of

if TYPE_CHECKING:
    from council.app import App

RESEARCH = {"web_search", "web_fetch", "summarize"}
Rows = list[dict[str, Any]]


def prompt(app: App, kind: str, ident: str, state: Context, **more: Any) -> str:
    """Return the prompt of an agent as `worker`, `research` or `orchestrator`, without a task."""
    own = state.workers.get(ident, Worker(agent_id=ident))
    others = [(key, one) for key, one in state.workers.items() if key != ident]
    percent = int(state.rules.threshold * 100)
    values = {
        **{"id": ident, "about": own.about, "version": own.version, "depth": own.max_depth},
        **{"threshold": percent, "budgets": state.rules.budgets, "caps": own.caps or ["-"]},
        **{"is_research": kind == "research", "is_full": own.version == "V5"},
        "colleagues": [{"id": key, **vars(one), "caps": one.caps or ["-"]} for key, one in others],
        "groups": [{"id": key, "members": rows} for key, rows in state.groups.items()],
        "format": "|".join(tables.FORMS[own.version].names).upper().replace("ROUTE", "FROM>TO"),
        **more,
    }
    template = "orchestrator" if kind == "orchestrator" else "worker"
    return app.told(f"prompts/{state.lang}/{template}.md", own.agent_id, state, values)


def synthesis(app: App, state: Context, agent: str) -> str:
    """Return what the orchestrator agent is told once all workers have answered."""
    rows: Rows = [{"of": f"request {key}", "text": one.text} for key, one in state.tasks.items()]
    for hop in [one for one in state.hops.values() if not one.source]:
        text = hop.result or f"{hop.code} {hop.words}"
        rows.append({"of": f"{hop.task}: {hop.worker}", "text": text})
    return prompt(app, "orchestrator", agent, state, results=rows)


def task(app: App, state: Context, hop: Hop, by_hand: bool) -> str:
    """Return what the worker of a hop is told: the task, what was said, the line to act on."""
    own = state.workers.get(hop.worker, Worker(agent_id=hop.agent))
    lines = {int(number): from_line(line) for number, line in state.lines.items()}
    results = [one for one in state.hops.values() if one.source == hop.number and one.result]
    quotes: Rows = [
        {"of": f"M{number} {one.sender}>{one.receiver} {one.kind}", "text": one.data}
        for number, one in lines.items()
        if number < hop.asked and one.task == hop.task and hop.worker in (one.sender, one.receiver)
    ]
    quotes += [{"of": f"result of M{one.number}", "text": one.result} for one in results]
    text = state.tasks[hop.task].text
    for message in lines.values():
        for name, value in state.values(message.data).items() if message.task == hop.task else ():
            is_new = name[:5] != "#MSG:" and value not in (None, "", text, name[5:])
            quotes += [{"of": name, "text": value}] * is_new
    line = line_of(lines[hop.asked], own.version)
    kind = "research" if {*own.caps} >= RESEARCH else "worker"
    extra = {"text": text, "said": quotes, "line": line, "refusal": hop.refusal}
    return prompt(app, kind, hop.worker, state, **extra, by_hand=by_hand, agent=hop.agent)
