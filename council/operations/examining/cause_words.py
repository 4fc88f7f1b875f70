"""Every cause: what may be in the way, in English and French, and the way out of it.

One table for `status`, `status --problems`, `explain`, `doctor` and the live view. A cause
that is missing here cannot be said; `causes` finds them. They stand in the order in which
they are shown: what keeps most things from going on comes first. `{field}` is filled in; what
stands in square brackets is left out where one of its fields is empty; ‹ and › are shown as
square brackets.

Source: OP-011, XC-012, `cli.md` section 2.
"""

from __future__ import annotations

from council.core.reading import rows

# Of these an agent waits in good order: `explain` says so, and they are no problem.
_BY_HAND = ("by-hand", "worker-by-hand", "turn-open", "refused")
PATIENCE = frozenset((*_BY_HAND, "asleep", "no-turns", "no-place", "busy", "locked", "beat-locked"))

# By these a heartbeat should have done something, and none has.
OVERDUE = frozenset(("overdue", "not-woken", "late-task"))

# Cause, what is said in English and in French, and the way out in English and, where it is no mere
# command, in French. Where the file or the program at fault says it all itself, so does its cause.
CAUSES = rows("""
halted || the workspace is halted[ since {since}][: {reason}]: no run is started
    || l'espace est arrêté[ depuis {since}][ : {reason}] : rien n'est lancé
    || council resume --all
no-heartbeat || no heartbeat has ever run here[, and {clock}]
    || aucun battement n'a jamais eu lieu ici[, et {clock}]
    || council heartbeat; then let a clock do it: council schedule --install
    || council heartbeat ; puis une horloge : council schedule --install
old-heartbeat || the last heartbeat ran {age} ago[, and {clock}]
    || le dernier battement date de {age}[, et {clock}]
    || council heartbeat; then let a clock do it: council schedule --install
    || council heartbeat ; puis une horloge : council schedule --install
old-clock || {kind} runs the heartbeat of {root}, where no folder is: was it moved?
    || {kind} fait le battement de {root}, où il n'y a pas de dossier : fut-il déplacé ?
    || council schedule --install here; then take the old one out: {old}
    || council schedule --install ici ; puis retirez l'ancienne : {old}
beat-locked || a heartbeat is at work, and others wait for it: {holder}
    || un battement travaille, et les autres l'attendent : {holder}
    || if that process hangs, end it: the next heartbeat goes on
    || si ce processus est bloqué, arrêtez-le : le battement suivant reprend
disk-full || the disk is full, or nearly: {free} MiB are left
    || le disque est plein, ou presque : il reste {free} Mio
    || make room (council gc --dry-run shows what may go), then: council heartbeat
    || faites de la place (council gc --dry-run), puis : council heartbeat
folder-missing || the folder is missing || le dossier manque || council doctor --repair
folder-closed || the folder cannot be written || le dossier ne peut être écrit || chmod u+rwx {path}
setting || {message} || {message}
    || correct or delete that line in council.toml
    || corrigez ou retirez cette ligne de council.toml
no-such-limit || no limit is called {limit} || aucune limite ne s'appelle {limit}
    || there are: {known} || il y a : {known}
hook || {message} || {message} || {hint}
routing || {message} || {message} || {hint}
key || its mode is {mode}, which lets others read it, or not even its owner
    || son mode est {mode} : d'autres la lisent, ou pas même son propriétaire
    || chmod {wanted} {path}
counts || {path} cannot be read; counts of runs begin anew
    || {path} est illisible ; les comptes recommencent
    || council doctor --repair
work-failed || work in the background failed: {last} || un travail en arrière-plan a échoué : {last}
    || read {log}, then delete it; then: council heartbeat
    || lisez {log}, puis supprimez-le ; puis : council heartbeat
cap || the cap {cap} is reached: no more runs are started
    || le plafond {cap} est atteint : plus rien n'est lancé
    || raise it under ‹limits› in council.toml || relevez-le sous ‹limits› dans council.toml
rests || {agent} rests until {until}: it failed[ {once}][ {failures} times in a row][ ({reason})]
    || {agent} est au repos jusqu'à {until} : [a échoué {once}][{failures} échecs de suite][
       ({reason})]
    || mend its program; it is back as soon as it answers: council doctor --probe
    || réparez son programme ; il revient dès qu'il répond : council doctor --probe
no-driver || no driver '{driver}' || aucun pilote '{driver}'
    || set driver to one of {known} under ‹agents.{agent}› in council.toml
    || driver doit être l'un de {known} sous ‹agents.{agent}› dans council.toml
no-command || {agent} has no argv and no known preset || {agent} n'a ni argv ni preset connu
    || set argv under ‹agents.{agent}› in council.toml
    || donnez argv sous ‹agents.{agent}› dans council.toml
no-program || the program of {agent} is not there: {program}
    || le programme de {agent} est introuvable : {program}
    || install it, or correct argv of ‹agents.{agent}› in council.toml; try it with: council doctor
       --probe
    || installez-le ou corrigez argv de ‹agents.{agent}› dans council.toml ; essai : council doctor
       --probe
no-right || the program of {agent} may not be executed: {program}
    || le programme de {agent} n'est pas exécutable : {program}
    || chmod +x {program}
no-folder || the folder in which {agent} is to run is not there: {program}
    || le dossier où {agent} doit travailler n'existe pas : {program}
    || make it again: mkdir -p {program}[; for this round, by hand: {reply}]
    || recréez-le : mkdir -p {program}[ ; pour ce tour, à la main : {reply}]
soul || {message} || {message} || correct it there || corrigez-le là
moderator || an agent has the id of who moderates rooms, and can be in none
    || un agent a l'id du modérateur des salons, et ne peut être dans aucun
    || rename its folder below {path}/ and its table in council.toml
    || renommez son dossier sous {path}/ et sa table dans council.toml
registry || {message} || {message} || {hint}
identities || {message} || {message} || {hint}
identity-source || {message} || {message} || {hint}
silent || no sign of life for {age} || aucun signe de vie depuis {age}
    || start it again; it is back with: council agent liveness {id} --load 0
    || relancez-le ; il revient avec : council agent liveness {id} --load 0
left-over || a {kind} has no end: the process that made it is gone
    || un {kind} n'a pas de fin : son processus a disparu
    || council heartbeat writes its end; then ask again
    || council heartbeat en écrit la fin ; puis redemandez
bytecode || Python compiles council anew for each command, which takes several times as long: {why}
    || Python recompile council à chaque commande, ce qui prend plusieurs fois plus longtemps :
       {why}
    || {fix}
newer-file || its file has schemaVersion {version}, which only a newer council can write
    || son fichier est de schemaVersion {version}, que seul un council plus récent sait écrire
    || install a council that knows schemaVersion {version}; or go back: council history, council
       restore REV
    || installez un council qui connaît schemaVersion {version} ; ou revenez : council history,
       council restore REV
broken-file || its file is not in order: {message} || son fichier n'est pas en ordre : {message}
    || council doctor --repair; see: council check --name {name}; go back: council history, council
       restore REV
    || council doctor --repair ; voir : council check --name {name} ; revenir : council history,
       council restore REV
broken-document || its document cannot be read: {message} || son document est illisible : {message}
    || put the state block back, or remove the file: what was committed is restored by the next
       command
    || remettez le bloc d'état, ou retirez le fichier : la commande suivante rétablit l'acquis
context || {message} || {message} || {hint}
log-cut || its log of messages ends at {last}, though message {seen} was there
    || son journal s'arrête à {last}, alors que le message {seen} y était
    || put memory/shared/channels/{name}.jsonl back, or go on with: council say "…" --to {name}
    || remettez memory/shared/channels/{name}.jsonl, ou continuez : council say "…" --to {name}
lock-stuck || {holder} has held a lock for more than a minute
    || {holder} tient un verrou depuis plus d'une minute
    || if that process hangs, end it: the lock ends with it
    || si ce processus est bloqué, arrêtez-le : le verrou disparaît avec lui
locked || {holder} holds its lock || {holder} tient son verrou
    || if that process hangs, end it: the lock ends with it
    || si ce processus est bloqué, arrêtez-le : le verrou disparaît avec lui
exit || the program of {agent} failed: {reason}[; it said: {output}]
    || le programme de {agent} a échoué : {reason}[ ; il dit : {output}]
    || read the log; try it with: council doctor --probe[; by hand: {reply}]
    || lisez le journal ; essai : council doctor --probe[ ; à la main : {reply}]
too-slow || the program of {agent} was ended: it {reason}
    || le programme de {agent} a été arrêté : {reason}
    || give it more time: timeout = "10m" under ‹agents.{agent}› in council.toml; for this round, by
       hand: {reply}
    || donnez-lui du temps : timeout = "10m" sous ‹agents.{agent}› dans council.toml ; pour ce tour,
       à la main : {reply}
no-answer || the program of {agent} ended without an answer
    || le programme de {agent} s'est terminé sans réponse
    || it must print its answer (or call council respond, with answer = "tool"); see the log
    || il doit écrire sa réponse (ou appeler council respond, avec answer = "tool") ; voir le
       journal
no-answer-tool || the program of {agent} ended and had not called council respond
    || le programme de {agent} s'est terminé sans appeler council respond
    || its answer is "tool": what it prints is not taken. Let it call council respond, or take what
       it prints: answer = "stdout" under ‹agents.{agent}› in council.toml
    || son answer est "tool" : ce qu'il écrit n'est pas pris. Qu'il appelle council respond, ou
       answer = "stdout" sous ‹agents.{agent}› dans council.toml
template || no prompt can be made for {agent}: {reason}
    || aucune consigne possible pour {agent} : {reason}
    || correct that template, or remove it: without it the built-in one is used
    || corrigez ce modèle, ou retirez-le : sans lui, celui du programme sert
too-long || what {agent} answered is not taken: {reason}
    || ce que {agent} a répondu n'est pas pris : {reason}
    || let it say less, or publish what is long (council artifact publish); or raise max_text_bytes
       in council.toml
    || qu'il dise moins, ou publie ce qui est long (council artifact publish) ; ou relevez
       max_text_bytes dans council.toml
attempt-failed || {agent} failed: {reason} || {agent} a échoué : {reason}
    || [see {log}; ]try it with: council doctor --probe[; for this round, by hand: {reply}]
    || [voir {log} ; ]essai : council doctor --probe[ ; pour ce tour, à la main : {reply}]
lost || a run of {agent} died without a word (its process was killed, or the machine went down)
    || une exécution de {agent} est morte sans un mot (processus tué, ou machine arrêtée)
    || nothing has to be done: it counts as failed[ at {until}] and is tried again; sooner: {reply}
    || rien à faire : elle compte comme échec[ à {until}] puis on réessaie ; plus tôt : {reply}
refused || what {agent} answered was refused: {message}
    || ce que {agent} a répondu fut refusé : {message}
    || it answers again, with that put right; what was said stands in: council events story {name}
    || qu'il réponde de nouveau, en corrigeant cela ; ce qui fut dit : council events story {name}
overdue || {phase} round {tour}, over for {late}, waits for {agents}
    || {phase} tour {tour}, hors délai depuis {late}, attend {agents}
    || council heartbeat; or give it time: council extend 30m --name {name}
    || council heartbeat ; ou du temps : council extend 30m --name {name}
not-woken || {agent} has the floor and was to be woken {late} ago
    || {agent} a la parole et devait être réveillé il y a {late}
    || council heartbeat
late-task || {task} is over for {late} || {task} est hors délai depuis {late} || council heartbeat
by-hand || no program answers for {agent}: it answers by hand, and has not
    || aucun programme ne répond pour {agent} : il répond à la main, et ne l'a pas fait
    || {reply}[ (its prompt: {prompt})]; or name a driver under ‹agents.{agent}› in council.toml
    || {reply}[ (sa consigne : {prompt})], ou un pilote sous ‹agents.{agent}› dans council.toml
by-hand-strict || no program answers for {agent}, and trust = "strict" takes no answer by hand
    || aucun programme ne répond pour {agent}, et trust = "strict" refuse les réponses à la main
    || name a program under ‹agents.{agent}› in council.toml, or set trust = "open" there
    || nommez un programme sous ‹agents.{agent}› dans council.toml, ou mettez-y trust = "open"
turn-open || {agent} began its turn by itself[ (run {run})] and has not ended it
    || {agent} a commencé son tour de lui-même[ (exécution {run})] et ne l'a pas fini
    || council turn end {name} --as {agent} [--run-id {run} ]--post --text "…"
not-completed || {agent} has not handed in the summary || {agent} n'a pas rendu le résumé
    || write the summary to that file and do: {reply}
    || écrivez le résumé dans ce fichier, puis : {reply}
choice-open || the user has not chosen yet: {question}[ ({options})]
    || l'utilisateur n'a pas encore choisi : {question}[ ({options})]
    || council msg answer {task} OPTION
no-worker || no worker for {task}[: {reason}] || aucun exécutant pour {task}[ : {reason}]
    || see who could: council agent query; council agent select CAPS --explain; let one join:
       council agent join
    || voir qui pourrait : council agent query ; council agent select CAPS --explain ; inscription :
       council agent join
worker-by-hand || no program answers for {agent}: it answers by hand, and has not
    || aucun programme ne répond pour {agent} : il répond à la main, et ne l'a pas fait
    || read what it was sent: council msg inbox --as {agent}; answer: council msg send LINE
    || lire ce qui lui fut envoyé : council msg inbox --as {agent} ; répondre : council msg send
       LIGNE
task-failed || {tid} failed: {code} {reason} || {tid} a échoué : {code} {reason}
    || see: council task show {task}; who could do it: council agent select CAPS --explain; then
       send the request again
    || voir : council task show {task} ; qui pourrait : council agent select CAPS --explain ; puis
       renvoyez la demande
not-adopted || no command made the file of {name} as it stands, and trust = "strict"
    || aucune commande n'a fait le fichier de {name} tel qu'il est, et trust = "strict"
    || read it; if it is to go on: council adopt {name}
    || lisez-le ; s'il doit continuer : council adopt {name}
is-paused || it is paused since {since} || en pause depuis {since} || council resume --name {name}
asleep || the room sleeps since {since}: all have had their turn, and nothing was said since
    || le salon dort depuis {since} : tous ont eu leur tour, et rien n'a été dit depuis
    || wake it with a word: council say "…" --to {name}
    || réveillez-le d'un mot : council say "…" --to {name}
calmed || the room was put to sleep at {since}, it would not stop by itself: {reason}
    || le salon a été endormi à {since}, il ne s'arrêtait pas : {reason}
    || only a person wakes it: council say "…" --to {name}; the bounds stand under ‹channels› in
       council.toml
    || seule une personne le réveille : council say "…" --to {name} ; les bornes sont sous
       ‹channels› dans council.toml
no-turns || nobody is woken in this room: its state is {state} ({members} agents, mode {mode})
    || personne n'est réveillé dans ce salon : état {state} ({members} agents, mode {mode})
    || [let an agent in: council channel members {empty} add AGENT][where turns are taken: council
       channel mode {free} chat][its mode is locked; make a room that takes turns: council channel
       create chat NAME --participants {locked}]
    || [faites entrer un agent : council channel members {empty} add AGENT][pour parler à tour de
       rôle : council channel mode {free} chat][son mode est verrouillé ; créez un salon où l'on
       parle à tour de rôle : council channel create chat NOM --participants {locked}]
no-place || all {places} places are taken: by {runs} || les {places} places sont prises : par {runs}
    || wait, or end what hangs; more places: max_runs in council.toml. It does not count against the
       deadline
    || attendez, ou arrêtez ce qui bloque ; plus de places : max_runs dans council.toml. Le délai
       n'en souffre pas
busy || {agent} runs already elsewhere[ ({runs})]: one run of an agent at a time
    || {agent} travaille déjà ailleurs[ ({runs})] : une exécution par agent à la fois
    || wait until that run is over || attendez la fin de cette exécution
call-left || the process of {caller} that called {agent} is gone (killed, or the machine went down)
    || le processus de {caller} qui a appelé {agent} a disparu (tué, ou machine arrêtée)
    || council heartbeat writes its end; then call again
    || council heartbeat en écrit la fin ; puis appelez de nouveau
call-lost || the call of {caller} to {agent} came to nothing: the caller ended first
    || l'appel de {caller} à {agent} n'a rien donné : l'appelant a fini avant
    || call again || appelez de nouveau
call-too-slow || {agent}, whom {caller} had called, was ended: it {reason}
    || {agent}, que {caller} avait appelé, a été arrêté : {reason}
    || the shortest of these holds: --limit timeoutMs of the call, timeoutMs under ‹limits›, timeout
       under ‹agents.{agent}› in council.toml
    || le plus court vaut : --limit timeoutMs de l'appel, timeoutMs sous ‹limits›, timeout sous
       ‹agents.{agent}› dans council.toml
call-tools || {agent}, whom {caller} had called, was ended: {reason}
    || {agent}, que {caller} avait appelé, a été arrêté : {reason}
    || ask for less at once, or raise maxToolCalls under ‹limits› in council.toml
    || demandez moins à la fois, ou relevez maxToolCalls sous ‹limits› dans council.toml
call-form || {agent} answered {caller} in another form than was asked for: {reason}
    || {agent} a répondu à {caller} sous une autre forme que demandé : {reason}
    || say in the message which form you want, or mend the schema; what it printed: {log}
    || dites dans le message la forme voulue, ou corrigez le schéma ; ce qu'il a écrit : {log}
sharing || {message} || {message} || {hint}
policy || {message} || {message} || {hint}
calls || {message} || {message} || {hint}
artifact || {message} || {message} || {hint}
brief || {message} || {message} || {hint}
probe || {message} || {message} || {hint}
""")
