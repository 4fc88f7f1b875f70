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
from unicodedata import category, east_asian_width

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
# Joins the signs before and after it into one; asks for the sign before it as an emoji.
_JOINER, _AS_EMOJI = "\u200d", "\ufe0f"
# Signs that are twice as wide as an emoji as they are as a text (`emoji-variation-sequences.txt`).
_WIDER_AS_EMOJI = frozenset(
    "#*0123456789©®‼⁉™ℹ↔↕↖↗↘↙↩↪⌨⏏⏭⏮⏯⏱⏲⏸⏹⏺Ⓜ▪▫▶◀◻◼☀☁☂☃☄☎☑☘☝☠☢☣☦☪☮☯☸☹☺♀♂♟♠♣♥♦♨♻♾⚒⚔⚕⚖⚗⚙⚛⚜⚠⚧"
    "⚰⚱⛈⛏⛑⛓⛩⛰⛱⛴⛷⛸⛹✂✈✉✌✍✏✒✔✖✝✡✳✴❄❇❣❤➡⤴⤵⬅⬆⬇🅰🅱🅾🅿🌡🌤🌥🌦🌧🌨🌩🌪🌫🌬🌶🍽🎖🎗🎙🎚🎛🎞🎟🏋🏌🏍🏎"
    "🏔🏕🏖🏗🏘🏙🏚🏛🏜🏝🏞🏟🏳🏵🏷🐿👁📽🕉🕊🕯🕰🕳🕴🕵🕶🕷🕸🕹🖇🖊🖋🖌🖍🖐🖥🖨🖱🖲🖼🗂🗃🗄🗑🗒🗓🗜🗝🗞🗡🗣🗨🗯🗳🗺"
    "🛋🛍🛎🛏🛠🛡🛢🛣🛤🛥🛩🛰🛳"
)
# What the tables of Python say otherwise than terminals do: letters of Korean that join the one
# before, its fillers, and the colours of skin; then what Unicode 16 made wide, and newer emoji.
_NO_WIDTH = (
    *(("\u1160", "\u11ff"), ("\ud7b0", "\ud7fb"), ("\u3164", "\u3164"), ("\uffa0", "\uffa0")),
    ("\U0001f3fb", "\U0001f3ff"),
)
_WIDE = (
    *(("\u2630", "\u2637"), ("\u268a", "\u268f"), ("\u4dc0", "\u4dff")),
    *(("\U0001d300", "\U0001d356"), ("\U0001d360", "\U0001d376"), ("\U0001fa70", "\U0001faff")),
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
        if all(_is_plain(line) and width_of(line) <= PIPE_WIDTH for line in lines):
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
    width, before, is_joined = 0, "", False
    for sign in text:
        if is_joined:
            is_joined = False
        elif sign == _JOINER:
            is_joined = True
        elif sign == _AS_EMOJI:
            width += before in _WIDER_AS_EMOJI
            before = ""
        elif own := _width_of_sign(sign):
            width += own
            before = sign
    return width


def _width_of_sign(sign: str) -> int:
    if sign.isascii():
        return 1
    kind = category(sign)
    if kind[0] == "M" or kind == "Cf" or _is_in(_NO_WIDTH, sign):
        return 0
    return 2 if east_asian_width(sign) in "WF" or _is_in(_WIDE, sign) else 1


def _is_in(ranges: tuple[tuple[str, str], ...], sign: str) -> bool:
    return any(first <= sign <= last for first, last in ranges)


def _is_plain(text: str) -> bool:
    """Return true if a text is shown as it stands: rich says what becomes of tabs and controls."""
    return text.isprintable() or (plain_text(text) == text and "\t" not in text)


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
