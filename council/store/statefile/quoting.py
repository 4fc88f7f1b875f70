"""Texts of others inside minutes, whole, and nothing in them acts.

A text stands as a block quote: every line of it, whatever ends that line, has
`> ` before it. So its headings, rules and fences stay inside the quote, and no
line of it can be taken for one of ours. `<` gets a backslash wherever markup
could begin, for renderers that let it through: a closing tag would end the
quote, an open comment would hide what follows. What would be a link or load an
image gets one, too, and is shown as it was written. Control and direction
characters become blanks. The data beside the minutes hold every text as it is;
`unquoted` reads minutes that were written before there were any.

Source: XC-010, SC-005, `store.md` section 4.
"""

from __future__ import annotations

import re

from council.core.conversations.account import one_line
from council.core.plain_text import plain_text
from council.core.record import Any
from council.store.statefile.marks import read_block

STATE_OPEN = "<!--council-state"
STATE_CLOSE = "-->"
MARK = "<!--council:entry"
_AFTER_OPENING = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")
_LEADING_MARKUP = frozenset("#>`~-+*=|")
# Where a backslash keeps a link from being one; inside of code it does no harm.
_LINK = re.compile(
    r"(?<=\])(?=[(\[:])"  # to an address, to a definition, the definition itself
    r"|(?<=\[)(?=\[)"  # of a wiki
    r"|(?<=\w)(?=://)|(?<=\bwww)(?=\.)|(?<=[\w.+-])(?=@\w)",  # what renderers find in plain text
    re.IGNORECASE,
)


def escaped(text: str) -> str:
    r"""Return `text` with `\` wherever it could act, and no sign that a terminal could obey.

    Backslashes that stand before a `<` are doubled first, so that their number stays odd.
    """
    pieces = _LINK.sub(r"\\", "\n".join(plain_text(line) for line in _lines(text))).split("<")
    for at in range(len(pieces) - 1):
        if pieces[at + 1][:1] in _AFTER_OPENING:
            pieces[at] += "\\" * (_backslashes_at_end(pieces[at]) + 1)
    return "<".join(pieces)


def unescaped(text: str) -> str:
    """Undo `escaped`; a `<` that a person has added without a backslash stays as it is."""
    pieces = text.split("<")
    for at in range(len(pieces) - 1):
        if pieces[at + 1][:1] in _AFTER_OPENING and (count := _backslashes_at_end(pieces[at])):
            pieces[at] = pieces[at][: len(pieces[at]) - (count + 2) // 2]
    return "<".join(pieces)


def _backslashes_at_end(text: str) -> int:
    return len(text) - len(text.rstrip("\\"))


def _lines(text: str) -> list[str]:
    """Return the lines of a text, one that is empty after an end of line at the end."""
    *lines, last = f"{text}.".splitlines()
    return [*lines, last[:-1]]


def quoted(text: str) -> str:
    """Return `text` as a block quote, without an end of line after it."""
    return "\n".join(f"> {line}" for line in escaped(text).split("\n"))


def unquoted(block: str) -> str:
    """Return the text of a block quote as `quoted` made it while that was reversible."""
    bare = [
        line[2:] if line.startswith("> ") else line.removeprefix(">")
        for line in block.splitlines(keepends=True)
    ]
    return unescaped("".join(bare))


def inline(text: str) -> str:
    """Return a name, topic or issue as it may stand inside a line of ours."""
    line = escaped(one_line(text))
    return f"\\{line}" if line[:1] in _LEADING_MARKUP else line


def not_inline(line: str) -> str:
    """Return the text of which `inline` made a line."""
    bare = line[1:] if line[:1] == "\\" and line[1:2] in _LEADING_MARKUP else line
    return unescaped(bare)


def cell(text: str) -> str:
    """Return a text as it may stand in a cell of a table."""
    return inline(text).replace("|", "\\|")


def read_state_block(text: str) -> dict[str, Any] | None:
    """Return the last state record in a document, None if there is none that can be read."""
    start = ("\n" + text).rfind(f"\n{STATE_OPEN}\n")
    if start < 0:
        return None
    body = text[start + len(STATE_OPEN) :]
    end = body.find(f"\n{STATE_CLOSE}")
    return read_block(body[:end]) if end >= 0 else None


def entry_mark(entry_id: str, tour: int, digest: str) -> str:
    """Return the line that stands before the quote of one entry."""
    return f"{MARK} id={_bare(entry_id)} tour={tour} sha256={_bare(digest[:16])}-->"


def _bare(word: str) -> str:
    """Return a word without any sign that could end the mark; ids of ours have none."""
    return "".join(sign if sign.isalnum() or sign in "_.-" else "-" for sign in word)


def read_entries(text: str) -> dict[str, str]:
    """Return the texts of all entries in minutes, by entry id, byte for byte."""
    texts: dict[str, str] = {}
    opening = f"\n{MARK} id="
    at = text.find(opening)
    while at >= 0:
        start = at + len(opening)
        ahead = text.find(opening, start)
        region = text[start : ahead if ahead >= 0 else len(text)]
        block = _first_quote(region)
        if block:
            texts[region.split(maxsplit=1)[0]] = unquoted(block)
        at = ahead
    return texts


def read_quote_below(text: str, heading: str) -> str:
    """Return the text that stands as a quote below a heading of ours, "" when none does."""
    at = text.find(f"\n{heading}\n")
    if at < 0:
        return ""
    end = text.find("\n## ", at + 1)
    return unquoted(_first_quote(text[at + 1 : end if end >= 0 else len(text)]))


def _first_quote(region: str) -> str:
    """Return the first block quote after the first line of a region, as it stands."""
    block: list[str] = []
    for line in region.splitlines(keepends=True)[1:]:
        if line.startswith(">"):
            block.append(line)
        elif block:
            break
    return "".join(block).removesuffix("\n")
