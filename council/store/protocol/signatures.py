"""The key of signed messages and the nonces that were used, under `.council/`.

The key is what both sides agreed on; the first signature makes one where
none was put there. Of each session the last nonce given out is kept,
and those that were verified, as ranges: nonces count up, so they stay few.
A note that cannot be read is no reason to begin anew, for then every old
message could be played again.

Source: PR-589, A-68, XC-013.
"""

from __future__ import annotations

from council.core.errors import InvalidStateError, NotFoundError
from council.core.record import Any
from council.store import files, keys
from council.store.documents.stored import Stored
from council.store.paths import Workspace, resolve_inside

SCHEMA_VERSION = 1
_LAST_NONCE = 0xFFFF


def key_path(workspace: Workspace) -> str:
    """Return where the key lies unless another file is named."""
    return resolve_inside(workspace.control, "message-key")


def read_key(path: str) -> bytes:
    """Return the key that a file holds, without the line break at its end.

    Raises:
        NotFoundError: There is no such file.
        InvalidStateError: It is empty or no regular file.
    """
    standing = files.read_stable(path)
    if standing is None:
        raise NotFoundError(
            f"there is no key in {path}", "put the key there that both sides agreed on, mode 0600"
        )
    key = standing.data.rstrip(b"\r\n")
    if not key:
        raise InvalidStateError(f"{path} is empty", "put the key there that both sides agreed on")
    return key


def make_key(path: str) -> bytes:
    """Return the key of a file; the first who asks makes one, for all who ask at once.

    Raises:
        CouncilError: It can be neither read nor made.
    """
    keys.made(path)
    return read_key(path)


class Nonces:
    """The used nonces of all sessions, open for change inside a `with` block.

    What was added is on the disk when the block ends, before it is reported.

    Raises:
        InvalidStateError: The note of them cannot be understood.
        NewerVersionError: It was written by a newer version.
        CouncilError: The lock is not free in time, or the disk refuses.
    """

    def __init__(self, workspace: Workspace) -> None:
        fix = "put back a copy; without it old messages pass again, unless the key is new too"
        path = resolve_inside(workspace.control, "signatures.jsonl")
        files.make_folder(workspace.control)
        self._stored = Stored(path, fix, version=SCHEMA_VERSION, mode=0o600)
        self._given: dict[str, int] = {}
        self._seen: dict[str, list[list[int]]] = {}
        self._unknown: dict[str, Any] = {}
        self._changed = False

    def __enter__(self) -> Nonces:
        self._stored.__enter__()
        try:
            self._read()
        except BaseException:
            self._stored.__exit__()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._changed and kind is None:
                self._write()
        finally:
            self._stored.__exit__()

    def __contains__(self, used: object) -> bool:
        if not isinstance(used, tuple):
            return False
        session, number = used[0], int(used[1], 16)
        return any(first <= number <= last for first, last in self._seen.get(session, ()))

    def add(self, session: str, nonce: str) -> None:
        """Remember a nonce that was verified."""
        number = int(nonce, 16)
        numbers = [*self._seen.get(session, ()), [number, number]]
        joined: list[list[int]] = []
        for first, last in sorted(numbers):
            if joined and first <= joined[-1][1] + 1:
                joined[-1][1] = max(last, joined[-1][1])
            else:
                joined.append([first, last])
        self._seen[session] = joined
        self._changed = True

    def last(self, session: str) -> str | None:
        """Return the highest nonce of a session, given out or verified; None for a new one."""
        seen = self._seen.get(session, ())
        highest = max([self._given.get(session, -1), *(last for _, last in seen)])
        return None if highest < 0 else f"{highest:04X}"

    def give(self, session: str, nonce: str) -> None:
        """Remember a nonce that was given out."""
        self._given[session] = int(nonce, 16)
        self._changed = True

    def _read(self) -> None:
        record = self._stored.read()
        if record is None:
            return
        try:
            del record["schemaVersion"]
            self._given = {name: _number(nonce) for name, nonce in record.pop("given").items()}
            self._seen = {
                name: [[_number(first), _number(last)] for first, last in ranges]
                for name, ranges in record.pop("seen").items()
            }
            self._unknown = record
        except (ValueError, TypeError, KeyError, AttributeError):
            raise self._stored.broken("cannot be understood") from None

    def _write(self) -> None:
        record: dict[str, Any] = {
            **self._unknown,
            "schemaVersion": SCHEMA_VERSION,
            "given": {name: f"{number:04X}" for name, number in self._given.items()},
            "seen": {
                name: [[f"{first:04X}", f"{last:04X}"] for first, last in ranges]
                for name, ranges in self._seen.items()
            },
        }
        self._stored.write(record)


def _number(nonce: str) -> int:
    number = int(nonce, 16)
    if not 0 <= number <= _LAST_NONCE:
        raise ValueError("no nonce")
    return number
