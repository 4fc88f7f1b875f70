"""What can be read besides tools: resources `council://KIND/NAME`, prompts, and names.

Each function takes the workspace and the parameters of one method of the protocol.
"""

from __future__ import annotations

import os
from base64 import b64encode
from contextlib import suppress
from urllib.parse import quote, unquote

from council.agents import souls
from council.app import App
from council.archive import artifacts, minutes
from council.councils import service, views
from council.kernel import codec
from council.kernel.errors import NotFound
from council.kernel.record import Any

MOST, SCHEME = 100, "council://"  # resources of a kind, values of an argument
PROMPTS = ("turn", "vote", "synthesis")


def listed(app: App, _: Any) -> dict[str, Any]:
    """Return what is open, and the newest minutes and artifacts."""
    past, kept = minutes.rows(app.root)[:MOST], artifacts.known(app.root)[:MOST]
    rows = [("conversation", name, f"{name}, open") for name in app.conversations()]
    rows += [("minutes", one["conversation"], one["title"]) for one in past]
    rows += [("artifact", one, one[:12]) for one in kept]
    made = [(f"{SCHEME}{kind}/{quote(name, safe='')}", name, title) for kind, name, title in rows]
    return {"resources": [dict(zip(("uri", "name", "title"), r, strict=True)) for r in made]}


def read(app: App, params: Any) -> dict[str, Any]:
    """Return the content of a resource.

    Raises:
        NotFound: There is none of that address (`no-resource`), or of that name.
    """
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
    agent, name = service.who(app, given.get("agent", "")), app.find(given.get("conversation", ""))
    content = {"type": "text", "text": service.context(app, name, agent, kind)["prompt"]}
    return {"messages": [{"role": "user", "content": content}]}


def complete(app: App, params: Any) -> dict[str, Any]:
    """Return the values of an argument that begin with what is typed."""
    is_agent, typed = params.argument.name == "agent", params.argument.value
    known = souls.agents(app.root, app.settings) if is_agent else app.conversations()
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
