"""How the parts of a conversation are written in its file, remembered.

A process that writes a conversation writes the same entries again and again,
and one that has just read it need not make anew what it has read. Nobody
changes an entry; of each two forms are kept: its line in the ledger of the
state block, and its text between its marks. Participants and tasks do change:
the line of one is kept with all that it was made of. All this is only ever a
shortcut.

Source: `store.md` section 7.
"""

from __future__ import annotations

from council.core.conversations.conversation import Entry, Participant, Task
from council.core.conversations.records import entry_to_record, participant_to_record
from council.core.conversations.task_records import task_to_record
from council.store.statefile.marks import compact, entry_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from council.store.statefile.sections import Section

    Form = bytes | memoryview

_MOST = 4096
_MOST_BYTES = 64 * 1024 * 1024
_EACH_BYTES = 1024  # what an entry takes besides its text, about
_lines: dict[int, tuple[Entry, str]] = {}
_texts: dict[int, tuple[Entry, Form]] = {}
_people: dict[str, tuple[dict[str, Any], str]] = {}
_tasks: dict[str, tuple[dict[str, Any], str]] = {}
_sections: dict[tuple[str, str], tuple[Section, list[Form]]] = {}
_held = [0]  # in bytes, about


def line_of(entry: Entry) -> str:
    """Return the line of an entry in the ledger."""
    known = _lines.get(id(entry))
    if known is not None and known[0] is entry:
        return known[1]
    line = compact(entry_to_record(entry))
    make_room(_EACH_BYTES + len(entry.text))
    remember_line(entry, line)
    return line


def participant_of(one: Participant) -> str:
    """Return the line of a participant in the state block, with its key."""
    return _keyed(_people, one) or _noted(_people, one, participant_to_record(one))


def task_of(one: Task) -> str:
    """Return the line of a task in the state block, with its key."""
    return _keyed(_tasks, one) or _noted(_tasks, one, task_to_record(one))


def _keyed(known: dict[str, tuple[dict[str, Any], str]], one: Participant | Task) -> str:
    made_of, line = known.get(one.id, ({}, ""))
    return line if made_of == one.__dict__ else ""


def _noted(
    known: dict[str, tuple[dict[str, Any], str]],
    one: Participant | Task,
    record: dict[str, Any],
) -> str:
    line = f"{compact(one.id)}: {compact(record)}"
    if not one.extra:  # the rest of what it is made of cannot change within
        if len(known) >= _MOST:
            known.clear()
        known[one.id] = (dict(one.__dict__), line)
    return line


def text_of(entry: Entry) -> Form:
    """Return an entry between its marks, as bytes."""
    known = _texts.get(id(entry))
    if known is not None and known[0] is entry:
        return known[1]
    text = entry_text(entry.id, entry.tour, entry.digest, entry.text).encode("utf-8")
    make_room(_EACH_BYTES + len(text))
    remember_text(entry, text)
    return text


def section_of(owner: str, section: Section, make: Callable[[Section], list[Form]]) -> list[Form]:
    """Return a section as it is written in the file of the conversation `owner`."""
    known = _sections.get((owner, section.name))
    if known is not None and known[0] == section:
        _sections[owner, section.name] = (section, known[1])  # the same entries compare quickly
        return known[1]
    parts = make(section)
    make_room(_EACH_BYTES + sum(map(len, parts)))
    _sections[owner, section.name] = (section, parts)
    return parts


def remember_line(entry: Entry, line: str) -> None:
    """Remember the line of an entry; in the block it may stand with its escapes."""
    _lines[id(entry)] = (entry, line)


def remember_text(entry: Entry, text: Form) -> None:
    """Remember what an entry looks like between its marks."""
    _texts[id(entry)] = (entry, text)


def make_room(size_bytes: int) -> None:
    """Forget everything before it becomes too much; to be asked before entries are remembered.

    Args:
        size_bytes: About how much will be held by what comes now.
    """
    _held[0] += size_bytes
    if _held[0] > _MOST_BYTES:
        for known in (_lines, _texts, _sections):
            known.clear()
        _held[0] = size_bytes
