"""Removing one thing everywhere it is kept: a closed conversation, one entry, or old run logs."""

from __future__ import annotations

import glob
import os
import shutil

from council.councils import row, service
from council.kernel import times
from council.kernel.errors import Conflict, NotFound, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import places

if TYPE_CHECKING:
    from council.app import App

RUNS = "memory/shared/.council/runs"
# Prompts, refused answers, minutes and copies of them: removed where they name the conversation.
OTHERS = ("memory/agents/*/tasks/*", "conseils/*.md*")


def plan(app: App, which: str, entry: str = "", older_than: str = "") -> dict[str, Any]:
    """Return what would be removed: `conversationId`, `name`, `entry`, `remove` (paths), `redact`.

    That is a conversation, one `entry` of it such as `2-henry`, or the logs of runs that ended
    longer ago than a duration.

    Raises:
        Usage: Neither a conversation nor an age is named, or both are.
        Conflict: The conversation is open (`still-open`).
        NotFound: It does not exist.
    """
    made: dict[str, Any] = {"conversationId": "", "name": which, "entry": entry, "redact": ""}
    if bool(which) == bool(older_than):
        raise Usage("usage", "name a conversation or an age", "council forget --older-than 30d")
    under_way = places.held(f"{app.state_folder}/places")
    runs = [one for one in _paths(app, f"{RUNS}/*") if os.path.basename(one) not in under_way]
    if older_than:
        before = (app.now - times.duration(older_than)).timestamp()
        return {**made, "remove": [one for one in runs if _newest(f"{app.root}/{one}") < before]}
    document = service.document(app, which)
    state = document.peek()
    if document.page is not None and not entry:
        what = f"{state.name} is still open"
        raise Conflict("still-open", what, f"council cancel --name {state.name}")
    if entry and entry not in [one.id for one in state.entries]:
        raise NotFound("no-entry", f"{state.name} has no entry {entry}", f"council show {which}")
    ident, folder = state.conversation_id, os.path.relpath(document.folder, app.root)
    paths = [one for one in runs if os.path.basename(one).startswith(f"{ident}.")]
    for pattern in OTHERS[: 1 if entry else 2]:
        paths += [one for one in _paths(app, pattern) if _names(f"{app.root}/{one}", ident)]
    made |= {"conversationId": ident, "name": state.name, "redact": folder if entry else ""}
    return {**made, "remove": sorted(paths if entry else [*paths, folder])}


def carry_out(app: App, made: dict[str, Any]) -> dict[str, Any]:
    """Remove what a plan names; return the plan. Safe to repeat."""
    if made["redact"]:
        document = service.document(app, made["conversationId"])
        document.redact(lambda event: without(event, made["entry"]))
        if document.page is None:
            row.rewrite_minutes(app, document.peek())
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


def _paths(app: App, pattern: str) -> list[str]:
    """Return the paths below the workspace that fit a pattern."""
    return sorted(glob.glob(pattern, root_dir=app.root))


def _newest(folder: str) -> float:
    return max(os.stat(f"{folder}/{one}").st_mtime for one in [".", *os.listdir(folder)])


def _names(path: str, ident: str) -> bool:
    """Return whether a file is of a conversation; minutes may mention others in their text."""
    with open(path, "rb") as file:
        data = file.read()
    begin = b"conversation: " if "/conseils/" in path else b""
    return ident in path or begin + ident.encode() in data
