"""Every type of event as a sentence for people, English and French.

A sentence says what was done; who did it stands beside it. `{field}` is a field
of the event's data, or of the event where it names two agents or artifacts. What
stands in square brackets is left out where one of its fields is missing or empty.

Source: P8-086, XC-012, `cli.md` section 2 (`events story`).
"""

from __future__ import annotations

from council.core.ids import split_task_id
from council.core.reading import rows
from council.core.record import Any
from council.core.reporting.sentences import filled, place_of

# Type of event, what is said in English, what is said in French.
SENTENCES = rows("""
conversation.opened || opened "{topic}"[ with {participants}]
    || ouverture de « {topic} »[ avec {participants}]
conversation.paused || paused: nobody is woken || pause : personne n'est réveillé
conversation.resumed || goes on after {pausedS} s of pause || reprise après {pausedS} s
conversation.cancelled || cancelled in {phase} || annulée en {phase}
conversation.finished || ended: {status} ({closedReason}) || fin : {status} ({closedReason})
conversation.archived || minutes written: {path} || compte rendu écrit : {path}
conversation.imported || taken up from its file || reprise depuis son fichier
conversation.restored || revision {to} put back in the place of {from}
    || révision {to} rétablie à la place de {from}
conversation.adopted || file taken as it stands || fichier pris tel quel
deadline.extended || deadline moved by {seconds} s || délai prolongé de {seconds} s
phase.changed || {from} is over ({reason}); {to} begins, round {tour}[; absent: {absent}]
    || {from} est close ({reason}) ; {to} commence, tour {tour}[ ; absents : {absent}]
round.changed || a round of {from} is over ({reason}); round {tour} begins[; absent: {absent}]
    || un tour de {from} est clos ({reason}) ; tour {tour} commence[ ; absents : {absent}]
turn.started || has the floor in {phase}, round {tour} || a la parole en {phase}, tour {tour}
turn.missed || missed its turn[ in {phase}][, round {tour}][, cycle {cycle}]: {reason}
    || tour manqué[ en {phase}][, tour {tour}][, cycle {cycle}] : {reason}
turn.incomplete || answer lacks part of its form: {reason}
    || réponse incomplète dans la forme : {reason}
consensus.checked || consensus of round {tour}: {type} ({agree} agree, {partial} in part, {disagree}
       disagree)
    || consensus du tour {tour} : {type} ({agree} d'accord, {partial} en partie, {disagree} contre)
contribution.recorded || answered {phase}, round {tour}[: {status}][; it stated {stated}, which does
       not count]
    || a répondu en {phase}, tour {tour}[ : {status}][ ; {stated} était dit et ne compte pas]
contribution.late || answered after {phase}, round {tour}, was over: kept as late
    || a répondu après la fin de {phase}, tour {tour} : gardé comme tardif
contribution.restored || its contribution was {reason} in the file and is put back
    || sa contribution modifiée dans le fichier ({reason}) est rétablie
contribution.purged || its contribution {entry} was taken out for good by {by}
    || sa contribution {entry} a été effacée définitivement par {by}
answer.refused || answer refused: {message} || réponse refusée : {message}
person.asked || asks a person: {text} || demande à une personne : {text}
guidance.added || a person put in a word[ to {target}] || une personne intervient[ pour {target}]
synthesis.written || wrote the synthesis || a écrit la synthèse
digest.written || nobody wrote a synthesis: an automatic digest stands in
    || personne n'a écrit la synthèse : un résumé automatique en tient lieu
seal.opened || sealed answer of {phase} opened || réponse scellée de {phase} ouverte
seal.missing || sealed answer of round {tour} is gone || réponse scellée du tour {tour} perdue
coordinator.notified || was told that round {tour} began || prévenu du début du tour {tour}
task.queued || waits for a place || attend une place
task.started || attempt {attempt} started[ by {driver}] || tentative {attempt} lancée[ par {driver}]
task.failed || attempt[ {attempt}] failed: {reason} || tentative[ {attempt}] échouée : {reason}
task.refused || not started: {reason} || non lancé : {reason}
task.lost || attempt[ {attempt}]: the run died without a word
    || tentative[ {attempt}] : l'exécution est morte sans un mot
edit.accepted || edited in the file: {field}[ from {old}][ from {from}][ to {new}][ to {to}]
    || modifié dans le fichier : {field}[ de {old}][ de {from}][ à {new}][ à {to}]
edit.refused || edit of {field} not taken in: {reason} || modification de {field} refusée : {reason}
edit.conflict || {field} was changed twice in the file; the state block holds
    || {field} modifié deux fois dans le fichier ; le bloc d'état l'emporte
edit.reverted || an older text was saved over revision {to}; that one was put back
    || un texte plus ancien a remplacé la révision {to} ; elle est rétablie
note.found || a note was left in {phase} ({chars} characters)
    || note en {phase} ({chars} caractères)
brief.restored || the brief was changed and put back || le brief modifié est rétabli
block.restored || the state block was put back: {reason} || bloc d'état rétabli : {reason}
file.restored || the file was put back || fichier rétabli
history.lost || history before revision {rev} is gone: {warning}
    || historique perdu avant la révision {rev} : {warning}
journal.begun || taken up without history || repris sans historique
journal.behind || revision {rev} taken up, the journal knew {known}
    || révision {rev} reprise, le journal connaissait {known}
channel.created || made channel {name} ({mode})[ for {members}]
    || salon {name} créé ({mode})[ pour {members}]
channel.initialized || first use of the channel || première utilisation du salon
channel.woken || woken by {by}: cycle {cycle} || réveillé par {by} : cycle {cycle}
channel.dormant || fell asleep: {reason} || s'endort : {reason}
channel.calmed || put to sleep, would not stop by itself: {reason} (after {cycles} cycles)
    || endormi, ne s'arrêtait pas de lui-même : {reason} (après {cycles} cycles)
mode.changed || mode changed from {from} to {to} || mode changé de {from} à {to}
state.changed || now {to}, was {from} || désormais {to}, avant {from}
member.joined || joined as {account} || arrive comme {account}
member.left || left ({account}) || part ({account})
floor.given || has the floor, cycle {cycle} || a la parole, cycle {cycle}
order.rebuilt || speakers now: {speakers} || intervenants : {speakers}
order.shuffled || order drawn anew: {speakers} || ordre tiré au sort : {speakers}
cycle.ended || cycle {cycle} is over || cycle {cycle} terminé
turn.began || began its turn, cycle {cycle} || commence son tour, cycle {cycle}
turn.ended || ended its turn, cycle {cycle} || termine son tour, cycle {cycle}
turn.skipped || skipped in cycle {cycle}: {reason} || passé au cycle {cycle} : {reason}
delivery.confirmed || what it said has arrived || ce qu'il a dit est arrivé
delivery.timed_out || what it said was not seen within {waitedS} s
    || ce qu'il a dit n'a pas été vu en {waitedS} s
delivery.interrupted || {by} spoke before it was heard || {by} a parlé avant
delivery.dropped || delivery given up: {reason} || remise abandonnée : {reason}
message.declined || {author} wrote to an archived room and got the automatic answer
    || {author} a écrit à un salon archivé : réponse automatique
log.shortened || the message log ended at {last}, though {seen} had been seen
    || le journal des messages finissait à {last}, alors que {seen} avait été vu
wake.refused || did not wake the room: {reason} || n'a pas réveillé le salon : {reason}
discussion.completed || completed the discussion: {summary} || clôt la discussion : {summary}
summary.posted || summary posted in {channel} || synthèse publiée dans {channel}
summary.undelivered || no summary to {channel}: it is gone
    || pas de synthèse pour {channel} : il n'existe plus
prompt.shortened || {leftOut} messages did not fit into the prompt
    || {leftOut} messages de trop pour l'invite
initiator.reminded || was reminded to complete the discussion || rappel : clore la discussion
minutes.written || minutes written: {path} || compte rendu écrit : {path}
agent.message || left {toAgentId} a message[ with {artifactIds}]
    || laisse un message à {toAgentId}[ avec {artifactIds}]
agent.call.start || calls {toAgentId} || appelle {toAgentId}
agent.call.end || {toAgentId} answered the call of {fromAgentId}
    || {toAgentId} a répondu à {fromAgentId}
agent.call.error || the call of {fromAgentId} to {toAgentId} came to nothing: {code} {message}
    || l'appel de {fromAgentId} à {toAgentId} a échoué : {code} {message}
agent.call.repeated || asks {toAgentId} the same again and gets the earlier answer
    || redemande la même chose à {toAgentId} et reçoit la réponse d'avant
guard.rejected || refused by a guard ({guard}): {code} {message}
    || refusé par un garde-fou ({guard}) : {code} {message}
artifact.publish || published {artifactIds} || publie {artifactIds}
artifact.fetch || fetched {artifactIds} || récupère {artifactIds}
artifact.damaged || {artifactIds} is damaged || {artifactIds} est endommagé
artifact.removed || {artifactIds} removed: {reason} || {artifactIds} supprimé : {reason}
routing.decision || chosen[ for {facts}][ by rule {rule}][ (tier: {tier})]
    || choisi[ pour {facts}][ par la règle {rule}][ (niveau : {tier})]
agent.joined || joined as {id}, speaks {version} || arrive comme {id}, parle {version}
agent.left || left ({id})[: {reason}] || part ({id})[ : {reason}]
agent.refused || refused: {code} {reason} || refusé : {code} {reason}
agent.capabilities-changed || can do now: {capabilities} || sait faire : {capabilities}
agent.version-agreed || speaks {version} || parle {version}
group.changed || group {group} is now {members} || groupe {group} : {members}
group.refused || change of group {group} refused: {reason}
    || changement du groupe {group} refusé : {reason}
agent.available || gave a sign of life again || donne à nouveau signe de vie
agent.unavailable || not available: {reason} || indisponible : {reason}
liveness.dropped || second sign of life in a cycle dropped || second signe de vie ignoré
context.set || {key} is now {value} || {key} vaut {value}
context.opened || context {ctx} opened || contexte {ctx} ouvert
context.answered || the user got the answer || réponse remise à l'utilisateur
context.closed || context closed ({reason}) || contexte clos ({reason})
context.continued || all numbers are used: goes on in {next} || numéros épuisés : suite dans {next}
request.split || split into {tids} || divisée en {tids}
answer.composed || composed the answer ({chars} characters)
    || a composé la réponse ({chars} caractères)
message.sent || {msg} sent: {kind} from {from} to {to}[ about {tid}][, {code}]
    || {msg} envoyé : {kind} de {from} à {to}[ sur {tid}][, {code}]
message.received || {msg} came in: {kind} from {from} to {to}[ about {tid}][, {code}]
    || {msg} reçu : {kind} de {from} à {to}[ sur {tid}][, {code}]
message.delivered || {msg} delivered to {to} || {msg} remis à {to}
message.repeated || said {said} again: nothing changes || a répété {said} : rien ne change
message.warned || {said} taken with a warning: {warning} || {said} pris, mais : {warning}
message.refused || message[ {said}] refused with {code}: {reason}
    || message[ {said}] refusé avec {code} : {reason}
message.ignored || [{chars} characters ]let be: {reason}
    || [{chars} caractères ]laissés de côté : {reason}
message.unconverted || message {message} to {to} cannot be written in {version}: {reason}
    || message {message} à {to} impossible en {version} : {reason}
task.created || {tid} made, {priority}[, needs {caps}] || {tid} créée, {priority}[, demande {caps}]
task.ended || {tid} is over: {state}[ {code}][ ({reason})]
    || {tid} terminée : {state}[ {code}][ ({reason})]
task.set-aside || interrupted: {reason} || interrompu : {reason}
budget.set || budget of {tid}: {budget} tokens || budget de {tid} : {budget} jetons
budget.raised || budget of {tid} raised from {was} to {budget}
    || budget de {tid} relevé de {was} à {budget}
capabilities.matched || who fits {tid}[ ({required})], the best first: {order}
    || qui convient à {tid}[ ({required})], le meilleur d'abord : {order}
worker.chosen || {worker} chosen for {tid}, score {score}[; it lacks {missing}]
    || {worker} choisi pour {tid}, score {score}[ ; il lui manque {missing}]
worker.missing || nobody can be asked for {tid} now: {reason}
    || personne à qui demander {tid} pour l'instant : {reason}
attempt.changed || {tid}, part {hop}, attempt {attempt}: {from} to {to}[, {code}][ ({reason})]
    || {tid}, partie {hop}, tentative {attempt} : {from} vers {to}[, {code}][ ({reason})]
attempt.retried || {tid}, part {hop}: tried again after {code}, retry {retry}, at {dueAt}
    || {tid}, partie {hop} : nouvel essai {retry} après {code}, à {dueAt}
attempt.replaced || {tid}, part {hop}: another worker is asked after {code}
    || {tid}, partie {hop} : un autre exécutant après {code}
hop.given-up || {tid}, part {hop}: given up with {code}: {reason}
    || {tid}, partie {hop} : abandonnée avec {code} : {reason}
handoff.approved || handed a part of {tid} on to {target}, depth {depth}[, {budget} tokens]
    || a transmis une partie de {tid} à {target}, profondeur {depth}[, {budget} jetons]
handoff.refused || may not hand {tid} on to {target}: {code}, {reason}
    || ne peut transmettre {tid} à {target} : {code}, {reason}
question.asked || the user is asked: {text}[ ({options})]
    || question à l'utilisateur : {text}[ ({options})]
question.answered || {msg} answered by {by}: {answer} || {by} répond à {msg} : {answer}
question.expired || nobody answered {msg} in time ({code}, {policy})
    || personne n'a répondu à {msg} à temps ({code}, {policy})
council.halted || halted: no run is started[: {reason}] || arrêt : rien n'est lancé[ : {reason}]
council.resumed || runs are started again || les lancements reprennent
service.started || keeps going from now on || la ronde commence
service.stopped || is kept going no more || la ronde s'arrête
identities.changed || identities changed:[ added {added}][ changed {changed}][ removed {removed}]
    || identités modifiées :[ ajoutées {added}][ changées {changed}][ retirées {removed}]
agent.rested || rests until {until}, failed {failuresInARow} times in a row: {reason}
    || au repos jusqu'à {until}, {failuresInARow} échecs de suite : {reason}
agent.recovered || answered again after {failures} failures
    || répond à nouveau après {failures} échecs
event.erased || erased by council purge || effacé par council purge
hook.failed || hook {hook} failed: {reason} || le hook {hook} a échoué : {reason}
lock.timed_out || waited {waitedS} s in vain for {lock}, held by {holder}
    || {waitedS} s d'attente en vain pour {lock}, tenu par {holder}
""")

