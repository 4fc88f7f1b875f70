"""The codes of each version, their categories, and how they map between versions.

The same digits mean different things from version to version: a code is
always read with its version. A mapping is exact where the way back gives the
same code; where it does not, the converter reports a loss.

Source: PR-207, PR-313, PR-413, PR-596, PR-608, PR-621 to PR-627, A-71.
"""

from __future__ import annotations

from council.core.reading import rows

_VERSIONS = ("V2", "V3", "V4", "V5")
# What codes mean, in English and French, and the code of that in each of these versions.
_MEANINGS = rows("""
no error || pas d'erreur || - - - E00
file not found || fichier introuvable || E01 E01 E01 E33
bad format || format invalide || E02 E02 - -
bad DATA format || format de DATA invalide || - - E02 -
bad message format || format du message invalide || - - - E10
forbidden characters in DATA || caractères interdits dans DATA || - - - E12
segment missing || segment manquant || - - E03 -
value out of range || valeur hors limites || - - E04 -
parsing failed || lecture impossible || - E05 E05 -
timeout || délai dépassé || E03 E03 - -
global timeout || délai global dépassé || - - E20 E20
response timeout || délai de réponse dépassé || - - E21 -
worker response timeout || délai de réponse du worker dépassé || - - - E21
no sign of life in time || signe de vie absent || - - E22 E22
user did not choose in time || choix de l'utilisateur trop tardif || - - - E23
resource unavailable || ressource indisponible || E04 E04 E07 -
external resource unavailable || ressource externe indisponible || - - - E32
agent busy || agent saturé || - E06 E06 -
worker busy || worker saturé || - - - E31
worker unavailable || worker indisponible || - - - E30
protocol version incompatible || version du protocole incompatible || - E07 E12 -
protocol version incompatible, or authentication failed
    || version du protocole incompatible, ou authentification refusée || - - - E90
unknown agent || agent inconnu || - E08 E08 E41
unknown task || tâche inconnue || - E09 E09 E40
unknown session || session inconnue || - - - E42
invalid reference || référence invalide || - - - E43
invalid priority || priorité invalide || - E10 E10 E11
id collision || identifiant déjà pris || - - E11 -
invalid route || route invalide || - - E13 E13
unknown message type || type de message inconnu || - - E14 E14
invalid state or transition || état ou transition invalide || - - E15 E15
maximum depth exceeded || profondeur maximale dépassée || - - - E16
budget insufficient || budget insuffisant || - - - E17
maximum clarifications reached || nombre maximal de clarifications atteint || - - - E18
capability not supported || compétence non proposée || - - - E19
other error || autre erreur || E99 E99 E99 -
uncategorised error || erreur non classée || - - - E99
""")
FRENCH = {meaning: french for meaning, (french, _) in _MEANINGS.items()}
_BY_MEANING = {
    version: {meaning: codes.split()[at] for meaning, (_, codes) in _MEANINGS.items()}
    for at, version in enumerate(_VERSIONS)
}
# What each code means, in English.
CODES: dict[str, dict[str, str]] = {
    version: dict(sorted((code, meaning) for meaning, code in codes.items() if code != "-"))
    for version, codes in _BY_MEANING.items()
}
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

# What stands for a code whose meaning the next version has not, or has under another code.
_NEAREST: dict[tuple[str, str], dict[str, str]] = {
    ("V2", "V3"): {},
    ("V3", "V2"): {**dict.fromkeys(("E05", "E10"), "E02"), "E06": "E04"},
    ("V3", "V4"): {"E02": "E02", "E03": "E20"},
    ("V4", "V3"): {
        **dict.fromkeys(("E03", "E13", "E14", "E15"), "E05"),
        **dict.fromkeys(("E02", "E04"), "E02"),
        **dict.fromkeys(("E20", "E21", "E22"), "E03"),
    },
    ("V4", "V5"): {
        "E02": "E12",
        **dict.fromkeys(("E03", "E04", "E05"), "E10"),
        "E06": "E31",
        "E07": "E32",
        "E12": "E90",
        "E21": "E21",
    },
    ("V5", "V4"): {
        "E00": "-",
        "E10": "E05",
        "E12": "E02",
        **dict.fromkeys(("E21", "E23"), "E21"),
        **dict.fromkeys(("E30", "E32"), "E07"),
        "E31": "E06",
        "E90": "E12",
    },
}


def _mapping(source: str, target: str, nearest: dict[str, str]) -> dict[str, str]:
    same = {meaning: code for code, meaning in CODES[target].items()}
    told = CODES[source].items()
    return {code: nearest.get(code) or same.get(meaning, UNMAPPED) for code, meaning in told}


MAPPING = {step: _mapping(*step, nearest) for step, nearest in _NEAREST.items()}


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


# Those categories that have another name in French.
_FRENCH_CATEGORIES = {
    **{"parsing": "lecture", "resource": "ressource", "protocol": "protocole"},
    **{"timeout": "délai", "logic": "logique", "system": "système", "other": "autre"},
}


def meaning_of(code: str, version: str, lang: str = "en") -> str:
    """Return what a code means in a version, "" if the version's table lacks it."""
    meaning = CODES.get(version, {}).get(code, "")
    return FRENCH[meaning] if meaning and lang == "fr" else meaning
