"""The codes of each version, their categories, and how they map between versions.

The same digits mean different things from version to version: a code is
always read with its version. A mapping is exact where the way back gives the
same code; where it does not, the converter reports a loss.

Source: PR-207, PR-313, PR-413, PR-596, PR-608, PR-621 to PR-627, A-71.
"""

from __future__ import annotations

# What each code means, in English.
CODES: dict[str, dict[str, str]] = {
    "V2": {
        "E01": "file not found",
        "E02": "bad format",
        "E03": "timeout",
        "E04": "resource unavailable",
        "E99": "other error",
    },
    "V3": {
        "E05": "parsing failed",
        "E06": "agent busy",
        "E07": "protocol version incompatible",
        "E08": "unknown agent",
        "E09": "unknown task",
        "E10": "invalid priority",
    },
    "V4": {
        "E01": "file not found",
        "E02": "bad DATA format",
        "E03": "segment missing",
        "E04": "value out of range",
        "E05": "parsing failed",
        "E06": "agent busy",
        "E07": "resource unavailable",
        "E08": "unknown agent",
        "E09": "unknown task",
        "E10": "invalid priority",
        "E11": "id collision",
        "E12": "protocol version incompatible",
        "E13": "invalid route",
        "E14": "unknown message type",
        "E15": "invalid state or transition",
        "E20": "global timeout",
        "E21": "response timeout",
        "E22": "no sign of life in time",
        "E99": "other error",
    },
    "V5": {
        "E00": "no error",
        "E10": "bad message format",
        "E11": "invalid priority",
        "E12": "forbidden characters in DATA",
        "E13": "invalid route",
        "E14": "unknown message type",
        "E15": "invalid state or transition",
        "E16": "maximum depth exceeded",
        "E17": "budget insufficient",
        "E18": "maximum clarifications reached",
        "E19": "capability not supported",
        "E20": "global timeout",
        "E21": "worker response timeout",
        "E22": "no sign of life in time",
        "E23": "user did not choose in time",
        "E30": "worker unavailable",
        "E31": "worker busy",
        "E32": "external resource unavailable",
        "E33": "file not found",
        "E40": "unknown task",
        "E41": "unknown agent",
        "E42": "unknown session",
        "E43": "invalid reference",
        "E90": "protocol version incompatible, or authentication failed",
        "E99": "uncategorised error",
    },
}
CODES["V3"] = dict(sorted({**CODES["V2"], **CODES["V3"]}.items()))
CODES["V5D"] = CODES["V4"]

# First and last number, and the category.
_CATEGORIES: dict[str, tuple[tuple[int, int, str], ...]] = {
    "V4": (
        (1, 5, "parsing"),
        (6, 9, "resource"),
        (10, 15, "protocol"),
        (20, 25, "timeout"),
        (99, 99, "other"),
    ),
    "V5": (
        (0, 0, "ok"),
        (10, 19, "validation"),
        (20, 29, "timeout"),
        (30, 39, "resource"),
        (40, 49, "logic"),
        (90, 99, "system"),
    ),
}

UNMAPPED = "E99"

_SAME_IN_V4_V5 = {code: code for code in ("E13", "E14", "E15", "E20", "E21", "E22", "E99")}

MAPPING: dict[tuple[str, str], dict[str, str]] = {
    ("V2", "V3"): {code: code for code in CODES["V2"]},
    ("V3", "V2"): {
        **{code: code for code in CODES["V2"]},
        **dict.fromkeys(("E05", "E10"), "E02"),
        "E06": "E04",
        **dict.fromkeys(("E07", "E08", "E09"), UNMAPPED),
    },
    ("V3", "V4"): {
        **{code: code for code in CODES["V3"]},
        "E03": "E20",
        "E04": "E07",
        "E07": "E12",
    },
    ("V4", "V3"): {
        **{code: code for code in CODES["V3"]},
        **dict.fromkeys(("E03", "E13", "E14", "E15"), "E05"),
        "E04": "E02",
        "E07": "E04",
        "E11": UNMAPPED,
        "E12": "E07",
        **dict.fromkeys(("E20", "E21", "E22"), "E03"),
    },
    ("V4", "V5"): {
        **_SAME_IN_V4_V5,
        "E01": "E33",
        "E02": "E12",
        **dict.fromkeys(("E03", "E04", "E05"), "E10"),
        "E06": "E31",
        "E07": "E32",
        "E08": "E41",
        "E09": "E40",
        "E10": "E11",
        "E11": UNMAPPED,
        "E12": "E90",
    },
    ("V5", "V4"): {
        **_SAME_IN_V4_V5,
        "E00": "-",
        "E10": "E05",
        "E11": "E10",
        "E12": "E02",
        **dict.fromkeys(("E16", "E17", "E18", "E19", "E42", "E43"), UNMAPPED),
        "E23": "E21",
        **dict.fromkeys(("E30", "E32"), "E07"),
        "E31": "E06",
        "E33": "E01",
        "E40": "E09",
        "E41": "E08",
        "E90": "E12",
    },
}


