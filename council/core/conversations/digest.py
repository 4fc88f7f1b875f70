"""The automatic digest: what stands as the synthesis when none was written in time.

It says what it is, counts by rule and quotes literally. It judges nothing and
decides nothing, and the words of the participants change no line of it but
the quoted ones.

That of a deliberation has the headings of a synthesis and is put together by
rule from votes and stances. It weighs nothing, either.

Source: C0-063, C0-073, A-06, DL-027, DL-084, A-84.
"""

from __future__ import annotations

from council.core.conversations.account import (
    absences,
    answered_in,
    discussion_rounds,
    display_name,
    last_contributions,
    one_line,
    open_blockers,
    stances,
)
from council.core.conversations.conversation import Conversation, EntryKind
from council.core.conversations.procedures import PROCEDURES
from council.core.deliberation.judgement import Judgement, Objection, dissent, judge
from council.core.plain_text import excerpt, first_paragraph
from council.core.reading import rows
from council.core.reading_answers.cleaning import clean
from council.core.reporting.sentences import words_in

ISSUE_MAX_CHARS = 400

_WORDS = rows("""
first || Automatic digest, no judgement: nobody wrote a synthesis in time, so this was put together
       by rule. It contains no decision.
    || Relevé automatique, sans jugement : personne n'a écrit de synthèse à temps, ceci a donc été
       établi par règle. Il ne contient aucune décision.
answered || Who answered || Qui a répondu
round || round {tour}, {phase} || tour {tour}, {phase}
nobody || nobody || personne
none || none || aucun
agreement || Agreement || Accord
agreed || AGREED in their last contribution || AGREED dans leur dernière contribution
not_agreed || answered without AGREED || ont répondu sans AGREED
silent || never answered || n'ont jamais répondu
blockers || Open blocking issues || Points bloquants ouverts
raised || raised by || soulevé par
absent || Absent || Absents
late || Came late, not counted || Arrivées en retard, non comptées
last || The beginning of each last contribution, word for word
    || Le début de chaque dernière contribution, mot pour mot
""")


def automatic_digest(state: Conversation) -> str:
    """Return the text that stands as the synthesis of agent `council`.

    Source: C0-063, DL-084.
    """
    if PROCEDURES[state.procedure].verdict == "stances":
        return verdict_digest(state)
    words = words_in(state.lang, _WORDS)
    parts = [
        [words["first"]],
        [f"## {words['answered']}", "", *_answered(state, words)],
        [f"## {words['agreement']}", "", *_agreement(state, words)],
        [f"## {words['blockers']}", "", *_blockers(state, words)],
    ]
    missing = [
        f"- {display_name(state, one.agent)}: NO RESPONSE ({one.cause})" for one in absences(state)
    ]
    if missing:
        parts.append([f"## {words['absent']}", "", *missing])
    parts.append([f"## {words['last']}", "", *_last_words(state, words)])
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _round(words: dict[str, str], tour: int, phase: str) -> str:
    return words["round"].format(phase=phase, tour=tour)


def _names(state: Conversation, agents: list[str], nobody: str) -> str:
    return ", ".join(display_name(state, agent) for agent in agents) or nobody


def _answered(state: Conversation, words: dict[str, str]) -> list[str]:
    lines = [
        f"- {_round(words, tour, phase)}{words['colon']}"
        + _names(state, answered_in(state, tour), words["nobody"])
        for tour, phase in discussion_rounds(state)
    ]
    late = [
        f"{display_name(state, one.agent)}, {_round(words, one.tour, one.phase)}"
        for one in state.entries
        if one.kind is EntryKind.LATE
    ]
    if late:
        lines.append(f"- {words['late']}{words['colon']}{'; '.join(late)}")
    return lines


def _agreement(state: Conversation, words: dict[str, str]) -> list[str]:
    stood = stances(state)
    lines = [f"- {words['agreed']}{words['colon']}{_names(state, stood.agreed, words['nobody'])}"]
    for key, agents in (("not_agreed", stood.not_agreed), ("silent", stood.silent)):
        if agents:
            lines.append(f"- {words[key]}{words['colon']}{_names(state, agents, '')}")
    return lines


def _blockers(state: Conversation, words: dict[str, str]) -> list[str]:
    lines = []
    for blocker in open_blockers(state):
        line = f"- {excerpt(one_line(blocker.text), ISSUE_MAX_CHARS)}"
        authors = dict.fromkeys(
            f"{display_name(state, entry.agent)}, {_round(words, entry.tour, entry.phase)}"
            for entry in blocker.raised_in
        )
        lines.append(line + (f" ({words['raised']} {'; '.join(authors)})" if authors else ""))
    return lines or [f"- {words['none']}"]


