"""What purges of channels and of contexts have in common: a note, and files that hold many things.

The note is written first and taken away last. It names what is to go and says
nothing of what was in it, so a purge that was killed is finished by the next
one, or by `gc`, wherever it was cut off.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import json
import os

from council.core.delegation.artifacts import PREFIX
from council.core.errors import CouncilError, InvalidStateError
from council.core.ids import is_name
from council.core.nesting import read_json
from council.core.record import Record
from council.store import files, tally
from council.store.conversations.erasing import Matter, erase_events
from council.store.conversations.purging import SET_ASIDE, remove, remove_torn
from council.store.delegation import artifact_care, artifacts
from council.store.delegation.forgotten_calls import forget_calls, ledgers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from council.store.conversations.purging import Purged
    from council.store.paths import Workspace

CHANNEL, CONTEXT = "channel", "context"
_RUNS = ("split-", "compose-")
_END = ".json"
_FIRST, _SAYS = "purging", "what is named here goes"


class Doom(Record):
    """What a note says is to go: the matter, and artifacts that it alone may refer to."""

    matter: Matter
    artifacts: list[str] = []


def note_path(workspace: Workspace, kind: str, name: str) -> str:
    """Return the note of the purge of a channel or a context."""
    return f"{workspace.control}/{SET_ASIDE}{kind}-{name}{_END}"


def begun(workspace: Workspace, kind: str) -> list[str]:
    """Return the names of what somebody has begun to purge and did not finish."""
    start = note_path(workspace, kind, "").removesuffix(_END)
    return [one.removeprefix(start).removesuffix(_END) for one in listed_notes(workspace, start)]


def listed_notes(workspace: Workspace, start: str) -> list[str]:
    """Return the paths of the notes that begin so."""
    found = files.paths_in(workspace.control, os.path.basename(start))
    return [one for one in found if one.endswith(_END)]


def read_note(workspace: Workspace, kind: str, name: str) -> Doom | None:
    """Return what somebody has begun to purge, None when nobody has.

    Raises:
        InvalidStateError: The note cannot be understood.
    """
    path = note_path(workspace, kind, name)
    standing = files.read_stable(path)
    if standing is None:
        return None
    try:
        record = read_json(standing.data)
        owners, traces = tuple(record["owners"]), tuple(record["traces"])
        return Doom(
            matter=matter(owners, traces), artifacts=[PREFIX + one for one in record["artifacts"]]
        )
    except (ValueError, TypeError, LookupError):
        raise InvalidStateError(f"{path} is no note of a purge", "remove it") from None


def matter(owners: Iterable[str], traces: Iterable[str]) -> Matter:
    """Return what short ids stand for, which may mean something else in other places."""
    return Matter(owners=tuple(owners), traces=tuple(traces))


def write_note(
    workspace: Workspace, kind: str, name: str, about: Matter, sources: Iterable[str]
) -> Doom:
    """Write down what is to go, durably.

    Args:
        workspace: Where.
        kind: `channel` or `context`.
        name: Its id.
        about: What else is to be forgotten with it.
        sources: The files that hold what was said in it.

    Raises:
        CouncilError: The system refuses.
    """
    doom = Doom(matter=about, artifacts=sorted(_artifacts(workspace, about, sources)))
    record = {
        _FIRST: _SAYS,
        "owners": list(about.owners),
        "traces": list(about.traces),
        # Without their beginning: an id that stands anywhere is needed.
        "artifacts": [one.removeprefix(PREFIX) for one in doom.artifacts],
    }
    path = note_path(workspace, kind, name)
    files.replace(path, json.dumps(record).encode("ascii"), mode=0o600)
    return doom


def _artifacts(workspace: Workspace, about: Matter, sources: Iterable[str]) -> set[str]:
    """Return the artifacts of a matter's traces and those that its files name, and so on."""
    ahead: list[str] = []
    for wanted in artifacts.ids(workspace):
        try:
            if artifacts.find(workspace, wanted).trace in about.traces:
                ahead.append(wanted)
        except CouncilError:
            continue  # nobody can tell whose it is
    for path in (*sources, *ledgers_of(workspace, about)):
        ahead += artifact_care.ids_in_file(path)
    found: set[str] = set()
    while ahead:
        wanted = ahead.pop()
        if wanted not in found:
            found.add(wanted)
            ahead += artifact_care.ids_in_file(artifacts.content_path(workspace, wanted))
    return found


def sweep(workspace: Workspace, doom: Doom, done: Purged) -> None:
    """Take a matter out of everything that holds other things as well. Repeatable.

    Raises:
        CouncilError: The system refuses.
    """
    about = doom.matter
    for folder in files.paths_in(workspace.agents):
        if is_name(os.path.basename(folder)):
            for path in files.paths_in(f"{folder}/tasks"):
                if _is_of(path, about):
                    remove(path, done.tasks, done)
    for path in files.paths_in(workspace.runs):
        if _is_of(path, about):
            remove(path, done.runs, done)
    done.calls = forget_calls(workspace, about)
    done.events = erase_events(workspace, about)
    tally.forget(workspace, about.owners)
    # These hold topics, and are made anew.
    for path in (workspace.board, f"{workspace.control}/board.json", workspace.room_deadlines):
        files.remove(path)
    remove_torn(workspace, about.needles)
    needed = artifact_care.referred_to(workspace) if doom.artifacts else set()
    unneeded = [one for one in doom.artifacts if one not in needed]
    for wanted, size in artifact_care.remove(workspace, unneeded) if unneeded else ():
        done.artifacts.append(artifacts.content_path(workspace, wanted))
        done.size_bytes += size


def _is_of(path: str, about: Matter) -> bool:
    """Return true if a file is of a run or a notice of a matter: `<owner>.<what>.<who>.<number>…`.

    What is done is a number, or `split-` or `compose-` with the task.
    """
    owner, _, rest = os.path.basename(path).partition(".")
    return owner in about.owners and (rest[:1].isdigit() or rest.startswith(_RUNS))


def end_note(workspace: Workspace, kind: str, name: str) -> None:
    """Take the note away: nothing is left to be done.

    Raises:
        CouncilError: The system refuses.
    """
    files.remove(note_path(workspace, kind, name))
    for path in files.paths_in(workspace.control, files.TEMPORARY):
        if _is_torn_note(path):
            files.remove(path)
    files.sync_folder(workspace.control)


def _is_torn_note(path: str) -> bool:
    """Tell whether somebody who purged died before a note had its name; one purges at a time."""
    standing = files.read_stable(path)
    return standing is not None and standing.data.startswith(f'{{"{_FIRST}": "{_SAYS}"'.encode())