def is_known(code: str, version: str) -> bool:
    """Return true if the table of `version` holds the code."""
    return code in CODES.get(version, ())


def category_of(code: str, version: str, lang: str = "en") -> str:
    """Return the category of a code, "" where the version has none for it."""
    number = int(code[1:])
    for first, last, category in _CATEGORIES.get("V4" if version == "V5D" else version, ()):
        if first <= number <= last:
            return _FRENCH_CATEGORIES.get(category, category) if lang == "fr" else category
    return ""


def mapped(code: str, source: str, target: str) -> tuple[str, bool]:
    """Return the code that stands for `code` one version further, and whether it is lossless.

    A code that the table does not know becomes E99 and is a loss (PR-626).
    """
    if not is_known(code, source):
        return UNMAPPED, False
    found = MAPPING[source, target][code]
    return found, found == "-" or MAPPING[target, source].get(found) == code


# The same in French.
FRENCH = {
    "no error": "pas d'erreur",
    "file not found": "fichier introuvable",
    "bad format": "format invalide",
    "timeout": "délai dépassé",
    "resource unavailable": "ressource indisponible",
    "parsing failed": "lecture impossible",
    "agent busy": "agent saturé",
    "protocol version incompatible": "version du protocole incompatible",
    "unknown agent": "agent inconnu",
    "unknown task": "tâche inconnue",
    "invalid priority": "priorité invalide",
    "other error": "autre erreur",
    "bad DATA format": "format de DATA invalide",
    "segment missing": "segment manquant",
    "value out of range": "valeur hors limites",
    "id collision": "identifiant déjà pris",
    "invalid route": "route invalide",
    "unknown message type": "type de message inconnu",
    "invalid state or transition": "état ou transition invalide",
    "global timeout": "délai global dépassé",
    "response timeout": "délai de réponse dépassé",
    "no sign of life in time": "signe de vie absent",
    "bad message format": "format du message invalide",
    "forbidden characters in DATA": "caractères interdits dans DATA",
    "maximum depth exceeded": "profondeur maximale dépassée",
    "budget insufficient": "budget insuffisant",
    "maximum clarifications reached": "nombre maximal de clarifications atteint",
    "capability not supported": "compétence non proposée",
    "worker response timeout": "délai de réponse du worker dépassé",
    "user did not choose in time": "choix de l'utilisateur trop tardif",
    "worker unavailable": "worker indisponible",
    "worker busy": "worker saturé",
    "external resource unavailable": "ressource externe indisponible",
    "unknown session": "session inconnue",
    "invalid reference": "référence invalide",
    "protocol version incompatible, or authentication failed": (
        "version du protocole incompatible, ou authentification refusée"
    ),
    "uncategorised error": "erreur non classée",
}
# Those categories that have another name there.
_FRENCH_CATEGORIES = {
    **{"parsing": "lecture", "resource": "ressource", "protocol": "protocole"},
    **{"timeout": "délai", "logic": "logique", "system": "système", "other": "autre"},
}


def meaning_of(code: str, version: str, lang: str = "en") -> str:
    """Return what a code means in a version, "" if the version's table lacks it."""
    meaning = CODES.get(version, {}).get(code, "")
    return FRENCH[meaning] if meaning and lang == "fr" else meaning
