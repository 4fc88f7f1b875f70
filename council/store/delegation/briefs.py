"""Briefs of hand-offs on the disk: one file each, written once and never changed.

Source: P8-036, P8-041, XC-001, XC-009.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from council.core.delegation.artifacts import Brief, brief_of, checked_brief, file_name
from council.core.errors import CouncilError, InvalidStateError, NotFoundError, RefusedError
from council.core.reading import read_json
from council.core.record import Record
from council.store import files, shared
from council.store.paths import Workspace, resolve_inside

SUFFIX = ".json"


class Kept(Record):
    """A brief and the file in which it lies."""

    path: str
    brief: Brief

    @property
    def name(self) -> str:
        """What the brief is called: its file without the ending."""
        return os.path.basename(self.path).removesuffix(SUFFIX)


def write(workspace: Workspace, brief: Brief) -> Kept:
    """Write a brief; another one between the same two in the same trace gets a number.

    Raises:
        InvalidInputError: It is no brief as they are to be.
        CouncilError: The system refuses.
    """
    checked = checked_brief(brief)
    text = json.dumps(checked.to_record(), ensure_ascii=False, indent=2) + "\n"
    data = text.encode("utf-8", "replace")
    folder = workspace.briefs
    files.make_folder(folder)
    number = 1
    while True:
        path = resolve_inside(folder, file_name(checked, number))
        if not os.path.lexists(path) and shared.publish(path, data) and files.write_new(path, data):
            return Kept(path=path, brief=checked)
        number += 1


def briefs(workspace: Workspace, trace: str = "") -> Iterator[Kept]:
    """Yield the briefs of a trace, or all, in the order of their names; others are passed over."""
    for _, found in _all(workspace):  # of those that are damaged `doctor` says so
        if found is not None and (not trace or found.brief.trace == trace):
            yield found


def damaged(workspace: Workspace) -> list[str]:
    """Return the files in the folder that are no briefs."""
    return [path for path, found in _all(workspace) if found is None]


def _all(workspace: Workspace) -> Iterator[tuple[str, Kept | None]]:
    """Yield the files in the folder, each with its brief, None for one that is none."""
    for path in files.paths_in(workspace.briefs):
        name = os.path.basename(path)
        if name.endswith(SUFFIX) and not name.startswith("."):
            try:
                yield path, _read(workspace, name)
            except CouncilError:
                yield path, None


def find(workspace: Workspace, wanted: str) -> list[Kept]:
    """Return the brief of a name, else all briefs of the trace of that name.

    Raises:
        RefusedError: It is a path.
        NotFoundError: There is none.
    """
    name = wanted.removesuffix(SUFFIX)
    if "/" in name or "\0" in name or name.startswith("."):
        raise RefusedError(f"{wanted[:80]!r} is a path and no brief", "see: council brief show")
    if os.path.lexists(os.path.join(workspace.briefs, name + SUFFIX)):
        return [_read(workspace, name + SUFFIX)]
    found = list(briefs(workspace, name))
    if not found:
        raise NotFoundError(f"no brief {wanted[:80]!r}", "see: council brief show")
    return found


def _read(workspace: Workspace, name: str) -> Kept:
    path = resolve_inside(workspace.briefs, name)
    standing = files.read_stable(path)
    if standing is None:
        raise NotFoundError(f"{path} is gone", "see: council brief show")
    try:
        return Kept(path=path, brief=brief_of(read_json(standing.data)))
    except (ValueError, KeyError, TypeError, AttributeError, CouncilError):
        raise InvalidStateError(
            f"{path} is no brief", "correct it: it needs a goal, inputs, constraints and refs"
        ) from None
