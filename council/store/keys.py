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
        _prepare(path)
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
        _prepare(path)
        files.write_new(path, os.urandom(_KEY_BYTES).hex().encode() + b"\n", mode=0o600)
        standing = files.read_stable(path)
    return standing


def renew_key(workspace: Workspace) -> None:
    """Draw a new key, or take the one that another machine of the engine has drawn meanwhile.

    Tokens that were made with the old key are worth nothing from then on.

    Raises:
        CouncilError: The disk or the engine refuses.
    """
    key, engine = os.urandom(_KEY_BYTES).hex(), engines.get(workspace.control)
    if engine is not None:
        standing = files.content_of(workspace.key).decode("ascii", "replace").strip()
        engine.session.free(KEY_NAME, standing)
        key = engine.session.claim(KEY_NAME, key)
    _replace(workspace.key, key)


def renew_token(path: str) -> None:
    """Draw a new token of a server, which is to be started again then.

    Raises:
        CouncilError: The disk refuses.
    """
    _replace(path, os.urandom(_KEY_BYTES).hex())


def _replace(path: str, secret: str) -> None:
    files.replace(path, f"{secret}\n".encode(), mode=0o600)


def _prepare(path: str) -> None:
    """Make the directory of a secret, and keep it out of git."""
    from council.store.gitignore import lay_in  # once for each secret

    files.make_folder(os.path.dirname(path))
    lay_in(os.path.dirname(path))
