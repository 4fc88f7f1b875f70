"""The choice between files alone, and files as one machine's copy of what PostgreSQL has.

`.council/engine` says that a workspace takes part in an engine. Without it the choice costs one
look at the file system, and the driver is not imported.
"""

from __future__ import annotations

from council.kernel import codec, files
from council.kernel.errors import Away, Refused
from council.kernel.journal import Journal
from council.kernel.record import Any

# Folders whose files every machine has; other folders belong to their machine.
FOLDERS = ["memory/shared/artifacts", "memory/shared/briefs", "conseils"]
FOLDERS += ["memory/shared/discussion-summary"]
_STATE = "memory/shared/.council"


def engine(state: str) -> Any:
    """Return the engine of a `.council` folder (`kernel.engine.Engine`), None where it has none.

    Without the driver: Refused (`no-driver`). If joining was interrupted: Conflict (`not-joined`).
    """
    found = facts(state)
    return driver().engine_of(state, found) if found else None


def driver() -> Any:
    """Return the module `kernel.engine`, or raise Refused (`no-driver`)."""
    try:
        from council.kernel import engine as many  # late: an extra
    except ImportError:
        what = "the driver of PostgreSQL is not installed"
        raise Refused("no-driver", what, "pip install 'council-files[postgres]'") from None
    return many


def facts(state: str) -> dict[str, Any]:
    """Return what `.council/engine` says: `url`, `machine` (its number), `ready`; {} without."""
    found = files.content(f"{state}/engine")
    return dict(codec.loads(found, f"{state}/engine")) if found else {}


def journal(folder: str, before: Journal | None = None) -> Journal:
    """Return the journal of a document's folder: `before`, if it is still of the right sort."""
    state, _, place = folder.rpartition("/.council/")
    found = engine(f"{state}/.council") if state else None
    if before is not None and (found is None) == (type(before) is Journal):
        return before
    made: Journal = driver().SharedJournal(found, place) if found else Journal(folder)
    return made


def fetch(state: str) -> Away | None:
    """Fetch what other machines recorded; return why that is not possible now, None where it is."""
    try:
        if found := engine(state):
            found.fetch()
    except Away as refusal:
        return refusal
    return None


def put(path: str, data: bytes, replace: bool = False) -> bool | None:
    """Give a file to all machines; None where only this one is to have it, or has to write it.

    False: There is one with this name, which is not to be replaced.
    """
    for folder in FOLDERS:
        root, _, name = path.rpartition(f"/{folder}/")
        if root and "/" not in name and (found := engine(f"{root}/{_STATE}")):
            done: bool | None = found.put(f"/{folder}/{name}", data, replace)
            return done
    return None


def erase(root: str, paths: list[str]) -> None:
    """Remove files and documents, named by their paths below the workspace, on all machines."""
    if found := engine(f"{root}/{_STATE}"):
        found.erase(paths)


def machine(state: str) -> int:
    """Return the number of this machine in its engine, 0 without one."""
    return int(facts(state).get("machine", 0))
