"""What requests with a key of their own were answered: who repeats one gets the same once more.

A file stands for each key, in a folder of the user's own: first the digest of the request that came
with it, then the answer. Who carries the request out holds its lock. A process that dies on the
way leaves no answer: its request is carried out again, and finds by its note in the outbox what
was done. Nothing is synced, and all goes with the day or with the next `purge`.

Source: OP-008.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from shutil import rmtree

from council.core.errors import ConflictError, ReusedKeyError
from council.core.ids import sha256_hex
from council.core.record import Any
from council.store import lock
from council.store.files import explaining
from council.store.outbox import KEPT_S, make_folder

_DIGEST_BYTES = 64


def answered_once(
    outbox: str, key: str, request: str, answer: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return what a request was answered with, or answer it now and keep that.

    Args:
        outbox: The folder in which the folder of the user lies.
        key: What stands for the request, such as a name that the caller has drawn.
        request: All that is asked for.
        answer: Carries it out; what it raises is not kept.

    Raises:
        ReusedKeyError: The key came with another request.
        ConflictError: The same request is being carried out.
        CouncilError: What `answer` raises, or the disk refuses.
    """
    folder = f"{outbox}/{os.getuid()}.answers"
    path, digest = f"{folder}/{sha256_hex(key.encode())}", sha256_hex(request.encode()).encode()
    with explaining("write", folder):
        for name in make_folder(folder):
            _forget_old(f"{folder}/{name}")
        held = _held(path)
    try:
        kept = os.pread(held, os.fstat(held).st_size, 0)
        if len(kept) >= _DIGEST_BYTES and kept[:_DIGEST_BYTES] != digest:
            raise ReusedKeyError
        with suppress(ValueError):  # none, or its writer died
            return json.loads(kept[_DIGEST_BYTES:])  # type: ignore[no-any-return]
        with explaining("write", path):
            os.pwrite(held, digest, 0)
        told = answer()
        with suppress(OSError):  # it is done; asked for again, it is found by its operation id
            os.pwrite(held, json.dumps(told).encode(), _DIGEST_BYTES)
        return told
    finally:
        lock.let_go(held)


def _held(path: str) -> int:
    descriptor = lock.claim(path)
    if descriptor is None:
        with suppress(FileExistsError):
            descriptor = lock.claim(path, new=True)
    if descriptor is None:
        raise ConflictError("the same request is being carried out", "ask again when it is done")
    return descriptor


def _forget_old(path: str) -> None:
    with suppress(FileNotFoundError):
        if os.stat(path).st_mtime < time.time() - KEPT_S:
            os.unlink(path)


def forget(outbox: str) -> None:
    """Take all kept answers away that this user may remove: they quote what was said."""
    with suppress(FileNotFoundError):
        for name in os.listdir(outbox):
            if name.endswith(".answers"):
                rmtree(f"{outbox}/{name}", ignore_errors=True)
