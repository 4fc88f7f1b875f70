"""The first minute of the minutes: outcome, decision, dissent, next step, absentees.

It takes the decision from the synthesis alone and the dissent from the
ledger by rule; where neither says anything, it says so. Decision, dissent,
recommendation and next step are found in a synthesis by their usual headings in
both languages, and each part is given as it stands: a text without such headings
has no parts.

Source: C0-063, C0-073, C0-079, C0-080, XC-012, XC-014.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime
from itertools import groupby

from council.core.conversations.account import (
    Absence,
    Blocker,
    absences,
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
from council.core.plain_text import first_paragraph
from council.core.record import Record
from council.core.times import render_duration
from council.operations.reporting.minute_transcript import Page, mark_of, minute
from council.operations.reporting.usage import used_line
from council.store.reason_words import reason_words
from council.store.statefile.quoting import inline, quoted

LAST_WORDS_MAX_CHARS = 240


def outcome_of(state: Conversation) -> str:
    """Return how the conversation ended: the `outcome` of the front matter (C0-079)."""
    if state.closed_reason in (None, ClosedReason.CANCELLED):
        return str(state.closed_reason or "open")
    if is_agreed(state):
        return "consensus"
    unheard = state.closed_reason is ClosedReason.NOBODY_LEFT and not last_contributions(state)
    if unheard or state.closed_reason is ClosedReason.TIMEOUT:
        return str(state.closed_reason)
    if state.blocking_issues:
        return "disagreement"
    return "declared" if state.closed_reason is ClosedReason.CONSENSUS else "no-consensus"


def title_of(page: Page) -> str:
    """Return what stands before the topic in the title: the real outcome, with its count."""
    state, key = page.state, f"title.{outcome_of(page.state)}"
    agreed = len(stances(state).agreed)
    if agreed and f"{key}.some" in page.words:
        key += ".some"
    blockers = len(state.blocking_issues)
    return page.say(key, count=agreed, all=len(state.participants), blockers=blockers)


def outcome_line(page: Page) -> str:
    """Return the line below the title that says how it ended."""
    state = page.state
    discussed = [one for one in state.rounds if one.phase != SYNTHESIZE]
    ended = f"end.{discussed[-1].reason}" if discussed else ""
    agreed = stances(state).agreed
    counts = {"count": len(agreed), "all": len(state.participants)}
    counts["blockers"] = len(state.blocking_issues)
    end = page.words.get(ended) or page.words["end.played"]
    names = page.names(agreed or state.participants)
    said = page.say(f"outcome.{outcome_of(state)}", **counts, agreed=names, end=end)
    return f"**{page.words['outcome']}**{page.words['colon']}{said}"


def summary(page: Page, ended_at: datetime) -> list[str]:
    """Return the blocks of the first minute, in order, without title and outcome."""
    state, words, synthesis = page.state, page.words, page.synthesis
    by_tool = synthesis is None or synthesis.origin is Origin.TOOL
    parts = [] if synthesis is None or by_tool else synthesis_parts(synthesis.text)
    found = _of_kind(parts, DECISION)
    blocks: list[str] = []
    if synthesis is None:
        blocks += [f"## {words['synthesis']}\n{words['no-synthesis']}"]
    elif found:
        known = {"consensus": "agreed-note", "declared": "declared-note"}
        key = known.get(outcome_of(state), "not-agreed-note")
        source = page.say(key, author=page.name(synthesis.agent))
        blocks += [*under(f"## {words[DECISION]}", found), f"{mark_of(synthesis)}\n*{source}*"]
    else:
        blocks += whole_synthesis(page, synthesis, synthesis.text)
        parts = []  # it stands whole, and nothing stands twice
    blocks += [f"## {words['dissent']}", *_dissent(page)]
    if from_author := _of_kind(parts, DISSENT):
        blocks += [page.labelled("dissent.synthesis", "").rstrip(), *_quotes(from_author)]
    for kind in (RECOMMENDATION, NEXT_STEP):
        if others := _of_kind(parts, kind):
            blocks += under(f"## {words[kind]}", others)
    blocks += absent_sections(page)
    if synthesis is not None and found:
        blocks += rest_of_synthesis(page, synthesis, synthesis.text, parts)
    played = [one.phase for one in state.rounds] or [state.phase]
    rounds = [("rounds", f"{len(played)} ({inline(', '.join(played))})")]
    rows = [*who_rows(page), *rounds, *closing_rows(page, ended_at)]
    return [*blocks, *box(page, rows)]


def whole_synthesis(page: Page, entry: Entry, text: str, title: str = "") -> list[str]:
    """Return a synthesis under its own title, its author below it; a digest is only named.

    Args:
        page: What the minutes are of.
        entry: The synthesis.
        text: What of it is shown.
        title: The title, "" for the usual one.
    """
    words = page.words
    if entry.origin is Origin.TOOL:
        # All it says stands here.
        return [f"## {words['digest']}\n{mark_of(entry)}\n{words['digest.note']}"]
    facts = f"*{page.label(entry.agent)} · {minute(entry.at)} · {page.origin(entry)}*"
    shown = f"## {title or words['synthesis']}\n{quoted(text)}"
    return [shown if title else f"{mark_of(entry)}\n{shown}", facts, *page.quotations(entry)]


def rest_of_synthesis(page: Page, entry: Entry, text: str, parts: list[Part]) -> list[str]:
    """Return what of a synthesis is not shown yet, and what it quotes; none for nothing."""
    if left := without(text, parts):
        return whole_synthesis(page, entry, left, page.words["synthesis.rest"])
    said = page.quotations(entry)
    return [f"## {page.words['synthesis']}", *said] if said else []


def box(page: Page, rows: list[tuple[str, str]]) -> list[str]:
    """Return the box that ends the first minute: its title, and the rows with their labels."""
    lines = [f"- **{page.words[key]}**{page.words['colon']}{value}" for key, value in rows]
    return [f"## {page.words['glance']}", "\n".join(lines)]


def who_rows(page: Page) -> list[tuple[str, str]]:
    """Return the rows that say who took part and who did not."""
    labels = ", ".join(map(page.label, writers(page.state)))
    rows = [("took-part", labels or page.words["nobody"])]
    missing = [one.agent for one in absences(page.state) if not one.is_cut_off]
    if missing:
        rows.append(("absent", f"{page.names(missing)} ({page.words['absent.some']})"))
    return rows


def closing_rows(page: Page, ended_at: datetime) -> list[tuple[str, str]]:
    """Return the rows that all minutes end their box with."""
    began, synthesis = page.state.created_at, page.synthesis
    took = render_duration(ended_at - began)
    span = page.say("duration.span", took=took, start=minute(began), end=minute(ended_at))
    author = page.words["synthesis.digest" if synthesis else "nobody"]
    if synthesis is not None and synthesis.origin is not Origin.TOOL:
        author = f"{page.label(synthesis.agent)} ({page.origin(synthesis)})"
    rows = [("duration", span), ("synthesis-by", author)]
    texts = [
        one.origin
        for one in page.state.entries
        if one.kind is not EntryKind.INJECTION and one.origin is not Origin.TOOL
    ]
    if texts:  # how many of them are verified (XC-014)
        verified = texts.count(Origin.VERIFIED)
        key = "authorship.all" if verified == len(texts) else "authorship.short"
        rows.append(("authorship", page.say(key, verified=verified, all=len(texts))))
    if used := used_line(page.state.usage, page.label, page.state.lang):  # CL-002
        rows.append(("used", used))
    return rows


def _of_kind(parts: list[Part], kind: str) -> list[Part]:
    return [part for part in parts if part.kind == kind]


def under(title: str, parts: list[Part]) -> list[str]:
    """Quote parts right below their title."""
    first, *others = _quotes(parts)
    return [f"{title}\n{first}", *others]


def _quotes(parts: list[Part]) -> list[str]:
    """Quote parts of one kind; from the second on each keeps its own heading."""
    first, *others = parts
    more = [block for one in others for block in (f"*{inline(one.heading)}*", quoted(one.text))]
    return [quoted(first.text), *more]


def _dissent(page: Page) -> list[str]:
    stood = stances(page.state)
    lines = [_blocker_line(page, blocker) for blocker in open_blockers(page.state)]
    last = last_contributions(page.state)
    lines += [_dissenter_line(page, last[one]) for one in stood.not_agreed if stood.agreed]
    if lines:
        return ["\n".join(lines)]
    if stood.agreed:
        return [page.say("dissent.none", agreed=page.names(stood.agreed))]
    return [page.words["dissent.unknown" if stood.not_agreed else "dissent.nothing"]]


def _blocker_line(page: Page, blocker: Blocker) -> str:
    line = f"- BLOCKING{page.words['colon']}{inline(blocker.text)}"
    who = dict.fromkeys(
        f"{page.name(one.agent)}, {page.round(one.tour, one.phase)}" for one in blocker.raised_in
    )
    return f"{line} ({page.say('blocker.raised', who='; '.join(who))})" if who else line


def _dissenter_line(page: Page, last: Entry) -> str:
    where, key = page.round(last.tour, last.phase), f"stood.{last.status.lower()}"
    key = key if key in page.words else "dissent.not-agreed"
    sentence = page.say(key, who=page.name(last.agent), round=where)
    said = page.in_marks(first_paragraph(last.text), LAST_WORDS_MAX_CHARS)
    return f"- {sentence}{page.words['colon']}{said}"


def absent_sections(page: Page) -> list[str]:
    """Return the absentees, each as the exact line that others search for (C0-073).

    An agent that missed only what a person ended is shown apart: it had no time to answer.
    """
    blocks: list[str] = []
    for key in ("absent", "cut-off"):
        found = [one for one in absences(page.state) if one.is_cut_off == (key == "cut-off")]
        if found:
            lines = [line for one in found for line in _absent_lines(page, one)]
            blocks += [f"## {page.words[key]}", "\n".join(lines)]
    return blocks


def _absent_lines(page: Page, one: Absence) -> list[str]:
    lines = [f"- {page.name(one.agent)}: NO RESPONSE ({one.cause})"]
    for reason, missed in groupby(one.missed, key=lambda round_: round_[2]):
        where = [page.round(tour, phase) for tour, phase, _ in missed]
        words = inline(reason_words(reason, page.state.lang))
        told = page.words.get(f"reason.{reason.code}", words)
        if told and reason.code != one.cause:  # the same long words once, not in each round
            where = [f"{'; '.join(where)}{page.words['colon']}{told}"]
        lines += [f"  - {words}" for words in where]
    return lines


# --- The parts of a synthesis that minutes show first


DECISION = "decision"
DISSENT = "dissent"
RECOMMENDATION = "recommendation"
NEXT_STEP = "next-step"

# How the headings of each kind begin, in lower-case ASCII.
_TITLES = {
    DECISION: "decision, verdict",
    DISSENT: "dissent, disagreement, objection, minority, blocker, desaccord, divergence, "
    "points bloquants, opinion minoritaire",
    RECOMMENDATION: "recommend, recommand",
    NEXT_STEP: "next step, next action, prochaine etape, prochaines etapes, suites",
}
_ARTICLES = ("the ", "our ", "la ", "le ", "les ", "notre ")
_LABEL_LEVEL = 7
_LABEL_MAX_WORDS = 2
_TITLE_MAX_CHARS = 80


class Part(Record):
    """One part: what it is, its heading as the author wrote it, and its text as it stands.

    `start` is the line of its heading, from 0, and `end` the first line behind it; `level` is that
    of the heading. The text of a heading alone is what follows it on its line.
    """

    kind: str
    heading: str
    text: str
    start: int = 0
    end: int = 0
    level: int = 0


def synthesis_parts(text: str) -> list[Part]:
    """Return the recognised parts in the order of the text.

    A part ends with the next heading of its level, or with a part of another
    kind; a part inside one of its own kind is none.

    A heading is `# Decision`, a line of its own `**Decision**`, or a label
    `Decision:` with text after it.
    """
    lines = text.splitlines(keepends=True)
    headings = _headings(lines)
    parts: list[Part] = []
    covered: dict[str, int] = {}
    for at, one in enumerate(headings):
        kind = one.kind
        if not kind or one.start < covered.get(kind, 0):
            continue
        ends = (
            other.start
            for other in headings[at + 1 :]
            if other.level <= one.level or other.kind not in ("", kind)
        )
        end = covered[kind] = next(ends, len(lines))
        body = (one.text + "".join(lines[one.start + 1 : end])).strip("\r\n")
        if body.strip():
            parts.append(one.copy(text=body, end=end))
    return parts


def without(text: str, parts: list[Part]) -> str:
    """Return what is left of a synthesis beside some of its parts, "" for headings alone."""
    lines = text.splitlines(keepends=True)
    taken = {line for part in parts for line in range(part.start, part.end)}
    left = [(at, line) for at, line in enumerate(lines) if at not in taken]
    headings = {one.start for one in _headings(lines) if one.level < _LABEL_LEVEL}
    if not any(line.strip() and at not in headings for at, line in left):
        return ""
    return "".join(line for _, line in left).strip("\r\n")


def _headings(lines: list[str]) -> list[Part]:
    """Return the headings and labels outside of fences."""
    found: list[Part] = []
    fence = ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[:3]
        elif heading := _heading(line, number):
            found.append(heading)
    return found


def _heading(line: str, number: int) -> Part | None:
    bare = line.strip()
    level = len(bare) - len(bare.lstrip("#"))
    rest = ""
    if 1 <= level <= 6 and bare[level : level + 1].isspace():
        title = bare[level:].strip().rstrip("#").strip()
    elif bare.startswith("**") and (end := bare.find("**", 2)) > 2:
        title, after, level = bare[2:end], bare[end + 2 :].lstrip(), _LABEL_LEVEL
        if bare[end + 2 :] and not title.rstrip().endswith(":") and not after.startswith(":"):
            return None
        rest = line.lstrip()[end + 2 :].lstrip(" \t\u00a0:")
    else:
        title, colon, rest = line.partition(":")
        level, rest = _LABEL_LEVEL, rest.lstrip(" \t")
        is_label = title[:1].isalpha() and len(title.split(None, 3)) <= _LABEL_MAX_WORDS
        if not (colon and is_label and _kind(title)):
            return None
    return Part(kind=_kind(title), heading=title, text=rest, start=number, level=level)


def _kind(title: str) -> str:
    """Return which kind a title names: by its words, without numbering, emphasis and articles."""
    if len(title) > _TITLE_MAX_CHARS:
        return ""
    folded = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = " ".join("".join(sign if sign.isalpha() else " " for sign in folded).split())
    for article in _ARTICLES:
        words = words.removeprefix(article)
    kinds = (kind for kind, starts in _TITLES.items() if words.startswith((*starts.split(", "),)))
    return next(kinds, "")