# What says more of some events of a type: (English, French).
_BY_HAND = ("prompt handed over, to answer by hand", "consigne remise, réponse à la main")
_NOBODY = (
    "nobody is chosen[ for {facts}]: no rule holds, and there is no default",
    "personne n'est choisi[ pour {facts}] : aucune règle ne vaut, et il n'y a pas de défaut",
)


def sentence(event: dict[str, Any], lang: str) -> str:
    """Return what an event says, in one line; one of a type that is not known shows its data."""
    place, kind, data = place_of(lang), str(event.get("type")), event.get("data") or {}
    values = {**event, **data}
    task = split_task_id(str(values.get("task") or ""))
    if task is not None:
        values.setdefault("attempt", task[3])
    known = SENTENCES.get(kind)
    if kind == "task.started" and values.get("driver") == "manual":
        known = _BY_HAND
    if kind == "routing.decision" and not event.get("agentId"):
        known = _NOBODY
    if known is None:
        listed = " ".join(f"{key}={shown(value, place)}" for key, value in data.items())
        return f"{event.get('type')} {listed}".strip()
    if place and kind in _IN_FRENCH:
        by, field, words = _IN_FRENCH[kind]
        values[field] = words.get(str(values.get(by)), values.get(field))
    return filled(known[place], {key: shown(value, place) for key, value in values.items()})


