"""The first minute of the minutes of a deliberation: verdict, dissent, what it hangs on.

All of it follows by rule from the votes; the words of the synthesis stand
beside it as what they are. A long text is cut here and stands whole below.
What is odd stands in lines of its own: none of it changes a verdict, all of it
says how far to trust one.

Source: DL-027, DL-084, DL-085, DL-097, DL-098, DL-101 to DL-104, C0-063, C0-073,
HR-018 to HR-020, `peers.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from council.core.conversations.account import writers
from council.core.conversations.conversation import ClosedReason, Conversation, EntryKind, Origin
from council.core.conversations.handles import named
from council.core.conversations.procedures import VOTE
from council.core.conversations.quotations import MISSING, Checker
from council.core.deliberation.consensus import (
    ABSENT,
    AGREE,
    DISAGREE,
    PARTIAL,
    SOFT,
    Variant,
    Verdict,
)
from council.core.deliberation.deliberation import rules_of
from council.core.deliberation.flips import STANCE
from council.core.deliberation.judgement import (
    Judgement,
    Objection,
    below_floor,
    dissent,
    doubts,
    unreadable,
)
from council.core.deliberation.played import Group
from council.core.deliberation.questions import guidance
from council.core.plain_text import excerpt
from council.operations.reporting.minute_summary import (
    RECOMMENDATION,
    absent_sections,
    box,
    closing_rows,
    rest_of_synthesis,
    synthesis_parts,
    under,
    who_rows,
    whole_synthesis,
)
from council.operations.reporting.minute_transcript import Page, mark_of
from council.store.statefile.quoting import inline, quoted

MARKS = {AGREE: "✓", PARTIAL: "~", DISAGREE: "✗", ABSENT: "–"}
PART_MAX_CHARS = 600
POSITION_MAX_CHARS = 300
COMMENT_MAX_CHARS = 200
_GROUP_MAX_CHARS = 60
_PASSAGE_MAX_CHARS = 80
_MAX_GROUPS = 4
_MAX_VARIANTS = 5
_MAX_WARNINGS_OF_A_KIND = 3
_UNDECIDED = ("cancelled", "open")


def outcome_of_deliberation(state: Conversation, judged: Judgement) -> str:
    """Return how a deliberation ended: the `outcome` of the front matter (C0-079)."""
    if state.closed_reason in (None, ClosedReason.CANCELLED):
        return str(state.closed_reason or "open")
    if judged.verdict.reached:
        return "consensus"
    heard = any(one.turns for one in judged.history)
    unheard = state.closed_reason in (ClosedReason.TIMEOUT, ClosedReason.NOBODY_LEFT) and not heard
    return str(state.closed_reason) if unheard else "no-consensus"


def title_words(page: Page, judged: Judgement) -> str:
    """Return what stands before the topic in the title: the real outcome."""
    outcome, verdict = outcome_of_deliberation(page.state, judged), judged.verdict
    kind = verdict.type if outcome in ("consensus", "no-consensus") else outcome
    return page.say(f"title.{kind}", agree=verdict.agree, all=len(judged.agents))


def opening_line(page: Page, judged: Judgement) -> str:
    """Return the line below the title that says what stands."""
    said = verdict_line(page, judged.verdict)
    outcome = outcome_of_deliberation(page.state, judged)
    if outcome in _UNDECIDED:
        said = page.say("verdict.open" if outcome == "open" else "outcome.cancelled", so_far=said)
    return f"**{page.words['verdict']}**{page.words['colon']}{said}"


def verdict_summary(page: Page, judged: Judgement, ended_at: datetime) -> list[str]:
    """Return the blocks of the first minute, in order, without title and verdict."""
    state, words, synthesis = page.state, page.words, page.synthesis
    odd = _warnings(page, judged)
    blocks: list[str] = []
    if outcome_of_deliberation(state, judged) in _UNDECIDED:
        blocks += _disagreement(page, judged, "so-far")
    elif judged.verdict.reached:
        blocks += [*_decision(page, judged), f"## {words['dissent']}", _dissent(page, judged)]
    elif judged.last:
        blocks += _disagreement(page, judged, "disagreement")
    # Names stand in the place of pseudonyms: the text as it was written lies beside the minutes.
    text = named(state, synthesis.agent, synthesis.text) if synthesis is not None else ""
    is_written = synthesis is not None and synthesis.origin is not Origin.TOOL
    parts = [one for one in synthesis_parts(text) if is_written and one.kind == RECOMMENDATION]
    if parts and synthesis is not None:
        blocks += under(f"## {words['recommendation']}", parts)
        source = page.say("agreed-note", author=page.name(synthesis.agent))
        blocks.append(f"{mark_of(synthesis)}\n*{source}*")
    elif not is_written:
        key = "none" if judged.last else "unheard"
        blocks.append(f"## {words['recommendation']}\n{words[f'recommendation.{key}']}")
    if odd:
        blocks += [f"## {words['warnings']}", "\n".join(f"- ⚠ {line}" for line in odd)]
    blocks += absent_sections(page)
    if synthesis is not None and parts:
        blocks += rest_of_synthesis(page, synthesis, text, parts)
    elif synthesis is not None:
        blocks += whole_synthesis(page, synthesis, text)
    rows = _judgement_rows(page, judged)
    if odd:
        rows.append(("warnings", page.say("warnings.count", count=len(odd))))
    rows += [*who_rows(page), ("rounds", _rounds(page)), *closing_rows(page, ended_at)]
    return [*blocks, *box(page, rows)]


def _judgement_rows(page: Page, judged: Judgement) -> list[tuple[str, str]]:
    """Return the rows of the box that say how sure the verdict is."""
    rows = []
    if doubtful := doubt_lines(page, judged):
        rows.append(("doubts", page.words["semicolon"].join(doubtful)))
    if judged.last:
        rows.append(("tally", tally(page, judged.verdict, len(judged.agents))))
        if outcome_of_deliberation(page.state, judged) not in _UNDECIDED:
            rows += [("weighted", _weighted(page, judged)), ("hangs-on", _hangs_on(page, judged))]
    if judged.blind is not None:
        rows.append(("blind", _positions(page, judged.blind, judged.blind_diversity)))
        rows.append(("final", _positions(page, judged.final, judged.diversity)))
    return rows


def verdict_line(page: Page, verdict: Verdict) -> str:
    """Return the kind of a verdict and on whose position; nothing is judged of one alone."""
    key, who = f"verdict.{verdict.type}", verdict.reference
    wrote = writers(page.state)
    heard = [agent for agent in verdict.towards if agent not in verdict.silent or agent in wrote]
    if not heard:
        key = "verdict.unheard" if page.state.finished_at else "verdict.unheard-yet"
    elif len(heard) < 2:
        key, who = "verdict.alone", heard[0]
    elif not verdict.agree:
        key = "verdict.unread"
    return page.say(key, who=page.name(who) if who else "")


def doubt_lines(page: Page, judged: Judgement) -> list[str]:
    """Return what makes the verdict doubtful, one clause each (HR-019)."""
    told, reference = [], page.name(judged.verdict.reference)
    for one in doubts(judged):
        said, who = page.in_marks(one.position, _GROUP_MAX_CHARS), page.names(one.agents)
        told.append(page.say(f"doubt.{one.kind}", who=who, reference=reference, position=said))
    return told


def tally(page: Page, verdict: Verdict, counted: int) -> str:
    """Return how many stand how to the reference, and who; contested and absent ones apart."""
    stands = {agent: _stands(verdict, agent) for agent in verdict.towards}
    apart = verdict.as_json("contested silent unreadable")
    counts = []
    for stance in (AGREE, PARTIAL, "contested", DISAGREE, "silent", "unreadable", "unstated"):
        who = apart.get(stance) or [agent for agent, how in stands.items() if how == stance]
        if who or stance in (AGREE, DISAGREE):
            named_ones = page.names(who) if who else ""
            told = page.say(f"tally.{stance}", count=len(who), who=named_ones)
            counts.append(told.removesuffix(" ()"))
    needed = page.say("tally.needed", threshold=verdict.threshold, all=counted)
    return f"{', '.join(counts)}{page.words['semicolon']}{needed}"


def _stands(verdict: Verdict, agent: str) -> str:
    """Return how an agent stands to the reference; for an absent one, why it is absent."""
    stance = verdict.towards.get(agent, ABSENT)
    if stance != ABSENT:
        return stance
    if agent in verdict.silent:
        return "silent"
    return "unreadable" if agent in verdict.unreadable else "unstated"


def _weighted(page: Page, judged: Judgement) -> str:
    points = judged.weighted
    whole, share = sum(points.__dict__.values()), round(100 * points.share)
    key = "said" if whole else "none"
    return page.say(f"weighted.{key}", agree=points.agree, all=whole, share=share)


def _hangs_on(page: Page, judged: Judgement) -> str:
    """Say what would have changed the verdict: `without Nova: none` (DL-104)."""
    words = page.words
    if not judged.verdict.agree:
        return words["hangs-on.unheard"]
    shown = [_variant(page, one) for one in judged.hangs_on[:_MAX_VARIANTS]]
    if not any(len(one.without) == 1 for one in judged.hangs_on):
        shown.insert(0, words["hangs-on.two" if len(judged.agents) < 3 else "hangs-on.nothing"])
    if len(judged.hangs_on) > _MAX_VARIANTS:
        shown.append(page.say("hangs-on.more", count=len(judged.hangs_on) - _MAX_VARIANTS))
    return words["semicolon"].join(shown)


def _variant(page: Page, one: Variant) -> str:
    who = f" {page.words['hangs-on.and']} ".join(map(page.name, one.without))
    key = "without" if who else "threshold" if one.threshold else "flips"
    change = page.say(f"hangs-on.{key}", who=who, threshold=one.threshold)
    return f"{change}{page.words['colon']}{page.words[f'type.{one.verdict.type}']}"


def _positions(page: Page, groups: list[Group], distance: float) -> str:
    if not groups:
        return page.words["positions.none"]
    if len(groups) == 1:
        return page.say("positions.one", who=page.names(groups[0].agents))
    apart = page.say("positions.distance", distance=f"{distance:.2f}")
    if len(groups[0].agents) == 1:
        return page.say("positions.apart", count=len(groups), distance=apart)
    told = []
    for one in groups[:_MAX_GROUPS]:
        said, who = page.in_marks(one.position, _GROUP_MAX_CHARS), page.names(one.agents)
        told.append(page.say("positions.group", count=len(one.agents), position=said, who=who))
    more = ["…"] if len(groups) > _MAX_GROUPS else []
    return page.words["semicolon"].join([*told, *more, apart])


def _rounds(page: Page) -> str:
    state = page.state
    talks = [one for one in state.rounds if one.phase == state.phases[0]]
    voted = any(one.phase == VOTE for one in state.rounds)
    key, most = "rounds.said" if voted else "rounds.no-vote", rules_of(state).max_rounds
    told = [page.say(key, count=len(talks), most=most)]
    reason = talks[-1].reason if talks else ""
    if reason == "consensus" and talks[-1].verdict.get("type") == SOFT:
        reason = SOFT
    if why := page.words.get(f"why.{reason}"):
        told.append(page.say("rounds.because", reason=why))
    return page.words["semicolon"].join(told)


def _decision(page: Page, judged: Judgement) -> list[str]:
    who = judged.verdict.reference
    said = judged.last.get(who)
    if said is None:
        return []
    source = page.say("decision.source", who=page.name(who), place=_place(page, judged, who))
    decided = f"## {page.words['decision']}\n{quoted(excerpt(said.position, PART_MAX_CHARS))}"
    return [decided, f"*{source}*"]


def _place(page: Page, judged: Judgement, agent: str) -> str:
    """Say where a final position was stated and how sure its author is."""
    said = judged.last[agent]
    key = "confidence" if said.confidence else "no-confidence"
    sure = page.say(key, confidence=said.confidence)
    return page.say("in-vote" if said.vote else "in-round", tour=said.tour, sure=sure)


def _dissent(page: Page, judged: Judgement) -> str:
    found = dissent(page.state, judged)
    if found:
        return "\n".join(_position(page, judged, one.agent, one) for one in found)
    key = "dissent.strong" if judged.verdict.type == "strong" else "dissent.none"
    return page.say(key, who=page.name(judged.verdict.reference))


def _disagreement(page: Page, judged: Judgement, key: str) -> list[str]:
    """Return every final position, that with most support first."""
    verdict = judged.verdict
    objections = {one.agent: one for one in dissent(page.state, judged)}
    agents = dict.fromkeys([verdict.reference, *judged.last, *objections])
    lines = [_position(page, judged, agent, objections.get(agent)) for agent in agents]
    source = page.say(f"{key}.source", threshold=verdict.threshold, all=len(judged.agents))
    return ["\n".join([f"## {page.words[key]}", *lines]), f"*{source}*"]


def _position(page: Page, judged: Judgement, agent: str, one: Objection | None) -> str:
    """Return the final position of an agent in its own words; `one` is its objection, if any."""
    reference, facts = judged.verdict.reference, []
    mark = MARKS[AGREE if one is None else PARTIAL if one.beside else one.stance]
    line = f"- {mark} **{page.name(agent)}**"
    if one is not None:
        line += f" {_stance(page, judged, one)}"
        facts += [] if one.counts else [page.words["advocate"]]
    elif agent != reference and agent in judged.agents:
        line += f" {page.say('stance.agree', who=page.name(reference))}"
    if agent in judged.last:
        facts.append(_place(page, judged, agent))
    line += f" ({page.words['semicolon'].join(facts)})" if facts else ""
    if agent in judged.last:
        said = page.in_marks(judged.last[agent].position, POSITION_MAX_CHARS)
        line += f"{page.words['colon']}{said}"
    if one is not None and one.comment:
        line += f" — {inline(excerpt(one.comment, COMMENT_MAX_CHARS))}"
    return line


def _stance(page: Page, judged: Judgement, one: Objection) -> str:
    reference = judged.verdict.reference
    stance = one.stance
    if one.agent in judged.verdict.contested:
        stance = "contested"
    elif stance == ABSENT and one.counts:
        stance = _stands(judged.verdict, one.agent).replace("silent", ABSENT)
    said = page.say(f"stance.{stance}", who=page.name(reference))
    if not one.beside:
        return said
    others = [page.say(f"stance.{how}", who=page.name(who)) for who, how in one.beside.items()]
    holds = page.words["holds"] if one.agent == reference else said
    return page.say("beside", said=holds, others=", ".join(others))


def _warnings(page: Page, judged: Judgement) -> list[str]:
    """Return one line for each thing that is odd, the gravest first."""
    state, words = page.state, page.words
    lines = [page.say("warning.collapse", tour=tour) for tour in judged.collapses]
    changed = [one for one in judged.suspect if one.kind == STANCE]
    for one in changed[:_MAX_WARNINGS_OF_A_KIND]:
        told = {"who": page.name(one.agent), "towards": page.name(one.towards), "tour": one.tour}
        before, after = words[f"word.{one.before}"], words[f"word.{one.after}"]
        lines.append(page.say("warning.stance", **told, before=before, after=after))
    if len(changed) > _MAX_WARNINGS_OF_A_KIND:
        lines.append(page.say("warning.more", count=len(changed) - _MAX_WARNINGS_OF_A_KIND))
    moved = [(one.agent, one.tour) for one in judged.suspect if one.kind != STANCE]
    if moved:
        lines.append(page.say("warning.position", who=page.in_rounds(moved)))
    if judged.model:
        lines.append(page.say("warning.model", model=inline(judged.model)))
    lines += _invented(page)
    phases = {one.tour: one.phase for one in state.rounds}
    for tour, agent in unreadable(judged):
        where = page.round(tour, phases[tour])
        lines.append(page.say("warning.unreadable", who=page.name(agent), round=where))
    floor = rules_of(state).confidence_floor
    for agent in below_floor(state, judged):
        lines.append(page.say("warning.floor", who=page.name(agent), floor=floor))
    authors = {one.id: one.agent for one in state.entries}
    for given in guidance(state):
        if given.target and not given.answered:
            author = page.name(authors[given.entry])
            lines.append(page.say("warning.guidance", who=page.name(given.target), author=author))
    return lines


def _invented(page: Page) -> Iterator[str]:
    """Yield the quotations of peers that are found nowhere in what those peers said."""
    for entry in page.state.entries:
        is_turn = entry.kind in (EntryKind.CONTRIBUTION, EntryKind.SYNTHESIS)
        if not is_turn or entry.origin is Origin.TOOL:
            continue
        missing = [one for one in Checker(page.state).in_entry(entry) if one.found == MISSING]
        who, where = page.name(entry.agent), page.round(entry.tour, entry.phase)
        for one in missing[:_MAX_WARNINGS_OF_A_KIND]:
            passage = page.in_marks(one.text, _PASSAGE_MAX_CHARS)
            yield page.say("warning.quotation", who=who, round=where, passage=passage)
