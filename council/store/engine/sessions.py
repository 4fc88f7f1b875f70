"""How a command speaks with the database: through `council link`, else by itself.

Loading what speaks with PostgreSQL costs more than a whole command, so one process of a
machine does it for all: `council link` listens at a socket in `.council`, and what is asked
there is done by a session of its own; one that serves another engine is passed by. A frame is
four bytes, which say how long it is, and JSON.
A question is the verb with its arguments; the answer has `is`, or the refusal.

Source: EN-003, EN-008.
"""

from __future__ import annotations

import _socket
import json
import os
from contextlib import contextmanager, suppress

from council.core import errors
from council.core.errors import CouncilError, UnreachableError
from council.core.record import Any
from council.store.extras import command_that_adds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from council.store.engine.postgres import Session

# What is sent or asked for at once, a longer line apart: it comes in time over a slow network.
AT_ONCE_BYTES = 1024 * 1024
SOCKET = "link.sock"
_LENGTH_BYTES = 4
_GREETING_S = 3.0  # one who does not answer a greeting in that time hangs
LIMIT_S = 8.0  # a database that says nothing for so long is given up
_LINK_S = 1.5  # the link itself gives a database up earlier
_LONGEST_PATH = 100  # the system takes some more
_CHANGES = ("commit", "claim", "free", "lease", "log", "purge")
_BYTES = "$"  # an object with this key alone stands for bytes


def opened(control: str, config: dict[str, Any]) -> Session:
    """Return a session through the link of a workspace if one runs, else one of our own.

    Args:
        control: The folder `.council`.
        config: `url`, `schema` and `machine`.

    Raises:
        UnreachableError: The link hangs, or the database does not answer.
    """
    url = str(config["url"])
    with suppress(FileNotFoundError, ConnectionRefusedError, PermissionError, NotADirectoryError):
        return Linked(control, config)  # type: ignore[return-value]
    try:
        from council.store.engine.postgres import Session
    except ModuleNotFoundError as error:
        raise UnreachableError(
            url,
            f"{error.name} is not installed here, and no council link runs",
            f"install it: {command_that_adds('postgres')}",
        ) from None
    return Session(config)


def is_linked(control: str) -> bool:
    """Return true if a link listens at the socket of a workspace."""
    try:
        Linked(control, {}).close()
    except (OSError, CouncilError):
        return False
    return True


class Linked:
    """A session of the link's: each verb of `Session` is asked through its socket.

    Args:
        control: The folder `.council`.
        said: The engine that is to be reached: `url`, `schema` and `machine`; of any, nothing.

    Raises:
        OSError: No link of it listens there.
        UnreachableError: One does and hangs.
    """

    def __init__(self, control: str, said: dict[str, Any]) -> None:
        self.broken = False
        self.limit_s = LIMIT_S
        self._url = str(said.get("url", ""))
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            self._socket.settimeout(_GREETING_S)
            with address_in(control) as address:
                self._socket.connect(address)
            if self._asked(_GREETING_S, "", (said,) if said else (), {}) is False:
                raise ConnectionRefusedError("it serves the engine that the settings named before")
        except (BlockingIOError, TimeoutError):  # so many wait that no more may
            raise self._lost() from None
        except BaseException:
            self.close()
            raise

    def __getattr__(self, verb: str) -> Any:
        if verb.startswith("_"):
            raise AttributeError(verb)

        def ask(*words: Any, **named: Any) -> Any:
            return self._asked(self.limit_s + _LINK_S, verb, words, named)

        return ask

    def enter(self, key: str, wait_s: float) -> None:
        """Take a lock; there is patience for the wait as well."""
        self._asked(wait_s + _LINK_S, "enter", (key, wait_s), {})

    def close(self) -> None:
        """End the connection; the link gives back what was held by it."""
        self.broken = True
        self._socket.close()

    abandon = close  # a descriptor is copied with a fork, and the connection stays the parent's

    def _asked(
        self, patience_s: float, verb: str, words: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        if self.broken:
            raise self._lost()
        try:
            self._socket.settimeout(patience_s)
            send(self._socket, [verb, words, named])
            answer = received(self._socket)
        except (OSError, ValueError):
            raise self._lost(verb) from None
        except BaseException:
            self.close()  # a later question would get the answer to this one
            raise
        if answer is None:
            raise self._lost(verb)
        if "error" in answer:
            error = _refusal(*answer["error"])
            if isinstance(error, UnreachableError):
                self.close()
            raise error
        return answer["is"]

    def _lost(self, verb: str = "") -> UnreachableError:
        self.close()
        return UnreachableError(
            self._url,
            "council link does not answer",
            f"{errors.IN_DOUBT if verb in _CHANGES else 'try again'}; if council link hangs,"
            " end it: without it commands reach the engine by themselves",
        )


def batches(lines: Sequence[bytes]) -> Iterator[slice]:
    """Yield which lines, in order, are to be sent at once.

    >>> list(batches([b"a", b"b" * AT_ONCE_BYTES, b"c"]))
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    start = size = 0
    for at, line in enumerate(lines):
        if at > start and size + len(line) > AT_ONCE_BYTES:
            yield slice(start, at)
            start, size = at, 0
        size += len(line)
    if lines:
        yield slice(start, len(lines))


@contextmanager
def address_in(control: str) -> Iterator[str]:
    """Yield the address of the socket in a folder, however long the path of that is."""
    path = f"{control}/{SOCKET}"
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
        return
    descriptor = os.open(control, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


# --- Frames


def send(to: _socket.socket, value: Any) -> None:
    """Send one value.

    Raises:
        OSError: The other side has ended, or does not take it in time.
        ValueError: It cannot be sent.
    """
    data = json.dumps(value, default=_as_json, ensure_ascii=False, separators=(",", ":"))
    frame = data.encode("utf-8", "surrogateescape")
    to.sendall(len(frame).to_bytes(_LENGTH_BYTES, "big") + frame)


def received(source: _socket.socket) -> Any:
    """Return the next value, None where the other side has ended.

    Raises:
        OSError: It does not come in time.
        ValueError: It is none.
    """
    length = _read(source, _LENGTH_BYTES)
    frame = length and _read(source, int.from_bytes(length, "big"))
    if not frame:
        return None
    return json.loads(frame.decode("utf-8", "surrogateescape"), object_hook=_from_json)


def _read(source: _socket.socket, size: int) -> bytes:
    """Return so many bytes, none where the other side has ended before."""
    parts = []
    while size:
        part = source.recv(min(size, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _as_json(data: bytes) -> dict[str, str]:
    return {_BYTES: str(data, "utf-8", "surrogateescape")}


def _from_json(found: dict[str, Any]) -> Any:
    text = found.get(_BYTES)
    if len(found) == 1 and isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    return found


def told(error: CouncilError) -> list[Any]:
    """Return a refusal as it is sent: its class, and all that it knows."""
    return [type(error).__name__, vars(error)]


def _refusal(name: str, known: dict[str, Any]) -> CouncilError:
    kind = getattr(errors, name, CouncilError)
    error: CouncilError = kind.__new__(kind, known.get("message", ""))
    error.__dict__.update(known)
    return error
