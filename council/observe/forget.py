"""Removing one thing everywhere it is kept: a closed conversation, one entry, or old run logs."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from glob import glob

from council.councils import row, service
from council.kernel import files, shared, times
from council.kernel.errors import Conflict, NotFound, Usage
from council.kernel.page import decoded
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import board
from council.runs import places

if TYPE_CHECKING:
    from council.app import App

RUNS = "memory/shared/.council/runs"
PROMPTS = "memory/agents/*/tasks/*"
MINUTES = "conseils/*.md*"  # and copies of them; their texts may name other conversations


def plan(app: App, which: str, entry: str = "", older_than: str = "") -> dict[str, Any]:
    """Return what would be removed: `conversationId`, `name`, `entry`, `remove` (paths), `redact`.

    That is a conversation, one `entry` of it such as `2-henry`, or the logs of runs that ended
    longer ago than a duration. An open conversation is refused.
    """
    made: dict[str, Any] = {"conversationId": "", "name": which, "entry": entry, "redact": ""}
    if bool(which) == bool(older_than):
        raise Usage("usage", "name a conversation or an age", "council forget --older-than 30d")
    root, under_way = app.root, places.held(f"{app.state_folder}/places")
    logs = [f"{RUNS}/{name}" for name in files.names(f"{root}/{RUNS}") if name not in under_way]
    if older_than:
        before = (app.now - times.duration(older_than)).timestamp()
        return {**made, "remove": sorted(one for one in logs if _newest(f"{root}/{one}") < before)}
    if not app.is_open(which) and (kind := app.other(which)):
        of = kind.document(app, which)
        paths = [os.path.relpath(one, root) for one in (of.folder, of.page) if one]
        state = of.peek()
        ident, paths = kind.ident(state), [*paths, *kind.kept(state)]
        paths += [one for one in logs if one.startswith(f"{RUNS}/{ident}.")]
        paths += glob(f"{PROMPTS[:-1]}{ident}.*", root_dir=root)
        mine = f"conversation: {ident}"  # as the front matter of minutes says it
        paths += [one for one in glob(MINUTES, root_dir=root) if _has(f"{root}/{one}", mine)]
        return {**made, "remove": [one for one in paths if os.path.lexists(f"{root}/{one}")]}
    document = service.document(app, which)
    state, folder = document.peek(), os.path.relpath(document.folder, root)
    made |= {"conversationId": state.conversation_id, "name": state.name}
    if document.page is not None and not entry:
        what = f"{state.name} is still open"
        raise Conflict("still-open", what, f"council cancel --name {state.name}")
    if entry and entry not in [one.id for one in state.entries]:
        raise NotFound("no-entry", f"{state.name} has no entry {entry}", f"council show {which}")
    made["remove"] = [one for one in logs if one.startswith(f"{RUNS}/{state.conversation_id}.")]
    ident, found = state.conversation_id, glob(PROMPTS, root_dir=root)
    made["remove"] += [one for one in found if ident in one or _has(f"{root}/{one}", ident)]
    if entry:
        return {**made, "redact": folder}
    found = glob(MINUTES, root_dir=root)
    mine = f"conversation: {ident}"  # as above
    made["remove"] += [one for one in found if _has(f"{root}/{one}", mine)]
    return {**made, "remove": sorted([*made["remove"], folder])}


def carry_out(app: App, made: dict[str, Any]) -> dict[str, Any]:
    """Remove what a plan names; return the plan. Safe to repeat."""
    if made["redact"]:
        document = service.document(app, made["conversationId"])
        document.redact(lambda event: without(event, made["entry"]))
        if document.page is None:
            row.write_minutes(app, document.peek(), replace=True)
    shared.erase(app.root, made["remove"])
    for path in made["remove"]:
        whole = f"{app.root}/{path}"
        if os.path.isdir(whole) and not os.path.islink(whole):
            shutil.rmtree(whole, ignore_errors=True)
            if os.path.isdir(whole):  # a run that was ending locked it meanwhile
                shutil.rmtree(whole)
        else:
            with suppress(FileNotFoundError):
                os.unlink(whole)
    if os.path.isfile(f"{app.root}/memory/shared/BOARD.md"):
        board.board(app, set())
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


def _newest(folder: str) -> float:
    return max(os.stat(f"{folder}/{one}").st_mtime for one in [".", *os.listdir(folder)])


def _has(path: str, words: str) -> bool:
    with open(path, "rb") as file:
        return words in decoded(file.read())
