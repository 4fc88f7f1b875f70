"""What other programs have done to the files of a workspace, and what the clock makes of them.

Files of other users, journals with a second name, copies that programs which sync directories have
left of a file that changed on two machines, and times that are ahead of the clock.

Source: FW-008.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator

from council.operations.examining.causes import AHEAD, Cause, cause
from council.operations.place import Place
from council.operations.view import Overview
from council.store import files
from council.store.sharing import group_of, places_of

# How Syncthing, Dropbox, Nextcloud, iCloud and Google Drive call the other of two versions.
_COPY = re.compile(r"\.sync-conflict-\d|conflicted copy|\([^)]*conflict[^)]*\)", re.IGNORECASE)
_NUMBERED = re.compile(r" \(?\d{1,3}\)?$")
_KINDS = (".md", ".json", ".jsonl", ".toml")
_SHOWN = 3
_REPLACED = "/settings-cache.json"  # of whoever ran the last command; the next one replaces it


def apart(place: Place) -> Iterator[Cause]:
    """Return what is wrong with files, found by looking at every one of them."""
    paths = [path for path in places_of(place.paths) if os.path.lexists(path)]
    yield from _of_others(place, paths)
    yield from _linked(place, paths)
    people = [place.root, *(place.paths.agent(one) for one in place.agents())]
    yield from copies(place, [*paths, *(path for folder in people for path in _in(folder))])


def _of_others(place: Place, paths: Iterable[str]) -> Iterator[Cause]:
    """Return files that the owner of the workspace cannot write: root ran council there."""
    owner = os.stat(place.root).st_uid
    if group_of(place.paths) is not None or owner == 0:
        return  # of a shared workspace `sharing` tells, and root may write everything
    owners = [(path, os.lstat(path).st_uid) for path in paths if not path.endswith(_REPLACED)]
    found = [(path, uid) for path, uid in owners if uid != owner]
    if found:
        first, uid = found[0]
        root, own = shlex.quote(place.root), files.user_name(owner)
        yield cause(
            "foreign-files",
            "files",
            file=os.path.relpath(first, place.root),
            more=str(len(found) - 1) if len(found) > 1 else "",
            user=files.user_name(uid),
            owner=own,
            command=f"chown -R {owner} {root}",
        )


def _linked(place: Place, paths: Iterable[str]) -> Iterator[Cause]:
    """Return journals with a second name: what is added to one is added to the other, too."""
    for path in paths:
        facts = os.lstat(path)
        if path.endswith(".jsonl") and stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
            name, own = shlex.quote(path), shlex.quote(f"{path}.own")
            where = os.path.relpath(path, place.root)
            yield cause(
                "hard-link", "files", file=where, command=f"cp -p {name} {own} && mv {own} {name}"
            )


def copies(place: Place, paths: Iterable[str] | None = None) -> Iterator[Cause]:
    """Return copies that are in conflict with a file; `paths` are looked at, None for the main."""
    live = os.path.dirname(place.paths.control)
    if paths is None:
        paths = [*_in(live), *_in(place.paths.minutes), *_in(place.paths.channels)]
    stems = [place.paths.conversation_file(name) for name in place.conversations.names()]
    named = place.paths.conversation_name
    others = (one for one in dict.fromkeys(paths) if not named(os.path.basename(one)))
    found = [path for path in others if _is_copy(path, stems)]
    if found:
        names = [os.path.relpath(path, place.root) for path in found]
        more = str(len(names) - _SHOWN) if len(names) > _SHOWN else ""
        yield cause("conflict-copy", "files", files=", ".join(names[:_SHOWN]), more=more)


def _in(folder: str) -> list[str]:
    try:
        return files.paths_in(folder)
    except OSError:
        return []


def _is_copy(path: str, live: Iterable[str]) -> bool:
    """Return true if a file is a copy by its name; so is each that begins as a live file does."""
    stem, kind = os.path.splitext(path)
    if kind not in _KINDS:
        return False
    if any(path != one and path.startswith(one.removesuffix(".md")) for one in live):
        return True
    first = _NUMBERED.sub("", stem)
    is_second = first != stem and os.path.lexists(f"{first}{kind}")
    return is_second or bool(_COPY.search(os.path.basename(stem)))


def ahead(place: Place, overview: Overview) -> Iterator[Cause]:
    """Return the conversations whose round began after now, and is to last from then on."""
    for one in overview.standings:
        state = one.state
        began_at = state.rounds[-1].started_at if state.rounds else state.created_at
        if began_at - place.now() > AHEAD and state.timeout_at > began_at:
            yield cause("ahead", state.name, at=began_at, name=state.name)
