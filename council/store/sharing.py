"""A workspace of several users of one group: what does not follow it, and mending that.

There is no setting. A set-gid folder that its group may write in is shared, what
is made in it follows (`files.share`), and the root of the workspace, or the folder
of what is shared, says it for all.

No conversation may lie on a network file system: there a kernel lock of one machine
does not exclude those of others, so what the store promises would not hold there.

Source: OP-009, `store.md` section 6.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from council.core.errors import RefusedError
from council.core.ids import is_name
from council.core.record import Record
from council.store import files
from council.store.paths import Workspace

# Of the folder of an agent. What else lies there is the agent's, and may be for one user alone.
_OF_AGENTS = ("", "SOUL.md", "policy.json", "agent", "sessions")


class Misfit(Record):
    """A file or folder that not every member of the group can use as its owner can."""

    path: str
    what: str
    uid: int


def group_of(workspace: Workspace) -> int | None:
    """Return the group that shares a workspace, None where one user has it alone."""
    shared = filter(files.is_shared, (workspace.root, workspace.shared))
    return next((os.stat(folder).st_gid for folder in shared), None)


def misfits(workspace: Workspace, group: int) -> list[Misfit]:
    """Return what does not fit in a workspace that a group shares."""
    found = []
    for path in places_of(workspace):
        with suppress(FileNotFoundError):  # it was there only for a moment
            facts = os.lstat(path)
            what = _fault(facts, group)
            if what:
                found.append(Misfit(path=path, what=what, uid=facts.st_uid))
    return found


def share_all(workspace: Workspace) -> None:
    """Let the group of its root share a workspace, and everything in it that is ours.

    Raises:
        RefusedError: Some of it belongs to other users, who alone can do that.
        OSError: The system refuses.
    """
    group = os.stat(workspace.root).st_gid
    for one in misfits(workspace, group):
        with suppress(FileNotFoundError, PermissionError):
            facts = os.lstat(one.path)
            if facts.st_gid != group:
                os.chown(one.path, -1, group)
            os.chmod(one.path, files.shared_mode(facts.st_mode))
    left = misfits(workspace, group)
    if left:
        first = left[0]
        owner = files.user_name(first.uid)
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        raise RefusedError(
            f"not all can be shared: {first.path} {first.what} and belongs to {owner}{more}",
            f"{owner}, as a member of the group, runs the same command, or root does",
        )


def refuse_forbidden(workspace: Workspace, agents: Iterable[str], now: datetime) -> None:
    """Refuse a user who may not write what opening a conversation needs, before that begins.

    Raises:
        RefusedError: Names the first file or folder, its owner and what to do.
    """
    places = [f"{workspace.places}/agent-{agent}" for agent in agents]
    places += files.paths_in(workspace.places, "place-")
    events = f"{workspace.events}/{now:%Y-%m-%d}.jsonl"
    for path in (
        *(workspace.shared, os.path.dirname(workspace.control), workspace.control),
        *(workspace.open_names, workspace.events, events, workspace.heartbeat_lock),
        *places,
    ):
        is_refused = os.path.lexists(path) and not os.access(path, os.W_OK)
        if is_refused and not os.statvfs(path).f_flag & os.ST_RDONLY:
            raise files.explained(
                PermissionError(errno.EACCES, os.strerror(errno.EACCES), path), "write", path
            )


def _fault(facts: os.stat_result, group: int) -> str:
    """Return what is wrong with a file or folder of a shared workspace, "" for nothing."""
    is_folder = stat.S_ISDIR(facts.st_mode)
    if not is_folder and not stat.S_ISREG(facts.st_mode):
        return ""
    if facts.st_gid != group:
        return "is of another group"
    if files.shared_mode(facts.st_mode) == stat.S_IMODE(facts.st_mode):
        return ""
    if is_folder and not facts.st_mode & stat.S_ISGID:
        return "is not set-gid"
    return "does not let its group do what its owner may"


def places_of(workspace: Workspace) -> Iterator[str]:
    """Yield everything of ours; folders before what lies in them."""
    yield workspace.root
    if os.path.lexists(workspace.settings):
        yield workspace.settings
    for top in _tops(workspace):
        for folder, inner, names in os.walk(top):
            if folder == workspace.outbox:
                inner[:] = []  # each user has one alone
            elif folder == workspace.agents:
                yield from _of_agents(folder, inner)
                inner[:] = []
            yield folder
            yield from (f"{folder}/{name}" for name in names)


def _of_agents(agents: str, names: list[str]) -> Iterator[str]:
    for name in filter(is_name, names):
        for part in _OF_AGENTS:
            path = f"{agents}/{name}/{part}".rstrip("/")
            if os.path.lexists(path):
                yield path
        for folder, _, inside in os.walk(f"{agents}/{name}/tasks"):
            yield folder
            yield from (f"{folder}/{one}" for one in inside)


def _tops(workspace: Workspace) -> list[str]:
    """Return the folders below which everything of ours lies: of each place the first in the root.

    One that the settings lead out of the root is named itself.
    """
    places = (
        *(workspace.shared, workspace.agents, workspace.minutes, workspace.skills),
        *(workspace.artifacts, workspace.briefs, os.path.dirname(workspace.control)),
    )
    tops = []
    for place in places:
        within = os.path.relpath(place, workspace.root)
        is_outside = within.split("/")[0] in ("..", ".")
        tops.append(place if is_outside else f"{workspace.root}/{within.split('/')[0]}")
    return sorted({one for one in tops if os.path.isdir(one)})


_NETWORK = frozenset({"9p", "afs", "cifs", "coda", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"})
_NETWORK_IN_USER_SPACE = frozenset({"fuse.rclone", "fuse.s3fs", "fuse.sshfs"})


def file_system_of(path: str) -> str:
    """Return the type of the file system that `path` lies on, "" when it is unknown."""
    try:
        with files.closing(os.open("/proc/self/mountinfo", files.READ)) as descriptor:
            reading = files.read_all(descriptor, 64 * 1024)
    except OSError:
        return ""
    return type_in(reading.decode("utf-8", "replace"), os.path.realpath(path))


def type_in(mounts: str, path: str) -> str:
    """Return the type of the innermost mount of a `mountinfo` table that holds `path`."""
    best, found = -1, ""
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        words = place.split(" ")
        if len(words) < 5 or not kind:
            continue
        point = words[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = point in ("/", path) or path.startswith(point + "/")
        if inside and len(point) >= best:
            best, found = len(point), kind.split(" ")[0]
    return found


def refuse_network(path: str, kind: str | None = None) -> None:
    """Let a local file system pass.

    Raises:
        RefusedError: It is a network file system.
    """
    kind = file_system_of(path) if kind is None else kind
    if kind in _NETWORK or kind in _NETWORK_IN_USER_SPACE:
        raise RefusedError(
            f"{path} lies on a network file system ({kind}), where locks do not exclude",
            "use a local disk; if only this machine ever writes, set force_network_fs = true",
        )
