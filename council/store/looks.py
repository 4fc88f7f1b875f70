"""How files look: what the system says of them without their being opened.

Source: XC-007.
"""

from __future__ import annotations

import os
import struct

from council.core.errors import ignoring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LOOK = struct.Struct("=QQqqQQqq")
_ONE_FILE = struct.Struct("=QQqq")
LOOK_BYTES = _LOOK.size
ROOM_LOOK_BYTES = 3 * _ONE_FILE.size
_UNSEEN = bytes(LOOK_BYTES)
_NEVER_SETTLED_NS = 2**63


def look_at(
    control: str,
    before: str,
    after: str,
    names: Sequence[str],
    ids: Sequence[str],
) -> tuple[bytes, list[int]]:
    """Look at the live files and the journals of conversations.

    Args:
        control: The folder `.council`, beside the live files.
        before: How the name of a live file begins, before the conversation's.
        after: How it ends.
        names: The names of the conversations.
        ids: Their ids.

    Returns:
        A look of `LOOK_BYTES` for each, joined, zeros where a file cannot be
        seen; and when each was last changed, in nanoseconds.
    """
    looks, changed_ns = [], []
    take, pack = os.lstat, _LOOK.pack
    live_folder, control_folder = -1, -1
    try:
        live_folder = _opened(os.path.dirname(control))
        control_folder = _opened(control)
        # All of the time of an idle heartbeat goes by in here.
        for name, conversation_id in zip(names, ids, strict=True):
            try:
                live = take(before + name + after, dir_fd=live_folder)
                journal = take(conversation_id + "/revisions.jsonl", dir_fd=control_folder)
                live_ns, journal_ns = live.st_ctime_ns, journal.st_ctime_ns
                look = pack(
                    live.st_ino,
                    live.st_size,
                    live.st_mtime_ns,
                    live_ns,
                    journal.st_ino,
                    journal.st_size,
                    journal.st_mtime_ns,
                    journal_ns,
                )
            except (OSError, ValueError, struct.error):
                looks.append(_UNSEEN)
                changed_ns.append(_NEVER_SETTLED_NS)
                continue
            looks.append(look)
            changed_ns.append(live_ns if live_ns > journal_ns else journal_ns)
    except OSError:
        return _UNSEEN * len(names), [_NEVER_SETTLED_NS] * len(names)
    finally:
        for descriptor in (live_folder, control_folder):
            if descriptor >= 0:
                os.close(descriptor)
    return b"".join(looks), changed_ns


def look_at_rooms(control: str, folder: str, ids: Sequence[str]) -> tuple[bytes, list[int]]:
    """Look at the state documents, the journals and the message logs of channels.

    Args:
        control: The folder `.council`.
        folder: The folder of the documents and logs.
        ids: The ids of the channels.

    Returns:
        A look of `ROOM_LOOK_BYTES` for each, as `look_at` does; a channel in which
        nobody has spoken has no log yet.
    """
    looks, changed_ns = [], []
    live_folder, control_folder = -1, -1
    try:
        live_folder = _opened(folder)
        control_folder = _opened(control)
        for one in ids:
            try:
                parts = [
                    os.lstat(f"{one}.md", dir_fd=live_folder),
                    os.lstat(f"channels/{one}/revisions.jsonl", dir_fd=control_folder),
                ]
                with ignoring(FileNotFoundError):  # nobody has spoken yet
                    parts.append(os.lstat(f"{one}.jsonl", dir_fd=live_folder))
                look = b"".join(_ONE_FILE.pack(*_facts(part)) for part in parts)
            except (OSError, ValueError, struct.error):
                looks.append(bytes(ROOM_LOOK_BYTES))
                changed_ns.append(_NEVER_SETTLED_NS)
                continue
            looks.append(look.ljust(ROOM_LOOK_BYTES, b"\0"))
            changed_ns.append(max(part.st_ctime_ns for part in parts))
    except OSError:
        return bytes(ROOM_LOOK_BYTES * len(ids)), [_NEVER_SETTLED_NS] * len(ids)
    finally:
        for descriptor in (live_folder, control_folder):
            if descriptor >= 0:
                os.close(descriptor)
    return b"".join(looks), changed_ns


def _facts(part: os.stat_result) -> tuple[int, int, int, int]:
    return part.st_ino, part.st_size, part.st_mtime_ns, part.st_ctime_ns


def _opened(folder: str) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
