"""A side-car: a file of the user's with what conversions lost, one JSON object a line.

Lines are only ever added, so nothing that an earlier conversion kept gets lost.

Source: PR-609.
"""

from __future__ import annotations

import json
import os

from council.core.errors import InvalidInputError
from council.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

KEYS = ("version", "text", "convertedVersion", "converted")


def read_sidecar(path: str) -> list[dict[str, Any]]:
    """Return what a side-car holds; nothing when there is no file yet.

    Raises:
        InvalidInputError: It holds something else.
        CouncilError: It cannot be read.
    """
    standing = files.read_stable(path)
    if standing is None:
        return []
    try:
        records = [json.loads(line) for line in standing.data.split(b"\n") if line.strip()]
        if all(isinstance(one[key], str) for one in records for key in KEYS):
            return records
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise InvalidInputError(f"{path} is no side-car", "name a file that `msg convert` has made")


def add_to_sidecar(path: str, records: Iterable[dict[str, Any]]) -> None:
    """Add records to a side-car, which is made if need be.

    Raises:
        CouncilError: The system refuses.
    """
    lines = [json.dumps(one, ensure_ascii=True) + "\n" for one in records]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with files.explaining("write", path):
        descriptor = os.open(path, flags, 0o666)
        try:
            files.write_all(descriptor, "".join(lines).encode("ascii"))
        finally:
            os.close(descriptor)
