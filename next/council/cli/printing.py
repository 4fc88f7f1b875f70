"""What a command prints: for people within 80 columns, for programs as one JSON document."""

from __future__ import annotations

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
one_line = ids.cut


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


def dumps(data: Any) -> str:
    """Return a value as JSON, indented on a terminal."""
    if not sys.stdout.isatty():
        return codec.dumps(data)
    import json  # late: slow to import

    return json.dumps(data, ensure_ascii=False, indent=2)


def say(said: Said, *, as_json: bool) -> None:
    """Print what a command answers."""
    if as_json:
        out(dumps({"text": said.text} if said.data is None else said.data))
    elif said.text:
        out(said.text)
    for note in said.notes:
        err(note)


def out(text: str) -> None:
    """Print a text on standard output, without control characters."""
    sys.stdout.write(text.translate(_UNSAFE).rstrip("\n") + "\n")
    sys.stdout.flush()


def err(text: str) -> None:
    """Print a line on standard error, likewise."""
    sys.stderr.write(text.translate(_UNSAFE).rstrip("\n") + "\n")
    sys.stderr.flush()


def clear() -> None:
    """Clear the terminal; a stream that is none stays as it is."""
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[2J\x1b[H")


def table(columns: list[str], rows: list[Any]) -> str:
    """Return rows under their column names; the last column is cut to fit `COLUMNS`."""
    most, count = max(8, COLUMNS // len(columns)), len(columns) - 1
    cells = [[one_line(cell, 10**6).translate(_UNSAFE) for cell in row] for row in [columns, *rows]]
    widths = [min(most, max(len(row[at]) for row in cells)) for at in range(count)]
    left = COLUMNS - sum(widths) - 2 * count
    return "\n".join(
        "  ".join(
            [one_line(cell, width).ljust(width) for cell, width in zip(row, widths, strict=False)]
            + [one_line(row[-1], max(8, left))]
        ).rstrip()
        for row in cells
    )


def confirmed(question: str) -> bool:
    """Ask a person on the terminal whether to go on; False where nobody can answer."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question}\nContinue? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "o", "oui")
