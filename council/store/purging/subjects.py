"""Forgetting one subject everywhere: what all purges have in common, whatever is forgotten.

A note is written first and taken away last. It names what is to go and says
nothing of what was in it, so a purge that was killed is finished by the next
one, or by `gc`, wherever it was cut off. What others wrote is left alone: it is only named.
With an engine it goes from the database first; the other machines follow (`is_followed`).

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack

from council.core.delegation.artifacts import PREFIX
from council.core.errors import ConflictError, CouncilError, InvalidStateError
from council.core.ids import is_name, split_task_id
from council.core.reading import read_json
from council.core.record import Record
from council.store import files, tally
from council.store.delegation import artifact_care, artifacts
from council.store.lock import Lock, engines
from council.store.paths import Workspace
from council.store.purging.calls import (
    call_runs,
    forget_calls,
    handed_briefs,
    ledgers_of,
    lent_ledgers,
    with_calls,
)
from council.store.purging.erasing import Scope, erase_events, is_line_about
from council.store.slots import Slots

SET_ASIDE = ".purging-"
_RUNS = ("split-", "compose-")
_END = ".json"
_FIRST, _SAYS = "purging", "what is named here goes"


class Purged(Record):
    """What was taken away: paths (or numbers of events) by kind, and what still mentions it."""

    conversation_id: str
    files: list[str] = []
    minutes: list[str] = []
    tasks: list[str] = []
    runs: list[str] = []
    calls: list[str] = []
    artifacts: list[str] = []
    history: int = 0
    events: int = 0
    size_bytes: int = 0
    begun: bool = False
    left: list[str] = []

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing of it, nor of a purge of it that was cut off."""
        beside = ("conversation_id", "size_bytes", "left")
        return not any(getattr(self, one) for one in self._fields if one not in beside)

    def count_history(self, folder: str) -> None:
        """Count the files in a folder that is about to be taken away."""
        for path in files_below(folder):
            if os.path.basename(path) != "lock":  # the purge itself may have made it
                self.history += 1
                self.size_bytes += os.lstat(path).st_size


class Subject:
    """What is to be forgotten: a conversation, a channel or a context; each says what is its own.

    Args:
        workspace: Where.
        name: Its id.

    Attributes:
        scope: What goes with it, once `purge` has begun.
        note: The path of the note of its purge.
        done: What was taken away.
        rows: The streams that go from the database of an engine, and those of records from
            which something goes; None where there is none, or another machine has done that.
    """

    kind: str
    hint: str  # where to find those that there are
    scope: Scope

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace = workspace
        self.name = name
        self.note = note_path(workspace, self.kind, name)
        self.done = Purged(conversation_id=name)
        self.rows: tuple[list[str], list[str]] | None = None

    def purge(self, max_runs: int, *, is_followed: bool = False) -> Purged:
        """Take away everything that is kept of it. Repeatable, wherever it was cut off.

        Args:
            max_runs: How many runs there may be at once.
            is_followed: Whether it has gone from the database of the engine already.

        Raises:
            NotFoundError: There is nothing of it.
            ConflictError: It is open, or a run for it is under way.
            LockTimeoutError: Another process works on it for too long.
            CouncilError: The system, or the engine, refuses; repeated, it goes on.
        """
        done, doomed = self.done, _read_note(self)
        done.begun = doomed is not None
        if doomed is None:
            self.scope = self._found()
        self._check(max_runs)
        with files.explaining("purge", self._place()):
            if doomed is None:
                if not is_followed:
                    self._find_rows()
                doomed = _write_note(self)
            self._take_out_rows()
            self._take_away()
            unneeded = _sweep(self.workspace, self.scope, doomed, done)
            self._hollow_rows(unneeded)
            self._close()
            _end_note(self)
        done.left = sorted(set(self._mentions()))
        return done

    # What an engine has of it.

    def _find_rows(self) -> None:
        engine = engines.get(self.workspace.control)
        if engine is None:
            return
        from council.store.purging.shared_rows import streams_of

        about = self.workspace, self.scope
        gone = streams_of(engine, [*self._shared(), *ledgers_of(*about), *handed_briefs(*about)])
        self.rows = gone, streams_of(engine, lent_ledgers(*about))

    def _take_out_rows(self) -> None:
        """Take it out of the database while no machine can add to it."""
        if self.rows is None:
            return
        from council.store.purging import shared_rows

        engine = engines[self.workspace.control]
        with ExitStack() as held:
            for path in self._locks():
                files.make_folder(os.path.dirname(path))
                held.enter_context(Lock(path))
            words = [one.lstrip(b'"') for one in self.scope.needles]  # logs need not be JSON
            shared_rows.take_out(engine, self.rows[0], words, self._instead, self.rows[1])
        for name, owner in engine.session.names("open/").items():
            if owner == self.name:
                engine.session.free(name, owner)

    def _hollow_rows(self, unneeded: list[str]) -> None:
        """Take out what can be known only now: artifacts, and what records held before."""
        if self.rows is None:
            return
        from council.store.purging import shared_rows

        engine = engines[self.workspace.control]
        shared_rows.take_out_artifacts(engine, unneeded)
        shared_rows.hollow_records(engine, self.rows[1])

    def _instead(self, _: str, line: bytes) -> bytes | None:
        """Return b"" for a line of a log that other machines share and that goes."""
        return b"" if is_line_about(line, self.scope) else None

    # What one kind does in its own way.

    def _shared(self) -> Iterable[str]:
        """Return the journals, logs and files of its own that other machines share."""
        raise NotImplementedError

    def _locks(self) -> Iterable[str]:
        """Return the locks without which no machine adds to it."""
        raise NotImplementedError

    def _place(self) -> str:
        """Return the path that an error names."""
        raise NotImplementedError

    def _found(self) -> Scope:
        """Return what is to be forgotten with it."""
        raise NotImplementedError

    def _check(self, max_runs: int) -> None:
        """Refuse where it cannot be forgotten now."""
        refuse_running(self.workspace, self.scope, max_runs)

    def _sources(self) -> Iterable[str] | None:
        """Return the files that hold what was said in it.

        The artifacts that they name go with it where nothing else refers to them. None
        where those of its traces alone go.
        """
        raise NotImplementedError

    def _take_away(self) -> None:
        """Take away the files that are its own, first those by which it would be opened."""
        raise NotImplementedError

    def _close(self) -> None:
        """Do what comes last."""

    def _mentions(self) -> Iterable[str]:
        """Return the files that others wrote and that name it."""
        raise NotImplementedError


