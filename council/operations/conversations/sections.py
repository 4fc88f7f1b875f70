"""What people read of a conversation: its page, whole or one section of it.

A section begins at a heading of the page itself. Headings inside a contribution, the brief, a
quotation or a code block belong to the text of their author and begin none. The synthesis can
always be had as it was written, also where the page shows its parts under headings of their own.

Source: `cli.md` section 2 (`show`), DL-100, DL-104.
"""

from __future__ import annotations

import unicodedata

from council.core.conversations.conversation import Entry, EntryKind, Origin
from council.core.conversations.handles import named
from council.core.conversations.procedures import PROCEDURES
from council.core.errors import NotFoundError
from council.core.record import Record
from council.operations.conversations.recalling import Recalled
from council.operations.view import readable
from council.store.files import explaining, read_stable
from council.store.statefile.marks import BRIEF, END, ENTRY
from council.store.statefile.quoting import quoted
from council.store.texts import texts, words_of

_FENCES = ("```", "~~~")
_SYNTHESIS, _DIGEST = "synthesis", "digest"


class Section(Record):
    """A part of a conversation's page: its heading, and its text with it."""

    section: str
    text: str


def text_of(found: Recalled) -> str:
    """Return what people read of it: the live file without marks, or the minutes.

    Raises:
        CouncilError: It cannot be read.
    """
    return _shown(found, readable(_page_of(found)))


def _page_of(found: Recalled) -> str:
    """Return the page with its marks, without front matter."""
    text = found.text
    if not text:
        with explaining("read", found.path):
            reading = read_stable(found.path)
        text = reading.data.decode("utf-8", "replace") if reading is not None else ""
    if found.archived and text.startswith("---\n"):
        return text.partition("\n---\n")[2]
    return text


def _shown(found: Recalled, text: str) -> str:
    if not found.archived and PROCEDURES[found.state.procedure].verdict == "stances":
        # A mode shapes councils alone; the line stays in the file, whose form is fixed.
        return text.replace(f"\n- Mode: {found.state.mode}\n", "\n", 1)
    return text


def section_of(found: Recalled, wanted: str) -> Section:
    """Return the part of a conversation's page under a heading.

    The beginning of the heading will do, in either language, whatever its case and accents.

    Raises:
        NotFoundError: No heading begins so.
        CouncilError: The page cannot be read.
    """
    asked = _folded(wanted.strip())
    parts = [
        Section(section=head, text=_shown(found, readable(part)))
        for head, part in _parts(_page_of(found))
    ]
    if asked and any(one.startswith(asked) for one in map(_folded, texts("minutes")[_SYNTHESIS])):
        written = [one for one in found.state.entries if one.kind is EntryKind.SYNTHESIS]
        if written:
            return _synthesis(found, parts, written[-1])
    known = [*texts("minutes").values(), *texts("deliberation").values()]
    for one in parts:
        names = {one.section, *(name for both in known if one.section in both for name in both)}
        if asked and any(_folded(name).startswith(asked) for name in names):
            return one
    heads = ", ".join(one.section for one in parts)
    raise NotFoundError(f"no section {wanted!r} in {found.state.name}", f"there are: {heads}")


def _synthesis(found: Recalled, parts: list[Section], entry: Entry) -> Section:
    """Return the synthesis: the section of the page where that has it whole, else as written."""
    words = words_of(found.state.lang, "minutes")
    key = _DIGEST if entry.origin is Origin.TOOL else _SYNTHESIS
    # Names stand in the place of pseudonyms, as in the minutes.
    text = named(found.state, entry.agent, entry.text)
    for one in parts:
        if one.section == words[key] and (key == _DIGEST or quoted(text) in one.text):
            return one
    title = words[_SYNTHESIS]
    return Section(section=title, text=f"## {title}\n\n{text.strip()}\n")


def _parts(text: str) -> list[tuple[str, str]]:
    """Return the sections of a page, each with its heading; what is before the first comes first.

    A line inside the text of an author begins none.
    """
    parts: list[tuple[str, list[str]]] = []
    closing = ""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if closing:
            closing = "" if line.startswith(closing) else closing
        elif line.startswith((ENTRY, BRIEF)) or line.startswith(_FENCES):
            end = line[:3] if line.startswith(_FENCES) else END
            # What is never closed opens nothing; in minutes an entry has one mark, above it.
            closing = end if any(other.startswith(end) for other in lines[at + 1 :]) else ""
        elif line.startswith("## ") or not parts:
            parts.append((line.lstrip("# ").strip(), []))
        if not parts:
            parts.append(("", []))
        parts[-1][1].append(line)
    return [(head, "\n".join(kept) + "\n") for head, kept in parts]


def _folded(text: str) -> str:
    """Return a text without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))
