"""The first minute of the minutes: outcome, decision, dissent, next step, absentees.

It takes the decision from the synthesis alone and the dissent from the
ledger by rule; where neither says anything, it says so.

Source: C0-063, C0-073, C0-079, C0-080, XC-014.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.account import (
    Absence,
    Blocker,
    absences,
    display_label,
    display_name,
    is_agreed,
    last_contributions,
    open_blockers,
    stances,
    writers,
)
from council.core.conversations.conversation import (
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Origin,
)
from council.core.conversations.procedures import SYNTHESIZE
from council.core.excerpts import excerpt, first_paragraph
from council.core.times import render_duration
from council.store.minutes.minute_quotations import quotation_block
from council.store.minutes.synthesis_parts import (
    DECISION,
    DISSENT,
    NEXT_STEP,
    RECOMMENDATION,
    Part,
    synthesis_parts,
    without,
)
from council.store.statefile.quoting import entry_mark, inline, quoted

LAST_WORDS_MAX_CHARS = 240


def outcome_of(state: Conversation) -> str:
    """Return how the conversation ended: the `outcome` of the front matter (C0-079)."""
    if state.closed_reason is None:
        return "open"
    if state.closed_reason is ClosedReason.CANCELLED:
        return "cancelled"
    if is_agreed(state):
        return "consensus"
    unheard = state.closed_reason is ClosedReason.NOBODY_LEFT and not last_contributions(state)
    if unheard or state.closed_reason is ClosedReason.TIMEOUT:
        return str(state.closed_reason)
    if state.blocking_issues:
        return "disagreement"
    return "declared" if state.closed_reason is ClosedReason.CONSENSUS else "no-consensus"


def synthesis_of(state: Conversation) -> Entry | None:
    """Return the synthesis, or the digest that stands in its place."""
    written = [one for one in state.entries if one.kind is EntryKind.SYNTHESIS]
    return written[-1] if written else None


def minute(instant: datetime) -> str:
    """Return an instant as people read it, to the minute."""
    return f"{instant:%Y-%m-%d %H:%M}Z"


def names(state: Conversation, agents: list[str], words: dict[str, str]) -> str:
    """Return the display names of agents, joined."""
    return ", ".join(inline(display_name(state, one)) for one in agents) or words["nobody"]


def round_name(tour: int, phase: str, words: dict[str, str]) -> str:
    """Return how a round is named inside a sentence."""
    return words["round.short"].format(tour=tour, phase=inline(phase))


def origin_word(entry: Entry, words: dict[str, str]) -> str:
    """Return the word that says how sure the author of an entry is (XC-014)."""
    return words[str(entry.origin)]


def title_of(state: Conversation, words: dict[str, str]) -> str:
    """Return what stands before the topic in the title: the real outcome, with its count."""
    outcome = outcome_of(state)
    agreed = len(stances(state).agreed)
    if agreed and outcome in ("no-consensus", "disagreement"):
        return words[f"title.{outcome}.some"].format(
            count=agreed, all=len(state.participants), blockers=len(state.blocking_issues)
        )
    return words[f"title.{outcome}"]


def outcome_line(state: Conversation, words: dict[str, str]) -> str:
    """Return the line below the title that says how it ended."""
    return f"**{words['outcome']}**{words['colon']}{_outcome_sentence(state, words)}"


def summary(state: Conversation, ended_at: datetime, words: dict[str, str]) -> list[str]:
    """Return the blocks of the first minute, in order, without title and outcome."""
    synthesis = synthesis_of(state)
    by_tool = synthesis is None or synthesis.origin is Origin.TOOL
    parts = [] if synthesis is None or by_tool else synthesis_parts(synthesis.text)
    found = _of_kind(parts, DECISION)
    blocks: list[str] = []
    if synthesis is None:
        blocks += [f"## {words['synthesis']}\n{words['no-synthesis']}"]
    elif found:
        blocks += under(f"## {words[DECISION]}", found)
        blocks.append(f"{mark_of(synthesis)}\n{_source(state, synthesis, words)}")
    else:
        blocks += whole_synthesis(state, synthesis, synthesis.text, words)
        parts = []  # it stands whole, and nothing stands twice
    blocks += [f"## {words['dissent']}", *_dissent(state, words)]
    if from_author := _of_kind(parts, DISSENT):
        blocks += [f"{words['dissent.synthesis']}{words['colon'].rstrip()}", *_quotes(from_author)]
    for kind in (RECOMMENDATION, NEXT_STEP):
        if others := _of_kind(parts, kind):
            blocks += under(f"## {words[kind]}", others)
    blocks += absent_sections(state, words)
    if synthesis is not None and found:
        blocks += rest_of_synthesis(state, synthesis, synthesis.text, parts, words)
    return [*blocks, f"## {words['glance']}", "\n".join(_box(state, ended_at, synthesis, words))]


def whole_synthesis(
    state: Conversation, entry: Entry, text: str, words: dict[str, str], title: str = ""
) -> list[str]:
    """Return a synthesis under its own title, its author below it; a digest is only named.

    Args:
        state: The conversation.
        entry: The synthesis.
        text: What of it is shown.
        words: The words of its language.
        title: The title, "" for the usual one.
    """
    if entry.origin is Origin.TOOL:
        # All it says stands here.
        return [f"## {words['digest']}\n{mark_of(entry)}\n{words['digest.note']}"]
    author = inline(display_label(state, entry.agent))
    facts = f"*{author} · {minute(entry.at)} · {origin_word(entry, words)}*"
    shown = f"## {title or words['synthesis']}\n{quoted(text)}"
    return [
        shown if title else f"{mark_of(entry)}\n{shown}",
        facts,
        *quotation_block(state, entry, words),
    ]


def mark_of(entry: Entry) -> str:
    """Return the line that names an entry to programs."""
    return entry_mark(entry.id, entry.tour, entry.digest)


def rest_of_synthesis(
    state: Conversation, entry: Entry, text: str, parts: list[Part], words: dict[str, str]
) -> list[str]:
    """Return what of a synthesis is not shown yet, and what it quotes; none for nothing."""
    if left := without(text, parts):
        return whole_synthesis(state, entry, left, words, words["synthesis.rest"])
    said = quotation_block(state, entry, words)
    return [f"## {words['synthesis']}", *said] if said else []


def _box(
    state: Conversation, ended_at: datetime, synthesis: Entry | None, words: dict[str, str]
) -> list[str]:
    played = [one.phase for one in state.rounds] or [state.phase]
    rows = [("rounds", f"{len(played)} ({inline(', '.join(played))})")]
    return box_lines(
        words,
        [*who_rows(state, words), *rows, *closing_rows(state, ended_at, synthesis, words)],
    )


def box_lines(words: dict[str, str], rows: list[tuple[str, str]]) -> list[str]:
    """Return the rows of the box, each with its label."""
    return [f"- **{words[key]}**{words['colon']}{value}" for key, value in rows]


def who_rows(state: Conversation, words: dict[str, str]) -> list[tuple[str, str]]:
    """Return the rows that say who took part and who did not."""
    wrote = writers(state)
    labels = ", ".join(inline(display_label(state, one)) for one in wrote)
    rows = [("took-part", labels or words["nobody"])]
    missing = [one.agent for one in absences(state) if not one.is_cut_off]
    if missing:
        rows.append(("absent", f"{names(state, missing, words)} ({words['absent.some']})"))
    return rows


def closing_rows(
    state: Conversation, ended_at: datetime, synthesis: Entry | None, words: dict[str, str]
) -> list[tuple[str, str]]:
    """Return the rows that all minutes end their box with."""
    span = words["duration.span"].format(
        took=render_duration(ended_at - state.created_at),
        start=minute(state.created_at),
        end=minute(ended_at),
    )
    rows = [("duration", span), ("synthesis-by", synthesis_author(state, synthesis, words))]
    if authorship := authorship_row(state, words):
        rows.append(("authorship", authorship))
    return rows


def _outcome_sentence(state: Conversation, words: dict[str, str]) -> str:
    discussed = [one for one in state.rounds if one.phase != SYNTHESIZE]
    ended = f"end.{discussed[-1].reason}" if discussed else ""
    agreed = stances(state).agreed
    return words[f"outcome.{outcome_of(state)}"].format(
        agreed=names(state, agreed or list(state.participants), words),
        count=len(agreed),
        all=len(state.participants),
        blockers=len(state.blocking_issues),
        end=words.get(ended) or words["end.played"],
    )


def synthesis_author(state: Conversation, synthesis: Entry | None, words: dict[str, str]) -> str:
    """Return who wrote the synthesis, as the box of the first minute says it."""
    if synthesis is None:
        return words["synthesis.none"]
    if synthesis.origin is Origin.TOOL:
        return words["synthesis.digest"]
    author = inline(display_label(state, synthesis.agent))
    return f"{author} ({origin_word(synthesis, words)})"


def authorship_row(state: Conversation, words: dict[str, str]) -> str:
    """Return how many texts are verified, "" when there are none (XC-014)."""
    texts = [
        one
        for one in state.entries
        if one.kind is not EntryKind.INJECTION and one.origin is not Origin.TOOL
    ]
    verified = sum(1 for one in texts if one.origin is Origin.VERIFIED)
    if not texts:
        return ""
    key = "authorship.all" if verified == len(texts) else "authorship.short"
    return words[key].format(verified=verified, all=len(texts))


def _source(state: Conversation, synthesis: Entry, words: dict[str, str]) -> str:
    known = {"consensus": "agreed-note", "declared": "declared-note"}
    key = known.get(outcome_of(state), "not-agreed-note")
    return f"*{words[key].format(author=inline(display_name(state, synthesis.agent)))}*"


def _of_kind(parts: list[Part], kind: str) -> list[Part]:
    return [part for part in parts if part.kind == kind]


def under(title: str, parts: list[Part]) -> list[str]:
    """Quote parts right below their title."""
    first, *others = _quotes(parts)
    return [f"{title}\n{first}", *others]


def _quotes(parts: list[Part]) -> list[str]:
    """Quote parts of one kind; from the second on each keeps its own heading."""
    blocks = []
    for at, part in enumerate(parts):
        if at:
            blocks.append(f"*{inline(part.heading)}*")
        blocks.append(quoted(part.text))
    return blocks


def _dissent(state: Conversation, words: dict[str, str]) -> list[str]:
    blockers = open_blockers(state)
    stood = stances(state)
    lines = [_blocker_line(state, blocker, words) for blocker in blockers]
    if stood.agreed:
        last = last_contributions(state)
        lines += [_dissenter_line(state, last[agent], words) for agent in stood.not_agreed]
    if lines:
        return ["\n".join(lines)]
    if stood.agreed:
        return [words["dissent.none"].format(agreed=names(state, stood.agreed, words))]
    return [words["dissent.unknown" if stood.not_agreed else "dissent.nothing"]]


def _blocker_line(state: Conversation, blocker: Blocker, words: dict[str, str]) -> str:
    line = f"- BLOCKING{words['colon']}{inline(blocker.text)}"
    who = dict.fromkeys(
        f"{inline(display_name(state, one.agent))}, {round_name(one.tour, one.phase, words)}"
        for one in blocker.raised_in
    )
    raised = words["blocker.raised"].format(who="; ".join(who))
    return f"{line} ({raised})" if who else line


def _dissenter_line(state: Conversation, last: Entry, words: dict[str, str]) -> str:
    said = inline(excerpt(first_paragraph(last.text), LAST_WORDS_MAX_CHARS))
    sentence = words["dissent.not-agreed"].format(
        who=inline(display_name(state, last.agent)), round=round_name(last.tour, last.phase, words)
    )
    return f"- {sentence}{words['colon']}{words['open-quote']}{said}{words['close-quote']}"


def absent_sections(state: Conversation, words: dict[str, str]) -> list[str]:
    """Return the absentees, each as the exact line that others look for (C0-073).

    Whoever missed only what a person ended is told apart: it had no time to answer.
    """
    blocks: list[str] = []
    everybody = absences(state)
    for key, found in (
        ("absent", [one for one in everybody if not one.is_cut_off]),
        ("cut-off", [one for one in everybody if one.is_cut_off]),
    ):
        if found:
            lines = [line for one in found for line in _absent_lines(state, one, words)]
            blocks += [f"## {words[key]}", "\n".join(lines)]
    return blocks


def _absent_lines(state: Conversation, one: Absence, words: dict[str, str]) -> list[str]:
    lines = [f"- {inline(display_name(state, one.agent))}: NO RESPONSE ({one.cause})"]
    for tour, phase, reason in one.missed:
        line = f"  - {round_name(tour, phase, words)}"
        told = words.get(f"reason.{reason}", inline(reason))
        kept = told if reason and reason != one.cause else ""
        lines.append(f"{line}{words['colon']}{kept}" if kept else line)
    return lines
