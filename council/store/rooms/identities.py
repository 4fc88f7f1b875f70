"""The identity registry on the disk: one JSON file, `paths.identities`.

It is read whole and replaced whole, under a lock of its own that lies beside
it, so that several workspaces may share one file, and people and other programs
may write it: a journal is nothing to be edited by hand. A file that is broken is
never written over. Nothing else of a workspace depends on it: without it every
agent is known by its own id.

Source: DG-007, DG-011, DG-012, `cli.md` section 5.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from council.core.errors import InvalidStateError
from council.core.rooms.identities import Registry, registry_of
from council.store import files
from council.store.documents.lines import dumped
from council.store.documents.stored import understood

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.paths import Workspace
    from council.store.settings import Settings

_FIX = "correct it or move it away; it was not written, and what is said in rooms is kept"


def load(workspace: Workspace) -> Registry:
    """Read the registry; without a file it is empty.

    Raises:
        InvalidStateError: The file is no list in JSON.
        CouncilError: The system refuses.
    """
    path = workspace.identities
    standing = files.read_stable(path)
    if standing is None:
        return Registry()
    items = understood(standing.data, path, _FIX)
    if not isinstance(items, list):
        raise InvalidStateError(f"{path} is not a list of entries", _FIX)
    return registry_of(items)


def change(workspace: Workspace, rule: Callable[[Registry], Registry]) -> Registry:
    """Change the registry while no other process does; what stays the same is not written.

    Raises:
        InvalidStateError: The file is broken; it is left as it is.
        LockTimeoutError: Another process held it all the time.
        CouncilError: The rule or the system refuses.
    """
    from council.store import shared
    from council.store.lock import Lock  # readers need none

    path = workspace.identities
    folder, name = os.path.split(path)
    files.make_folder(folder)
    with Lock(os.path.join(folder, f".{name}.lock")):
        while True:
            shared.bring(path)
            standing = load(workspace)
            changed = rule(standing)
            if changed.items == standing.items:
                return changed
            data = dumped(changed.items, (",", ": "), indent=2) + b"\n"
            if shared.publish(path, data):
                files.replace(path, data)
                shared.bring(path)
                return changed


def resolve(workspace: Workspace, settings: Settings, accounts: Iterable[str]) -> dict[str, str]:
    """Return for each account or agent id which agent it means, "" for none.

    Raises:
        InvalidStateError: The registry is broken.
    """
    from council.store.agents import known_agents

    return load(workspace).resolve(accounts, known_agents(workspace.root, settings))


def account_of(workspace: Workspace, agent: str) -> str:
    """Return the account of an agent, its own id when it has none.

    Raises:
        InvalidStateError: The registry is broken.
    """
    return load(workspace).account_of(agent)
