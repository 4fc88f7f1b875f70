"""A page for each version: what it is, and what became of its plans, in English and French.

Source: PR-101, PR-210, PR-320, PR-456, PR-457, PR-501, PR-592.
"""

from __future__ import annotations

PAGES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "V1": (
        (
            "A block of lines between two agents: an ORCHESTRATOR, who assigns tasks, checks "
            "results and begins, and a WORKER, who executes and only answers.",
            "Its priorities are speed, clarity and few tokens.",
            "Fields in fixed order, none empty: FROM, TO, TYPE, TASK (optional), DATA.",
        ),
        (
            "Un bloc de lignes entre deux agents : un ORCHESTRATOR, qui confie les tâches, "
            "contrôle les résultats et prend l'initiative, et un WORKER, qui exécute et ne fait "
            "que répondre.",
            "Ses priorités sont la rapidité, la clarté et peu de tokens.",
            "Champs dans un ordre fixe, aucun vide : FROM, TO, TYPE, TASK (facultatif), DATA.",
        ),
    ),
    "V2": (
        (
            "One line of five segments: MSG_XX|ROLE|TYPE|TASK_XX|data. About half the tokens of "
            "V1; O begins, W answers.",
            "Planned there for V3: routing by id, priority 1 to 3, chaining by REF_MSG_XX, a "
            "shared dictionary, batches.",
            "Came: routing; priority, as P0 to P2; chaining, as pid= and #MSG: in V5.",
            "Did not come: the dictionary, batches.",
        ),
        (
            "Une ligne de cinq segments : MSG_XX|ROLE|TYPE|TASK_XX|data. Environ la moitié des "
            "tokens de V1 ; O prend l'initiative, W répond.",
            "Prévu pour V3 : routage par identifiant, priorité de 1 à 3, chaînage par "
            "REF_MSG_XX, dictionnaire partagé, lots.",
            "Venus : le routage ; la priorité, de P0 à P2 ; le chaînage, par pid= et #MSG: en V5.",
            "Non venus : le dictionnaire, les lots.",
        ),
    ),
    "V3": (
        (
            "One line of seven segments between numbered agents: "
            "MSG_XX|FROM>TO|TYPE|TASK_XX|PRI|STATE|data.",
            "Planned there for V4: persistent context, a dictionary, batches [..;..], time "
            "stamps and TTL, RETRY, a hierarchy O1.W1.W1a.",
            "Came: the hierarchy in V4; context as CTX, and retries as pairs in DATA, in V5.",
            "Did not come: the dictionary, batches, time stamps and TTL.",
        ),
        (
            "Une ligne de sept segments entre agents numérotés : "
            "MSG_XX|FROM>TO|TYPE|TASK_XX|PRI|STATE|data.",
            "Prévu pour V4 : contexte persistant, dictionnaire, lots [..;..], horodatage et TTL, "
            "RETRY, hiérarchie O1.W1.W1a.",
            "Venus : la hiérarchie en V4 ; le contexte (CTX) et les nouveaux essais (paires dans "
            "DATA) en V5.",
            "Non venus : le dictionnaire, les lots, l'horodatage et le TTL.",
        ),
    ),
    "V4": (
        (
            "One line of eight segments with limits and checks: "
            "M<n>|FROM>TO|TYPE|T<n>|PRI|STATE|ERR|DATA.",
            "DATA has at most 200 characters; what is longer is referred to.",
        ),
        (
            "Une ligne de huit segments avec limites et contrôles : "
            "M<n>|FROM>TO|TYPE|T<n>|PRI|STATE|ERR|DATA.",
            "DATA compte au plus 200 caractères ; au-delà, on renvoie à une référence.",
        ),
    ),
    "V5D": (
        (
            "A plan in the V4 chapter: ten segments with AUTH and TRACE. It is read as V5D and "
            "never written.",
            "Its field VER and its handshake by H came otherwise: J with version=V5;fallback=V4, "
            "answered by A (PR-591).",
            "Groups and pointers came; @role, fan-out, the dictionary $n and ~zip did not.",
            "Out of scope: end-to-end encryption, tenants (NS1.O1), guarantees of delivery, "
            "streaming.",
        ),
        (
            "Un projet du chapitre V4 : dix segments avec AUTH et TRACE. Il est lu comme V5D et "
            "jamais écrit.",
            "Son champ VER et sa négociation par H sont venus autrement : J avec "
            "version=V5;fallback=V4, et A en réponse (PR-591).",
            "Groupes et pointeurs sont venus ; @role, fan-out, dictionnaire $n et ~zip non.",
            "Hors périmètre : chiffrement de bout en bout, locataires (NS1.O1), garanties de "
            "livraison, flux.",
        ),
    ),
    "V5": (
        (
            "One line of eleven segments: "
            "M<n>|FROM>TO|TYPE|TID|PRI|STATE|ERR|DEPTH|CTX|BUDGET|DATA.",
            "An orchestrator calls specialised workers like tools, by their capabilities; depth, "
            "retries and budget are bounded; ids of task, context, message and parent make "
            "everything traceable.",
        ),
        (
            "Une ligne de onze segments : "
            "M<n>|FROM>TO|TYPE|TID|PRI|STATE|ERR|DEPTH|CTX|BUDGET|DATA.",
            "Un orchestrateur appelle des workers spécialisés comme des outils, par compétence ; "
            "profondeur, essais et budget sont bornés ; les identifiants de tâche, de contexte, "
            "de message et de parent rendent tout traçable.",
        ),
    ),
}
