"""A side-car: a file of the user's with what conversions lost, one JSON object a line.

Lines are only ever added, so nothing that an earlier conversion kept gets lost; a
line that was cut short by a kill or a full disk takes nothing else with it.

Source: PR-609.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from council.core.errors import InvalidInputError
from council.core.reading import read_json
from council.core.record import Any
from council.store import files

KEYS = ("version", "text", "convertedVersion", "converted")
_BEGINS = b'{"version": "V'


def read_sidecar(path: str) -> list[dict[str, Any]]:
    """Return what a side-car holds; nothing when there is no file yet.

    Raises:
        InvalidInputError: It holds something else.
        CouncilError: It cannot be read.
    """
    standing = files.read_stable(path)
    if standing is None:
        return []
    lines = [line for line in standing.data.split(b"\n") if line.strip()]
    try:
        records = [one for one in map(_record_of, lines) if one is not None]
        if all(isinstance(one[key], str) for one in records for key in KEYS):
            return records
    except (ValueError, TypeError, KeyError):
        pass
    raise InvalidInputError(f"{path} is no side-car", "name a file that `msg convert` has made")


def _record_of(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, None for one whose writer was stopped in the middle of it."""
    try:
        return dict(read_json(line))
    except ValueError:
        if line.startswith(_BEGINS) or _BEGINS.startswith(line):
            return None
        raise


def add_to_sidecar(path: str, records: Iterable[dict[str, Any]]) -> None:
    """Add records to a side-car, which is made if need be.

    Raises:
        CouncilError: The system refuses.
    """
    data = b"".join(json.dumps(one, ensure_ascii=True).encode() + b"\n" for one in records)
    flags = os.O_RDWR | os.O_APPEND
    with files.explaining("write", path), files.closing(files.opened(path, flags)) as descriptor:
        files.add_lines(descriptor, data)