def _last_words(state: Conversation, words: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for agent, entry in last_contributions(state).items():
        where = _round(words, entry.tour, entry.phase)
        lines += [f"- {display_name(state, agent)}, {where}{words['colon'].rstrip()}", ""]
        quoted = excerpt(first_paragraph(clean(entry.text))).splitlines()
        lines += [*(f"  > {line}" for line in quoted), ""]
    return lines[:-1] or [f"- {words['nobody']}"]


_POSITION_MAX_CHARS = 300

_VERDICT_WORDS = rows("""
first || Automatic digest, no judgement: nobody wrote a synthesis in time, so this was put together
       by rule from votes and stances.
    || Relevé automatique, sans jugement : personne n'a écrit de synthèse à temps, ceci a donc été
       établi par règle à partir des votes et des avis.
consensus || Consensus Summary || Résumé du consensus
disagreement || Disagreement Summary || Résumé des désaccords
insights || Key Insights || Points clés
recommendation || Recommendation || Recommandation
strong || Strong consensus: all {all} agree on the position of @{who}.
    || Consensus fort : les {all} sont d'accord sur la position de @{who}.
soft || Soft consensus: {agree} of {all} agree on the position of @{who}; {threshold} are needed.
    || Consensus souple : {agree} sur {all} sont d'accord sur la position de @{who} ; il en faut
       {threshold}.
none || No consensus: no position has the {threshold} of {all} that are needed. That of @{who} has
       most support: {agree} agree, {partial} partly, {disagree} disagree, {absent} gave no stance
       on it that counts.
    || Pas de consensus : aucune position ne réunit les {threshold} voix sur {all} qu'il faut. Celle
       de @{who} est la mieux soutenue : {agree} d'accord, {partial} en partie, {disagree} pas
       d'accord, {absent} ne se prononcent pas.
unheard || No consensus: no position could be read.
    || Pas de consensus : aucune position n'a pu être lue.
agree || agrees with @{who}, but not with all others that do
    || d'accord avec @{who}, mais pas avec tous ceux qui le sont
partial || partly agrees with @{who} || en partie d'accord avec @{who}
disagree || disagrees with @{who} || pas d'accord avec @{who}
absent || gave no stance on it that counts || ne se prononce pas
holds || holds it, and does not agree with all that agree
    || tient cette position, sans être d'accord avec tous ceux qui la partagent
advocate || (devil's advocate, not counted) || (avocat du diable, ne compte pas)
sure || (confidence {confidence}/5) || (confiance {confidence}/5)
follow || By rule only: the position of @{who} has the support that is needed. Nobody has weighed
       it.
    || Par règle seulement : la position de @{who} a le soutien qu'il faut. Personne ne l'a pesée.
open || By rule there is none, as no position has the support that is needed.
    || Par règle il n'y en a pas, aucune position n'ayant le soutien qu'il faut.
nobody || Nobody stated a position. || Personne n'a pris position.
""")


def verdict_digest(state: Conversation) -> str:
    """Return the text that stands as the synthesis of agent `council`.

    Consensus stands in it where there is one, and dissent wherever anybody
    dissents, under a soft consensus too.
    """
    words = words_in(state.lang, _VERDICT_WORDS)
    judged = judge(state)
    verdict = judged.verdict
    counted = words[verdict.type if judged.last else "unheard"].format(
        who=verdict.reference,
        all=len(judged.agents),
        **verdict.as_json("agree partial disagree absent threshold"),
    )
    against = [_objection(judged, one, words) for one in dissent(state, judged)]
    parts = [words["first"]]
    if verdict.reached:
        parts.append(f"## {words['consensus']}\n\n{counted}")
        counted = ""
        if verdict.reference in judged.last:
            parts.append(_quote(judged, verdict.reference, words))
    if counted or against:
        parts += [f"## {words['disagreement']}", *filter(None, (counted, "\n".join(against)))]
    insights = [f"- @{agent}: {_quote(judged, agent, words)}" for agent in judged.last]
    parts.append(f"## {words['insights']}\n\n" + ("\n".join(insights) or words["nobody"]))
    advice = words["follow" if verdict.reached else "open"].format(who=verdict.reference)
    parts.append(f"## {words['recommendation']}\n\n{advice}")
    return "\n\n".join(parts) + "\n"


def _objection(judged: Judgement, one: Objection, words: dict[str, str]) -> str:
    stance = "holds" if one.agent == judged.verdict.reference else one.stance
    line = f"- @{one.agent} {words[stance].format(who=judged.verdict.reference)}"
    line += "" if one.counts else f" {words['advocate']}"
    if one.agent in judged.last:
        line += f"{words['colon']}{_quote(judged, one.agent, words)}"
    return line


def _quote(judged: Judgement, agent: str, words: dict[str, str]) -> str:
    said = judged.last[agent]
    position = excerpt(one_line(said.position), _POSITION_MAX_CHARS)
    shown = f"{words['open-quote']}{position}{words['close-quote']}"
    sure = words["sure"].format(confidence=said.confidence)
    return f"{shown} {sure}" if said.confidence else shown
