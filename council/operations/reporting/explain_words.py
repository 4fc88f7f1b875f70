"""The sentences of explanations, English and French.

`{field}` is filled in; what stands in square brackets is left out where one of
its fields is empty. What may stand in the way is named in `examining/cause_words`.

Source: XC-012, `cli.md` section 2 (`explain`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.reading import rows
from council.core.record import Any
from council.core.reporting.sentences import filled, place_of
from council.core.times import render_duration, render_instant
from council.operations.examining.cause_words import CAUSES

_BRACKETS = {ord("‹"): "[", ord("›"): "]"}

SENTENCES = rows("""
# Headings
waits || Waits for || Attend
hindrances || In the way || Ce qui bloque
tried || Tried so far || Déjà tenté
next || What comes next || La suite
nothing || nothing || rien
since || since {at} ({age}) || depuis {at} ({age})
until || until {at} (in {left}) || jusqu'à {at} (dans {left})
until-over || until {at} (over) || jusqu'à {at} (passé)
in || in {left} || dans {left}
now || due now || dû maintenant
attempt || attempt {attempt} || tentative {attempt}
log || log: {path} || journal : {path}
handed-line || handed over, to answer by hand || remis, réponse à la main
handed || prompt handed over || consigne remise
answered || answered || a répondu
where-conversation || {phase}, round {tour} || {phase}, tour {tour}
where-channel || mode {mode}, cycle {cycle} || mode {mode}, cycle {cycle}
waits-for-place || waits for a place || attend une place
where-trace || calls: {calls} || appels : {calls}
where-context || tasks: {tasks} || tâches : {tasks}
# What words of status mean
created || created || créé
under-way || under way || en cours
paused || paused || en pause
ended-well || ended well || bien terminé
ended-in-part || ended, not every call well || terminé, pas tous les appels avec succès
out-of-time || ended by time || terminé par délai
failed || failed || échoué
stopped || stopped || arrêté
# What is waited for
answer-by-hand || an answer of {agent}, given by hand || une réponse de {agent}, donnée à la main
run || the run of {agent} (attempt {attempt}) || l'exécution de {agent} (tentative {attempt})
run-gone || word of a run of {agent} whose process is gone
    || des nouvelles d'une exécution de {agent} dont le processus a disparu
call || the run of {agent}, whom {caller} has called
    || l'exécution de {agent}, que {caller} a appelé
call-place || a place for the run of {agent}, whom {caller} has called
    || une place pour l'exécution de {agent}, que {caller} a appelé
call-end || the end of a call of {caller} to {agent}, which nobody waits for any more
    || la fin d'un appel de {caller} à {agent}, que plus personne n'attend
place || a place for a run of {agent} || une place pour l'exécution de {agent}
start || the start of {agent} || le lancement de {agent}
retry || another attempt of {agent} || une nouvelle tentative de {agent}
answer || an answer of {agent}, of whom no other run is started
    || une réponse de {agent}, dont rien n'est plus lancé
people || a person: {agent} asks “{question}” (answer with: council say "…" --to {name})
    || une personne : {agent} demande « {question} » (répondre par : council say "…" --to {name})
resumption || a person: it is paused || une personne : en pause
adoption || a person, to adopt its file || une personne, pour adopter son fichier
minutes || its minutes || son compte rendu
message || a message: nobody has said anything new || un message : rien de neuf n'a été dit
delivery || the words of {agent} to arrive || l'arrivée de ce que {agent} a dit
turn-end || the end of the turn of {agent} || la fin du tour de {agent}
completion || {agent} to complete the discussion || que {agent} close la discussion
choice || a choice of the user: {question}[ ({options})]
    || un choix de l'utilisateur : {question}[ ({options})]
