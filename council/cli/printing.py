"""What a command prints: for people a reply, for programs one JSON document."""

from __future__ import annotations

import os
import sys

from council.kernel import codec, ids
from council.kernel.record import Any, Record

COLUMNS = 80
MOST = 300  # characters of one value in a reply
_UNSAFE = dict.fromkeys([*range(9), *range(11, 32), *codec.STEERING])  # not tab and line feed
one_line = ids.cut


class Said(Record):
    """What a command answers.

    Attributes:
        data: The JSON document; without one nothing is printed.
        text: For people; "" is the command's part of `texts/replies.txt`, filled with `data`.
        more: Further values of that template.
        reply: The name of that part, if it is not the name of the command's function.
        notes: Lines on standard error.
        code: The exit code.
    """

    data: Any = None
    text: str = ""
    more: dict[str, Any] = {}
    reply: str = ""
    notes: list[str] = []
    code: int = 0


class _Forms(dict[str, Any]):
    """The forms of `texts/replies.txt`, which says what each writes."""

    def get(self, form: str, _: Any = None) -> Any:
        """Return the function that writes a value in a form."""
        most = form.removeprefix("<")
        if not most.isdigit():
            return lambda it: form + one_line(str(it), MOST)
        if most == "0":
            return str
        return lambda it: one_line(str(it), int(most)).ljust(int(most) * (form[0] == "<"))


def say(said: Said, *, as_json: bool) -> None:
    """Print what a command answers."""
    if said.data is not None and (shown := codec.printed(said.data) if as_json else text(said)):
        out(shown)
    for note in said.notes:
        err(note)


def text(said: Said) -> str:
    """Return what a command answers, for people."""
    if said.text or not said.reply:
        return said.text
    from council.kernel import words  # late: not every answer is a template

    part = words.template("texts/replies.txt").partition(f"\n== {said.reply}\n")[2]
    part = part.partition("\n== ")[0]
    data = said.data if isinstance(said.data, dict) else {"rows": said.data}
    filled = words.fill(part, {**data, **said.more}, _Forms()).strip("\n")
    return "" if not part else _aligned(filled) if "\t" in part else filled


def _aligned(table: str) -> str:
    """Return lines with their cells, between tabs, in columns; the last one is cut to fit."""
    rows = [line.split("\t") for line in table.split("\n")]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    left = max(8, COLUMNS - sum(widths) - 2 * len(widths))
    starts = ["".join(map("{:<{}}  ".format, row, widths)) for row in rows]
    return "\n".join(s + one_line(row[-1], left) for s, row in zip(starts, rows, strict=True))


def columns(stream: Any) -> int:
    """Return how wide the terminal of a stream is, 0 where it is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return 0


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Return a text whose lines are broken between words at so many columns; 0 breaks none.

    A line with a path stays as it is, to be copied.
    """
    if not width:
        return text
    from textwrap import fill  # late: as above

    how: Any = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": indent}
    return "\n".join([one if " /" in one else fill(one, width, **how) for one in text.split("\n")])


def out(text: str) -> None:
    """Print a text on standard output, without control characters."""
    sys.stdout.write(text.translate(_UNSAFE).rstrip("\n") + "\n")
    sys.stdout.flush()


def err(text: str, before: str = "", end: str = "\n") -> None:
    """Print a line on standard error, likewise; what is put `before` it is printed as it is."""
    sys.stderr.write(before + text.translate(_UNSAFE).rstrip("\n") + end)
    sys.stderr.flush()


def waiting(who: str) -> None:
    """Say on a terminal what a command waits for."""
    if columns(sys.stderr):
        err(f"waiting for {one_line(who, 60)}")


def confirmed(question: str) -> bool:
    """Ask a person on the terminal whether to go on; False where nobody can answer."""
    if not sys.stdin.isatty():
        return False
    err(f"{question}\nContinue? [y/N]", end=" ")
    return sys.stdin.readline().strip().lower() in ("y", "yes", "o", "oui")