def note_path(workspace: Workspace, kind: str, name: str) -> str:
    """Return the note of the purge of a subject."""
    return f"{workspace.control}/{SET_ASIDE}{kind}-{name}{_END}"


def begun(workspace: Workspace, kind: str) -> list[str]:
    """Return the names of what a process has begun to purge and did not finish."""
    start = note_path(workspace, kind, "").removesuffix(_END)
    found = files.paths_in(workspace.control, os.path.basename(start))
    return [one.removeprefix(start).removesuffix(_END) for one in found if one.endswith(_END)]


def _read_note(subject: Subject) -> list[str] | None:
    """Take over the scope of a purge that was begun; return the artifacts that go, None for none.

    Raises:
        InvalidStateError: The note cannot be understood.
    """
    standing = files.read_stable(subject.note)
    if standing is None:
        return None
    try:
        record = read_json(standing.data)
        subject.scope = Scope(
            owners=tuple(record["owners"]),
            traces=tuple(record["traces"]),
            marks=tuple(one.encode("ascii") for one in record.get("marks", ())),
        )
        if "rows" in record:
            gone, edited = record["rows"]
            subject.rows = list(gone), list(edited)
        return [PREFIX + one for one in record["artifacts"]]
    except (ValueError, TypeError, LookupError, AttributeError):
        raise InvalidStateError(f"{subject.note} is no note of a purge", "remove it") from None


def _write_note(subject: Subject) -> list[str]:
    """Write down what is to go, durably; return the artifacts that go."""
    scope = subject.scope
    doomed = sorted(_artifacts(subject.workspace, scope, subject._sources()))
    record = {
        _FIRST: _SAYS,
        "owners": list(scope.owners),
        "traces": list(scope.traces),
        **({"marks": [one.decode("ascii") for one in scope.marks]} if scope.marks else {}),
        **({} if subject.rows is None else {"rows": subject.rows}),
        # Without their beginning: an id that stands anywhere is needed.
        "artifacts": [one.removeprefix(PREFIX) for one in doomed],
    }
    files.replace(subject.note, json.dumps(record).encode("ascii"), mode=0o600)
    return doomed


def _end_note(subject: Subject) -> None:
    """Take the note away: nothing is left to be done."""
    control = subject.workspace.control
    files.remove(subject.note)
    for path in files.paths_in(control, files.TEMPORARY):
        # A process that purged died before a note had its name; one purges at a time.
        if files.content_of(path).startswith(f'{{"{_FIRST}": "{_SAYS}"'.encode()):
            files.remove(path)
    files.sync_folder(control)


