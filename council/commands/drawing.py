"""Lines and tables: plain in a pipe, drawn by rich on a terminal.

What is shown is given as parts: a line is a text and its style, a table is a `Table`. In a pipe
they are drawn here, as rich takes longer to load than most commands take; whatever does not fit
there, and all that a terminal gets, is drawn in `screens`.

Source: `cli.md` section 1 (rich when a terminal, plain when not), DG-137.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap
from unicodedata import east_asian_width

from council.core.plain_text import plain_line, plain_text
from council.core.record import Any, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # A text and its style, and what follows it and the style of that, as often as wanted.
    # The style "path" is dim, and such a line is never broken.
    Line = tuple[str, ...]
    Part: TypeAlias = "Line | Table"

# A pipe has no edge: rows are read by grep, which a wrapped line would fool.
PIPE_WIDTH = 1000
# Signs as wide as Unicode said long ago; how wide the others are, a table in rich says.
_SURE = (
    *((" ", "\u02ff"), ("\u2010", "\u205e"), ("\u2100", "\u25ff"), ("\u2700", "\u27bf")),
    *(("\u3041", "\u3096"), ("\u30a0", "\u30ff"), ("\u4e00", "\u9fff"), ("\uac00", "\ud7a3")),
    *(("\U0001f300", "\U0001f3fa"), ("\U0001f400", "\U0001f64f"), ("\U0001f900", "\U0001f9ff")),
)


class Table(Record):
    """A table, with a header where its columns have names.

    Cells of the columns `whole` keep to one line. A cell is a text and its style, or a value that
    is cleaned. `overflow` says what becomes of a word that is wider than its column: `fold` or
    `ellipsis`.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    whole: tuple[str, ...] = ()
    overflow: str = "fold"


def text_of(cell: object) -> str:
    """Return the text of a cell."""
    if isinstance(cell, tuple):
        return "".join(cell[::2])
    return "" if cell is None else plain_line(str(cell))


def drawn(*parts: Part) -> str:
    """Return what rich would print on the terminal, without colours when it is none."""
    if not sys.stdout.isatty():
        lines = [line for part in parts for line in _lines(part)]
        if all(_is_sure(line) and width_of(line) <= PIPE_WIDTH for line in lines):
            return "".join(f"{line.rstrip()}\n" for line in lines)
    from council.commands.screens import as_text

    return as_text(*parts)


def _lines(part: Part) -> list[str]:
    if isinstance(part, tuple):
        return text_of(part).split("\n")
    rows = [[text_of(cell).split("\n") for cell in row] for row in part.rows]
    if any(part.columns):
        rows.insert(0, [[name] for name in part.columns])
    columns = zip(*rows, strict=True)
    widths = [max(width_of(line) for cell in one for line in cell) for one in columns]
    return [
        "  ".join(
            text + " " * (width - width_of(text)) for text, width in zip(line, widths, strict=True)
        )
        for row in rows
        for line in zip_longest(*row, fillvalue="")
    ]


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    if _is_sure(text):
        return sum(1 + (east_asian_width(one) in "WF") for one in text)
    from rich.cells import cell_len

    return cell_len(text)


def _is_sure(text: str) -> bool:
    """Return true if a text is printable, and how wide it is needs no table of rich."""
    return text.isprintable() and (
        text.isascii() or all(any(one <= sign <= two for one, two in _SURE) for sign in text)
    )


def rows_text(
    columns: tuple[str, ...], rows: Sequence[Sequence[Any]], whole: tuple[str, ...] = ()
) -> str:
    """Return a table as a text."""
    return drawn(Table(columns=columns, rows=rows, whole=whole))


def folded_lines(text: str, width: int, first: str = "", other: str = "") -> list[str]:
    """Return a text in lines of a width, after `first` and `other`; paths stay whole."""
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )


def page_width() -> int:
    """Return how wide a line of standard output may be."""
    if not sys.stdout.isatty():
        return PIPE_WIDTH
    from council.commands.screens import console

    return console().width


def markdown_text(text: str) -> str:
    """Return Markdown as the terminal can show it, or as it is when there is none."""
    if not sys.stdout.isatty():
        return plain_text(text)
    from council.commands.screens import markdown

    return markdown(text)
