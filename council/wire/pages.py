"""A page for each version and what changed from one to the next, in English and French.

Source: PR-009, PR-101, PR-210, PR-320, PR-456, PR-457, PR-501, PR-592, PR-631 to PR-634.
"""

from __future__ import annotations

from itertools import pairwise

from council.core.errors import UsageError
from council.core.reading import rows
from council.wire.messages import VERSIONS

# Sentence by sentence, in English and French.
_SENTENCES = rows("""
V1 || A block of lines between two agents: an ORCHESTRATOR, who assigns tasks, checks results and
    begins, and a WORKER, who executes and only answers.
    || Un bloc de lignes entre deux agents : un ORCHESTRATOR, qui confie les tâches, contrôle les
    résultats et prend l'initiative, et un WORKER, qui exécute et ne fait que répondre.
    || Its priorities are speed, clarity and few tokens.
    || Ses priorités sont la rapidité, la clarté et peu de tokens.
    || Fields in fixed order, none empty: FROM, TO, TYPE, TASK (optional), DATA.
    || Champs dans un ordre fixe, aucun vide : FROM, TO, TYPE, TASK (facultatif), DATA.
V2 || One line of five segments: MSG_XX|ROLE|TYPE|TASK_XX|data. About half the tokens of V1; O
    begins, W answers.
    || Une ligne de cinq segments : MSG_XX|ROLE|TYPE|TASK_XX|data. Environ la moitié des tokens de
    V1 ; O prend l'initiative, W répond.
    || Planned there for V3: routing by id, priority 1 to 3, chaining by REF_MSG_XX, a shared
    dictionary, batches.
    || Prévu pour V3 : routage par identifiant, priorité de 1 à 3, chaînage par REF_MSG_XX,
    dictionnaire partagé, lots.
    || Came: routing; priority, as P0 to P2; chaining, as pid= and #MSG: in V5.
    || Venus : le routage ; la priorité, de P0 à P2 ; le chaînage, par pid= et #MSG: en V5.
    || Did not come: the dictionary, batches. || Non venus : le dictionnaire, les lots.
V3 || One line of seven segments between numbered agents:
    MSG_XX|FROM>TO|TYPE|TASK_XX|PRI|STATE|data.
    || Une ligne de sept segments entre agents numérotés :
    MSG_XX|FROM>TO|TYPE|TASK_XX|PRI|STATE|data.
    || Planned there for V4: persistent context, a dictionary, batches [..;..], time stamps and TTL,
    RETRY, a hierarchy O1.W1.W1a.
    || Prévu pour V4 : contexte persistant, dictionnaire, lots [..;..], horodatage et TTL, RETRY,
    hiérarchie O1.W1.W1a.
    || Came: the hierarchy in V4; context as CTX, and retries as pairs in DATA, in V5.
    || Venus : la hiérarchie en V4 ; le contexte (CTX) et les nouveaux essais (paires dans DATA) en
    V5.
    || Did not come: the dictionary, batches, time stamps and TTL.
    || Non venus : le dictionnaire, les lots, l'horodatage et le TTL.
V4 || One line of eight segments with limits and checks: M<n>|FROM>TO|TYPE|T<n>|PRI|STATE|ERR|DATA.
    || Une ligne de huit segments avec limites et contrôles :
    M<n>|FROM>TO|TYPE|T<n>|PRI|STATE|ERR|DATA.
    || DATA has at most 200 characters; what is longer is referred to.
    || DATA compte au plus 200 caractères ; au-delà, on renvoie à une référence.
V5D || A plan in the V4 chapter: ten segments with AUTH and TRACE. It is read as V5D and never
    written.
    || Un projet du chapitre V4 : dix segments avec AUTH et TRACE. Il est lu comme V5D et jamais
    écrit.
    || Its field VER and its handshake by H came otherwise: J with version=V5;fallback=V4, answered
    by A (PR-591).
    || Son champ VER et sa négociation par H sont venus autrement : J avec version=V5;fallback=V4,
    et A en réponse (PR-591).
    || Groups and pointers came; @role, fan-out, the dictionary $n and ~zip did not.
    || Groupes et pointeurs sont venus ; @role, fan-out, dictionnaire $n et ~zip non.
    || Out of scope: end-to-end encryption, tenants (NS1.O1), guarantees of delivery, streaming.
    || Hors périmètre : chiffrement de bout en bout, locataires (NS1.O1), garanties de livraison,
    flux.
V5 || One line of eleven segments: M<n>|FROM>TO|TYPE|TID|PRI|STATE|ERR|DEPTH|CTX|BUDGET|DATA.
    || Une ligne de onze segments : M<n>|FROM>TO|TYPE|TID|PRI|STATE|ERR|DEPTH|CTX|BUDGET|DATA.
    || An orchestrator calls specialised workers like tools, by their capabilities; depth, retries
    and budget are bounded; ids of task, context, message and parent make everything traceable.
    || Un orchestrateur appelle des workers spécialisés comme des outils, par compétence ;
    profondeur, essais et budget sont bornés ; les identifiants de tâche, de contexte, de message et
    de parent rendent tout traçable.
""")
PAGES = {version: (said[::2], said[1::2]) for version, said in _SENTENCES.items()}