def _artifacts(workspace: Workspace, scope: Scope, sources: Iterable[str] | None) -> set[str]:
    """Return the artifacts of a scope's traces and those that its files name, and so on."""
    ahead: list[str] = []
    for wanted in artifacts.known_ids(workspace):
        try:
            if artifacts.find(workspace, wanted).trace in scope.traces:
                ahead.append(wanted)
        except CouncilError:
            continue  # it is unknown whose it is
    if sources is None:
        return set(ahead)
    for path in (*sources, *ledgers_of(workspace, scope)):
        ahead += artifact_care.ids_in_file(path)
    found: set[str] = set()
    while ahead:
        wanted = ahead.pop()
        if wanted not in found:
            found.add(wanted)
            ahead += artifact_care.ids_in_file(artifacts.content_path(workspace, wanted))
    return found


def _sweep(workspace: Workspace, scope: Scope, doomed: list[str], done: Purged) -> list[str]:
    """Take a scope out of everything that holds other things as well. Repeatable.

    Returns:
        The ids of the artifacts that went.
    """
    own = ((done.tasks, tasks_of(workspace)), (done.runs, files.paths_in(workspace.runs)))
    for told, paths in own:
        for path in paths:
            if _is_of(path, scope):
                remove(path, told, done)
    done.calls = forget_calls(workspace, scope)
    done.events = erase_events(workspace, scope)
    tally.forget(workspace, scope.owners)
    # These hold topics, and are made anew.
    for path in (workspace.board, f"{workspace.control}/board.json", workspace.room_deadlines):
        files.remove(path)
    remove_torn(workspace, scope.needles)
    needed = artifact_care.referred_to(workspace) if doomed else set()
    unneeded = [one for one in doomed if one not in needed]
    for wanted, size in artifact_care.remove(workspace, unneeded) if unneeded else ():
        done.artifacts.append(artifacts.content_path(workspace, wanted))
        done.size_bytes += size
    return unneeded


def _is_of(path: str, scope: Scope) -> bool:
    """Return true if a file is of a run or a notice of a scope: `<owner>.<what>.<who>.<number>…`.

    Where ids may mean something else, what is done is a number, or `split-` or `compose-`
    with the task.
    """
    owner, _, rest = os.path.basename(path).partition(".")
    is_sure = bool(scope.marks) or rest[:1].isdigit() or rest.startswith(_RUNS)
    return owner in scope.owners and is_sure


def refuse_running(workspace: Workspace, scope: Scope, max_runs: int) -> None:
    """Refuse while a run for a scope, or for a call in its traces, is under way.

    Raises:
        ConflictError: One is.
    """
    running = Slots(workspace.places, max_runs).running_agents()
    own = [path for one in scope.owners for path in files.paths_in(workspace.runs, f"{one}.")]
    for path in (*own, *call_runs(workspace, with_calls(workspace, scope))):
        task = split_task_id(os.path.basename(path).removesuffix(".log"))
        if task is None or task[2] not in running:
            continue
        reading = files.read_stable(path)
        if reading is not None and b"\nexit: " not in reading.data:
            raise ConflictError(
                f"a run of {task[2]} for this is under way",
                "wait until it has ended: council status",
            )


def tasks_of(workspace: Workspace, start: str = "") -> Iterator[str]:
    """Yield what lies in the folders of agents for tasks, by the beginning of their names."""
    for folder in files.paths_in(workspace.agents):
        if is_name(os.path.basename(folder)):
            yield from files.paths_in(f"{folder}/tasks", start)


def remove(path: str, told: list[str], done: Purged) -> None:
    """Take a file or folder away and write down that it is gone."""
    facts = os.lstat(path)
    if stat.S_ISDIR(facts.st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    done.size_bytes += facts.st_size
    told.append(path)


def remove_torn(workspace: Workspace, marks: tuple[bytes, ...]) -> None:
    """Take away what writers left who died before their file had its name.

    One that bears no mark of what is forgotten may still hold words of it, an
    answer for instance: it goes as soon as no process can be about to name it.

    Raises:
        CouncilError: The system refuses.
    """
    # A publisher may wait for a long time for what comes next: `artifact gc` knows of those.
    for path in walked(workspace, {workspace.artifacts}):
        if files.is_temporary(path) and (files.is_abandoned(path) or contains(path, marks)):
            files.remove(path)


def walked(workspace: Workspace, apart: Container[str] = ()) -> Iterator[str]:
    """Yield every file of the workspace, those in some folders left out."""
    for top in dict.fromkeys((workspace.shared, workspace.minutes, workspace.agents)):
        yield from files_below(top, apart)


def files_below(top: str, apart: Container[str] = ()) -> Iterator[str]:
    """Yield every file below a folder, those in some folders left out."""
    for within, inner, names in os.walk(top):
        inner[:] = [one for one in inner if f"{within}/{one}" not in apart]
        yield from (f"{within}/{one}" for one in names)


def contains(path: str, marks: tuple[bytes, ...]) -> bool:
    """Return true if any of the marks stands in a file."""
    data = files.content_of(path)
    return any(mark in data for mark in marks)
