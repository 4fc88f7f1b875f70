"""Removing one thing everywhere it is kept: a closed conversation, one entry, or old run logs."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from glob import glob

from council.councils import row
from council.kernel import files, shared, times
from council.kernel.errors import Conflict, NotFound, Usage
from council.kernel.page import decoded
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import board, named, status
from council.runs import processes

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
    root, under_way = app.root, processes.held(app.state_folder)
    logs = [f"{RUNS}/{name}" for name in files.names(f"{root}/{RUNS}") if name not in under_way]
    if older_than:
        before = (app.now - times.duration(older_than)).timestamp()
        return {**made, "remove": sorted(one for one in logs if _newest(f"{root}/{one}") < before)}
    kind, document = named.meant(app, which)
    state, is_council = document.peek(), kind is app.kinds[0]
    ident = kind.ident(state)
    made |= {"conversationId": ident, "name": state.name}
    if is_council and document.page and not entry:
        raise Conflict("still-open", f"{state.name} is open", f"council cancel --name {state.name}")
    if entry and entry not in [one.id for one in getattr(state, "entries", ())]:
        raise NotFound("no-entry", f"{state.name} has no entry {entry}", f"council show {which}")
    paths = [one for one in logs if one.startswith(f"{RUNS}/{ident}.")]
    words = f"({ident})" if ident == state.name else ident  # a name may be in other texts, too
    found, copies = glob(PROMPTS, root_dir=root), status.conflict_copies(root, app.conversations())
    found += [one for one in copies if not one.startswith("conseils/")]
    paths += [one for one in found if f"/{ident}." in one or _has(f"{root}/{one}", words)]
    if entry:
        return {**made, "remove": paths, "redact": os.path.relpath(document.folder, root)}
    mine = f"conversation: {ident}"  # as the front matter of minutes says it
    paths += [one for one in glob(MINUTES, root_dir=root) if _has(f"{root}/{one}", mine)]
    own = [os.path.relpath(one, root) for one in (document.folder, document.page) if one]
    there = [one for one in (*own, *kind.kept(state)) if os.path.lexists(f"{root}/{one}")]
    return {**made, "remove": sorted([*paths, *there])}


def carry_out(app: App, made: dict[str, Any]) -> dict[str, Any]:
    """Remove what a plan names; return the plan. Safe to repeat."""
    if made["redact"]:
        document = named.meant(app, made["conversationId"])[1]
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
