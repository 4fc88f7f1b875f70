"""What is wrong with a line, in words that say how to mend it: English and French.

Source: HR-015, PR-537.
"""

from __future__ import annotations

from council.wire.explanation import NAMES

Text = tuple[str, str]

_GOT_CHARS = 24
_FORMS: dict[str, Text] = {
    "MSG": ("M and a number, such as M2", "M et un nombre, comme M2"),
    "ROUTE": ("two ids and an arrow, W1 to O1", "deux identifiants et une flèche, de W1 à O1"),
    "ROLE": ("O or W", "O ou W"),
    "TYPE": ("one letter: S, E, C, U or X", "une lettre : S, E, C, U ou X"),
    "TID": ("T and a number, such as T1, or -", "T et un nombre, comme T1, ou -"),
    "TASK": ("T and a number, such as T1, or -", "T et un nombre, comme T1, ou -"),
    "PRI": ("P0, P1, P2 or -", "P0, P1, P2 ou -"),
    "STATE": ("N, R, D, F, X or -", "N, R, D, F, X ou -"),
    "ERR": ("E and two digits, or -", "E et deux chiffres, ou -"),
    "DEPTH": ("one digit from 0 to 5", "un chiffre de 0 à 5"),
    "CTX": (
        "S with small letters or digits, or -",
        "S avec des lettres minuscules ou des chiffres, ou -",
    ),
    "BUDGET": ("B and a number, such as B300, or -", "B et un nombre, comme B300, ou -"),
}
_SEGMENT = ("{name} is {got}, and must be {form}", "{name} est {got}, et doit être {form}")
_EMPTY = ("empty", "vide")
_DATA_EMPTY = ("DATA is empty", "DATA est vide")
_DATA_MARKS = (
    "DATA may hold no bar and no sign for greater than",
    "DATA ne peut contenir ni barre ni signe supérieur",
)
_COUNT = (
    "it has {count} segments, and {version} has {wanted}",
    "elle a {count} segments, et {version} en a {wanted}",
)
_MISSING = (", {name} is missing", ", il manque {name}")
_SEPARATED = (
    "its segments are not parted by bars",
    "ses segments ne sont pas séparés par des barres",
)
_JSON = (
    "it is JSON, and a message is one line with bars",
    "c'est du JSON, et un message est une ligne avec des barres",
)
_NOT_SENDABLE = (
    "no such message can be sent by a worker here",
    "aucun worker ne peut envoyer ici un tel message",
)
_REFUSED = (
    "This line could not be read:\n\n    {said}\n\n{fault}.\n\nSend this line instead:\n\n"
    "    {right}\n\nor its short form, which means the same:\n\n    {short}",
    "Cette ligne n'a pas pu être lue :\n\n    {said}\n\n{fault}.\n\nEnvoie plutôt cette "
    "ligne :\n\n    {right}\n\nou sa forme courte, qui dit la même chose :\n\n    {short}",
)


def fault_of_segment(name: str, value: str, lang: str) -> str:
    """Return what is wrong with the value of a segment, and what it must be."""
    french = lang == "fr"
    if name == "DATA":
        return (_DATA_MARKS if value else _DATA_EMPTY)[french]
    got = value if len(value) <= _GOT_CHARS else f"{value[:_GOT_CHARS]}…"
    return _SEGMENT[french].format(name=name, got=got or _EMPTY[french], form=_FORMS[name][french])


def fault_of_count(
    missing: str,
    count: int,
    version: str,
    lang: str,
    *,
    bar_in_data: bool = False,
    separated: bool = False,
) -> str:
    """Return what is wrong with a line whose segments are too few, too many or not parted by bars.

    Args:
        missing: The name of the segment that is missing, "" where that is not clear.
        count: How many there are.
        version: The version by which it is judged.
        lang: `en` or `fr`.
        bar_in_data: Whether all of its head is right, so that the bars are in DATA.
        separated: Whether something else than bars parts them.
    """
    french = lang == "fr"
    if separated:
        return _SEPARATED[french]
    if bar_in_data:
        return _DATA_MARKS[french]
    told = _COUNT[french].format(count=count, version=version, wanted=len(NAMES[version]))
    return told + (_MISSING[french].format(name=missing) if missing else "")


def json_fault(lang: str) -> str:
    """Return what is wrong with a message that was written as JSON."""
    return _JSON[lang == "fr"]


def not_sendable(lang: str) -> str:
    """Return what is wrong with a valid line of an older version that has no place in V5."""
    return _NOT_SENDABLE[lang == "fr"]


def refusal_text(said: str, fault: str, right: str, lang: str) -> str:
    """Return what a worker is told of a refused line: the line, the fault, what to send."""
    segments = right.split("|")
    kind = segments[6] if segments[2] == "E" else segments[2]
    return _REFUSED[lang == "fr"].format(
        said=said, fault=fault[:1].upper() + fault[1:], right=right, short=f"{kind} {segments[-1]}"
    )
