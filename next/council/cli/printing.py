"""What a command prints: for people within 80 columns, for programs as one JSON document."""

from __future__ import annotations

import os
import sys

from council.kernel import codec, ids
from council.kernel.record import Any, Record

COLUMNS = 80
_UNSAFE = dict.fromkeys(
    [
        *(one for one in range(32) if one not in (9, 10)),  # C0, without tab and line feed
        *range(127, 160),  # delete and C1
        *(0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),  # directions
    ]
)
_STYLES = {"# ": "1", "## ": "1", "! ": "33", "✓ ": "32", "✗ ": "31"}


class Said(Record):
    """What a command answers.

    Attributes:
        data: The JSON document; None where `text` is all there is.
        text: For people, on standard output.
        notes: Lines on standard error.
        code: The exit code.
    """

    data: Any = None
    text: str = ""
    notes: list[str] = []
    code: int = 0


def safe(text: str) -> str:
    """Return a text without the characters that control a terminal or the direction of text."""
    return text.translate(_UNSAFE)


def dumps(data: Any, *, indent: bool = False) -> str:
    """Return a value as JSON; `indent` is for people and imports the whole of `json`."""
    if indent:
        import json  # late: slow to import

        return json.dumps(data, ensure_ascii=False, indent=2)
    return codec.dumps(data)


def say(said: Said, *, as_json: bool) -> None:
    """Print what a command answers."""
    if as_json:
        data = {"text": said.text} if said.data is None else said.data
        out(dumps(data, indent=sys.stdout.isatty()))
    elif said.text:
        out(said.text)
    for note in said.notes:
        err(note)


def out(text: str) -> None:
    """Print a text on standard output, without control characters, coloured on a terminal."""
    sys.stdout.write(_drawn(safe(text).rstrip("\n"), sys.stdout) + "\n")


def err(text: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(_drawn(safe(text).rstrip("\n"), sys.stderr) + "\n")


def has_colours(stream: Any) -> bool:
    """Return whether a stream is a terminal that shows colours."""
    return bool(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM"))


def _drawn(text: str, stream: Any) -> str:
    if not has_colours(stream):
        return text
    return "\n".join(_styled(line) for line in text.split("\n"))


def _styled(line: str) -> str:
    for begin, style in _STYLES.items():
        if line.lstrip(" ").startswith(begin):
            return f"\x1b[{style}m{line}\x1b[0m"
    return line


def table(columns: tuple[str, ...], rows: list[Any]) -> str:
    """Return rows under their column names; the last column is cut to fit `COLUMNS`."""
    cells = [columns, *[tuple(" ".join(safe(cell).split()) for cell in row) for row in rows]]
    most = max(8, COLUMNS // len(columns))
    widths = [min(most, max(len(row[at]) for row in cells)) for at in range(len(columns))]
    lines = []
    for row in cells:
        parts = [
            one_line(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)
        ]
        left = COLUMNS - sum(widths[:-1]) - 2 * (len(widths) - 1)
        lines.append("  ".join([*parts[:-1], one_line(row[-1], max(8, left))]).rstrip())
    return "\n".join(lines)


def one_line(text: str, most: int = COLUMNS - 2) -> str:
    """Return a text on one line, cut to `most` characters with an ellipsis."""
    return ids.cut(text, most)


def clear() -> None:
    """Clear the terminal; a stream that is none stays as it is."""
    if has_colours(sys.stdout):
        sys.stdout.write("\x1b[2J\x1b[H")
