"""Removing one thing everywhere it is kept: a closed conversation, one entry, or old run logs."""

from __future__ import annotations

import os
import shutil

from council.councils import service
from council.kernel import times
from council.kernel.errors import Conflict, NotFound, Usage
from council.kernel.record import Any
from council.observe import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App


def plan(app: App, which: str, entry: str = "", older_than: str = "") -> dict[str, Any]:
    """Return what would be removed; nothing is changed.

    Args:
        app: The workspace.
        which: A conversation: name, id, part of the title, or its minutes.
        entry: Only this entry of it, such as `2-henry`.
        older_than: Instead of both: logs of runs that ended longer ago than this duration.

    Returns:
        `conversationId`, `name`, `entry`, `remove` (paths below the workspace), `redact` (a
        journal from which the entry is taken).

    Raises:
        Usage: Neither a conversation nor an age is named.
        Conflict: The conversation is open (`still-open`).
        NotFound: It does not exist.
    """
    made: dict[str, Any] = {"conversationId": "", "name": which, "entry": entry}
    if older_than:
        if which:
            raise Usage("usage", "--older-than goes without a conversation", "give one of them")
        before = (app.now - times.duration(older_than)).timestamp()
        return {**made, "remove": _runs(app, lambda path: _newest(path) < before), "redact": ""}
    if not which:
        raise Usage("usage", "no conversation is named", "council forget NAME, or --older-than 30d")
    document = events.find(app, which)
    state = document.peek()
    ident, is_open = state.conversation_id, document.page is not None
    if is_open and not entry:
        hint = f"council cancel --name {state.name}"
        raise Conflict("still-open", f"{state.name} is still open", hint)
    if entry and entry not in [one.id for one in state.entries]:
        raise NotFound("no-entry", f"{state.name} has no entry {entry}", f"council show {which}")
    paths = _runs(app, lambda path: os.path.basename(path).startswith(f"{ident}."))
    paths += [path for path in _tasks(app) if ident in path or _mentions(app, path, ident)]
    if not entry:
        paths += [os.path.relpath(document.folder, app.root), *_minutes(app, ident)]
    redact = os.path.relpath(document.folder, app.root) if entry else ""
    made |= {"conversationId": ident, "name": state.name}
    return {**made, "remove": sorted(paths), "redact": redact}


def carry_out(app: App, made: dict[str, Any]) -> dict[str, Any]:
    """Remove what a plan names; return the plan. Safe to repeat."""
    for path in made["remove"]:
        whole = f"{app.root}/{path}"
        if os.path.isdir(whole) and not os.path.islink(whole):
            shutil.rmtree(whole)
        elif os.path.lexists(whole):
            os.unlink(whole)
    if made["redact"]:
        document = events.find(app, made["conversationId"])
        document.redact(lambda event: without(event, made["entry"]))
        if document.page is None:
            service.rewrite_minutes(app, document.peek())
    return made


def without(event: dict[str, Any], entry: str) -> dict[str, Any] | None:
    """Return an event without the words of an entry, None where it has none of them; pure."""
    if event["type"] == "adopted":
        entries = event["state"].get("entries", [])
        if not any(one["id"] == entry and one["text"] for one in entries):
            return None
        left = [{**one, "text": "", "heard": {}} if one["id"] == entry else one for one in entries]
        return {**event, "state": {**event["state"], "entries": left}}
    if f"{event.get('tour')}-{event.get('agent')}" != entry or not event.get("text"):
        return None
    return {**event, "text": "", **({"heard": {}} if "heard" in event else {})}


def text(made: dict[str, Any]) -> str:
    """Return what a plan removes, one path a line."""
    lines = [f"remove {path}" for path in made["remove"]]
    lines += [f"remove the words of {made['entry']} from {made['redact']}"] * bool(made["redact"])
    return "\n".join(lines or ["nothing to remove"])


def _runs(app: App, fits: Any) -> list[str]:
    """Return the folders of ended runs that fit, below the workspace."""
    from council.runs import places  # late: only to leave alone what is under way

    held = places.held(f"{app.state_folder}/places")
    folder = f"{app.state_folder}/runs"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [f"{folder}/{one}" for one in names if one not in held]
    return [os.path.relpath(path, app.root) for path in paths if fits(path)]


def _newest(path: str) -> float:
    return max(os.stat(f"{path}/{one}").st_mtime for one in [".", *os.listdir(path)])


def _tasks(app: App) -> list[str]:
    found = []
    for folder, _, names in os.walk(f"{app.root}/memory/agents"):
        if os.path.basename(folder) == "tasks":
            found += [os.path.relpath(f"{folder}/{one}", app.root) for one in names]
    return found


def _mentions(app: App, path: str, ident: str) -> bool:
    with open(f"{app.root}/{path}", encoding="utf-8", errors="replace") as file:
        return ident in file.read()


def _minutes(app: App, ident: str) -> list[str]:
    folder = f"{app.root}/conseils"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [f"conseils/{one}" for one in names if _mentions(app, f"conseils/{one}", ident)]
