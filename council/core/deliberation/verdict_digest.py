"""The automatic digest of a deliberation: what stands when nobody wrote the synthesis.

It has the headings of a synthesis and is put together by rule from votes and
stances. It weighs nothing; the words of the agents stand in it only as quotes
of one line.

Source: DL-027, DL-084, A-84.
"""

from __future__ import annotations

from council.core.conversations.account import one_line
from council.core.conversations.conversation import Conversation
from council.core.deliberation.judgement import Judgement, Objection, dissent, judge
from council.core.excerpts import excerpt
from council.core.reporting.sentences import rows, words_in

_POSITION_MAX_CHARS = 300

_WORDS = rows("""
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
    words = words_in(state.lang, _WORDS)
    judged = judge(state)
    verdict = judged.verdict
    counted = words[verdict.type if judged.last else "unheard"].format(
        who=verdict.reference,
        all=len(judged.agents),
        agree=verdict.agree,
        partial=verdict.partial,
        disagree=verdict.disagree,
        absent=verdict.absent,
        threshold=verdict.threshold,
    )
    against = [_objection(judged, one, words) for one in dissent(state, judged)]
    parts = [words["first"]]
    if verdict.reached:
        parts.append(f"## {words['consensus']}\n\n{counted}")
        counted = ""
        if verdict.reference in judged.last:
            parts.append(_quote(judged, verdict.reference, words))
    if counted or against:
        parts.append(f"## {words['disagreement']}")
        parts += [counted] if counted else []
        parts += ["\n".join(against)] if against else []
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