# Words that data hold and people read.
WORDS = rows("""
all-answered || all answered || tous ont répondu
timeout || out of time || délai écoulé
nobody-left || no agent was left to answer || plus aucun agent pour répondre
agreed || all agreed || tous d'accord
consensus || consensus || consensus
max-rounds || the last round was played || dernier tour joué
stopped || stopped by a person || arrêté par une personne
ceiling || the ceiling was reached || plafond atteint
phases_exhausted || all phases played || toutes les phases jouées
cancelled || cancelled || annulé
all-passed || all passed || tous ont passé
all-left || all left || tous sont partis
alone || the only agent has had its turn || le seul agent a eu son tour
repetition || only repetitions || que des répétitions
""")

# What is not called in French as in English: kinds of things, and what the data of two events say:
# by which of its fields it is found, and in the place of which it stands.
_KINDS = {
    **{"channel": "salon", "context": "contexte", "task": "tâche", "turn": "tour"},
    "artifact": "artefact",
}
_IN_FRENCH = {
    "consensus.checked": ("type", "type", {"strong": "fort", "soft": "faible", "none": "aucun"}),
    "answer.refused": (
        "code",  # the message of the command is in English
        "message",
        {
            "not-a-participant": "il ne participe pas à cette conversation",
            "not-your-turn": "ce n'est pas son tour",
            "finished": "la conversation est finie",
            "already-answered": "il a déjà répondu",
        },
    ),
}


def kind_word(kind: str, lang: str) -> str:
    """Return what a kind of thing is called in a language."""
    return _KINDS.get(kind, kind) if lang == "fr" else kind


def shown(value: object, place: int) -> str:
    """Return a value of an event's data as a sentence shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return (("no", "non"), ("yes", "oui"))[value][place]
    if isinstance(value, list):
        return ", ".join(shown(one, place) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(one, place)}" for key, one in value.items())
    text = " ".join(str(value).split())
    return WORDS[text][place] if text in WORDS else text
