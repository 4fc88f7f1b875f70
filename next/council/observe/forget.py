"""Removing one thing everywhere it is kept: a closed conversation, one entry, or old run logs."""

from __future__ import annotations

import glob
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
    """Return what would be removed: `conversationId`, `name`, `entry`, `remove` (paths), `redact`.

    Args:
        app: The workspace.
        which: A conversation: name, id, part of the title, or its minutes.
        entry: Only this entry of it, such as `2-henry`.
        older_than: Instead of both: logs of runs that ended longer ago than this duration.

    Raises:
        Usage: Neither a conversation nor an age is named, or both are.
        Conflict: The conversation is open (`still-open`).
        NotFound: It does not exist.
    """
    made: dict[str, Any] = {"conversationId": "", "name": which, "entry": entry, "redact": ""}
    if bool(which) == bool(older_than):
        raise Usage(
            "usage", "name a conversation or an age", "council forget NAME, --older-than 30d"
        )
    if older_than:
        before = (app.now - times.duration(older_than)).timestamp()
        return {**made, "remove": [one for one in _runs(app, "") if _newest(app, one) < before]}
    document = events.find(app, which)
    state = document.peek()
    if document.page is not None and not entry:
        hint = f"council cancel --name {state.name}"
        raise Conflict("still-open", f"{state.name} is still open", hint)
    if entry and entry not in [one.id for one in state.entries]:
        raise NotFound("no-entry", f"{state.name} has no entry {entry}", f"council show {which}")
    ident, folder = state.conversation_id, os.path.relpath(document.folder, app.root)
    paths = [*_runs(app, f"{ident}."), *_tasks(app, ident)]
    paths += [] if entry else [folder, *_minutes(app, ident)]
    made |= {"conversationId": ident, "name": state.name, "redact": folder if entry else ""}
    return {**made, "remove": sorted(paths)}


def carry_out(app: App, made: dict[str, Any]) -> dict[str, Any]:
    """Remove what a plan names; return the plan. Safe to repeat."""
    if made["redact"]:
        document = events.find(app, made["conversationId"])
        document.redact(lambda event: without(event, made["entry"]))
        if document.page is None:
            service.rewrite_minutes(app, document.peek())
    for path in made["remove"]:
        whole = f"{app.root}/{path}"
        if os.path.isdir(whole) and not os.path.islink(whole):
            shutil.rmtree(whole)
        elif os.path.lexists(whole):
            os.unlink(whole)
    return made


def without(event: dict[str, Any], entry: str) -> dict[str, Any] | None:
    """Return an event without the words of an entry, None where it has none of them; pure."""
    empty: dict[str, Any] = {"text": "", "heard": {}}
    if event["type"] == "adopted":
        entries = event["state"].get("entries", [])
        if not any(one["id"] == entry and one["text"] for one in entries):
            return None
        left = [{**one, **empty} if one["id"] == entry else one for one in entries]
        return {**event, "state": {**event["state"], "entries": left}}
    if f"{event.get('tour')}-{event.get('agent')}" != entry or not event.get("text"):
        return None
    return {**event, **{key: one for key, one in empty.items() if key in event}}


def text(made: dict[str, Any]) -> str:
    """Return what a plan removes, one path a line."""
    lines = [f"remove {path}" for path in made["remove"]]
    lines += [f"remove the words of {made['entry']} from {made['redact']}"] * bool(made["redact"])
    return "\n".join(lines or ["nothing to remove"])


def _runs(app: App, begin: str) -> list[str]:
    """Return the folders of ended runs whose ids begin so, below the workspace."""
    from council.runs import places  # late: only to leave alone what is under way

    folder, held = f"{app.state_folder}/runs", places.held(f"{app.state_folder}/places")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [f"{folder}/{one}" for one in names if one not in held and one.startswith(begin)]
    return [os.path.relpath(path, app.root) for path in paths]


def _newest(app: App, path: str) -> float:
    folder = f"{app.root}/{path}"
    return max(os.stat(f"{folder}/{one}").st_mtime for one in [".", *os.listdir(folder)])


def _tasks(app: App, ident: str) -> list[str]:
    """Return the prompts and refused answers of a conversation in the agents' task folders."""
    found = []
    for path in glob.glob(f"{glob.escape(app.root)}/memory/agents/*/tasks/*"):
        with open(path, "rb") as file:
            if ident in path or ident.encode() in file.read():
                found.append(os.path.relpath(path, app.root))
    return found


def _minutes(app: App, ident: str) -> list[str]:
    """Return the minutes of a conversation, and copies of them by sync tools."""
    found = []
    for path in glob.glob(f"{glob.escape(app.root)}/conseils/*.md*"):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file if line.startswith("conversation:") and ident in line]
        found += [os.path.relpath(path, app.root)] * bool(lines)
    return found
