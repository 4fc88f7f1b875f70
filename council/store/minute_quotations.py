"""The lines of the minutes that say which quoted passages were really said.

Source: `trust.md` (Quotations), C0-049, C0-050.
"""

from __future__ import annotations

from council.core.account import display_name
from council.core.conversation import Conversation, Entry, EntryKind
from council.core.digest import excerpt
from council.core.handles import named
from council.core.quotations import FOUND, NEAR, Quotation, check_quotations
from council.store.quoting import inline

_SIGNS = {FOUND: "✓", NEAR: "≈"}
_PASSAGE_MAX_CHARS = 120


def quotation_block(state: Conversation, entry: Entry, words: dict[str, str]) -> list[str]:
    """Return a block with a line for each passage that an entry quotes, or none."""
    checked = checked_quotations(state, entry)
    if not checked:
        return []
    lines = [quotation_line(state, one, words) for one in checked]
    return ["\n".join([f"{words['quotations']}{words['colon'].rstrip()}", "", *lines])]


def checked_quotations(state: Conversation, entry: Entry) -> list[Quotation]:
    """Return the passages that an entry quotes, each looked up in what was said before it.

    In an anonymous conversation all texts are read with the names back in them.
    """
    text = named(state, entry.agent, entry.text)
    before = state.entries[: [one.id for one in state.entries].index(entry.id)]
    said = [
        (one.agent, named(state, one.agent, one.text))
        for one in before
        if one.kind is not EntryKind.INJECTION
    ]
    said.append(("", state.brief))
    said += [("", one.text) for one in before if one.kind is EntryKind.INJECTION]
    people = state.participants.values()
    known = {one.id: one.id for one in people} | {one.name: one.id for one in people if one.name}
    return check_quotations(text, said, names=known)


def quotation_line(state: Conversation, one: Quotation, words: dict[str, str]) -> str:
    """Return the line that says whether a passage was said, and by whom."""
    who = inline(display_name(state, one.of)) if one.of else words["the-brief"]
    if not one.of and one.found not in _SIGNS:
        who = words["anybody"]
    found = words[f"quotation.{one.found}"].format(who=who)
    passage = inline(excerpt(one.text, _PASSAGE_MAX_CHARS))
    sign = _SIGNS.get(one.found, "✗")
    return f"- {sign} {words['open-quote']}{passage}{words['close-quote']}{words['colon']}{found}"
