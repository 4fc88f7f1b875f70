"""What the letters and words of messages mean, in English and French.

Source: PR-107, PR-109, PR-206, PR-306, PR-308, PR-309, PR-312, PR-410, PR-541, PR-596, PR-628.
"""

from __future__ import annotations

from council.core.reading import rows

# The words that V1 writes short, in the order of its table.
ABBREVIATIONS = rows("""
REQ || request: a short description of the task || request : description courte de la tâche
RES || response: result or status || response : résultat ou statut
CLR || clarification: a precise question || clarification : question précise
UPD || update: progress or change || update : progression ou changement
ACK || acknowledge: nothing, or a confirmation || acknowledge : rien, ou une confirmation
ERR || error: a code and a short description || error : code et description courte
""")

# With who usually sends a type of V5 to whom.
TYPES = rows("""
R || request: assigns a task || demande : confie une tâche || User>O, O>W
S || success: the result of a task || succès : résultat d'une tâche || W>O
E || error || erreur || W>O, O>W
C || clarification: a question or its answer || clarification : question ou réponse || W>O, O>W
U || update: progress or a change of state || avancement ou changement d'état || W>O
A || acknowledgement || accusé de réception || *
B || broadcast: information for all || diffusion : information pour tous || O>*
H || liveness: load and queue of an agent || signe de vie : charge et file d'un agent || W>O
D || a choice put to the user || choix soumis à l'utilisateur || O>User
J || join: an agent registers || inscription d'un agent || W>O
L || leave: an agent goes || départ d'un agent || W>O
K || capabilities of an agent change || compétences d'un agent mises à jour || W>O
X || hand-off from worker to worker || délégation de worker à worker || W>W
Q || query of the registry; in no table || interrogation du registre ; dans aucune table
""")
SENDERS = {kind: who[0] for kind, (_, _, *who) in TYPES.items() if who}

STATES = rows("""
N || new || nouvelle
R || running || en cours
D || done || terminée
F || failed || échouée
X || cancelled || annulée
- || no state || sans état
""")

_PRIORITIES_V3 = rows("""
P0 || critical: at once, interrupts P1 and P2 || critique : immédiat, interrompt P1 et P2
P1 || normal: standard queue || normale : file standard
P2 || low: can be deferred || faible : peut attendre
- || normal, by default || normale, par défaut
""")
_PRIORITIES_V4 = rows("""
P0 || critical: at once, interrupts all but an atomic step
    || critique : immédiat, interrompt tout sauf une étape atomique
P1 || high: within one cycle, priority queue || élevée : en un cycle, file prioritaire
P2 || moderate: best effort, standard queue || modérée : au mieux, file standard
- || not given || non indiquée
""")
PRIORITIES = {
    "V3": _PRIORITIES_V3,
    "V4": _PRIORITIES_V4,
    "V5D": _PRIORITIES_V4,
    "V5": {**_PRIORITIES_V4, "-": ("P1, by default", "P1, par défaut")},
}

SEGMENTS = rows("""
MSG || number of the message || numéro du message
FROM || sender || émetteur
TO || target || destinataire
ROLE || sender; the other one is the target || émetteur ; l'autre est le destinataire
ROUTE || sender and target || émetteur et destinataire
TYPE || kind of message || type de message
TASK || task || tâche
TID || task || tâche
PRI || priority || priorité
STATE || state of the task || état de la tâche
ERR || error code || code d'erreur
DEPTH || hand-offs so far || délégations jusqu'ici
CTX || context: the conversation || contexte : la conversation
BUDGET || tokens left || tokens restants
AUTH || signature || signature
TRACE || trace, parent, time || trace, parent, heure
DATA || payload || contenu
""")

WARNINGS = rows("""
W_ACK_EMPTY || an acknowledgement without a word || accusé de réception sans un mot
W_TASK_MISSING || this type belongs to a task || ce type appartient à une tâche
W_DATA_TRUNCATED || DATA has more than 200 characters, a reader cuts it there
    || DATA dépasse 200 caractères, un lecteur l'y coupe
W_UNKNOWN_ERR || the table lacks this code || code absent de la table
W_ERR_MISSING || an error without a code || erreur sans code
W_ERR_ON_NON_ERROR || a code on what is no error || code sur ce qui n'est pas une erreur
W_NONCANONICAL || an id with leading zeros || identifiant avec des zéros en tête
W_DEPTH_DASH || DEPTH - is read as 0 || DEPTH - est lu comme 0
W_DEPTH_EXCEPTIONAL || a depth above 3 needs a reason
    || une profondeur au-delà de 3 demande une raison
W_TYPE_Q || type Q is in no table || le type Q n'est dans aucune table
W_SENDER || this type usually has another sender || ce type a d'ordinaire un autre émetteur
""")

# How each version stands, in one word, and for what it is.
STANDINGS = rows("""
V1 || legacy: documentation only || ancienne : documentation seulement
V2 || legacy: documentation only || ancienne : documentation seulement
V3 || deprecated: migrate to V5 || dépréciée : migrer vers V5
V4 || stable: production, simple systems || stable : production, systèmes simples
V5 || recommended: modern orchestrated systems || recommandée : systèmes orchestrés modernes
V5D || draft: superseded by V5, read and never written
    || brouillon : remplacé par V5, lu et jamais écrit
""")
