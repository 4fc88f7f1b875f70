"""Texts of others as a screen may show them: nothing in them moves, colours or forges anything.

What agents and letters say is printed beside what the product says. A terminal
obeys control characters, so they become blanks; and whoever prints one thing a
line lets no text begin a line of its own.

Source: XC-005, `cli.md` section 1, `trust.md`.
"""

from __future__ import annotations

import json
import re

# Emoji and some scripts are put together with these; they move nothing.
_JOINERS = "\u200c\u200d"
# What JSON leaves as it is though it is no letter: control, direction and half characters.
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain_line(text: str) -> str:
    """Return a text as one line without control characters."""
    return _cleaned(" ".join(text.splitlines()) if not text.isprintable() else text, "")


def plain_text(text: str) -> str:
    """Return a text without control characters; it keeps its lines and tabs."""
    if text.isprintable():
        return text
    return "\n".join(_cleaned(line, "\t") for line in text.split("\n"))


def json_text(record: object) -> str:
    """Return a record as one line of JSON in which no sign stands that a terminal could obey."""
    text = json.dumps(record, ensure_ascii=False)
    return text if text.isprintable() else _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]


def indented(text: str, indent: str) -> str:
    """Return a text whose lines after the first begin with `indent`, without control characters."""
    return ("\n" + indent).join(_cleaned(line, "\t") for line in text.splitlines())


def _cleaned(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _JOINERS + kept else " " for one in text)


def shell_word(value: object) -> str:
    """Return a value as one word of a shell, in quotes only where it needs them."""
    text = str(value)
    if text and all(one.isalnum() or one in "/._-+" for one in text) and text.isascii():
        return text
    return "'" + text.replace("'", "'\\''") + "'"
