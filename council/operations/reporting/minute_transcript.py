"""The record part of the minutes: who said what when, whole, and how sure that is.

Every text of an agent or a person stands as a quote (see `quoting`); what is
not quoted is ours. `Page` is what every line of the minutes is made with: a
conversation, the words of its language, and which quoted passages were really said.

Source: C0-011, C0-030, C0-049, C0-050, XC-012, XC-014, `trust.md` (Quotations, Who answered).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from council.core.conversations.account import (
    claimed_by_agent,
    discussion_rounds,
    display_label,
    display_name,
)
from council.core.conversations.conversation import (
    TURNS,
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Round,
)
from council.core.conversations.procedures import SYNTHESIZE
from council.core.conversations.quotations import FOUND, NEAR, Checker, Quotation
from council.core.plain_text import excerpt
from council.core.reporting.sentences import elided
from council.core.times import render_duration
from council.store.statefile.quoting import cell, entry_mark, escaped, inline, quoted

_SIGNS = {FOUND: "✓", NEAR: "≈"}
_PASSAGE_MAX_CHARS = 120


class Page:
    """A conversation, and the words in which its minutes describe it."""

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
        return elided(self.words[key], values).format(**values)

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

    def in_rounds(self, said: Iterable[tuple[str, int]]) -> str:
        """Return agents, each with a round, joined."""
        told = (self.say("by-in-round", who=self.name(agent), tour=tour) for agent, tour in said)
        return ", ".join(told)

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


def transcript(page: Page) -> list[str]:
    """Return the blocks after the summary, in order, without the state block."""
    state, words = page.state, page.words
    blocks = preface(page)
    said = [one for one in state.entries if one.kind is EntryKind.CONTRIBUTION]
    rounds = {one.tour: one.phase for one in reversed(said)} | dict(discussion_rounds(state))
    for tour, phase in sorted(rounds.items()):
        title = page.say("round", tour=tour, phase=inline(phase), colon=words["colon"])
        spoken = [part for one in said if one.tour == tour for part in entry_blocks(page, one)]
        blocks += [f"## {title}", *(spoken or [words["nobody-answered"]])]
    blocks += aside(page, EntryKind.LATE, "late")
    blocks += aside(page, EntryKind.INJECTION, "guidance")
    return blocks + closing_tables(page)


def preface(page: Page) -> list[str]:
    """Return the note on how texts are quoted, where it is needed, and the brief."""
    brief = page.state.brief
    texts = [brief, *(one.text for one in page.state.entries)]
    blocks = []
    if any(escaped(text) != text for text in texts):
        blocks.append(f"*{page.words['escape-note']}*")
    if brief:
        blocks += [f"## {page.words['brief']}", quoted(brief)]
    return blocks


def closing_tables(page: Page) -> list[str]:
    """Return the timings and who is verified."""
    told = [f"## {page.words['timings']}", _timings(page)] if page.state.rounds else []
    return told + _authorship(page)


def entry_blocks(page: Page, entry: Entry, place: str = "") -> list[str]:
    """Return one entry: who, what is known of it, its text whole, what it quotes."""
    facts = [minute(entry.at), page.origin(entry), entry.status, place]
    return [
        f"### {page.label(entry.agent)}",
        f"{mark_of(entry)}\n*{' · '.join(inline(fact) for fact in facts if fact)}*",
        quoted(entry.text),
        *([] if entry.kind is EntryKind.INJECTION else page.quotations(entry)),
    ]


def aside(page: Page, kind: EntryKind, key: str) -> list[str]:
    """Return the section of all entries of one kind, such as the late ones, if there are any."""
    entries = [one for one in page.state.entries if one.kind is kind]
    if not entries:
        return []
    blocks = [f"## {page.words[key]}"]
    if f"{key}.note" in page.words:
        blocks.append(page.words[f"{key}.note"])
    for entry in entries:
        place = page.round(entry.tour, entry.phase)
        if kind is EntryKind.INJECTION:
            place += f" · {whom(page, entry)}"
        blocks += entry_blocks(page, entry, place)
    return blocks


def whom(page: Page, entry: Entry) -> str:
    """Return to whom a person has spoken."""
    if not entry.target:
        return page.words["to-all"]
    return page.say("to", who=display_name(page.state, entry.target))


def _timings(page: Page) -> str:
    """Return the table that says when each round began and why it ended."""
    rows = []
    for one in page.state.rounds:
        took = "" if one.ended_at is None else render_duration(one.ended_at - one.started_at)
        reason = one.reason if one.phase != SYNTHESIZE else _end_of_synthesis(page.state, one)
        why = page.words.get(f"reason.{reason}", reason)
        answers = _answers(page.state, one)
        cells = [str(one.tour), one.phase, minute(one.started_at), took, why, answers]
        rows.append(map(cell, cells))
    return table(page.words["timings.head"], rows)


def _end_of_synthesis(state: Conversation, played: Round) -> str:
    """Return why the last phase ended: it is `done` in the state whether one was written or not."""
    written = any(
        one.kind is EntryKind.SYNTHESIS and one.origin is not Origin.TOOL for one in state.entries
    )
    if played.reason != "done" or written:
        return played.reason
    in_time = played.ended_at is None or played.ended_at < state.timeout_at
    return "no-writer" if in_time else "timeout"


def _answers(state: Conversation, played: Round) -> str:
    return ", ".join(
        f"{display_name(state, one.agent)} {render_duration(one.at - played.started_at)}"
        for one in sorted(state.entries, key=lambda one: one.at)
        if one.tour == played.tour and one.kind in TURNS and one.origin is not Origin.TOOL
    )


def _authorship(page: Page) -> list[str]:
    """Return who is verified and who is claimed; several claimed authors stand out (XC-014)."""
    words, claimed = page.words, claimed_by_agent(page.state)
    if not claimed:
        return []
    blocks = [f"## {words['authorship']}", words["authorship.note"]]
    if len(claimed) > 1:
        blocks.append(f"**{words['authorship.one']}**")
    texts = [
        one
        for one in page.state.entries
        if one.origin is Origin.CLAIMED and one.kind is not EntryKind.INJECTION
    ]
    lines = []
    for agent, count in claimed.items():
        ids = inline(", ".join(one.id for one in texts if one.agent == agent))
        lines.append(f"- {page.name(agent)}{words['colon']}{count} {words['claimed']} ({ids})")
    return [*blocks, "\n".join(lines)]
