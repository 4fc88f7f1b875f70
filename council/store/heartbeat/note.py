"""The note of the heartbeat: until when it need not open which conversation, room or context.

For each one in which nothing was due it holds when time alone will
change that, the stamps of its files before they were read, and what there is to
report of it. What holds of it is decided by `survey`.

The note is a cache and nothing else. Missing, torn, of another version or
made under other settings, it is not used; where it cannot be written, every
heartbeat opens everything. It is not brought to the disk: it belongs to one
boot of the machine, so a power cut, which might keep the note and not what it
tells of, ends it.

Source: XC-007, `architecture.md` section 4.
"""

from __future__ import annotations

import json
import os
import time
from binascii import crc32
from collections.abc import Mapping, Sequence

from council import __version__
from council.core.errors import CouncilError
from council.core.reading import read_json
from council.core.record import Any, Record
from council.store import files
from council.store.notes import boot as _boot

TYPE_CHECKING = False
if TYPE_CHECKING:
    Line = tuple[str, str, Any, bytes]

_FORMAT = 2
_ABANDONED_S = 60


class Note(Record):
    """What is noted: one line for each name in each column, in order.

    `due` are instants as text, "never" after all of them; `found` is any JSON;
    `stamps` are joined. It holds at no time before `since`; the stamps were taken
    at `taken_ns`. `folder` is that of the folder which shows any change, if there is such a
    one. `body` is its text, `identity` identifies the file it was read from.
    """

    names: Sequence[str]
    ids: Sequence[str]
    due: Sequence[str]
    found: Sequence[Any]
    stamps: bytes
    since: str
    taken_ns: int
    folder: bytes = b""
    body: bytes
    identity: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        lines: Mapping[str, Line],
        *,
        since: str,
        taken_ns: int,
        folder: bytes = b"",
        by_number: bool = False,
    ) -> Note:
        """Return the note of id, due, found and stamps by name; shorter names first `by_number`."""
        names = sorted(lines)
        names = sorted(names, key=len) if by_number else names
        ordered = [lines[name] for name in names]
        ids, due, found, stamps = zip(*ordered, strict=True) if ordered else ((), (), (), ())
        kinds, kind_of = _kinds(found)
        columns = [names, ids, due, kind_of, kinds, b"".join(stamps).hex()]
        body = json.dumps(columns, separators=(",", ":")).encode("ascii")
        return cls(
            names=names,
            ids=ids,
            due=due,
            found=found,
            stamps=b"".join(stamps),
            since=since,
            taken_ns=taken_ns,
            folder=folder,
            body=body,
        )

    def line(self, at: int) -> Line:
        """Return id, due, found and stamps of one thing."""
        size = len(self.stamps) // len(self.names)
        stamps = self.stamps[at * size : (at + 1) * size]
        return self.ids[at], self.due[at], self.found[at], stamps


def read_note(path: str, rules: list[Any], now: str) -> Note | None:
    """Return the note, None when there is none that can be used.

    Args:
        path: Where it lies.
        rules: What it must have been made under.
        now: The time, as text: what was idle later need not have been idle now.
    """
    try:
        reading = files.read_stable(path)
        if reading is None:
            return None
        head, _, body = reading.data.partition(b"\n")
        said = read_json(head)
        if (said["of"], said["sum"]) != (_of(rules), crc32(body)) or said["since"] > now:
            return None
        names, ids, due, kind_of, kinds, stamps = read_json(body)
        return Note(
            names=names,
            ids=ids,
            due=due,
            found=[kinds[kind] for kind in kind_of],
            stamps=bytes.fromhex(stamps),
            since=said["since"],
            taken_ns=reading.facts.st_mtime_ns,
            folder=bytes.fromhex(said["folder"]),
            body=body,
            identity=_identity(reading.facts),
        )
    except (CouncilError, ValueError, TypeError, LookupError):
        return None


def keep_note(path: str, rules: list[Any], note: Note, *, before: Note | None) -> None:
    """Put a note in the place of the one that was read; of one that says the same, move the time.

    What cannot be written is left: the next heartbeat scans again.
    """
    says_the_same = before is not None and (before.body, before.folder) == (note.body, note.folder)
    if before is not None and says_the_same and _moved(path, before, note.taken_ns):
        return
    head = {"of": _of(rules), "since": note.since, "sum": crc32(note.body)}
    head["folder"] = note.folder.hex()
    temporary = f"{path}.new"
    try:
        descriptor = _claim(temporary)
    except OSError:
        return  # another heartbeat writes its own, or none may
    try:
        files.share(descriptor, os.path.dirname(path))
        files.write_all(descriptor, json.dumps(head).encode("ascii") + b"\n" + note.body)
        os.utime(descriptor, ns=(note.taken_ns, note.taken_ns))
        os.rename(temporary, path)
    except OSError:
        files.remove(temporary)
    finally:
        os.close(descriptor)


def _moved(path: str, note: Note, taken_ns: int) -> bool:
    """Move the time of a note; False where another user wrote it, who alone could."""
    try:
        descriptor = os.open(path, files.READ)
    except OSError:
        return True
    try:
        # Another heartbeat may have put its note there meanwhile: its stamps are not ours.
        if _identity(os.fstat(descriptor)) == note.identity:
            os.utime(descriptor, ns=(taken_ns, taken_ns))
    except OSError as error:
        return not isinstance(error, PermissionError)
    finally:
        os.close(descriptor)
    return True


def _claim(path: str) -> int:
    """Make and open a file that no other process writes; one that was left behind is taken away."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileExistsError:
        if abs(time.time() - os.lstat(path).st_mtime) < _ABANDONED_S:
            raise
        os.unlink(path)
        return os.open(path, flags, 0o666)


def _kinds(found: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return each thing that is said once, and for each line which of them.

    Most say the same, and those that were read from a note share it.
    """
    said = {which: json.dumps(one) for which, one in {id(one): one for one in found}.items()}
    numbers = {text: number for number, text in enumerate(dict.fromkeys(said.values()))}
    return [json.loads(text) for text in numbers], [numbers[said[id(one)]] for one in found]


def _identity(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _of(rules: list[Any]) -> list[Any]:
    """Return everything that a note must have been made under."""
    return [_FORMAT, __version__, _boot(), *rules]
