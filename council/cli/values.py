"""Values of options: the text of an answer, a file's content, and which conversation is meant."""

from __future__ import annotations

import os
import sys

from council.app import App
from council.cli.printing import err
from council.kernel import files
from council.kernel.errors import Invalid, Usage
from council.kernel.ids import checked_text
from council.kernel.record import Any


class Given:
    """The values of the options of a command, by the names of the table; "" where it has none.

    `which` is the conversation that an argument or `--name` means.

    Raises:
        Usage: Two conversations are named.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        if "which" in values and (name := self.__dict__.pop("name", "")):
            if values["which"] not in ("", name):
                what = "two conversations are named"
                raise Usage("usage", what, "give NAME or --name, not both")
            self.__dict__["which"] = name

    def __getattr__(self, name: str) -> Any:
        return ""


def pairs(values: list[str], option: str) -> dict[str, str]:
    """Return `KEY=VALUE` options by key.

    Raises:
        Usage: One has no `=`.
    """
    for value in values:
        if not value.partition("=")[0].strip() or "=" not in value:
            what = f"{option} {value[:80]!r} has no ="
            raise Usage("usage", what, f"write it like {option} ID=VALUE")
    return {key.strip(): text.strip() for key, _, text in (one.partition("=") for one in values)}


def text_of(app: App, argument: str, file: str) -> str:
    """Return the text of a command: its argument, `--file`, or `-` for standard input.

    Raises:
        Usage: It is given twice, or not at all.
        Invalid: It is too long, is not UTF-8, or cannot be read.
    """
    if argument and file:
        raise Usage("usage", "the text is given twice", "give it as an argument or with --file")
    most, path = app.settings.max_text_bytes, "-" if argument == "-" else file
    data = content(path, most) if path else os.fsencode(argument)
    text = checked_text(data, most)
    if not text.strip():
        hint = "give it as an argument, with --file, or - for standard input"
        raise Usage("no-text", "there is no text", hint)
    return text


def content(path: str, most: int) -> bytes:
    """Return the bytes of a regular file or of standard input, up to one more than `most`."""
    if path == "-":
        if sys.stdin.isatty():
            err("council: type the text; Ctrl-D on a line of its own ends it")
        return sys.stdin.buffer.read(most + 1)
    with files.reported("read", path):
        found = files.read(os.path.realpath(path), most)
    if found is None:
        raise Invalid("unreadable", f"no file {path}", "name a file that can be read")
    return found[0]
