"""The first minute of the minutes of a deliberation: verdict, dissent, what it hangs on.

All of it follows by rule from the votes; the words of the synthesis stand
beside it as what they are. A long text is cut here and stands whole below.

Source: DL-027, DL-084, DL-097, DL-098, DL-101, DL-102, DL-104, C0-063, C0-073,
HR-018 to HR-020.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.account import display_name, writers
from council.core.conversations.conversation import ClosedReason, Conversation, Origin
from council.core.conversations.handles import named
from council.core.conversations.procedures import VOTE
from council.core.deliberation.consensus import ABSENT, AGREE, DISAGREE, PARTIAL, SOFT
from council.core.deliberation.deliberation import rules_of
from council.core.deliberation.judgement import Judgement, Objection, dissent, doubts
from council.core.excerpts import excerpt
from council.store.minutes.minute_summary import (
    absent_sections,
    box_lines,
    closing_rows,
    mark_of,
    names,
    rest_of_synthesis,
    synthesis_of,
    under,
    who_rows,
    whole_synthesis,
)
from council.store.minutes.minute_warnings import warnings
from council.store.minutes.synthesis_parts import RECOMMENDATION, synthesis_parts
from council.store.statefile.quoting import inline, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.deliberation.consensus import Verdict
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
    unheard = state.closed_reason in (ClosedReason.TIMEOUT, ClosedReason.NOBODY_LEFT) and not heard
    return str(state.closed_reason) if unheard else "no-consensus"


def title_words(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    """Return what stands before the topic in the title: the real outcome."""
    outcome = outcome_of_deliberation(state, judged)
    if outcome in ("consensus", "no-consensus"):
        verdict = judged.verdict
        return words[f"title.{verdict.type}"].format(agree=verdict.agree, all=len(judged.agents))
    return words[f"title.{outcome}"]


def opening_line(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    """Return the line below the title that says what stands."""
    return f"**{words['verdict']}**{words['colon']}{_verdict(state, judged, words)}"


def verdict_summary(
    state: Conversation, judged: Judgement, ended_at: datetime, words: dict[str, str]
) -> list[str]:
    """Return the blocks of the first minute, in order, without title and verdict."""
    odd = warnings(state, judged, words)
    synthesis = synthesis_of(state)
    blocks: list[str] = []
    if outcome_of_deliberation(state, judged) in _UNDECIDED:
        blocks += _disagreement(state, judged, words, words["so-far"])
    elif judged.verdict.reached:
        blocks += _decision(state, judged, words)
        blocks += [f"## {words['dissent']}", *_dissent(state, judged, words)]
    elif judged.last:
        blocks += _disagreement(state, judged, words, words["disagreement"])
    # Names stand in the place of pseudonyms: the text as it was written lies beside the minutes.
    text = named(state, synthesis.agent, synthesis.text) if synthesis is not None else ""
    parts = []
    if synthesis is not None and synthesis.origin is not Origin.TOOL:
        parts = [one for one in synthesis_parts(text) if one.kind == RECOMMENDATION]
    if parts and synthesis is not None:
        blocks += under(f"## {words['recommendation']}", parts)
        source = words["agreed-note"].format(author=inline(display_name(state, synthesis.agent)))
        blocks.append(f"{mark_of(synthesis)}\n*{source}*")
    elif synthesis is None or synthesis.origin is Origin.TOOL:
        key = "none" if judged.last else "unheard"
        blocks.append(f"## {words['recommendation']}\n{words[f'recommendation.{key}']}")
    if odd:
        blocks += [f"## {words['warnings']}", "\n".join(f"- ⚠ {line}" for line in odd)]
    blocks += absent_sections(state, words)
    if synthesis is not None and parts:
        blocks += rest_of_synthesis(state, synthesis, text, parts, words)
    elif synthesis is not None:
        blocks += whole_synthesis(state, synthesis, text, words)
    box = _box(state, judged, ended_at, len(odd), words)
    return [*blocks, f"## {words['glance']}", "\n".join(box)]


def _box(
    state: Conversation,
    judged: Judgement,
    ended_at: datetime,
    odd: int,
    words: dict[str, str],
) -> list[str]:
    """Return the rows of the box: how sure the verdict is, who took part; `odd` warnings."""
    rows = []
    if doubtful := doubt_lines(state, judged, words):
        rows.append(("doubts", words["semicolon"].join(doubtful)))
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
    rows += who_rows(state, words)
    rows.append(("rounds", _rounds(state, words)))
    return box_lines(words, [*rows, *closing_rows(state, ended_at, synthesis_of(state), words)])


def _verdict(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    so_far = verdict_line(state, judged.verdict, words)
    outcome = outcome_of_deliberation(state, judged)
    if outcome in _UNDECIDED:
        return words[f"verdict.{outcome}"].format(so_far=so_far)
    return so_far


def verdict_line(state: Conversation, verdict: Verdict, words: dict[str, str]) -> str:
    """Return the kind of a verdict and on whose position; nothing is judged of one alone."""
    key, who = f"verdict.{verdict.type}", verdict.reference
    wrote = writers(state)
    heard = [agent for agent in verdict.towards if agent not in verdict.silent or agent in wrote]
    if not heard:
        key = "verdict.unheard"
    elif len(heard) < 2:
        key, who = "verdict.alone", heard[0]
    elif not verdict.agree:
        key = "verdict.unread"
    return words[key].format(who=inline(display_name(state, who)) if who else "")


def doubt_lines(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    """Return what makes the verdict doubtful, one clause each (HR-019)."""
    reference = inline(display_name(state, judged.verdict.reference))
    return [
        words[f"doubt.{one.kind}"].format(
            who=names(state, [*one.agents], words),
            reference=reference,
            position=_in_marks(one.position, _GROUP_MAX_CHARS, words),
        )
        for one in doubts(judged)
    ]


def tally_lines(state: Conversation, verdict: Verdict, words: dict[str, str]) -> list[str]:
    """Return how many stand how to the reference, and who; contested and absent ones apart."""
    apart = {
        "contested": verdict.contested,
        "silent": verdict.silent,
        "unreadable": verdict.unreadable,
    }
    counts = []
    for stance in (AGREE, PARTIAL, "contested", DISAGREE, "silent", "unreadable", "unstated"):
        who = apart.get(stance) or [
            agent for agent in verdict.towards if absent_as(verdict, agent) == stance
        ]
        if who or stance in (AGREE, DISAGREE):
            told = words[f"tally.{stance}"].format(
                count=len(who), who=names(state, [*who], words) if who else ""
            )
            counts.append(told.removesuffix(" ()"))
    return counts


def absent_as(verdict: Verdict, agent: str) -> str:
    """Return how an agent stands to the reference; for an absent one, why it is absent."""
    stance = verdict.towards.get(agent, ABSENT)
    if stance != ABSENT:
        return stance
    kinds = (("silent", verdict.silent), ("unreadable", verdict.unreadable))
    return next((kind for kind, agents in kinds if agent in agents), "unstated")


def _tally(state: Conversation, judged: Judgement, words: dict[str, str]) -> str:
    needed = words["tally.needed"].format(
        threshold=judged.verdict.threshold, all=len(judged.agents)
    )
    counts = tally_lines(state, judged.verdict, words)
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
    decided = f"## {words['decision']}\n{quoted(excerpt(said.position, PART_MAX_CHARS))}"
    return [decided, f"*{source}*"]


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


def _disagreement(
    state: Conversation, judged: Judgement, words: dict[str, str], title: str
) -> list[str]:
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
    return ["\n".join([f"## {title}", *lines]), f"*{source}*"]


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
    stance = one.stance
    if one.agent in judged.verdict.contested:
        stance = "contested"
    elif stance == ABSENT and one.counts:
        stance = absent_as(judged.verdict, one.agent).replace("silent", ABSENT)
    said = words[f"stance.{stance}"].format(who=inline(display_name(state, reference)))
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
