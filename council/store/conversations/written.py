"""How entries are written in a file, remembered: nobody changes an entry.

A process that writes a conversation writes the same entries again and again,
and one that has just read it need not make anew what it has read. Of each
entry two forms are kept: its line in the ledger of the state block, and its
text between its marks. They are only ever a shortcut.

Source: `store.md` section 7.
"""

from __future__ import annotations

from council.core.conversations.conversation import Entry
from council.core.conversations.records import entry_to_record
from council.store.statefile.marks import compact, entry_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    Form = bytes | memoryview

_MOST = 4096
_lines: dict[int, tuple[Entry, str]] = {}
_texts: dict[int, tuple[Entry, Form]] = {}


def line_of(entry: Entry) -> str:
    """Return the line of an entry in the ledger."""
    known = _lines.get(id(entry))
    if known is not None and known[0] is entry:
        return known[1]
    line = compact(entry_to_record(entry))
    remember_line(entry, line)
    return line


def text_of(entry: Entry) -> Form:
    """Return an entry between its marks, as bytes."""
    known = _texts.get(id(entry))
    if known is not None and known[0] is entry:
        return known[1]
    text = entry_text(entry.id, entry.tour, entry.digest, entry.text).encode("utf-8")
    remember_text(entry, text)
    return text


def remember_line(entry: Entry, line: str) -> None:
    """Remember the line of an entry; in the block it may stand with its escapes."""
    _make_room(_lines)
    _lines[id(entry)] = (entry, line)


def remember_text(entry: Entry, text: Form) -> None:
    """Remember what an entry looks like between its marks."""
    _make_room(_texts)
    _texts[id(entry)] = (entry, text)


def _make_room(known: dict[int, tuple[Entry, str]] | dict[int, tuple[Entry, Form]]) -> None:
    if len(known) >= _MOST:
        known.clear()
