"""The first minute of the minutes of a deliberation: verdict, dissent, what it hangs on.

All of it follows by rule from the votes; the words of the synthesis stand
beside it as what they are. A long text is cut here and stands whole below.

Source: DL-027, DL-084, DL-097, DL-098, DL-101, DL-102, DL-104, C0-063, C0-073.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.account import display_label, display_name
from council.core.conversations.conversation import ClosedReason, Conversation, Origin
from council.core.conversations.handles import handles, named
from council.core.conversations.procedures import VOTE
from council.core.deliberation.consensus import ABSENT, AGREE, DISAGREE, PARTIAL, SOFT
from council.core.deliberation.deliberation import rules_of
from council.core.deliberation.judgement import Judgement, Objection, dissent
from council.core.excerpts import excerpt
from council.core.reading_answers.syntheses import parse_synthesis
from council.core.times import render_duration
from council.store.minutes.minute_summary import (
    absent_lines,
    absent_row,
    authorship_row,
    minute,
    names,
    synthesis_author,
    synthesis_of,
)
from council.store.minutes.minute_warnings import warnings
from council.store.statefile.quoting import inline, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.deliberation.counterfactual import Variant
    from council.core.deliberation.measures import Group

MARKS = {AGREE: "✓", PARTIAL: "~", DISAGREE: "✗", ABSENT: "–"}
PART_MAX_CHARS = 600
POSITION_MAX_CHARS = 300
COMMENT_MAX_CHARS = 200
_GROUP_MAX_CHARS = 60
_MAX_GROUPS = 4
_MAX_VARIANTS = 5
_UNDECIDED = ("cancelled", "open")


def outcome_of_deliberation(state: Conversation, judged: Judgement) -> str:
    """Return how a deliberation ended: the `outcome` of the front matter (C0-079)."""
    if state.closed_reason is None:
        return "open"
    if state.closed_reason is ClosedReason.CANCELLED:
        return "cancelled"
    if judged.verdict.reached:
        return "consensus"
    heard = any(one.turns for one in judged.history)
    return (
        "timeout" if state.closed_reason is ClosedReason.TIMEOUT and not heard else "no-consensus"
    )


def title_words(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    """Return what stands before the topic in the title: the real outcome."""
    outcome = outcome_of_deliberation(state, judged)
    if outcome in ("consensus", "no-consensus"):
        verdict = judged.verdict
        return words[f"title.{verdict.type}"].format(agree=verdict.agree, all=len(judged.agents))
    return words[f"title.{outcome}"]


def verdict_summary(
    state: Conversation, judged: Judgement, ended_at: datetime, words: dict[str, str]
) -> list[str]:
    """Return the blocks of the first minute, in order, without the title."""
    odd = warnings(state, judged, words)
    blocks = ["\n".join(_box(state, judged, ended_at, len(odd), words))]
    synthesis = synthesis_of(state)
    written = synthesis if synthesis is not None and synthesis.origin is not Origin.TOOL else None
    said = parse_synthesis(written.text, handles(state, written.agent)) if written else None

    def from_synthesis(text: str) -> list[str]:
        if written is None or not text:
            return []
        author = inline(display_name(state, written.agent))
        told = excerpt(named(state, written.agent, text), PART_MAX_CHARS)
        return [f"*{words['from-synthesis'].format(author=author)}*\n{quoted(told)}"]

    if outcome_of_deliberation(state, judged) in _UNDECIDED:
        blocks += [f"## {words['so-far']}", *_disagreement(state, judged, words)]
    elif judged.verdict.reached:
        blocks += [f"## {words['decision']}", *_decision(state, judged, words)]
        blocks += from_synthesis(said.consensus if said else "")
        blocks += [f"## {words['dissent']}", *_dissent(state, judged, words)]
    elif judged.last:
        blocks += [f"## {words['disagreement']}", *_disagreement(state, judged, words)]
    blocks += from_synthesis(said.disagreement if said else "")
    blocks.append(f"## {words['recommendation']}")
    if said is None:
        blocks.append(words[f"recommendation.{'none' if judged.last else 'unheard'}"])
    else:
        blocks += from_synthesis(said.recommendation) or [words["recommendation.empty"]]
    if odd:
        blocks += [f"## {words['warnings']}", "\n".join(f"- ⚠ {line}" for line in odd)]
    if absent := absent_lines(state, words):
        blocks += [f"## {words['absent']}", "\n".join(absent)]
    return blocks


def _box(
    state: Conversation,
    judged: Judgement,
    ended_at: datetime,
    odd: int,
    words: dict[str, str],
) -> list[str]:
    """Return the rows of the box: what stands, how sure it is, who took part; `odd` warnings."""
    labels = [inline(display_label(state, one)) for one in state.participants if one in judged.last]
    rows = [("verdict", _verdict(state, judged, words))]
    if judged.last:
        rows.append(("tally", _tally(state, judged, words)))
    if judged.last and outcome_of_deliberation(state, judged) not in _UNDECIDED:
        rows.append(("weighted", _weighted(judged, words)))
        rows.append(("hangs-on", _hangs_on(state, judged, words)))
    if judged.blind is not None:
        rows.append(("blind", _positions(state, judged.blind, judged.blind_diversity, words)))
        rows.append(("final", _positions(state, judged.final, judged.diversity, words)))
    if odd:
        rows.append(("warnings", words["warnings.count"].format(count=odd)))
    rows.append(("took-part", ", ".join(labels) or words["nobody"]))
    if missing := absent_row(state, words):
        rows.append(("absent", missing))
    rows.append(("rounds", _rounds(state, words)))
    span = words["duration.span"].format(
        took=render_duration(ended_at - state.created_at),
        start=minute(state.created_at),
        end=minute(ended_at),
    )
    rows.append(("duration", span))
    rows.append(("synthesis-by", synthesis_author(state, synthesis_of(state), words)))
    if authorship := authorship_row(state, words):
        rows.append(("authorship", authorship))
    return [f"- **{words[key]}**{words['colon']}{value}" for key, value in rows]


def _verdict(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    verdict = judged.verdict
    key = f"verdict.{verdict.type}" if judged.last else "verdict.unheard"
    so_far = words[key].format(who=inline(display_name(state, verdict.reference)))
    outcome = outcome_of_deliberation(state, judged)
    if outcome in _UNDECIDED:
        return words[f"verdict.{outcome}"].format(so_far=so_far)
    return so_far


def _tally(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    verdict = judged.verdict
    counts = []
    for stance in MARKS:
        who = [agent for agent, towards in verdict.towards.items() if towards == stance]
        if who or stance not in (ABSENT, PARTIAL):
            told = words[f"tally.{stance}"].format(
                count=len(who), who=names(state, who, words) if who else ""
            )
            counts.append(told.removesuffix(" ()"))
    needed = words["tally.needed"].format(threshold=verdict.threshold, all=len(judged.agents))
    return f"{', '.join(counts)}{words['semicolon']}{needed}"


def _weighted(judged: Judgement, words: dict[str, str]) -> str:
    points = judged.weighted
    whole = points.agree + points.partial + points.disagree + points.absent
    if not whole:
        return words["weighted.none"]
    share = round(100 * points.share)
    return words["weighted.said"].format(agree=points.agree, all=whole, share=share)


def _hangs_on(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    """Say what would have changed the verdict: `without Nova: none` (DL-104)."""
    if not judged.verdict.agree:
        return words["hangs-on.unheard"]
    said = [_variant(state, one, words) for one in judged.hangs_on]
    alone = any(len(one.without) == 1 for one in judged.hangs_on)
    first = []
    if not alone:
        first = [words["hangs-on.two" if len(judged.agents) < 3 else "hangs-on.nothing"]]
    shown = [*first, *said[:_MAX_VARIANTS]]
    if len(said) > _MAX_VARIANTS:
        shown.append(words["hangs-on.more"].format(count=len(said) - _MAX_VARIANTS))
    return words["semicolon"].join(shown)


def _variant(state: Conversation, one: Variant, words: dict[str, str]) -> str:
    if one.without:
        who = words["hangs-on.and"].join(
            inline(display_name(state, agent)) for agent in one.without
        )
        change = words["hangs-on.without"].format(who=who)
    elif one.threshold:
        change = words["hangs-on.threshold"].format(threshold=one.threshold)
    else:
        change = words["hangs-on.flips"]
    return f"{change}{words['colon']}{words[f'type.{one.verdict.type}']}"


def _positions(
    state: Conversation, groups: list[Group], distance: float, words: dict[str, str]
) -> str:
    if not groups:
        return words["positions.none"]
    if len(groups) == 1:
        return words["positions.one"].format(who=names(state, [*groups[0].agents], words))
    apart = words["positions.distance"].format(distance=f"{distance:.2f}")
    if len(groups[0].agents) == 1:
        return words["positions.apart"].format(count=len(groups), distance=apart)
    told = [
        words["positions.group"].format(
            count=len(one.agents),
            position=_in_marks(one.position, _GROUP_MAX_CHARS, words),
            who=names(state, [*one.agents], words),
        )
        for one in groups[:_MAX_GROUPS]
    ]
    more = ["…"] if len(groups) > _MAX_GROUPS else []
    return words["semicolon"].join([*told, *more, apart])


def _rounds(state: Conversation, words: dict[str, str]) -> str:
    talks = [one for one in state.rounds if one.phase == state.phases[0]]
    voted = any(one.phase == VOTE for one in state.rounds)
    told = words["rounds.said" if voted else "rounds.no-vote"].format(
        count=len(talks), most=rules_of(state).max_rounds
    )
    reason = talks[-1].reason if talks else ""
    if reason == "consensus" and talks[-1].verdict.get("type") == SOFT:
        reason = SOFT
    why = words.get(f"why.{reason}", "")
    because = words["rounds.because"].format(reason=why)
    return f"{told}{words['semicolon']}{because}" if why else told


def _decision(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    who = judged.verdict.reference
    said = judged.last.get(who)
    if said is None:
        return []
    source = words["decision.source"].format(
        who=inline(display_name(state, who)), place=_place(judged, who, words)
    )
    return [f"*{source}*\n{quoted(excerpt(said.position, PART_MAX_CHARS))}"]


def _place(judged: Judgement, agent: str, words: dict[str, str]) -> str:
    """Say where a final position was stated and how sure its author is."""
    said = judged.last[agent]
    sure = words["confidence" if said.confidence else "no-confidence"]
    return words["in-vote" if said.vote else "in-round"].format(
        tour=said.tour, sure=sure.format(confidence=said.confidence)
    )


def _dissent(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    lines = [_dissenter(state, judged, one, words) for one in dissent(state, judged)]
    if lines:
        return ["\n".join(lines)]
    key = "dissent.strong" if judged.verdict.type == "strong" else "dissent.none"
    who = inline(display_name(state, judged.verdict.reference))
    return [words[key].format(who=who)]


def _disagreement(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    """Return every final position, that with most support first."""
    verdict = judged.verdict
    source = words["disagreement.source"].format(
        threshold=verdict.threshold, all=len(judged.agents)
    )
    objections = {one.agent: one for one in dissent(state, judged)}
    agents = dict.fromkeys([verdict.reference, *judged.last, *objections])
    lines = [
        _dissenter(state, judged, objections[agent], words)
        if agent in objections
        else _supporter(state, judged, agent, words)
        for agent in agents
    ]
    if outcome_of_deliberation(state, judged) in _UNDECIDED:
        source = words["so-far.source"]
    return [f"*{source}*", "\n".join(lines)]


def _supporter(state: Conversation, judged: Judgement, agent: str, words: dict[str, str]) -> str:
    reference = judged.verdict.reference
    who = f"**{inline(display_name(state, agent))}**"
    if agent != reference and agent in judged.agents:
        towards = inline(display_name(state, reference))
        who += f" {words['stance.agree'].format(who=towards)}"
    if agent not in judged.last:
        return f"- {MARKS[AGREE]} {who}"
    said = _in_marks(judged.last[agent].position, POSITION_MAX_CHARS, words)
    return f"- {MARKS[AGREE]} {who} ({_place(judged, agent, words)}){words['colon']}{said}"


def _dissenter(
    state: Conversation, judged: Judgement, one: Objection, words: dict[str, str]
) -> str:
    """Return one objection with the final position of its author, in the author's own words."""
    who = inline(display_name(state, one.agent))
    facts = [] if one.counts else [words["advocate"]]
    if one.agent in judged.last:
        facts.append(_place(judged, one.agent, words))
    mark = MARKS[PARTIAL if one.beside else one.stance]
    line = f"- {mark} **{who}** {_stance(state, judged, one, words)}"
    line += f" ({words['semicolon'].join(facts)})" if facts else ""
    if one.agent in judged.last:
        position = judged.last[one.agent].position
        line += f"{words['colon']}{_in_marks(position, POSITION_MAX_CHARS, words)}"
    if one.comment:
        line += f" — {inline(excerpt(one.comment, COMMENT_MAX_CHARS))}"
    return line


def _stance(state: Conversation, judged: Judgement, one: Objection, words: dict[str, str]) -> str:
    reference = judged.verdict.reference
    said = words[f"stance.{one.stance}"].format(who=inline(display_name(state, reference)))
    if not one.beside:
        return said
    others = [
        words[f"stance.{stance}"].format(who=inline(display_name(state, other)))
        for other, stance in one.beside.items()
    ]
    return words["beside"].format(
        said=words["holds"] if one.agent == reference else said, others=", ".join(others)
    )


def _in_marks(text: str, max_chars: int, words: dict[str, str]) -> str:
    return f"{words['open-quote']}{inline(excerpt(text, max_chars))}{words['close-quote']}"
