"""The words of the minutes in both languages: of all minutes, and of those of a deliberation.

They phrase and decide nothing. `NO RESPONSE (timeout)` is the same in both, as
other programs search for it (C0-073).
"""

from __future__ import annotations

from council.core.reading import LANGUAGES, rows
from council.core.reporting.sentences import words_in

_OF_ALL = rows("""
title.consensus || Agreed || Accord
title.declared || Declared settled || Déclaré conclu
title.no-consensus || No agreement || Pas d'accord
title.disagreement || No agreement || Pas d'accord
title.timeout || Timed out || Temps écoulé
title.nobody-left || No agent could answer || Aucun agent n'a pu répondre
title.cancelled || Cancelled || Annulé
title.no-consensus.some || {count} of {all} agreed || {count} sur {all} d'accord
title.disagreement.some || {count} of {all} agreed, blocking issues open: {blockers}
    || {count} sur {all} d'accord, points bloquants ouverts : {blockers}
title.open || Still open || En cours
outcome || Outcome || Issue
outcome.consensus || agreement. {agreed} agreed, and no issue marked as blocking is open.
    || accord. {agreed} sont d'accord et aucun point signalé comme bloquant n'est ouvert.
outcome.declared || declared settled by hand; {count} of {all} declared agreement in their last
       contribution.
    || déclaré conclu à la main ; accord déclaré dans la dernière contribution : {count} sur {all}.
outcome.no-consensus || no agreement of all. {end} {count} of {all} declared agreement in their last
       contribution.
    || pas d'accord de tous. {end} Accord déclaré dans la dernière contribution : {count} sur {all}.
outcome.disagreement || no agreement of all. {end} {count} of {all} declared agreement in their last
       contribution; blocking issues still open: {blockers}.
    || pas d'accord de tous. {end} Accord déclaré dans la dernière contribution : {count} sur {all}
       ; points bloquants encore ouverts : {blockers}.
outcome.timeout || the time ran out before an agreement was reached.
    || le temps s'est écoulé avant qu'un accord soit trouvé.
outcome.nobody-left || no agent was left that could answer. || plus aucun agent ne pouvait répondre.
outcome.cancelled || cancelled before its end; nothing was decided.
    || annulé avant la fin ; rien n'a été décidé.
outcome.open || not finished yet. || pas encore terminé.
end.played || All phases were played. || Toutes les phases ont été jouées.
end.stopped || A person ended it before the last phase was over.
    || Une personne y a mis fin avant la dernière phase.
end.ceiling || Its ceiling left no room for another run.
    || Son plafond n'autorisait plus aucune exécution.
took-part || Took part || Ont participé
absent || Absent || Absents
absent.some || missed at least one round || au moins un tour manqué
cut-off || Not heard in a round that a person ended
    || Non entendus dans un tour qu'une personne a clos
glance || In short || En bref
rounds || Rounds || Tours
duration || Duration || Durée
duration.span || {took}, from {start} to {end} || {took}, du {start} au {end}
synthesis-by || Synthesis by || Synthèse de
synthesis.digest || nobody; an automatic digest stands in its place
    || personne ; un relevé automatique en tient lieu
authorship.short || {verified} of {all} texts verified, the author of the rest is claimed
    || {verified} sur {all} vérifiés, les autres seulement déclarés
authorship.all || all {all} texts verified || {all} sur {all} vérifiés
decision || Decision || Décision
dissent || Dissent and blockers || Désaccords et points bloquants
recommendation || Recommendation || Recommandation
next-step || Next step || Prochaine étape
synthesis || Synthesis || Synthèse
synthesis.rest || The rest of the synthesis || Le reste de la synthèse
digest || Automatic digest (no synthesis was written)
    || Relevé automatique (aucune synthèse n'a été écrite)
digest.note || No synthesis came in time. The digest that stands in its place was put together by
       rule: all it says stands in these minutes, and it lies in the file that `data` names.
    || Aucune synthèse n'est arrivée à temps. Le relevé qui en tient lieu a été établi par règle :
       tout ce qu'il dit est dans ce compte rendu, et il est gardé dans le fichier que `data` nomme.
no-synthesis || No synthesis was written, so no decision is on record.
    || Aucune synthèse n'a été écrite : aucune décision n'est consignée.
not-agreed-note || From the synthesis by {author}; not all had declared agreement.
    || Extrait de la synthèse de {author} ; tous n'avaient pas déclaré leur accord.
declared-note || From the synthesis by {author}; a person declared it settled.
    || Extrait de la synthèse de {author} ; une personne l'a déclaré conclu.
agreed-note || From the synthesis by {author}. || Extrait de la synthèse de {author}.
blocker.raised || raised by {who} || soulevé par {who}
answered.sealed || answered, sealed until all have
    || a répondu, sous scellé jusqu'à la fin de la phase
answered.responded || answered || a répondu
answered.agreed || answered, and agrees || a répondu, et donne son accord
answered.done || answered for the last time || a répondu pour la dernière fois
dissent.not-agreed || {who} did not declare agreement; last word in {round}
    || {who} n'a pas déclaré son accord ; dernier mot au {round}
dissent.none || None on record: {agreed} declared agreement in their last contribution.
    || Aucun consigné : {agreed} ont déclaré leur accord dans leur dernière contribution.
dissent.unknown || No issue marked as blocking is open. No participant declared agreement, so the
       rules name no dissent; the positions stand below.
    || Aucun point signalé comme bloquant n'est ouvert. Personne n'a déclaré son accord : la règle
       ne nomme donc aucun désaccord ; les positions sont plus bas.
dissent.nothing || No issue marked as blocking is open, and no answer came in time.
    || Aucun point signalé comme bloquant n'est ouvert et aucune réponse n'est arrivée à temps.
dissent.synthesis || In the words of the synthesis || Selon la synthèse
nobody || nobody || personne
round || Round {tour}{colon}{phase} || Tour {tour}{colon}{phase}
round.short || round {tour}, {phase} || tour {tour}, {phase}
brief || Brief || Brief
nobody-answered || No answer came in time in this round.
    || Aucune réponse n'est arrivée à temps dans ce tour.
quotations || Quotations || Citations
quotation.found || found in what {who} said || trouvée chez {who}
quotation.near || nearly so in what {who} said || trouvée à peu près chez {who}
quotation.missing || NOT FOUND in what {who} said || INTROUVABLE chez {who}
anybody || anybody || quiconque
the-brief || the brief || le brief
late || Late contributions || Contributions en retard
late.note || They came after their round was closed and counted for nothing.
    || Arrivées après la clôture de leur tour, elles n'ont pas compté.
guidance || Guidance from outside || Consignes de l'extérieur
to || to {who} || à {who}
to-all || to all || à tous
timings || Timings || Chronologie
timings.head || Round | Phase | Began | Took | Closed because | Answers after
    || Tour | Phase | Début | Durée | Clos parce que | Réponses après
reason.all-answered || all answered || tous ont répondu
reason.timeout || time was up || temps écoulé
reason.nobody-left || no agent was left to answer || plus aucun agent pour répondre
reason.agreed || all agreed || tous d'accord
reason.stopped || stopped || arrêté
reason.ceiling || the ceiling was reached || plafond atteint
reason.cancelled || cancelled || annulé
reason.done || written || écrite
reason.no-writer || no agent was left to write it || plus aucun agent pour l'écrire
authorship || Authorship || Auteurs
authorship.note || A verified text came with the token of the run that was started for its author. A
       claimed one was given under that name, or written into the file.
    || Un texte vérifié est venu avec le jeton de l'exécution lancée pour son auteur. Un texte
       déclaré a été donné sous ce nom, ou écrit dans le fichier.
authorship.one || Texts of several agents are claimed: one process could have written all of these.
    || Les textes de plusieurs agents sont seulement déclarés : un seul processus a pu écrire tous
       ceux-ci.
verified || verified || vérifié
claimed || claimed || déclaré
tool || written by the tool || écrit par l'outil
escape-note || Every text below is quoted whole, without control characters. A backslash before < or
       inside of a link is added by the minutes, so that no text can act as markup.
    || Chaque texte ci-dessous est cité en entier, sans caractères de contrôle. La barre oblique
       inverse devant < ou dans un lien est ajoutée par ce compte rendu, pour qu'aucun texte
       n'agisse comme du balisage.
""")
_MORE = rows("""
title.strong || Strong consensus || Consensus fort
title.soft || Soft consensus, {agree} of {all} || Consensus souple, {agree} sur {all}
title.none || No consensus || Pas de consensus
verdict || Verdict || Verdict
verdict.strong || strong consensus on the position of {who}
    || consensus fort sur la position de {who}
verdict.soft || soft consensus on the position of {who} || consensus souple sur la position de {who}
verdict.none || no consensus; the position of {who} has most support
    || pas de consensus ; la position de {who} est la mieux soutenue
verdict.unheard || no consensus; no participant was heard in time
    || pas de consensus ; aucun participant n'a été entendu à temps
verdict.unread || no consensus; no stance could be read
    || pas de consensus ; aucun avis n'a pu être lu
verdict.alone || no consensus; only {who} was heard, so nothing was judged
    || pas de consensus ; seul {who} a été entendu, rien n'a donc été jugé
doubts || Doubts || Réserves
doubt.contested || contested agreement: {who} with {reference}, which disagrees; it counts as partly
    || sont d'accord avec {reference}, qui ne l'est pas avec eux : {who} ; cela compte pour « en
       partie »
doubt.otherwise || the final positions of {who} read otherwise than the decision
    || ont une position finale qui se lit autrement que la décision : {who}
doubt.equal || {who} state the same final position, but their stances come to no consensus
    || ont la même position finale, sans que leurs avis forment un consensus : {who}
doubt.least-sure || {who} is less sure than all others
    || {who} a moins de confiance que tous les autres
doubt.blind || before they saw each other, {who} held another position: {position}
    || tenaient une autre position avant de s'être lus : {who} ({position})
consensus-with || {who} is the agent with most support; all others are counted by their stance to
       it.
    || {who} est l'agent le mieux soutenu ; les autres sont comptés selon leur avis envers lui.
tally.contested || {count} of them contested ({who}) || dont {count} contesté ({who})
tally.unreadable || {count} unreadable ({who}) || {count} illisible ({who})
tally.unstated || {count} without a stance that counts ({who})
    || {count} sans avis qui compte ({who})
tally.silent || {count} silent ({who}) || {count} n'ont rien dit ({who})
stance.contested || agrees with {who}, which disagrees with it
    || d'accord avec {who}, qui ne l'est pas avec lui
stance.unreadable || gave no stance on it that could be read
    || n'a donné aucun avis qui ait pu être lu
stance.unstated || has no stance on it that counts || n'a pas d'avis qui compte
verdict.open || not finished yet; so far: {so_far} || pas encore terminé ; pour l'instant : {so_far}
tally || Tally || Décompte
tally.agree || {count} agree ({who}) || {count} d'accord ({who})
tally.partial || {count} partly ({who}) || {count} en partie ({who})
tally.disagree || {count} disagree ({who}) || {count} pas d'accord ({who})
tally.needed || {threshold} of {all} needed || il en faut {threshold} sur {all}
weighted || By confidence || Selon la confiance
weighted.said || {agree} of {all} points of confidence agree ({share} %); only the plain tally
       decides
    || {agree} points de confiance sur {all} sont d'accord ({share} %) ; seul le décompte simple
       décide
weighted.none || nobody stated any; the plain tally decides
    || personne n'en déclare ; le décompte simple décide
hangs-on || Hangs on || Tient à
hangs-on.nothing || no one alone: it holds without any one of them
    || personne en particulier : il tient sans n'importe lequel d'entre eux
hangs-on.two || only two agents count, so nobody can be left out
    || deux agents seulement comptent, aucun ne peut être écarté
hangs-on.unheard || nothing: no position could be counted
    || rien : aucune position n'a pu être comptée
hangs-on.without || without {who} || sans {who}
hangs-on.threshold || threshold {threshold} || seuil {threshold}
hangs-on.flips || without changes of mind || sans changements d'avis
hangs-on.more || {count} more || {count} de plus
type.strong || strong || fort
type.soft || soft || souple
type.none || none || aucun
blind || Blind first round || Premier tour à l'aveugle
final || Final positions || Positions finales
positions.one || one position, that of {who} || une seule position, celle de {who}
positions.apart || {count} positions, no two the same; {distance}
    || {count} positions, toutes différentes ; {distance}
positions.none || none || aucune
positions.group || {count} × {position} ({who}) || {count} × {position} ({who})
positions.distance || word distance {distance} || distance des mots {distance}
rounds.said || {count} of at most {most}, then the vote || {count} sur {most} au plus, puis le vote
rounds.no-vote || {count} of at most {most} || {count} sur {most} au plus
rounds.because || no further round because {reason} || pas d'autre tour parce que {reason}
why.consensus || all agreed || tous étaient d'accord
why.soft || a soft consensus was enough || un consensus souple suffisait
why.max-rounds || the last round was over || le dernier tour était joué
why.stable || nobody changed a stance any more || plus personne ne changeait d'avis
why.repetition || the arguments repeated themselves || les arguments se répétaient
why.too-few || fewer than two gave a turn that could be read
    || moins de deux agents ont pris la parole de façon lisible
why.stopped || it was stopped by hand || quelqu'un l'a arrêté
why.timeout || the time was up || le temps était écoulé
why.cancelled || it was cancelled || quelqu'un l'a annulé
reason.consensus || consensus || consensus
reason.max-rounds || last round || dernier tour
reason.stable || same stances || mêmes avis
reason.repetition || repetition || répétition
reason.too-few || too few turns to read || trop peu de prises de parole lisibles
decision.source || The position of {who} in its own words ({place}).
    || La position de {who}, dans ses propres mots ({place}).
disagreement || Disagreement || Désaccord
disagreement.source || No position has the {threshold} of {all} that are needed. Above stand the
       final positions.
    || Aucune position ne réunit les {threshold} voix sur {all} qu'il faut. Les positions finales
       sont ci-dessus.
so-far || Positions so far || Positions jusqu'ici
so-far.source || Nothing was decided. Above stand the last positions.
    || Rien n'a été décidé. Les dernières positions sont ci-dessus.
dissent || Dissent || Voix dissidentes
dissent.strong || None: all agree, and nobody stated another stance to anybody.
    || Aucune : tous sont d'accord, et personne n'a pris un autre avis envers quiconque.
dissent.none || None towards the position of {who}. || Aucune envers la position de {who}.
stance.agree || agrees with {who} || d'accord avec {who}
stance.partial || partly agrees with {who} || en partie d'accord avec {who}
stance.disagree || disagrees with {who} || pas d'accord avec {who}
stance.absent || stated no stance on it || n'a pas pris position
beside || {said}, but {others} || {said}, mais {others}
holds || holds this position || tient cette position
advocate || devil's advocate, not counted || avocat du diable, ne compte pas
confidence || confidence {confidence} of 5 || confiance {confidence} sur 5
no-confidence || no confidence stated || sans confiance déclarée
in-vote || vote, {sure} || vote, {sure}
in-round || round {tour}, {sure} || tour {tour}, {sure}
recommendation.none || No synthesis came in time, so there is no recommendation. The verdict follows
       from the votes by rule.
    || Aucune synthèse n'est arrivée à temps : il n'y a pas de recommandation. Le verdict suit des
       votes, par règle.
recommendation.unheard || No synthesis came in time, so there is no recommendation.
    || Aucune synthèse n'est arrivée à temps : il n'y a pas de recommandation.
warnings || Warnings || Avertissements
warnings.count || {count}, see above || {count}, voir plus haut
warning.collapse || Collapse in round {tour}: all who stood apart went over to the others at once.
    || Ralliement au tour {tour} : tous ceux qui étaient à part ont rejoint les autres d'un coup.
warning.stance || {who} changed its stance to {towards} in round {tour} without a reason: {before} →
       {after}.
    || {who} a changé d'avis envers {towards} au tour {tour} sans raison donnée : {before} →
       {after}.
warning.position || Changed position and named nobody for it: {who}.
    || Ont changé de position sans nommer personne : {who}.
by-in-round || {who} (round {tour}) || {who} (tour {tour})
warning.more || {count} more changes of stance without a reason, see below.
    || {count} autres changements d'avis sans raison, voir plus bas.
warning.model || All agents declare one model ({model}): that they agree says less.
    || Tous les agents déclarent un seul modèle ({model}) : leur accord en dit moins.
warning.quotation || {who} quotes what was never said ({round}): {passage}
    || {who} cite ce qui n'a jamais été dit ({round}) : {passage}
warning.unreadable || {who}, {round}: nothing of the form could be read. The text stands below and
       counted for nothing.
    || {who}, {round} : rien de la forme n'a pu être lu. Le texte est plus bas et n'a pas compté.
warning.floor || {who} counts as absent: it is less sure than {floor} of 5.
    || {who} ne compte pas : confiance inférieure à {floor} sur 5.
warning.guidance || {who} never answered the guidance of {author}.
    || {who} n'a jamais répondu à la consigne de {author}.
votes || Votes || Votes
votes.head || Agent | Final position | Confidence || Agent | Position finale | Confiance
votes.note || ✓ agrees, ~ partly agrees, ✗ disagrees, – stated no stance.
    || ✓ d'accord, ~ en partie d'accord, ✗ pas d'accord, – n'a pas pris position.
votes.none || No vote was held. || Il n'y a pas eu de vote.
no-vote || *no vote* || *pas de vote*
course || Verdict after each round || Verdict après chaque tour
course.head || Round | Consensus | On the position of | ✓ | ~ | ✗ | –
    || Tour | Consensus | Sur la position de | ✓ | ~ | ✗ | –
flips || Changes of mind || Changements d'avis
flips.head || Round | Agent | About | From | To | Cites | Reason given
    || Tour | Agent | Envers | De | À | Cite | Raison donnée
flips.none || Nobody changed a stance or a position. || Personne n'a changé d'avis ni de position.
flips.own || own position || sa position
flips.moved || no, but {who} had moved || non, mais {who} avait changé de position
yes || yes || oui
no || no || non
word.agree || agree || d'accord
word.partial || partial || en partie
word.disagree || disagree || pas d'accord
questions || Questions never answered || Questions restées sans réponse
question || {asker} to {asked}, {round} || {asker} à {asked}, {round}
sure || confidence {confidence}/5 || confiance {confidence}/5
round.title || Round {number} || Tour {number}
vote.title || Vote || Vote
position || Position || Position
lacks || not all of the form || forme incomplète
pseudonyms || In this text || Dans ce texte
pseudonym || {pseudonym} is {who} || {pseudonym} est {who}
missed || {who}: NO RESPONSE ({reason}) || {who}: NO RESPONSE ({reason})
guidance-by || Guidance from {who} || Consigne de {who}
acknowledged || Acknowledged by || Prise en compte par
not-acknowledged || not by || pas par
drafts || Drafts || Brouillons
drafts.note || Something of the form was missing in these answers; their authors were asked once
       more and answered anew. They counted for nothing.
    || Il manquait quelque chose à la forme de ces réponses ; leurs auteurs, sollicités une fois de
       plus, ont répondu à nouveau. Elles n'ont pas compté.
hangs-on.and || and || et
round.blind || (blind) || (à l'aveugle)
""")

WORDS = {lang: words_in(lang, _OF_ALL) for lang in LANGUAGES}


def words_for(lang: str) -> dict[str, str]:
    """Return the words of a language; English where we have none."""
    return WORDS.get(lang, WORDS["en"])


def verdict_words(lang: str) -> dict[str, str]:
    """Return all words that the minutes of a deliberation need; English where we have none."""
    return words_in(lang, _OF_ALL, _MORE)
