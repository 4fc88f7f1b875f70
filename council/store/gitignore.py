"""What git leaves out: a `.gitignore` in each directory where secrets, logs, locks or prompts are.

`git add -A` then takes the council (live files, minutes, rooms, `SOUL.md`) and nothing else. A
`.gitignore` that exists is never changed; `doctor` names what it lets through.

Source: FW-009.
"""

from __future__ import annotations

import os
from contextlib import suppress

from council.core.errors import CouncilError
from council.core.ids import is_name
from council.store import files
from council.store.paths import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.paths import Workspace

NAME = ".gitignore"
_HEAD = "# Written by council: git takes no key, token, log, prompt or lock. Yours to edit.\n"
_ALL = ("*",)
_PASSING = (f"{files.TEMPORARY}*", ".*.lock")
_OF_AGENTS = ("tasks", "agent", "sessions")
_OF_RECORDS = (".locks", ".told")  # directories beside the records of document 002
_NOTE = ".due"


def lay(workspace: Workspace) -> None:
    """Write each `.gitignore` that is missing.

    That of the control directory comes last, so where it exists the others do. A directory that
    cannot be written is left alone: the next command that writes tries again.
    """
    with suppress(CouncilError, OSError):
        files.make_folder(workspace.agents)  # whatever is put there later is covered then
        for folder, lines in _patterns(workspace).items():
            if os.path.isdir(folder):
                _lay_in(folder, lines)


def lay_in(folder: str) -> None:
    """Have git ignore everything in a directory, unless it has a `.gitignore`."""
    with suppress(CouncilError, OSError):
        _lay_in(folder, _ALL)


def _lay_in(folder: str, lines: tuple[str, ...]) -> None:
    """Write a `.gitignore` unless there is one; it is not synced, since any command may write it.

    Raises:
        OSError: The system refuses; nothing is left behind.
    """
    path = f"{folder}/{NAME}"
    if os.path.lexists(path):
        return
    text = _HEAD + "".join(f"{line}\n" for line in lines)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with files.closing(descriptor):
                files.share(descriptor, folder)
                files.write_all(descriptor, text.encode("ascii"))
        except OSError:
            files.remove(path)
            raise


def _patterns(workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """Return the patterns of each `.gitignore`, by the directory it is written into."""
    live = os.path.dirname(workspace.control)
    folders: dict[str, tuple[str, ...]] = {}
    for folder, lines in (
        (workspace.shared, (*(f"{name}/" for name in _OF_RECORDS), _NOTE)),
        (live, (".council/",)),
        (workspace.agents, tuple(f"*/{name}/" for name in _OF_AGENTS)),
        (os.path.dirname(workspace.identities), ()),
    ):
        if lines or not any(folder.startswith(f"{above}/") for above in folders):
            known = folders.get(folder, _PASSING)
            folders[folder] = known + tuple(line for line in lines if line not in known)
    folders.update((folder, _ALL) for folder in (*moved_run_states(workspace), _cache(workspace)))
    return {**folders, workspace.control: _ALL}


def _cache(workspace: Workspace) -> str:
    """Return where settings are kept in short: they say themselves where all else is."""
    return os.path.join(workspace.root, SHARED, ".council")


def moved_run_states(workspace: Workspace) -> list[str]:
    """Return the directories of runs of known agents, where `[paths] run_state` moves them."""
    agents = [name for name in files.names_in(workspace.agents) if is_name(name)]
    found = ((workspace.agent_state(one), workspace.sessions(one)) for one in agents)
    inside = f"{workspace.agents}/"
    return [path for paths in found for path in paths if not path.startswith(inside)]


def is_private(workspace: Workspace, path: str) -> bool:
    """Return true if git must not have a file: a secret, a log, a prompt, a lock or a temporary."""
    name = os.path.basename(path)
    if name == NAME:
        return False
    is_passing = files.is_temporary(path) or (name.startswith(".") and name.endswith(".lock"))
    return is_passing or name == _NOTE or bool(directory_of(workspace, path))


def directory_of(workspace: Workspace, path: str) -> str:
    """Return the private directory in which a file is, "" where it is in none."""
    for folder in (workspace.control, _cache(workspace), *moved_run_states(workspace)):
        if path.startswith(f"{folder}/"):
            return folder
    inside, known = os.path.relpath(path, workspace.agents).split("/"), _OF_AGENTS
    if is_name(inside[0]) and len(inside) > 2 and inside[1] in known:
        return f"{workspace.agents}/{inside[0]}/{inside[1]}"
    parts = os.path.relpath(path, workspace.shared).split("/")
    at = next((at for at, part in enumerate(parts[:-1]) if part in _OF_RECORDS), -1)
    return os.path.join(workspace.shared, *parts[: at + 1]) if at >= 0 else ""


def ignoring(workspace: Workspace, path: str) -> tuple[str, tuple[str, ...]]:
    """Return the innermost directory whose `.gitignore` is about a file, and its patterns."""
    around = [one for one in _patterns(workspace).items() if path.startswith(f"{one[0]}/")]
    return max(around, key=lambda one: len(one[0]))
