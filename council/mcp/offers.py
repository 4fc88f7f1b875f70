"""What is offered: tools, resources `council://KIND/NAME`, prompts, and names.

Arguments of a tool have passed the schema of `texts/mcp.json`; one that is left out reads as "". A
tool is one call of the service of that name, and returns a text for people, or data. The functions
of resources and prompts take the workspace and the parameters of one method of the protocol.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote, unquote

from council.app import App
from council.archive import artifacts, minutes
from council.councils import opening, service, views
from council.delegation import service as delegation
from council.kernel import codec
from council.kernel.errors import Invalid, NotFound
from council.kernel.record import Any
from council.observe import explain, named, status

MOST, SCHEME = 100, "council://"  # resources of a kind, values of an argument
PROMPTS = ("turn", "vote", "synthesis")
Given = defaultdict[str, Any]
Tool = Callable[[App, Given], Any]


def listed(app: App, _: Any) -> dict[str, Any]:
    """Return what is open, and the newest minutes and artifacts."""
    past, kept = minutes.rows(app.root)[:MOST], artifacts.known(app.root)[:MOST]
    rows = [("conversation", name, f"{name}, open") for name in app.conversations()]
    rows += [("minutes", one["conversation"], one["title"]) for one in past]
    rows += [("artifact", one, one[:12]) for one in kept]
    made = [(f"{SCHEME}{kind}/{quote(name, safe='')}", name, title) for kind, name, title in rows]
    return {"resources": [dict(zip(("uri", "name", "title"), r, strict=True)) for r in made]}


def read(app: App, params: Any) -> dict[str, Any]:
    """Return the content of a resource."""
    kind, _, name = params.uri.removeprefix(SCHEME).partition("/")
    name, form = unquote(name), "text/markdown"
    if kind == "artifact":
        data, form = artifacts.fetch(app.root, name), artifacts.about(app.root, name).content_type
    elif name and kind in ("conversation", "minutes"):
        data = views.text(service.find(app, name), app.root).encode()
    elif name and kind == "record":
        data, form = codec.encoded(views.shown(service.find(app, name))), "application/json"
    else:
        raise NotFound("no-resource", f"no resource {params.uri[:80]}", f"{SCHEME}minutes/NAME")
    try:
        content = {"text": data.decode()}
    except UnicodeDecodeError:
        content = {"blob": b64encode(data).decode()}
    return {"contents": [{"uri": params.uri, "mimeType": form, **content}]}


def prompt(app: App, params: Any) -> dict[str, Any]:
    """Return a prompt as an agent would get it now."""
    given, kind = params.arguments or {}, params.name
    if kind not in PROMPTS:
        raise NotFound("no-prompt", f"no prompt {kind[:40]!r}", f"there are {', '.join(PROMPTS)}")
    agent, name = app.who(given.get("agent", "")), app.find(given.get("conversation", ""))
    content = {"type": "text", "text": service.context(app, name, agent, kind)["prompt"]}
    return {"messages": [{"role": "user", "content": content}]}


def complete(app: App, params: Any) -> dict[str, Any]:
    """Return the values of an argument that begin with what is typed."""
    is_agent, typed = params.argument.name == "agent", params.argument.value
    known = app.agents() if is_agent else app.conversations()
    found = [one for one in known if one.startswith(typed)]
    return {"completion": {"values": found[:MOST], "hasMore": len(found) > MOST}}


def stamps(app: App) -> dict[str, Any]:
    """Return what changes with an open conversation, by the addresses of its resources."""
    made = {}
    for name in app.conversations():
        with suppress(OSError):  # it ends just now
            found = os.stat(app.page_of(name))
            for kind in ("conversation", "record"):
                made[f"{SCHEME}{kind}/{name}"] = (found.st_ino, found.st_mtime_ns, found.st_size)
    return made


def _context(app: App, given: Given) -> str:
    made = service.context(app, app.find(given["conversation"]), app.who())
    way = f"\n\nUse the tool `respond` for that, with this `text` and `round` {made['round']}."
    return made["prompt"] + way * made["mayAnswer"]  # type: ignore[no-any-return]


def _respond(app: App, given: Given) -> Any:
    line, name, text = "{agent}={stance}:{comment}", given["conversation"], given["text"]
    stances = [line.format_map({"comment": "", **one}) for one in given["stances"]]
    own = {key: one for key, one in given.items() if key in service.Stated._kinds and one}
    stated = service.Stated(**{**own, "stances": stances, "task": given["round"]})
    return service.respond(app, app.find(name), app.who(), text, stated)


def _convene(app: App, given: Given) -> Any:
    asked = {**given, "name": given["conversation"], "open_": given["open"]}
    return service.convene(app, opening.opening(asked), dry_run=bool(given["dry_run"]))


def _sent(send: Callable[..., Any]) -> Tool:
    return lambda app, given: send(app, given.pop("text"), app.person(), given.pop("to"), **given)


def _fetch(app: App, given: Given) -> str:
    try:
        return delegation.fetch(app, given["artifact"], app.person())[0].decode()
    except UnicodeDecodeError:
        fix = f"read council://artifact/{given['artifact']}"
        raise Invalid("binary", "that artifact is no text", fix) from None


TOOLS: dict[str, Tool] = {
    "context": _context,
    "respond": _respond,
    "wait": lambda app, given: service.wait(
        app, given["conversation"], app.who(), given["seconds"]
    ),
    "convene": _convene,
    "status": lambda app, _: status.status(app),
    "show": lambda app, given: named.show(app, given["conversation"], given["format"])[
        given["format"] in ("", "text")
    ],
    "explain": lambda app, given: explain.explain(app, given["what"]),
    "say": lambda app, given: named.say(
        app, given["conversation"], given["text"], given["to"], app.person(), given["key"]
    ),
    "call": _sent(delegation.call),
    "message": _sent(delegation.message),
    "artifact_publish": lambda app, given: delegation.publish(
        app, given["text"].encode(), given["type"] or artifacts.TEXT, app.person()
    ),
    "artifact_fetch": _fetch,
}