worker || a worker for {task}[: {reason}] || un exécutant pour {task}[ : {reason}]
worker-answer || an answer of {agent} to {task} || une réponse de {agent} pour {task}
answer-to-user || the answer to the user || la réponse à l'utilisateur
closing || somebody to close it (it is kept open) || sa fermeture (il reste ouvert)
once || once || une fois
no-clock || no clock runs it || aucune horloge ne le lance
# What comes next
next-heartbeat || the next heartbeat starts {agents} || le prochain battement lance {agents}
next-minutes || the next heartbeat writes the minutes || le prochain battement écrit le compte rendu
next-retry || {agent} is tried again || on réessaie {agent}
next-look || a worker for {task} is looked for again
    || on cherche de nouveau un exécutant pour {task}
next-no-worker || {task} is given up, if no worker can take it before
    || {task} est abandonnée, si aucun exécutant ne peut la prendre avant
next-lease || the run of {agent} counts as lost, if nothing was heard
    || l'exécution de {agent} compte comme perdue, sans nouvelles
next-phase || {phase} is out of time; {next} begins[, without {absent}]
    || {phase} est hors délai ; {next} commence[, sans {absent}]
next-skip || the turn of {agent} is skipped; the floor goes on
    || le tour de {agent} est sauté ; la parole passe
next-digest || an automatic digest stands in for the synthesis, and the minutes are written
    || un résumé automatique remplace la synthèse, et le compte rendu est écrit
next-end || the whole conversation is out of time || toute la conversation est hors délai
next-all || {next} begins as soon as all have answered || {next} commence dès que tous ont répondu
next-after-turn || then {agents} speak || puis parlent : {agents}
next-after-turn-one || then {agents} speaks || puis parle : {agents}
next-person || nothing by itself: a person is needed || rien de soi-même : il faut une personne
next-place || it is started as soon as a place is free, the oldest first
    || lancement dès qu'une place est libre, les plus anciens d'abord
next-call-timeout || {agent} is out of time; {caller} is told so (E20)
    || {agent} est hors délai ; {caller} l'apprend (E20)
next-call-refused || the call of {caller} to {agent} is given up (E31), if no place is free before
    || l'appel de {caller} à {agent} est abandonné (E31), si aucune place ne se libère avant
next-call-end || the next heartbeat, call or message writes its end
    || le prochain battement, appel ou message en écrit la fin
next-pass || the turn of {agent} passes on || le tour de {agent} passe au suivant
next-delivery || the floor goes on whether the words have arrived or not
    || la parole passe, que les mots soient arrivés ou non
next-choice || without a choice {policy} || sans choix {policy}
first-option || the first option is taken || la première option est prise
gives-up || the task is given up || la tâche est abandonnée
next-task-timeout || {task} is out of time (E20) || {task} est hors délai (E20)
next-worker-timeout || {agent} is out of time; another one is asked
    || {agent} est hors délai ; un autre est sollicité
next-close || the context is closed || le contexte est fermé
over || it is over: nothing is waited for || c'est fini : rien n'est attendu
""") | {
    **{code: words[:2] for code, words in CAUSES.items()},
    **{f"fix-{code}": (words[2], words[-1]) for code, words in CAUSES.items()},
}


def say(kind: str, lang: str, values: dict[str, Any] | None = None) -> str:
    """Return a sentence with its fields put in."""
    shown = {key: _shown(value, lang) for key, value in (values or {}).items()}
    # What people write in brackets in council.toml is no part that may be left out.
    return filled(SENTENCES[kind][place_of(lang)], shown).translate(_BRACKETS)


def _shown(value: object, lang: str) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return render_instant(value)
    if isinstance(value, timedelta):
        return render_duration(value)
    if isinstance(value, list | tuple):
        return ", ".join(_shown(one, lang) for one in value)
    return worded(" ".join(str(value).split()), lang)


def worded(text: str, lang: str) -> str:
    """Return a text, or the sentence that it stands for where it is `@` and the name of one."""
    return say(text[1:], lang) if text[:1] == "@" and text[1:] in SENTENCES else text
