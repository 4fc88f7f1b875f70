"""What changed from version to version, in English and French.

Source: PR-009, PR-631 to PR-634.
"""

from __future__ import annotations

from itertools import pairwise

from council.core.errors import UsageError
from council.wire.messages import VERSIONS

Items = tuple[tuple[str, str], ...]

_STEPS: dict[str, dict[str, Items]] = {
    "V2": {
        "added": (
            ("standard codes E01 to E99", "codes standard E01 à E99"),
            ("structured data k=v;k=v", "données structurées k=v;k=v"),
        ),
        "changed": (
            ("block to one line with |", "bloc vers une ligne avec |"),
            (
                "words to letters: ORCHESTRATOR O, WORKER W, REQ R, RES S, CLR C, UPD U, ACK A, "
                "ERR E",
                "mots vers lettres : ORCHESTRATOR O, WORKER W, REQ R, RES S, CLR C, UPD U, ACK A, "
                "ERR E",
            ),
            ("FROM and TO to the sender alone", "FROM et TO vers l'émetteur seul"),
        ),
        "removed": (("blocks of lines", "blocs de lignes"), ("explicit TO", "TO explicite")),
    },
    "V3": {
        "added": (
            ("numbered ids O1, W1", "identifiants numérotés O1, W1"),
            ("route FROM>TO", "route FROM>TO"),
            ("PRI: P0, P1, P2", "PRI : P0, P1, P2"),
            ("STATE: N, R, D, F, X", "STATE : N, R, D, F, X"),
            ("type B (broadcast)", "type B (diffusion)"),
            ("codes E05 to E10", "codes E05 à E10"),
            ("checklist of validation", "liste de validation"),
            ("target *", "destinataire *"),
        ),
        "changed": (
            ("5 to 7 segments", "5 vers 7 segments"),
            ("O to O1, W to W1", "O vers O1, W vers W1"),
            ("the sign > in the route", "signe > dans la route"),
        ),
        "removed": (),
    },
    "V4": {
        "added": (
            ("segment ERR", "segment ERR"),
            ("compact ids M1, T1", "identifiants compacts M1, T1"),
            ("type H (liveness)", "type H (signe de vie)"),
            ("roles R (router) and G (group)", "rôles R (routeur) et G (groupe)"),
            ("codes E11 to E15, E20 to E22", "codes E11 à E15, E20 à E22"),
            ("categories of codes", "catégories de codes"),
            ("state machine", "machine à états"),
            ("lengths of segments", "longueurs des segments"),
            ("complete checklist", "liste de contrôle complète"),
            ("table for older versions", "table pour les versions antérieures"),
        ),
        "changed": (
            ("7 to 8 segments", "7 vers 8 segments"),
            ("DATA at most 200 characters", "DATA de 200 caractères au plus"),
            ("inline Exx:text to ERR and DATA", "Exx:texte vers ERR et DATA"),
            (
                "E03, E04 and E07 mean something else, the version code moves to E12 (unsaid)",
                "E03, E04 et E07 changent de sens, le code de version passe à E12 (non dit)",
            ),
        ),
        "removed": (("MSG_", "MSG_"), ("TASK_", "TASK_")),
    },
    "V5": {
        "added": (
            ("segments DEPTH, CTX, BUDGET", "segments DEPTH, CTX, BUDGET"),
            ("types J, L, K, D, X (and Q)", "types J, L, K, D, X (et Q)"),
            ("capabilities and a registry", "compétences et registre"),
            ("references #REF:, #CTX:, #MSG:", "références #REF:, #CTX:, #MSG:"),
            ("retry and fallback in DATA", "nouvel essai et repli dans DATA"),
            ("codes E16 to E19, E23 to E90", "codes E16 à E19, E23 à E90"),
        ),
        "changed": (
            ("8 to 11 segments", "8 vers 11 segments"),
            ("DATA moves from place 8 to 11", "DATA passe de la place 8 à 11"),
            (
                "most codes mean something else (unsaid)",
                "la plupart des codes changent de sens (non dit)",
            ),
        ),
        "removed": (
            (
                "none is stated; in fact E01 to E09 and the collision code are gone",
                "aucune annoncée ; en fait E01 à E09 et le code de collision ont disparu",
            ),
        ),
    },
}


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
            **{kind: [item[french] for item in items] for kind, items in _STEPS[after].items()},
        }
        for before, after in pairwise(VERSIONS)
        if older < after <= newer
    ]
