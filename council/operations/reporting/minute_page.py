"""What every line of the minutes is made with: a conversation, and the words of its language.

Here are also the lines that say which quoted passages were really said.

Source: C0-049, C0-050, XC-012, `trust.md` (Quotations).
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.account import display_label, display_name
from council.core.conversations.conversation import Conversation, Entry, EntryKind
from council.core.conversations.quotations import FOUND, NEAR, Checker, Quotation
from council.core.plain_text import excerpt
from council.store.statefile.quoting import cell, entry_mark, inline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SIGNS = {FOUND: "✓", NEAR: "≈"}
_PASSAGE_MAX_CHARS = 120


class Page:
    """A conversation, and the words in which its minutes tell of it."""

    def __init__(self, state: Conversation, words: dict[str, str]) -> None:
        self.state = state
        self.words = words

    @property
    def synthesis(self) -> Entry | None:
        """The synthesis, or the digest that stands in its place."""
        written = [one for one in self.state.entries if one.kind is EntryKind.SYNTHESIS]
        return written[-1] if written else None

    def say(self, key: str, **values: object) -> str:
        """Return a sentence with its fields put in."""
        return self.words[key].format(**values)

    def labelled(self, key: str, text: str) -> str:
        """Return a text behind its label."""
        return f"{self.words[key]}{self.words['colon']}{text}"

    def name(self, agent: str) -> str:
        """Return what an agent is called."""
        return inline(display_name(self.state, agent))

    def names(self, agents: Iterable[str]) -> str:
        """Return what agents are called, joined."""
        return ", ".join(map(self.name, agents)) or self.words["nobody"]

    def label(self, agent: str) -> str:
        """Return what an agent is called where it is spoken of first."""
        return inline(display_label(self.state, agent))

    def cell(self, agent: str) -> str:
        """Return what an agent is called in a table."""
        return cell(display_name(self.state, agent))

    def round(self, tour: int, phase: str) -> str:
        """Return how a round is named inside a sentence."""
        return self.say("round.short", tour=tour, phase=inline(phase))

    def origin(self, entry: Entry) -> str:
        """Return the word that says how sure the author of an entry is (XC-014)."""
        return self.words[str(entry.origin)]

    def in_marks(self, text: str, max_chars: int) -> str:
        """Return the beginning of a text in quotation marks."""
        said = inline(excerpt(text, max_chars))
        return f"{self.words['open-quote']}{said}{self.words['close-quote']}"

    def quotations(self, entry: Entry) -> list[str]:
        """Return a block with a line for each passage that an entry quotes, or none."""
        checked = Checker(self.state).in_entry(entry)  # in what its author was shown
        if not checked:
            return []
        title = self.labelled("quotations", "").rstrip()
        return ["\n".join([title, "", *map(self._quotation, checked)])]

    def _quotation(self, one: Quotation) -> str:
        """Return the line that says whether a passage was said, and by whom."""
        who = self.name(one.of) if one.of else self.words["the-brief"]
        if not one.of and one.found not in _SIGNS:
            who = self.words["anybody"]
        found = self.say(f"quotation.{one.found}", who=who)
        passage = self.in_marks(one.text, _PASSAGE_MAX_CHARS)
        return f"- {_SIGNS.get(one.found, '✗')} {passage}{self.words['colon']}{found}"


def minute(instant: datetime) -> str:
    """Return an instant as people read it, to the minute."""
    return f"{instant:%Y-%m-%d %H:%M}Z"


def mark_of(entry: Entry) -> str:
    """Return the line that names an entry to programs."""
    return entry_mark(entry.id, entry.tour, entry.digest)


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a table; `head` names its columns, with `|` between them."""
    lines = [f"| {head} |", "|" + "---|" * (head.count("|") + 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