# What was added, changed and removed by a version, item by item in English and French.
_STEPS = rows("""
V2 added || standard codes E01 to E99 || codes standard E01 à E99
    || structured data k=v;k=v || données structurées k=v;k=v
V2 changed || block to one line with | || bloc vers une ligne avec |
    || words to letters: ORCHESTRATOR O, WORKER W, REQ R, RES S, CLR C, UPD U, ACK A, ERR E
    || mots vers lettres : ORCHESTRATOR O, WORKER W, REQ R, RES S, CLR C, UPD U, ACK A, ERR E
    || FROM and TO to the sender alone || FROM et TO vers l'émetteur seul
V2 removed || blocks of lines || blocs de lignes
    || explicit TO || TO explicite
V3 added || numbered ids O1, W1 || identifiants numérotés O1, W1
    || route FROM>TO || route FROM>TO
    || PRI: P0, P1, P2 || PRI : P0, P1, P2
    || STATE: N, R, D, F, X || STATE : N, R, D, F, X
    || type B (broadcast) || type B (diffusion)
    || codes E05 to E10 || codes E05 à E10
    || checklist of validation || liste de validation
    || target * || destinataire *
V3 changed || 5 to 7 segments || 5 vers 7 segments
    || O to O1, W to W1 || O vers O1, W vers W1
    || the sign > in the route || signe > dans la route
V3 removed
V4 added || segment ERR || segment ERR
    || compact ids M1, T1 || identifiants compacts M1, T1
    || type H (liveness) || type H (signe de vie)
    || roles R (router) and G (group) || rôles R (routeur) et G (groupe)
    || codes E11 to E15, E20 to E22 || codes E11 à E15, E20 à E22
    || categories of codes || catégories de codes
    || state machine || machine à états
    || lengths of segments || longueurs des segments
    || complete checklist || liste de contrôle complète
    || table for older versions || table pour les versions antérieures
V4 changed || 7 to 8 segments || 7 vers 8 segments
    || DATA at most 200 characters || DATA de 200 caractères au plus
    || inline Exx:text to ERR and DATA || Exx:texte vers ERR et DATA
    || E03, E04 and E07 mean something else, the version code moves to E12 (unsaid)
    || E03, E04 et E07 changent de sens, le code de version passe à E12 (non dit)
V4 removed || MSG_ || MSG_
    || TASK_ || TASK_
V5 added || segments DEPTH, CTX, BUDGET || segments DEPTH, CTX, BUDGET
    || types J, L, K, D, X (and Q) || types J, L, K, D, X (et Q)
    || capabilities and a registry || compétences et registre
    || references #REF:, #CTX:, #MSG: || références #REF:, #CTX:, #MSG:
    || retry and fallback in DATA || nouvel essai et repli dans DATA
    || codes E16 to E19, E23 to E90 || codes E16 à E19, E23 à E90
V5 changed || 8 to 11 segments || 8 vers 11 segments
    || DATA moves from place 8 to 11 || DATA passe de la place 8 à 11
    || most codes mean something else (unsaid) || la plupart des codes changent de sens (non dit)
V5 removed || none is stated; in fact E01 to E09 and the collision code are gone
    || aucune annoncée ; en fait E01 à E09 et le code de collision ont disparu
""")
_KINDS = ("added", "changed", "removed")


def changes_between(older: str, newer: str, lang: str = "en") -> list[dict[str, object]]:
    """Return additions, changes and removals of each step from a version to a later one.

    Raises:
        UsageError: A version does not exist, or the second is not the later one.
    """
    if older not in VERSIONS or newer not in VERSIONS or older >= newer:
        raise UsageError(
            f"no change leads from {older} to {newer}",
            f"name two of {', '.join(VERSIONS)} in order",
        )
    french = lang == "fr"
    return [
        {
            "from": before,
            "to": after,
            **{kind: list(_STEPS[f"{after} {kind}"][french::2]) for kind in _KINDS},
        }
        for before, after in pairwise(VERSIONS)
        if older < after <= newer
    ]
