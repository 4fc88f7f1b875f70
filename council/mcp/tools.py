"""What each tool does: one call of the service of that name.

Arguments have passed the schema of `texts/mcp.json`; one that is left out reads as "". A tool
returns a text for people, or data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from council.app import App
from council.archive import artifacts
from council.councils import opening, service
from council.delegation import service as delegation
from council.kernel.errors import Invalid
from council.kernel.record import Any
from council.observe import explain, named, status

Given = defaultdict[str, Any]
Tool = Callable[[App, Given], Any]


def _context(app: App, given: Given) -> str:
    made = service.context(app, app.find(given["conversation"]), service.who(app, ""))
    way = f"\n\nUse the tool `respond` for that, with this `text` and `round` {made['round']}."
    return made["prompt"] + way * made["mayAnswer"]  # type: ignore[no-any-return]


def _respond(app: App, given: Given) -> Any:
    line, name, text = "{agent}={stance}:{comment}", given["conversation"], given["text"]
    stances = [line.format_map({"comment": "", **one}) for one in given["stances"]]
    own = {key: one for key, one in given.items() if key in service.Stated._kinds and one}
    stated = service.Stated(**{**own, "stances": stances, "mark": given["round"]})
    return service.respond(app, app.find(name), service.who(app, ""), text, stated)


def _convene(app: App, given: Given) -> Any:
    asked = {**given, "name": given["conversation"], "open_": given["open"]}
    return service.convene(app, opening.opening(asked), dry_run=bool(given["dry_run"]))


def _show(app: App, given: Given) -> Any:
    form = given["format"]
    return named.show(app, given["conversation"], form)[form in ("", "text")]


def _sent(send: Callable[..., Any]) -> Tool:
    return lambda app, given: send(
        app, given.pop("text"), service.person(app), given.pop("to"), **given
    )


def _fetch(app: App, given: Given) -> str:
    try:
        return delegation.fetch(app, given["artifact"], service.person(app))[0].decode()
    except UnicodeDecodeError:
        fix = f"read council://artifact/{given['artifact']}"
        raise Invalid("binary", "that artifact is no text", fix) from None


TOOLS: dict[str, Tool] = {
    "context": _context,
    "respond": _respond,
    "wait": lambda app, given: service.wait(
        app, given["conversation"], service.who(app, ""), given["seconds"]
    ),
    "convene": _convene,
    "status": lambda app, _: status.status(app),
    "show": _show,
    "explain": lambda app, given: explain.explain(app, given["what"]),
    "say": lambda app, given: named.say(
        app, given["conversation"], given["text"], given["to"], service.person(app), given["key"]
    ),
    "call": _sent(delegation.call),
    "message": _sent(delegation.message),
    "artifact_publish": lambda app, given: delegation.publish(
        app, given["text"].encode(), given["type"] or artifacts.TEXT, service.person(app)
    ),
    "artifact_fetch": _fetch,
}
