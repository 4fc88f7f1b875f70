"""Values of options: lists, pairs, the text of an answer, and which conversation is meant."""

from __future__ import annotations

import os
import sys

from council.kernel.errors import Invalid, Usage
from council.kernel.record import TYPE_CHECKING, Any

MOST_BYTES = 1024 * 1024


class Given:
    """The values of the options of a command, by the names of the table."""

    only = ""  # the one kind of answer that is accepted
    all_ = False

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def conversation(self) -> str:
        """Return the conversation that an argument or `--name` means, "" for none.

        Raises:
            Usage: Both are given, and differ.
        """
        which = self.__dict__.get("which") or self.__dict__.get("what") or ""
        if which and self.name and which != self.name:
            raise Usage("usage", "two conversations are named", "give NAME or --name, not both")
        return str(which or self.name)


def listed(values: list[str]) -> list[str]:
    """Return what was named, separated by commas or by repeating the option."""
    return [one.strip() for value in values for one in value.split(",") if one.strip()]


def pairs(values: list[str], option: str) -> dict[str, str]:
    """Return `KEY=VALUE` options by key.

    Raises:
        Usage: One has no `=`.
    """
    made = {}
    for value in values:
        key, is_set, text = value.partition("=")
        if not is_set or not key.strip():
            raise Usage("usage", f"{option} {value!r} has no =", f"write it like {option} ID=VALUE")
        made[key.strip()] = text.strip()
    return made


def text_of(argument: str, file: str, most: int = MOST_BYTES) -> str:
    """Return the text of a command: its argument, `--file`, or `-` for standard input.

    Raises:
        Usage: It is given twice, or not at all.
        Invalid: It is too long, is not UTF-8, or cannot be read.
    """
    if argument and file:
        raise Usage("usage", "the text is given twice", "give it as an argument or with --file")
    if argument == "-" or file == "-":
        data = sys.stdin.buffer.read(most + 1)
    else:
        data = _content(file, most) if file else os.fsencode(argument)
    if len(data) > most:
        raise Invalid("too-long", f"the text is longer than {most} bytes", "shorten it")
    if b"\0" in data:
        raise Invalid("binary", "the text contains NUL bytes", "give a text in UTF-8")
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        what = f"the text is not UTF-8 (byte {error.start})"
        raise Invalid("not-utf-8", what, "save it as UTF-8") from None
    if not text.strip():
        hint = "give it as an argument, with --file, or - for standard input"
        raise Usage("no-text", "there is no text", hint)
    return text


def _content(path: str, most: int) -> bytes:
    """Return the bytes of a regular file, one more than `most` at the most."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.fstat(file).st_mode & 0o170000 != 0o100000:
                raise Invalid("not-a-file", f"{path} is not a regular file", "name a text file")
            found = b""
            while len(found) <= most and (part := os.read(file, most + 1 - len(found))):
                found += part
            return found
        finally:
            os.close(file)
    except OSError as error:
        raise Invalid("unreadable", f"{path}: {error.strerror}", "name a text file") from None
