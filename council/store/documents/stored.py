"""Records: one JSON value each, kept as a journal like that of a document, without a face.

A change is one line and one sync. Of one line's worth the value is read without
a lock. A holder of the lock that was killed leaves its name in the lock file;
the line that it may not have synced is then written again and synced before
anything is built on it. A journal that has grown long is written anew with the
value alone, and with the heads of its last lines: their operations are found.

What version 1 wrote, one JSON file, is read where there is no journal yet, and
goes with the first change. One that cannot be understood is reported and left.

Source: XC-001, XC-013, `store.md` sections 2 and 9.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.errors import InvalidStateError, NewerVersionError
from council.core.ids import sha256_hex
from council.core.reading import TooDeepError, read_json
from council.core.record import Any
from council.store import files
from council.store.documents import journal, lines
from council.store.lock import Lock, engine_of
from council.store.paths import record_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TypeVar

    from council.store.documents.journal import Tail

    _Value = TypeVar("_Value")
    _Result = TypeVar("_Result")

_BY_LINES = (",\n", ":")  # so that a patch finds where two texts meet
_HEADS = 32


class Stored:
    """A record on the disk.

    Args:
        path: Its journal; its name ends with `.jsonl`.
        fix: What to do about one that cannot be understood.
        version: The newest `schemaVersion` of the value that is understood.
        mode: The permissions of a new file, before the umask.
        lock: The lock that guards it and is held by the caller, None for one of its own
            that a `with` block takes.
    """

    def __init__(
        self, path: str, fix: str, *, version: int = 1, mode: int = 0o666, lock: Lock | None = None
    ) -> None:
        self.path = path
        self._fix, self._version, self._mode = fix, version, mode
        self._lock = lock or Lock(lock_path(path))
        self._tail: Tail | None = None
        self._text = b""

    def __enter__(self) -> Self:
        self._lock.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()

    def read(self) -> Any:
        """Return the value that stands, None where there is none.

        Raises:
            InvalidStateError: It is broken.
            NewerVersionError: A newer version wrote it.
            CouncilError: The system refuses.
        """
        old = self.path.removesuffix("l")
        self._tail = None
        engine = engine_of(self.path) if self._lock.is_held else None
        if engine is not None:
            engine.bring(self.path, mode=self._mode)
        for path in (self.path, old, self.path):  # it may be brought over between the reads
            data = self._value_in_journal() if path == self.path else _content(old)
            if data is not None:
                value = understood(data, path, self._fix)
                if value is None:
                    raise self.broken("holds nothing")
                version = value.get("schemaVersion") if isinstance(value, dict) else None
                if not isinstance(version or 0, int):
                    raise self.broken("has a schemaVersion that is no number")
                if isinstance(version, int) and version > self._version:
                    raise NewerVersionError(path, version, self._version)
                return value
        return None

    def _value_in_journal(self) -> bytes | None:
        with files.explaining("read", self.path):
            try:
                found = journal.last_text(self.path)
            except (ValueError, TypeError, LookupError) as error:
                raise self.broken(str(error)) from None
            if found is None:
                return None
            tail, text = found
            if tail.head["v"] > lines.VERSION:
                raise NewerVersionError(self.path, tail.head["v"], lines.VERSION)
            if self._lock.was_left:
                journal.append(self.path, tail.end, b"", tail.end - tail.line.start)
                self._lock.was_left = False
        self._tail, self._text = tail, text
        return text

    def broken(self, what: str) -> InvalidStateError:
        """Return the refusal of a record that `what` is wrong with; says what to do."""
        return InvalidStateError(f"{(*record_files(self.path), self.path)[0]} {what}", self._fix)

    def has(self, op_id: str) -> bool:
        """Return true if an operation left a line; "" is none."""
        with files.explaining("read", self.path):
            return bool(op_id) and journal.find_operation(self.path, op_id) is not None

    def write(self, value: object, *, op_id: str = "", anew: bool = False) -> None:
        """Commit a value, under the lock and after `read`.

        Args:
            value: The value.
            op_id: The operation of which it is the outcome, "" for none.
            anew: Whether nothing of what stood there before is kept.

        Raises:
            CouncilError: The system refuses; what stood there stands.
        """
        text = lines.dumped(value, _BY_LINES)
        is_shared = engine_of(self.path) is not None
        tail = None if anew and not is_shared else self._tail
        is_new = tail is None or anew or journal.is_long(tail.end, text)
        with files.explaining("write", self.path):
            data, line = lines.made(
                None if tail is None else tail.line,
                {"op": op_id, "digest": sha256_hex(text)},
                None if is_new else self._text,
                text,
            )
            if tail is None or is_new:
                journal.share(self.path, data)
                heads = list(journal.read(self.path))[-_HEADS:] if tail and not anew else []
                like = (*record_files(self.path), "")[0]
                data = b"".join([*(lines.with_hole(one, "folded") for one in heads), data])
                files.replace(self.path, data, mode=self._mode, like=like)
                line = line.copy(start=len(data) - (line.end - line.start), end=len(data))
            else:
                journal.append(self.path, tail.end, data)
        files.remove(self.path.removesuffix("l"))
        self._tail, self._text = journal.Tail(line=line, batch=[line]), text

    def edit(
        self,
        standing: Callable[[Self], _Value],
        record_of: Callable[[_Value], Any],
        change: Callable[[_Value], _Result],
        *,
        anew: bool = False,
    ) -> _Result:
        """Change what stands while no other process does; what stays the same is not written.

        Args:
            standing: Reads what is changed.
            record_of: Makes a value of it.
            change: The change.
            anew: Whether nothing of what stood there before is kept.

        Raises:
            CouncilError: The change or the system refuses; nothing was written.
        """
        with self:
            found = standing(self)
            before = record_of(found)
            result = change(found)
            after = record_of(found)
            if after != before or (anew and self._tail is not None):
                self.write(after, anew=anew)
            return result


def lock_path(path: str) -> str:
    """Return where the lock of a record lies that has one of its own."""
    return f"{path.removesuffix('l')}.lock"


def understood(data: bytes, path: str, fix: str) -> Any:
    """Return what the JSON in a file says.

    Raises:
        InvalidStateError: It is none; says where and what to do.
    """
    try:
        return read_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        what = "is not UTF-8"
    except TooDeepError:
        what = "is nested too deeply"
    except ValueError as error:
        what = f"is not JSON: {error}"
    raise InvalidStateError(f"{path} {what}", fix)


def _content(path: str) -> bytes | None:
    standing = files.read_stable(path)
    return None if standing is None else standing.data
