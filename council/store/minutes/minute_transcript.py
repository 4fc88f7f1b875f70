"""The record part of the minutes: who said what when, whole, and how sure that is.

Every text of an agent or a person stands as a quote (see `quoting`); what is
not quoted is ours.

Source: C0-011, C0-030, XC-014, `trust.md` (Quotations, Who answered).
"""

from __future__ import annotations

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
from council.core.times import render_duration
from council.store.minutes.minute_quotations import quotation_block
from council.store.minutes.minute_summary import minute, names, origin_word, round_name
from council.store.statefile.quoting import cell, entry_mark, escaped, inline, quoted


def transcript(state: Conversation, words: dict[str, str]) -> list[str]:
    """Return the blocks after the summary, in order, without the state block."""
    blocks = preface(state, words)
    said = [one for one in state.entries if one.kind is EntryKind.CONTRIBUTION]
    rounds = dict(discussion_rounds(state))
    for one in said:
        rounds.setdefault(one.tour, one.phase)
    for tour, phase in sorted(rounds.items()):
        title = words["round"].format(tour=tour, phase=inline(phase), colon=words["colon"])
        blocks.append(f"## {title}")
        spoken = [one for one in said if one.tour == tour]
        for entry in spoken:
            blocks += entry_blocks(state, entry, words)
        if not spoken:
            blocks.append(words["nobody-answered"])
    blocks += aside(state, EntryKind.LATE, "late", words)
    blocks += aside(state, EntryKind.INJECTION, "guidance", words)
    return blocks + closing_tables(state, words)


def preface(state: Conversation, words: dict[str, str]) -> list[str]:
    """Return the note on how texts are quoted, where it is needed, and the brief."""
    texts = [state.brief, *(one.text for one in state.entries)]
    blocks = []
    if any(escaped(text) != text for text in texts):
        blocks.append(f"*{words['escape-note']}*")
    if state.brief:
        blocks += [f"## {words['brief']}", quoted(state.brief)]
    return blocks


def closing_tables(state: Conversation, words: dict[str, str]) -> list[str]:
    """Return the timings and who is verified."""
    told = [f"## {words['timings']}", "\n".join(timings(state, words))] if state.rounds else []
    return told + authorship(state, words)


def entry_blocks(
    state: Conversation, entry: Entry, words: dict[str, str], place: str = ""
) -> list[str]:
    """Return one entry: who, what is known of it, its text whole, what it quotes."""
    facts = [minute(entry.at), origin_word(entry, words), entry.status, place]
    mark = entry_mark(entry.id, entry.tour, entry.digest)
    blocks = [
        f"### {inline(display_label(state, entry.agent))}",
        f"{mark}\n*{' · '.join(inline(fact) for fact in facts if fact)}*",
        quoted(entry.text),
    ]
    return (
        blocks
        if entry.kind is EntryKind.INJECTION
        else blocks + quotation_block(state, entry, words)
    )


def aside(state: Conversation, kind: EntryKind, key: str, words: dict[str, str]) -> list[str]:
    """Return the section of all entries of one kind, such as the late ones, if there are any."""
    entries = [one for one in state.entries if one.kind is kind]
    if not entries:
        return []
    blocks = [f"## {words[key]}"]
    if f"{key}.note" in words:
        blocks.append(words[f"{key}.note"])
    for entry in entries:
        place = round_name(entry.tour, entry.phase, words)
        if kind is EntryKind.INJECTION:
            whom = words["to"].format(who=display_name(state, entry.target))
            place += f" · {whom if entry.target else words['to-all']}"
        blocks += entry_blocks(state, entry, words, place)
    return blocks


def timings(state: Conversation, words: dict[str, str]) -> list[str]:
    """Return the table that tells when each round began and why it ended."""
    head = words["timings.head"]
    lines = [f"| {head} |", "|" + "---|" * (head.count("|") + 1)]
    for one in state.rounds:
        took = "" if one.ended_at is None else render_duration(one.ended_at - one.started_at)
        reason = _end_of_synthesis(state, one) if one.phase == SYNTHESIZE else one.reason
        why = words.get(f"reason.{reason}", reason)
        cells = [str(one.tour), one.phase, minute(one.started_at), took, why, _answers(state, one)]
        lines.append(f"| {' | '.join(cell(text) for text in cells)} |")
    return lines


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


def authorship(state: Conversation, words: dict[str, str]) -> list[str]:
    """Return who is verified and who is claimed; several claimed authors stand out (XC-014)."""
    claimed = claimed_by_agent(state)
    if not claimed:
        return []
    blocks = [f"## {words['authorship']}", words["authorship.note"]]
    if len(claimed) > 1:
        blocks.append(f"**{words['authorship.one']}**")
    lines = []
    for agent, count in claimed.items():
        ids = [
            one.id
            for one in state.entries
            if one.agent == agent
            and one.origin is Origin.CLAIMED
            and one.kind is not EntryKind.INJECTION
        ]
        who = names(state, [agent], words)
        lines.append(
            f"- {who}{words['colon']}{count} {words['claimed']} ({inline(', '.join(ids))})"
        )
    return [*blocks, "\n".join(lines)]
