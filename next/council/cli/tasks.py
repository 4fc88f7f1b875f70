"""The commands of document 002 that act: `agent join` and `msg send`."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given, pairs, text_of
from council.kernel import times
from council.kernel.errors import Usage
from council.tasks import service

TIMED_OUT = 7


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
    is_late = False
    if given.wait and result["context"]:
        most = times.duration(given.timeout or "1h").total_seconds()
        result |= service.wait(app, result["context"], most)
        is_late = not (result["done"] or result["asked"])
    name, asked = result["context"], result["asked"]
    waits = f'{"; ".join(asked)}\n  answer: council say "…" --to {name}' if asked else ""
    text = result["answer"] or waits or f"{name}: sent to {', '.join(result['to'])}"
    return Said(data=result, text=text, code=TIMED_OUT if is_late else 0)
