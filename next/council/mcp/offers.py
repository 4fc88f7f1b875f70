"""What can be read besides tools: resources `council://KIND/NAME`, prompts, and names.

Each function takes the workspace and the parameters of one method of the protocol.
"""

from __future__ import annotations

import os
from base64 import b64encode
from urllib.parse import quote, unquote

from council.agents import souls
from council.app import App
from council.archive import artifacts, minutes
from council.councils import service, views
from council.kernel import codec
from council.kernel.errors import NotFound
from council.kernel.record import Any
from council.tasks import service as tasks

MOST, SCHEME = 100, "council://"  # resources of a kind, values of an argument
_FORMS = {"conversation": "text/markdown", "minutes": "text/markdown"}
_FORMS["record"] = "application/json"


def listed(app: App, _: Any) -> dict[str, Any]:
    """Return what is open, and the newest minutes and artifacts."""
    rows = [("conversation", name, f"{name}, open") for name in app.conversations()]
    rows += [("minutes", one["conversation"], one["title"]) for one in minutes.rows(app.root)][
        :MOST
    ]
    rows += [("artifact", one, one[:12]) for one in artifacts.known(app.root)][:MOST]
    return {
        "resources": [
            {"uri": f"{SCHEME}{kind}/{quote(name, safe='')}", "name": name, "title": title}
            for kind, name, title in rows
        ]
    }


def read(app: App, params: Any) -> dict[str, Any]:
    """Return the content of a resource.

    Raises:
        NotFound: There is none of that address (`no-resource`), or of that name.
    """
    kind, _, name = params.uri.removeprefix(SCHEME).partition("/")
    made, name = {"uri": params.uri, "mimeType": _FORMS.get(kind)}, unquote(name)
    if kind == "artifact":
        data, of = artifacts.fetch(app.root, name), artifacts.about(app.root, name)
        try:
            made |= {"mimeType": of.content_type, "text": data.decode()}
        except UnicodeDecodeError:
            made |= {"mimeType": of.content_type, "blob": b64encode(data).decode()}
    elif made["mimeType"] and name:
        state = service.find(app, name)
        is_data = kind == "record"
        made["text"] = codec.dumps(views.shown(state)) if is_data else views.text(state, app.root)
    else:
        raise NotFound("no-resource", f"no resource {params.uri[:80]}", f"{SCHEME}minutes/NAME")
    return {"contents": [made]}


def prompt(app: App, params: Any) -> dict[str, Any]:
    """Return a prompt as an agent would get it now."""
    given, kind = params.arguments or {}, params.name
    agent, name = service.who(app, given.get("agent", "")), given.get("conversation", "")
    if kind in ("orchestrator", "worker", "research"):
        made = tasks.prompt(app, agent, kind)
    elif kind in ("turn", "vote", "synthesis"):
        made = service.context(app, app.find(name), agent, kind)
    else:
        raise NotFound("no-prompt", f"no prompt {kind[:40]!r}", "prompts/list")
    content = {"type": "text", "text": made["prompt"]}
    return {"messages": [{"role": "user", "content": content}]}


def complete(app: App, params: Any) -> dict[str, Any]:
    """Return the values of an argument that begin with what is typed."""
    known = app.conversations
    if params.argument.name == "agent":
        known = lambda: [*souls.agents(app.root, app.settings)]  # noqa: E731
    found = [one for one in known() if one.startswith(params.argument.value)]
    values = {"values": found[:MOST], "total": len(found), "hasMore": len(found) > MOST}
    return {"completion": values}


def stamps(app: App) -> dict[str, Any]:
    """Return what changes with a conversation, by the addresses of its resources."""
    made = {}
    for name in app.conversations():
        try:
            found = os.stat(app.page_of(name))
        except OSError:
            continue
        for kind in ("conversation", "record"):
            made[f"{SCHEME}{kind}/{name}"] = (found.st_ino, found.st_mtime_ns, found.st_size)
    return made
