"""The lines of the minutes that say which quoted passages were really said.

Source: `trust.md` (Quotations), C0-049, C0-050.
"""

from __future__ import annotations

from council.core.account import display_name
from council.core.conversation import Conversation, Entry, EntryKind
from council.core.digest import excerpt
from council.core.quotations import FOUND, NEAR, Quotation, check_quotations
from council.store.quoting import inline

_SIGNS = {FOUND: "✓", NEAR: "≈"}
_PASSAGE_MAX_CHARS = 120


def quotation_block(state: Conversation, entry: Entry, words: dict[str, str]) -> list[str]:
    """Return a block with a line for each passage that an entry quotes, or none."""
    before = state.entries[: next(at for at, one in enumerate(state.entries) if one is entry)]
    said = [(one.agent, one.text) for one in before if one.kind is not EntryKind.INJECTION]
    said.append(("", state.brief))
    said += [("", one.text) for one in before if one.kind is EntryKind.INJECTION]
    people = state.participants.values()
    known = {one.id: one.id for one in people} | {one.name: one.id for one in people if one.name}
    checked = check_quotations(entry.text, said, names=known)
    if not checked:
        return []
    lines = [_line(state, one, words) for one in checked]
    return ["\n".join([f"{words['quotations']}{words['colon'].rstrip()}", "", *lines])]


def _line(state: Conversation, one: Quotation, words: dict[str, str]) -> str:
    who = inline(display_name(state, one.of)) if one.of else words["the-brief"]
    if not one.of and one.found not in _SIGNS:
        who = words["anybody"]
    found = words[f"quotation.{one.found}"].format(who=who)
    passage = inline(excerpt(one.text, _PASSAGE_MAX_CHARS))
    sign = _SIGNS.get(one.found, "✗")
    return f"- {sign} {words['open-quote']}{passage}{words['close-quote']}{words['colon']}{found}"
