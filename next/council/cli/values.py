"""Values of options: lists, durations, the text of an answer, and which conversation is meant."""

from __future__ import annotations

import os
import sys

from council.kernel.errors import Invalid, Usage

MOST_BYTES = 1024 * 1024


def listed(values: list[str]) -> list[str]:
    """Return what was named, separated by commas or by repeating the option."""
    return [one.strip() for value in values for one in value.split(",") if one.strip()]


def one_of(which: str, name: str) -> str:
    """Return the conversation that an argument or `--name` means.

    Raises:
        Usage: Both are given, and differ.
    """
    if which and name and which != name:
        raise Usage("usage", "two conversations are named", "give NAME or --name, not both")
    return which or name


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
    elif file:
        data = _content(file, most)
    elif argument:
        data = os.fsencode(argument)
    else:
        hint = "give it as an argument, with --file, or - for standard input"
        raise Usage("no-text", "there is no text", hint)
    if len(data) > most:
        raise Invalid("too-long", f"the text is longer than {most} bytes", "shorten it")
    if b"\0" in data:
        raise Invalid("binary", "the text contains NUL bytes", "give a text in UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(
            "not-utf-8", f"the text is not UTF-8 (byte {error.start})", "save it as UTF-8"
        ) from None
    if not text.strip():
        raise Usage("no-text", "the text is empty", "give an answer")
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
