"""How `council.toml` is read where it has changed: parsed, checked, and kept as a copy.

The copy is the last reading that was good, too. While the file cannot be read, because it is half
saved, wrong, gone or no file at all, the copy stays in force, so that a slip of the pen neither
stops what is under way nor takes away a bound. A workspace without a copy refuses.

Source: XC-012, FW-002, `store.md` section 7.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress

from council.core.errors import CouncilError, InvalidInputError
from council.core.reading import bounded_toml
from council.core.record import Any, Record
from council.store import files
from council.store.paths import SETTINGS as SETTINGS_FILE
from council.store.settings import (
    CACHE_FILE,
    CACHE_FORMAT,
    CLOCK_TICK_NS,
    Copy,
    Unread,
    age_s,
    copy_in,
    is_missing,
    stamp_from,
    stamp_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Made = TypeVar("_Made")

_MAX_FILE_BYTES = 4 * 1024 * 1024
# An editor that writes a file in pieces makes a pause between them that is shorter than this.
_SAVED_WITHIN_S, _LOOK_AGAIN_S = 1.0, 0.02
# So long a file may be in the making before the copy is taken instead.
_LONGEST_SAVE_S = 2.0
# A file that lost all its content takes none of these away.
_BOUNDS = ("limits", "trust")


def read_settings_file(root: str) -> dict[str, Any] | None:
    """Return what `council.toml` under `root` says, None where there is none.

    Raises:
        InvalidInputError: It cannot be read, or is no TOML.
    """
    copy, stamp = copy_in(root), stamp_of(root)
    if copy is not None and stamp and copy.stamp == stamp:
        return copy.document
    return _parsed(root).document if stamp or not is_missing(root) else None


def read_settings(
    root: str, made_of: Callable[[dict[str, Any]], _Made], copy: Copy | None
) -> tuple[_Made, Unread | None]:
    """Return the settings in force under `root`; without a file and a copy, the defaults.

    A file that may be half saved is waited for, at most two seconds.

    Args:
        root: The workspace.
        made_of: Turns the parsed file into values, and refuses what cannot be.
        copy: The last good reading, None for none.

    Returns:
        The settings; and why they are those of the copy, None where they are those of the file.

    Raises:
        InvalidInputError: The file cannot be read, and there is no copy.
    """
    last: _Made | None = None
    if copy is not None:
        with suppress(InvalidInputError):  # an earlier version may have allowed more
            last = made_of(copy.document)
    if copy is None or last is None:
        found = _File() if is_missing(root) else _parsed(root)
        made = made_of(found.document)
        if found.stamp:
            _keep(root, found, copy)
        return made, None
    until = time.monotonic() + _LONGEST_SAVE_S
    while True:
        try:
            found = _File() if is_missing(root) and not copy.document else _parsed(root)
            made, refusal = made_of(found.document), found.doubt(copy.document)
        except InvalidInputError as error:
            refusal = error
        if refusal is None or (refusal is _HALF_SAVED and not _was_just_changed(root)):
            if found.stamp:
                _keep(root, found, copy)
            return made, None
        if time.monotonic() > until or not _was_just_changed(root):
            return last, Unread(message=refusal.message, hint=refusal.hint, at=copy.since)
        time.sleep(_LOOK_AGAIN_S)


def _refusal(what: str, hint: str = f"correct it in {SETTINGS_FILE}") -> InvalidInputError:
    return InvalidInputError(f"{SETTINGS_FILE} {what}", hint)


_HALF_SAVED = _refusal("is being saved", "nothing, unless it stays so")
_EMPTY = _refusal("is empty and had limits before", "write it again, a comment for the defaults")
_MISSING = "put it back; for the defaults, write one that has a comment"


class _File(Record):
    """What was read of the file: its stamp, its text parsed, and how much of a text that is."""

    stamp: list[int] = []
    document: dict[str, Any] = {}
    is_empty: bool = False
    is_whole: bool = True

    def doubt(self, before: dict[str, Any]) -> InvalidInputError | None:
        """Return why it may not be meant so by the person who changed what it said `before`."""
        if self.is_empty and any(one in before for one in _BOUNDS):
            return _EMPTY
        return _HALF_SAVED if not self.is_whole or _lacks(self.document, before) else None


def _was_just_changed(root: str) -> bool:
    """Return true if somebody may be at it: the file, or else its folder, has just been changed."""
    for path in (os.path.join(root, SETTINGS_FILE), root):
        with suppress(OSError):
            found = os.stat(path)
            return 0 <= age_s(found.st_mtime_ns, found.st_ctime_ns) < _SAVED_WITHIN_S
    return False


def _lacks(table: dict[str, Any], before: dict[str, Any]) -> bool:
    """Return true if a table, or one in it, has lost a key."""
    for key, value in before.items():
        if key not in table:
            return True
        now = table[key]
        if isinstance(value, dict) and isinstance(now, dict) and _lacks(now, value):
            return True
    return False


def _parsed(root: str) -> _File:
    """Parse the file itself.

    Raises:
        InvalidInputError: It cannot be read, or is no TOML.
    """
    import tomllib

    try:
        # Without O_NONBLOCK a FIFO of that name would hold every command for ever.
        path = os.path.join(root, SETTINGS_FILE)
        with files.closing(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise _refusal("is not a plain file", "put a plain file in its place")
            content, stamp = _content(file)
    except FileNotFoundError:
        raise _refusal("is missing", _MISSING) from None
    except OSError as error:
        raise _refusal(
            f"cannot be read: {error.strerror or error}",
            "it must be a plain file that this user may read",
        ) from None
    try:
        document = tomllib.loads(bounded_toml(content.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise _refusal("is not UTF-8", "save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _refusal(f"is not TOML: {error}") from None
    # TOML knows dates and JSON does not: both ways in must give the same values.
    normal: dict[str, Any] = json.loads(json.dumps(document, default=str))
    is_empty, is_whole = not content.strip(), content.endswith(b"\n")
    return _File(stamp=stamp, document=normal, is_empty=is_empty, is_whole=is_whole)


def _content(file: int) -> tuple[bytes, list[int]]:
    """Return what a file says, and the stamp that it has for as long as it says so.

    That is [] for a file that changes all the time.

    Raises:
        InvalidInputError: It is too large.
    """
    until, before = time.monotonic() + _LONGEST_SAVE_S, stamp_from(os.fstat(file))
    while True:
        young_s = CLOCK_TICK_NS / 1e9 - age_s(*before[:2])
        if 0 < young_s <= CLOCK_TICK_NS / 1e9:  # wait the tick out: see CLOCK_TICK_NS
            time.sleep(young_s + 0.001)
            before = stamp_from(os.fstat(file))
        os.lseek(file, 0, os.SEEK_SET)
        if before[2] > _MAX_FILE_BYTES:
            raise _refusal(f"is larger than {_MAX_FILE_BYTES} bytes", "make it smaller")
        content = files.read_all(file, before[2])
        after = stamp_from(os.fstat(file))
        if before == after:
            return content, after
        if time.monotonic() > until:
            return content, []
        before = after


def _keep(root: str, found: _File, before: Copy | None) -> None:
    """Keep a copy of what was read and is good."""
    path = os.path.join(root, CACHE_FILE)
    folder, document = os.path.dirname(path), found.document

    def data(stamp: list[int]) -> bytes:
        return json.dumps({"format": CACHE_FORMAT, "key": stamp, "document": document}).encode()

    with suppress(OSError, CouncilError):
        if "paths" in document and not os.path.lexists(folder):
            files.make_folder(folder)  # it lies there wherever all else does
        temporary, descriptor = files.open_temporary(folder, data([]), mode=0o600, like=None)
        try:
            with files.closing(descriptor):
                # The clock of the file system says how old the file is, whatever ours says.
                now_ns = os.fstat(descriptor).st_mtime_ns
                stamp = found.stamp
                if stamp and now_ns - max(stamp[:2]) > CLOCK_TICK_NS:
                    os.lseek(descriptor, 0, os.SEEK_SET)
                    files.write_all(descriptor, data(stamp))
                elif before == Copy(stamp=[], document=document):
                    return
            os.replace(temporary, path)
        finally:
            files.remove(temporary)
