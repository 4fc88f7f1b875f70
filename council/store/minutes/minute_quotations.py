"""The lines of the minutes that say which quoted passages were really said.

Source: `trust.md` (Quotations), C0-049, C0-050.
"""

from __future__ import annotations

from council.core.conversations.account import display_name
from council.core.conversations.conversation import Conversation, Entry
from council.core.conversations.quotations import FOUND, NEAR, Quotation
from council.core.conversations.quoted import Checker
from council.core.excerpts import excerpt
from council.store.statefile.quoting import inline

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
    """Return the passages that an entry quotes, looked up in what its author was shown."""
    return Checker(state).in_entry(entry)


def quotation_line(state: Conversation, one: Quotation, words: dict[str, str]) -> str:
    """Return the line that says whether a passage was said, and by whom."""
    who = inline(display_name(state, one.of)) if one.of else words["the-brief"]
    if not one.of and one.found not in _SIGNS:
        who = words["anybody"]
    found = words[f"quotation.{one.found}"].format(who=who)
    passage = inline(excerpt(one.text, _PASSAGE_MAX_CHARS))
    sign = _SIGNS.get(one.found, "✗")
    return f"- {sign} {words['open-quote']}{passage}{words['close-quote']}{words['colon']}{found}"
