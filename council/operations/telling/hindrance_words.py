"""What may stand in the way of a run, and the way out, in English and French.

For each cause there is the way out, under `fix-<cause>`. How the sentences are
filled in is the matter of `explain_words`.

Source: XC-012, `cli.md` section 2 (`explain`).
"""

from __future__ import annotations

HINDERED: dict[str, tuple[str, str]] = {
    "no-program": (
        "the program of {agent} is not there: {program}",
        "le programme de {agent} est introuvable : {program}",
    ),
    "fix-no-program": (
        "install it, or correct argv of ‹agents.{agent}› in council.toml; try it with: "
        "council doctor --probe",
        "installez-le ou corrigez argv de ‹agents.{agent}› dans council.toml ; essai : "
        "council doctor --probe",
    ),
    "no-right": (
        "the program of {agent} may not be executed: {program}",
        "le programme de {agent} n'est pas exécutable : {program}",
    ),
    "fix-no-right": ("chmod +x {program}", "chmod +x {program}"),
    "exit": (
        "the program of {agent} failed: {reason}[; it said: {output}]",
        "le programme de {agent} a échoué : {reason}[ ; il dit : {output}]",
    ),
    "fix-exit": (
        "read the log; try it with: council doctor --probe[; by hand: {reply}]",
        "lisez le journal ; essai : council doctor --probe[ ; à la main : {reply}]",
    ),
    "too-slow": (
        "the program of {agent} was ended: it {reason}",
        "le programme de {agent} a été arrêté : {reason}",
    ),
    "fix-too-slow": (
        'give it more time: timeout = "10m" under ‹agents.{agent}› in council.toml; for this '
        "round, by hand: {reply}",
        'donnez-lui du temps : timeout = "10m" sous ‹agents.{agent}› dans council.toml ; pour ce '
        "tour, à la main : {reply}",
    ),
    "no-answer": (
        "the program of {agent} ended without an answer",
        "le programme de {agent} s'est terminé sans réponse",
    ),
    "fix-no-answer": (
        'it must print its answer (or call council respond, with answer = "tool"); see the log',
        'il doit écrire sa réponse (ou appeler council respond, avec answer = "tool") ; voir le '
        "journal",
    ),
    "no-answer-tool": (
        "the program of {agent} ended and had not called council respond",
        "le programme de {agent} s'est terminé sans appeler council respond",
    ),
    "fix-no-answer-tool": (
        'its answer is "tool": what it prints is not taken. Let it call council respond, or take '
        'what it prints: answer = "stdout" under ‹agents.{agent}› in council.toml',
        "son answer est \"tool\" : ce qu'il écrit n'est pas pris. Qu'il appelle council respond, "
        'ou answer = "stdout" sous ‹agents.{agent}› dans council.toml',
    ),
    "no-folder": (
        "the folder in which {agent} is to run is not there: {program}",
        "le dossier où {agent} doit travailler n'existe pas : {program}",
    ),
    "fix-no-folder": (
        "make it again: mkdir -p {program}[; or, by hand: {reply}]",
        "recréez-le : mkdir -p {program}[ ; ou à la main : {reply}]",
    ),
    "template": (
        "no prompt can be made for {agent}: {reason}",
        "aucune consigne possible pour {agent} : {reason}",
    ),
    "fix-template": (
        "correct that template, or remove it: without it the built-in one is used",
        "corrigez ce modèle, ou retirez-le : sans lui, celui du programme sert",
    ),
    "too-long": (
        "what {agent} answered is not taken: {reason}",
        "ce que {agent} a répondu n'est pas pris : {reason}",
    ),
    "fix-too-long": (
        "let it say less, or publish what is long (council artifact publish); or raise "
        "max_text_bytes in council.toml",
        "qu'il dise moins, ou publie ce qui est long (council artifact publish) ; ou relevez "
        "max_text_bytes dans council.toml",
    ),
    "refused": (
        "what {agent} answered was refused: {message}",
        "ce que {agent} a répondu fut refusé : {message}",
    ),
    "fix-refused": (
        "it answers again, with that put right; what was said stands in: council events story "
        "{name}",
        "qu'il réponde de nouveau, en corrigeant cela ; ce qui fut dit : council events story "
        "{name}",
    ),
    "attempt-failed": ("{agent} failed: {reason}", "{agent} a échoué : {reason}"),
    "fix-attempt-failed": (
        "[see {log}; ]try it with: council doctor --probe[; by hand: {reply}]",
        "[voir {log} ; ]essai : council doctor --probe[ ; à la main : {reply}]",
    ),
    "lost": (
        "a run of {agent} died without a word (its process was killed, or the machine went down)",
        "une exécution de {agent} est morte sans un mot (processus tué, ou machine arrêtée)",
    ),
    "fix-lost": (
        "nothing has to be done: it counts as failed[ at {until}] and is tried again; sooner: "
        "{reply}",
        "rien à faire : elle compte comme échec[ à {until}] puis on réessaie ; plus tôt : {reply}",
    ),
    "rests": (
        "{agent} rests until {until}: it failed {failures} times in a row[ ({reason})]",
        "{agent} est au repos jusqu'à {until} : {failures} échecs de suite[ ({reason})]",
    ),
    "fix-rests": (
        "mend its program (council doctor --probe), or answer by hand: {reply}",
        "réparez son programme (council doctor --probe), ou à la main : {reply}",
    ),
    "cap": (
        "the cap {cap} is reached: no more runs are started",
        "le plafond {cap} est atteint : plus rien n'est lancé",
    ),
    "fix-cap": (
        "raise it under ‹limits› in council.toml, or answer by hand",
        "relevez-le sous ‹limits› dans council.toml, ou répondez à la main",
    ),
    "halted": (
        "the workspace is halted[ since {since}][: {reason}]: no run is started",
        "l'espace est arrêté[ depuis {since}][ : {reason}] : rien n'est lancé",
    ),
    "fix-halted": ("council resume --all", "council resume --all"),
    "no-heartbeat": (
        "no heartbeat has ever run here[, and {clock}]",
        "aucun battement n'a jamais eu lieu ici[, et {clock}]",
    ),
    "fix-no-heartbeat": (
        "council heartbeat; then let a clock do it: council schedule --install",
        "council heartbeat ; puis une horloge : council schedule --install",
    ),
    "old-heartbeat": (
        "the last heartbeat ran {age} ago[, and {clock}]",
        "le dernier battement date de {age}[, et {clock}]",
    ),
    "fix-old-heartbeat": (
        "council heartbeat; then let a clock do it: council schedule --install",
        "council heartbeat ; puis une horloge : council schedule --install",
    ),
    "no-clock": ("no clock runs it", "aucune horloge ne le lance"),
    "by-hand": (
        "no program answers for {agent}: it answers by hand, and has not",
        "aucun programme ne répond pour {agent} : il répond à la main, et ne l'a pas fait",
    ),
    "fix-by-hand": (
        "{reply}[ (its prompt: {prompt})]; or name a driver under ‹agents.{agent}› in council.toml",
        "{reply}[ (sa consigne : {prompt})], ou un pilote sous ‹agents.{agent}› dans council.toml",
    ),
    "by-hand-strict": (
        'no program answers for {agent}, and trust = "strict" takes no answer by hand',
        'aucun programme ne répond pour {agent}, et trust = "strict" refuse les réponses à la main',
    ),
    "fix-by-hand-strict": (
        'name a program under ‹agents.{agent}› in council.toml, or set trust = "open" there',
        'nommez un programme sous ‹agents.{agent}› dans council.toml, ou mettez-y trust = "open"',
    ),
    "turn-open": (
        "{agent} began its turn by itself[ (run {run})] and has not ended it",
        "{agent} a commencé son tour de lui-même[ (exécution {run})] et ne l'a pas fini",
    ),
    "fix-turn-open": (
        'council turn end {name} --as {agent} [--run-id {run} ]--post --text "…"',
        'council turn end {name} --as {agent} [--run-id {run} ]--post --text "…"',
    ),
    "not-completed": (
        "{agent} has not handed in the summary",
        "{agent} n'a pas rendu le résumé",
    ),
    "fix-not-completed": (
        "council discussion complete {name} --as {agent} --summary FILE",
        "council discussion complete {name} --as {agent} --summary FICHIER",
    ),
    "beat-locked": (
        "a heartbeat is at work, and others wait for it: {holder}",
        "un battement travaille, et les autres l'attendent : {holder}",
    ),
    "fix-beat-locked": (
        "if that process hangs, end it: the next heartbeat goes on",
        "si ce processus est bloqué, arrêtez-le : le battement suivant reprend",
    ),
    "broken-file": (
        "its file is not in order: {message}",
        "son fichier n'est pas en ordre : {message}",
    ),
    "fix-broken-file": (
        "see: council check --name {name}; go back: council history, council restore REV",
        "voir : council check --name {name} ; revenir : council history, council restore REV",
    ),
    "broken-document": (
        "its document cannot be read: {message}",
        "son document est illisible : {message}",
    ),
    "fix-broken-document": (
        "put the state block back, or remove the file: what was committed is restored by the "
        "next command",
        "remettez le bloc d'état, ou retirez le fichier : la commande suivante rétablit l'acquis",
    ),
    "no-place": (
        "all {places} places are taken: by {runs}",
        "les {places} places sont prises : par {runs}",
    ),
    "fix-no-place": (
        "wait, or end what hangs; more places: max_runs in council.toml. It does not count "
        "against the deadline",
        "attendez, ou arrêtez ce qui bloque ; plus de places : max_runs dans council.toml. Le "
        "délai n'en souffre pas",
    ),
    "busy": (
        "{agent} runs already elsewhere[ ({runs})]: one run of an agent at a time",
        "{agent} travaille déjà ailleurs[ ({runs})] : une exécution par agent à la fois",
    ),
    "call-lost": (
        "the call of {caller} to {agent} came to nothing: the caller ended first",
        "l'appel de {caller} à {agent} n'a rien donné : l'appelant a fini avant",
    ),
    "fix-call-lost": ("call again", "appelez de nouveau"),
    "call-too-slow": (
        "{agent}, whom {caller} had called, was ended: it {reason}",
        "{agent}, que {caller} avait appelé, a été arrêté : {reason}",
    ),
    "fix-call-too-slow": (
        "the shortest of these holds: --limit timeoutMs of the call, timeoutMs under ‹limits›, "
        "timeout under ‹agents.{agent}› in council.toml",
        "le plus court vaut : --limit timeoutMs de l'appel, timeoutMs sous ‹limits›, timeout sous "
        "‹agents.{agent}› dans council.toml",
    ),
    "call-tools": (
        "{agent}, whom {caller} had called, was ended: {reason}",
        "{agent}, que {caller} avait appelé, a été arrêté : {reason}",
    ),
    "fix-call-tools": (
        "ask for less at once, or raise maxToolCalls under ‹limits› in council.toml",
        "demandez moins à la fois, ou relevez maxToolCalls sous ‹limits› dans council.toml",
    ),
    "call-form": (
        "{agent} answered {caller} in another form than was asked for: {reason}",
        "{agent} a répondu à {caller} sous une autre forme que demandé : {reason}",
    ),
    "fix-call-form": (
        "say in the message which form you want, or mend the schema; what it printed: {log}",
        "dites dans le message la forme voulue, ou corrigez le schéma ; ce qu'il a écrit : {log}",
    ),
    "call-left": (
        "the process of {caller} that called {agent} is gone (killed, or the machine went down)",
        "le processus de {caller} qui a appelé {agent} a disparu (tué, ou machine arrêtée)",
    ),
    "fix-call-left": (
        "council heartbeat writes its end; then call again",
        "council heartbeat en écrit la fin ; puis appelez de nouveau",
    ),
    "fix-busy": ("wait until that run is over", "attendez la fin de cette exécution"),
    "locked": (
        "{holder} holds its lock",
        "{holder} tient son verrou",
    ),
    "fix-locked": (
        "if that process hangs, end it: the lock ends with it",
        "si ce processus est bloqué, arrêtez-le : le verrou disparaît avec lui",
    ),
    "disk-full": (
        "the disk is full: {free} bytes are left",
        "le disque est plein : il reste {free} octets",
    ),
    "fix-disk-full": (
        "make room (council gc --dry-run shows what may go), then: council heartbeat",
        "faites de la place (council gc --dry-run), puis : council heartbeat",
    ),
    "work-failed": (
        "work in the background failed: {last}",
        "un travail en arrière-plan a échoué : {last}",
    ),
    "fix-work-failed": (
        "read {log}, then delete it; then: council heartbeat",
        "lisez {log}, puis supprimez-le ; puis : council heartbeat",
    ),
    "is-paused": ("it is paused since {since}", "en pause depuis {since}"),
    "fix-is-paused": ("council resume --name {name}", "council resume --name {name}"),
    "asleep": (
        "the room sleeps since {since}: all agents have passed",
        "le salon dort depuis {since} : tous les agents ont passé",
    ),
    "fix-asleep": (
        'wake it with a word: council say "…" --to {name}',
        'réveillez-le d\'un mot : council say "…" --to {name}',
    ),
    "calmed": (
        "the room was put to sleep at {since}, it would not stop by itself: {reason}",
        "le salon a été endormi à {since}, il ne s'arrêtait pas : {reason}",
    ),
    "fix-calmed": (
        'only a person wakes it: council say "…" --to {name}; the bounds stand under ‹channels› '
        "in council.toml",
        'seule une personne le réveille : council say "…" --to {name} ; les bornes sont sous '
        "‹channels› dans council.toml",
    ),
    "no-turns": (
        "nobody is woken in this room: its state is {state} ({members} agents, mode {mode})",
        "personne n'est réveillé dans ce salon : état {state} ({members} agents, mode {mode})",
    ),
    "fix-no-turns": (
        "turns are taken by two agents or more, in the modes chat and discussion: "
        "council channel members {name} add AGENT; council channel mode {name} chat",
        "il faut deux agents ou plus, en mode chat ou discussion : "
        "council channel members {name} add AGENT ; council channel mode {name} chat",
    ),
    "choice-open": (
        "the user has not chosen yet: {question}[ ({options})]",
        "l'utilisateur n'a pas encore choisi : {question}[ ({options})]",
    ),
    "fix-choice-open": (
        "council msg answer {task} OPTION",
        "council msg answer {task} OPTION",
    ),
    "no-worker": (
        "no worker for {task}[: {reason}]",
        "aucun exécutant pour {task}[ : {reason}]",
    ),
    "fix-no-worker": (
        "see who could: council agent query; council agent select CAPS --explain; let one join: "
        "council agent join",
        "voir qui pourrait : council agent query ; council agent select CAPS --explain ; "
        "inscription : council agent join",
    ),
    "worker-by-hand": (
        "no program answers for {agent}: it answers by hand, and has not",
        "aucun programme ne répond pour {agent} : il répond à la main, et ne l'a pas fait",
    ),
    "fix-worker-by-hand": (
        "read what it was sent: council msg inbox --as {agent}; answer: council msg send LINE",
        "lire ce qui lui fut envoyé : council msg inbox --as {agent} ; répondre : "
        "council msg send LIGNE",
    ),
    "task-failed": ("{tid} failed: {code} {reason}", "{tid} a échoué : {code} {reason}"),
    "fix-task-failed": (
        "see: council task show {task}; who could do it: council agent select CAPS --explain; "
        "then send the request again",
        "voir : council task show {task} ; qui pourrait : council agent select CAPS --explain ; "
        "puis renvoyez la demande",
    ),
}
