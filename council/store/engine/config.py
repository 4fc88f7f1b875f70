"""Which engine a workspace has joined: `.council/engine.json`, without any secret.

Source: EN-002.
"""

from __future__ import annotations

import json

from council.core.errors import InvalidStateError
from council.core.record import Any
from council.store import files
from council.store.documents.stored import understood

SCHEMA_VERSION = 1
_FIX = "remove it to go on without an engine, or join again: council engine join URL"
_WORDS = ("url", "machine", "schema")


def read(path: str) -> dict[str, Any]:
    """Return what is kept of an engine: `url`, `machine` and `schema`.

    Raises:
        InvalidStateError: The file cannot be understood.
    """
    found = understood(files.content_of(path), path, _FIX)
    if not isinstance(found, dict) or not all(isinstance(found.get(one), str) for one in _WORDS):
        raise InvalidStateError(f"{path} does not say which engine it is", _FIX)
    return found


def write(path: str, url: str, machine: str, schema: str) -> dict[str, Any]:
    """Keep which engine a workspace has joined, for its owner alone; return what `read` does.

    Raises:
        CouncilError: The system refuses.
    """
    said = {"schemaVersion": SCHEMA_VERSION, "url": url, "machine": machine, "schema": schema}
    files.replace(path, json.dumps(said, indent=2).encode() + b"\n", mode=0o600)
    return said
