"""Messages as a command gets them: one as argument, or any number from standard input.

A stream is answered as it comes, in memory that does not grow with it.

Source: `cli.md` sections 1 and 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from council.cli.edge import shown
from council.core.errors import InvalidInputError, UsageError
from council.core.plain_text import json_text
from council.wire.messages import Splitter, parse, unreadable
from council.wire.parsed import Parsed

_CHUNK = 1 << 16


class Given(NamedTuple):
    """One message: its number from 1, its bytes, whether it is longer than allowed."""

    number: int
    data: bytes
    too_long: bool

    def read(self, version: str | None) -> Parsed:
        """Return its reading; what is no text or too long is at fault as a whole."""
        if self.too_long:
            return unreadable(self.data[:_CHUNK].decode("utf-8", "replace"), version)
        return parse(self.data, version)


def batches(argument: str | None, most: int, version: str | None = None) -> Iterator[list[Given]]:
    """Yield the messages of a command, as many at a time as have come.

    Args:
        argument: The message; None or `-` reads standard input.
        most: The bytes that one message may have.
        version: The version that all are read in, None if each tells its own.

    Raises:
        UsageError: There is no message and standard input is a terminal.
    """
    if argument is not None and argument != "-":
        data = os.fsencode(argument)
        yield [Given(1, data, len(data) > most)]
        return
    if argument is None and sys.stdin.isatty():
        raise UsageError(
            "no message was given", "give one as argument, or many on standard input (-)"
        )
    splitter, number = Splitter(version, most), 0
    for lines in _lines(most):
        batch = []
        for line in lines:
            text = splitter.feed(line.decode("utf-8", "surrogateescape"))
            if text:
                number += 1
                batch.append(_given(number, text, most))
        if batch:
            yield batch
    text = splitter.rest()
    if text:
        yield [_given(number + 1, text, most)]


def _given(number: int, text: str, most: int) -> Given:
    data = text.encode("utf-8", "surrogateescape")
    return Given(number, data, len(data) > most)


def _lines(most: int) -> Iterator[list[bytes]]:
    tail = b""
    while chunk := _chunk():
        *lines, tail = (tail + chunk).split(b"\n")
        tail = tail[: most + 1]  # of a line that is too long no more is needed
        yield lines
    if tail:
        yield [tail]


def _chunk() -> bytes:
    try:
        # Not `read` of the stream: it would wait until a whole chunk has come.
        return os.read(sys.stdin.fileno(), _CHUNK)
    except OSError as error:
        raise InvalidInputError(
            f"cannot read standard input: {error.strerror}", "give a file or a pipe"
        ) from None


def say(lines: Iterable[str]) -> None:
    """Print lines for a program or for people on standard output at once."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        text = shown(text) if sys.stdout.isatty() else text
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()


def complain(lines: Iterable[str]) -> None:
    """Print lines for people on standard error at once."""
    text = "".join(f"council: {line}\n" for line in lines)
    if text:
        sys.stderr.write(shown(text).encode("utf-8", "replace").decode("utf-8"))
        sys.stderr.flush()


def answer_each(
    given: Iterable[list[Given]],
    answer: Callable[[Given], tuple[list[str], list[str], int]],
    settle: Callable[[], None] = lambda: None,
) -> int:
    """Print what each message is answered with; return the highest exit code.

    Args:
        given: The batches of messages.
        answer: Takes a message, returns lines for standard output, lines for people, exit code.
        settle: Called before the answers to a batch are printed.
    """
    worst = 0
    for batch in given:
        out: list[str] = []
        said: list[str] = []
        for one in batch:
            lines, notes, code = answer(one)
            out += lines
            said += notes
            worst = max(worst, code)
        settle()
        say(out)
        complain(said)
    return worst


def numbered(lines: Iterable[str], given: Given, *, alone: bool) -> list[str]:
    """Return lines for people that say which message they are about, if there may be several."""
    return [line if alone else f"message {given.number}: {line}" for line in lines]


def is_alone(argument: str | None) -> bool:
    """Tell whether a command got its one message as argument."""
    return argument is not None and argument != "-"


def as_json(record: Any) -> str:
    """Return one JSON object as one line."""
    return json_text(record)


def forced_version(option: str) -> str | None:
    """Return the version that `--version` forces, None for none.

    Raises:
        UsageError: There is no such version.
    """
    from council.wire.messages import VERSIONS

    if not option:
        return None
    if option.upper() not in (*VERSIONS, "V5D"):
        raise UsageError(f"no protocol version {option!r}", f"it is one of {', '.join(VERSIONS)}")
    return option.upper()
