"""The record part of the minutes: who said what when, whole, and how sure that is.

Every text of an agent or a person stands as a quote (see `quoting`); what is
not quoted is ours.

Source: C0-011, C0-030, XC-014, `trust.md` (Quotations, Who answered).
"""

from __future__ import annotations

from council.core.conversations.account import claimed_by_agent, discussion_rounds, display_name
from council.core.conversations.conversation import (
    TURNS,
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Round,
)
from council.core.conversations.procedures import SYNTHESIZE
from council.core.times import render_duration
from council.operations.reporting.minute_page import Page, mark_of, minute, table
from council.store.statefile.quoting import cell, escaped, inline, quoted


def transcript(page: Page) -> list[str]:
    """Return the blocks after the summary, in order, without the state block."""
    state, words = page.state, page.words
    blocks = preface(page)
    said = [one for one in state.entries if one.kind is EntryKind.CONTRIBUTION]
    rounds = dict(discussion_rounds(state))
    for one in said:
        rounds.setdefault(one.tour, one.phase)
    for tour, phase in sorted(rounds.items()):
        title = page.say("round", tour=tour, phase=inline(phase), colon=words["colon"])
        blocks.append(f"## {title}")
        spoken = [one for one in said if one.tour == tour]
        for entry in spoken:
            blocks += entry_blocks(page, entry)
        if not spoken:
            blocks.append(words["nobody-answered"])
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
    """Return the table that tells when each round began and why it ended."""
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
