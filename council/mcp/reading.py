"""What may be read: resources, prompts, and the names that complete what is typed.

A resource is named by `council://KIND/NAME`. Inside a run only those stand open that its commands
would show as well (`core.trust`).

Source: IO-004, CL-007.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

from council.core.agents import MCP
from council.core.conversations.conversation import ClosedReason
from council.core.errors import NotFoundError
from council.core.plain_text import json_text, plain_line
from council.core.trust import is_permitted, permit
from council.operations.conversations import prompting, recalling, sections, steer
from council.operations.delegation import artifacts
from council.operations.place import Place
from council.operations.protocol.protocol_prompts import PROTOCOL_KINDS, protocol_prompt_of
from council.operations.view import shown
from council.store.conversations.closing import minutes_path
from council.store.conversations.filed import newest_first
from council.store.settings import LANGUAGES

Given = dict[str, Any]
SCHEME = "council://"
# The command of which each kind of resource is the answer.
_VERBS = {"conversation": "show", "record": "show", "minutes": "list", "artifact": "artifact list"}
_MOST_NAMES = 100


def uri_of(kind: str, name: str) -> str:
    """Return what names a resource."""
    return f"{SCHEME}{kind}/{quote(name, safe='')}"


def listed(place: Place, given: Given) -> Given:
    """Return all resources: what is open, minutes with the newest first, artifacts."""
    del given
    return {"resources": [one for each in (_open, _minutes, _artifacts) for one in each(place)]}


def _may(place: Place, kind: str) -> bool:
    return is_permitted(_VERBS[kind], in_run=place.is_in_run)


def _resource(kind: str, name: str, title: str, **more: object) -> Given:
    return {"uri": uri_of(kind, name), "name": name, "title": plain_line(title), **more}


def _open(place: Place) -> Iterator[Given]:
    for name in place.conversations.names():
        yield _resource("conversation", name, f"{name}, open", mimeType="text/markdown")


def _minutes(place: Place) -> Iterator[Given]:
    for one in newest_first(place.paths) if _may(place, "minutes") else []:
        ended = f"{one.ended_at:%Y-%m-%d %H:%M}Z"
        title = f"{one.title or one.stem}, {ended}"
        yield _resource("minutes", one.stem, title, mimeType="text/markdown")


def _artifacts(place: Place) -> Iterator[Given]:
    for one in artifacts.listed(place)[0]:
        title = f"{one.publisher or 'somebody'}, {one.content_type}"
        yield _resource(
            "artifact",
            one.artifact_id,
            title,
            mimeType=one.content_type,
            size=one.size_bytes,
        )


def read(place: Place, given: Given) -> Given:
    """Return what a resource holds.

    Raises:
        NotFoundError: There is none of that name.
        RefusedError: A run may not read it.
    """
    uri = given["uri"]
    kind, _, name = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or kind not in _VERBS or not name:
        raise NotFoundError(f"no resource {uri}", f"such as {uri_of('conversation', 'active')}")
    permit(_VERBS[kind], in_run=place.is_in_run)
    name = unquote(name)
    if kind == "artifact":
        return {"contents": [{"uri": uri, **_of_artifact(place, name)}]}
    found = recalling.recall(place, name)
    if kind == "record":
        text, type_ = json_text(shown(found.state)), "application/json"
    else:
        text, type_ = sections.text_of(found), "text/markdown"
    return {"contents": [{"uri": uri, "mimeType": type_, "text": text}]}


def _of_artifact(place: Place, name: str) -> Given:
    done, content = artifacts.content_of(place, name)
    type_ = done.artifact.content_type
    try:
        return {"mimeType": type_, "text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"mimeType": type_, "blob": b64encode(content).decode("ascii")}


def prompt(place: Place, given: Given) -> Given:
    """Return a prompt as an agent would get it now.

    Raises:
        RefusedError: A run asks, which reads its own by `context`.
    """
    permit("prompt", in_run=place.is_in_run)
    kind, told = given["name"], given.get("arguments") or {}
    agent, lang = told.get("agent", ""), told.get("lang", "")
    if kind in PROTOCOL_KINDS:
        return {"prompt": protocol_prompt_of(place, kind, who=agent, lang=lang)}
    name = told.get("conversation", "")
    made = prompting.prompt_of(place, kind, name=name, agent=agent, lang=lang, way=MCP)
    return {"prompt": made}


def complete(place: Place, given: Given) -> Given:
    """Return the names that something typed may become; a run may know others by pseudonyms."""
    names, typed = _NAMES.get(given["argument"]), given["value"]
    known = names(place) if names is not None and not place.is_in_run else []
    found = [one for one in known if one.startswith(typed)]
    return {"values": found[:_MOST_NAMES], "total": len(found), "hasMore": len(found) > _MOST_NAMES}


def _conversations(place: Place) -> list[str]:
    return place.conversations.names() + [one["name"] for one in _minutes(place)]


_NAMES: dict[str, Callable[[Place], list[str]]] = {
    "conversation": lambda place: place.conversations.names(),
    "name": _conversations,
    "agent": lambda place: place.agents(),
    "artifact": lambda place: [one["name"] for one in _artifacts(place)],
    "lang": lambda _: list(LANGUAGES),
}


def task(place: Place, given: Given) -> Given:
    """Return how the conversation of an id stands, as a task.

    Raises:
        NotFoundError: There is none.
    """
    state = _of_id(place, given["taskId"]).state
    told = {
        **state.as_json("created_at updated_at:updatedAt"),
        "said": f"{state.name}: {state.phase} (round {state.tour})",
        "status": "working",
    }
    if state.finished_at is None or not minutes_path(place.paths, state.conversation_id):
        return told
    found = recalling.recall(place, state.conversation_id)
    is_cancelled = state.closed_reason is ClosedReason.CANCELLED
    result = {
        **state.as_json("name conversation_id phase tour"),
        "participants": list(state.participants),
        "minutes": found.path,
        "text": sections.text_of(found),
    }
    status = "cancelled" if is_cancelled else "completed"
    return {**told, "status": status, "result": result}


def _of_id(place: Place, wanted: str) -> recalling.Recalled:
    for name in place.conversations.names():
        if place.conversations.read(name).conversation_id == wanted:
            return recalling.recall(place, name)
    return recalling.recall(place, wanted)


def cancel(place: Place, given: Given) -> Given:
    """End the conversation of an id; one that has ended stays as it is."""
    permit("cancel", in_run=place.is_in_run)
    found = _of_id(place, given["taskId"])
    if not found.archived:
        steer.cancel(place, found.state.name)
    return {}


# What the server asks for beside tools.
READINGS: dict[str, Callable[[Place, Given], Given]] = {
    "resources/list": listed,
    "resources/read": read,
    "prompts/get": prompt,
    "completion/complete": complete,
    "tasks/get": task,
    "tasks/cancel": cancel,
}
