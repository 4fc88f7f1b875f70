"""The secret of a workspace, with which the tokens of runs are made.

Source: XC-014, `trust.md`.
"""

from __future__ import annotations

import os

from council.core.errors import InvalidStateError
from council.store import files
from council.store.lock import engines
from council.store.paths import Workspace

_KEY_BYTES = 32
KEY_NAME = "key"  # under which machines that share an engine find it


def run_key(workspace: Workspace) -> bytes:
    """Return the key of the workspace; the first who asks makes it, for all who ask at once.

    All machines that share an engine have one.

    Raises:
        InvalidStateError: The file is there and holds no key.
        CouncilError: It can be neither read nor made.
    """
    path = workspace.key
    engine = engines.get(workspace.control)
    if engine is not None and not os.path.lexists(path):
        files.make_folder(os.path.dirname(path))
        shared = engine.session.claim(KEY_NAME, os.urandom(_KEY_BYTES).hex())
        files.write_new(path, f"{shared}\n".encode(), mode=0o600)
    standing = made(path)
    text = b"" if standing is None else standing.data.strip()
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InvalidStateError(
            f"{path} does not hold a key", "remove it: a new one is made; running tasks lose trust"
        )
    return key


def made(path: str) -> files.Reading | None:
    """Return what a file with a key holds; the first who asks makes it, for all who ask at once.

    Raises:
        CouncilError: It can be neither read nor made.
    """
    standing = files.read_stable(path)
    if standing is None:
        files.make_folder(os.path.dirname(path))
        files.write_new(path, os.urandom(_KEY_BYTES).hex().encode() + b"\n", mode=0o600)
        standing = files.read_stable(path)
    return standing
