"""Journals of version 1, read as lines of today.

In version 1 a line named its text by the digest under which a snapshot of it
lay in `obj/`. A command that reads takes such a journal as `content` gives it;
the first one that writes puts that in the place of journal and snapshots.

Source: XC-013, `store.md` sections 1 and 9.
"""

from __future__ import annotations

import os

from council.core.ids import sha256_hex
from council.core.reading import read_json
from council.core.record import Any
from council.store import files
from council.store.documents import lines
from council.store.documents.lines import Line

JOURNAL, SNAPSHOTS = "journal.jsonl", "obj"
_SUM_KEY = b',"sum":"'
_SUM_CHARS = 16
_KEPT = ("rev", "at", "name", "phase", "tour", "result", "closing")


def content(folder: str, *, last_alone: bool = False) -> bytes:
    """Return a journal of version 1 as it is written today.

    A text that is not kept any more leaves a hole.

    Args:
        folder: Where journal and snapshots lie.
        last_alone: Whether the last line is enough.

    Raises:
        CouncilError: The system refuses.
    """
    reading = files.read_stable(f"{folder}/{JOURNAL}")
    found = [] if reading is None else reading.data.split(b"\n")[:-1]
    records = [one for one in map(_decoded, found) if one is not None]
    made: list[bytes] = []
    last: Line | None = None
    before: bytes | None = None
    for record in records[-1:] if last_alone else records:
        text = _snapshot(folder, record["digest"])
        seen = record.get("seen", "")
        is_foreign = seen not in ("", record.get("parent"))
        head = {
            "op": record.get("opId", ""),
            "by": record.get("actor", ""),
            **{key: record[key] for key in _KEPT if key in record},
            "digest": record["digest"],
            **({"seen": seen} if is_foreign else {}),
            "events": record.get("events", []),
        }
        saved = _snapshot(folder, seen) if is_foreign else None
        data, last = lines.made(last, head, before, text or b"", saved)
        made.append(lines.with_hole(last, "pruned") if text is None else data)
        last = last.copy(end=last.start + len(made[-1]))
        before = text
    return b"".join(made)


def files_of(folder: str) -> list[str]:
    """Return the files of version 1 in a folder: the journal, and the snapshots it names."""
    journal, snapshots = f"{folder}/{JOURNAL}", f"{folder}/{SNAPSHOTS}"
    found = [journal] if os.path.lexists(journal) else []
    names = sorted(os.listdir(snapshots)) if os.path.isdir(snapshots) else ()
    return found + [f"{snapshots}/{name}" for name in names]


def bring_over(folder: str, journal: str) -> None:
    """Put a journal of today in the place of one of version 1 and its snapshots. Repeatable.

    Where the new journal is there already, a process died before it had removed the old one.

    Raises:
        CouncilError: The system refuses; what stood there is untouched.
    """
    if not os.path.lexists(journal):
        files.replace(journal, content(folder), mode=0o600)
    with files.explaining("remove", folder):
        for path in reversed(files_of(folder)):
            os.unlink(path)
        if os.path.isdir(f"{folder}/{SNAPSHOTS}"):
            os.rmdir(f"{folder}/{SNAPSHOTS}")
        files.sync_folder(folder)


def _snapshot(folder: str, digest: str) -> bytes | None:
    reading = files.read_stable(f"{folder}/{SNAPSHOTS}/{digest}") if digest else None
    return reading.data if reading is not None and reading.digest == digest else None


def _decoded(line: bytes) -> dict[str, Any] | None:
    body, key, rest = line.rpartition(_SUM_KEY)
    if not key or rest != sha256_hex(body)[:_SUM_CHARS].encode() + b'"}':
        return None
    try:
        record = read_json(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "digest" in record else None
