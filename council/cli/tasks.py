"""The commands of document 002 that act: `agent join` and `msg send`."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given, pairs, text_of
from council.kernel import times
from council.kernel.errors import Usage
from council.tasks import service

TIMED_OUT = 7
_FAILED = {"E1": 3, "E2": TIMED_OUT}  # by what codes of V5 begin with; 6 for all others


def agent_join(app: App, given: Given) -> Said:
    """Give an agent a protocol id."""
    if not (who := given.who or given.as_):
        raise Usage("usage", "which agent joins?", "council agent join ID --caps web_search")
    role, depth = given.role or "worker", given.max_depth or 4
    result = service.join(app, who.casefold(), role, given.caps, depth, given.group)
    text = f"{result['agent']} is {result['id']}: {', '.join(result['caps']) or 'no capabilities'}"
    return Said(data=result, text=text)


def msg_send(app: App, given: Given) -> Said:
    """Ask the orchestrator for something, or play one line by hand."""
    if bool(given.user) is bool(given.line):
        what = "give a line, or a request with --user"
        raise Usage("usage", what, 'for example: council msg send --user "Find kettles"')
    if given.line:
        result = service.send(app, text_of(app, given.line, ""), given.as_, given.ctx)
    else:
        words = (given.priority, given.complexity, given.ctx, pairs(given.set_, "--set"))
        result = service.request(app, text_of(app, given.user, ""), given.caps, *words)
    code = 0
    if given.wait and result["context"]:
        most = times.duration(given.timeout or "1h").total_seconds()
        result |= service.wait(app, result["context"], most)
        is_failed = result["done"] and result["verdict"]
        code = 0 if result["done"] or result["asked"] else TIMED_OUT
        code = _FAILED.get(result["verdict"][:2], 6) if is_failed else code
    name, asked = result["context"], result["asked"]
    waits = f'{"; ".join(asked)}\n  answer: council say "…" --to {name}' if asked else ""
    previous = result.get("previous")  # of a request
    notes = [f"{previous} is full; it is #CTX:prev of {name}"] if previous else []
    text = result["answer"] or waits or f"{name}: sent to {', '.join(result['to'])}"
    return Said(data=result, text=text, notes=notes, code=code)
