"""Records for the tests: what one holds, and one that others wrote."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from council.core.errors import CouncilError
from council.store.documents.stored import Stored


def value_in(path: str | os.PathLike[str]) -> Any:
    """Return the value of a record, by its journal `x.jsonl`."""
    return Stored(str(path), "").read()


def put(path: str | os.PathLike[str], value: object) -> None:
    """Write a record anew, as a genuine line."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Stored(str(path), "") as stored:
        with suppress(CouncilError):
            stored.read()  # so that it follows what an engine has of it
        stored.write(value, anew=True)


def of_version_one(path: str | os.PathLike[str]) -> Path:
    """Turn a record into the file that version 1 would have written; return its path."""
    old = Path(str(path).removesuffix("l"))
    old.write_text(json.dumps(value_in(path), indent=1) + "\n")
    os.unlink(path)
    return old
