"""One line of a worker: read as it stands, repaired where one reading is possible, else explained.

Repaired are the marks of a head: blanks, other bars and arrows, letter case,
dashes, empty optional segments, entities. No word is guessed: `Done` is not
`D`. A repaired line counts only if it is valid as a whole. `msg parse` and
`msg validate` repair nothing.

Source: HR-015, PR-537.
"""

from __future__ import annotations

from council.core.protocol.messages import Message
from council.core.reading import read_json
from council.core.reading_answers.protocol_lines import BARS, find_line, segments_of, unescaped
from council.core.record import Record
from council.wire.forms import NAMES, TYPES
from council.wire.identifiers import is_code
from council.wire.messages import detect, parse
from council.wire.parsed import Fault, Parsed

_SPOKEN = ("V2", "V3", "V4", "V5")
_VERSION_OF = {len(NAMES[version]): version for version in _SPOKEN}
_DASHES = "—–−‐‑‒―﹣－"
_UNUSED = {"PRI": "-", "STATE": "-", "ERR": "-", "DEPTH": "0", "CTX": "-", "BUDGET": "-"}
_DEFAULTS = {"MSG": "M1", "ROUTE": "W1>O1", "TYPE": "S", **_UNUSED}
_BLANKS = " \t\u00a0\u2007\u202f\u3000"
_MARKS = ("**", "__", "`", "*", '"')
_ARROWS = ("&gt;", "&#62;", "＞", "→", "⇒", "➜", "➔", "⟶", "›", "==>", "=>", "-->", "->")
_WORD_TYPES = {
    "SUCCESS": "S", "RESULT": "S", "DONE": "S", "OK": "S", "RES": "S", "ERROR": "E", "ERR": "E",
    "FAILED": "E", "CLARIFY": "C", "CLARIFICATION": "C", "QUESTION": "C", "CLR": "C",
    "UPDATE": "U", "PROGRESS": "U", "UPD": "U", "HANDOFF": "X", "ACK": "A",
}  # fmt: skip
_MOST_FAULTS = 3
_STATES = {"S": "D", "C": "R", "U": "R", "X": "R", "A": "-", "E": "F"}
_OPEN = "…"
_DATA_OF = {"S": "result=…", "E": "desc=…", "C": "question=…;options=a,b", "U": "progress=…"}
_OTHER_ERROR = "E99"

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


class Line(Record):
    """What a line of a worker comes to.

    Args:
        said: The line as it was said.
        found: The reading that counts, of the repaired line where it was repaired.
        repaired: What was repaired, in words; () for a line as it should be.
        fault: What is wrong with it, in words; "" for nothing.
        right: The line to send instead; "" where nothing is wrong.
    """

    said: str
    found: Parsed
    repaired: tuple[str, ...] = ()
    fault: str = ""
    right: str = ""


class Asked(Record):
    """What a worker was asked, and how it speaks.

    Args:
        request: The message.
        worker: Its id.
        version: The version that it speaks; a line that fits none is judged by it.
        lang: `en` or `fr`, for what is wrong with a line.
    """

    request: Message
    worker: str
    version: str
    lang: str


def line_in(text: str, asked: Asked) -> Line | None:
    """Return the line of the protocol that stands in a line of text, None where none does."""
    found = find_line(text)
    if found is None:
        return None
    plain = text.strip("\r\n")
    literal = parse(plain)
    if not literal.errors and literal.version in _SPOKEN and "“" not in literal.segments[-1]:
        return Line(said=plain, found=literal)
    read, repaired = _repaired(found.text)
    if read is not None:
        return Line(said=plain, found=read, repaired=(*found.mended, *repaired))
    if found.before and not found.before.endswith((":", "：")):
        return None  # prose that speaks of a line
    return _explained(plain, found.text, asked)


def _repaired(text: str) -> tuple[Parsed | None, tuple[str, ...]]:
    """Return the reading of a line with its marks put right, None where it stays invalid."""
    bare = unescaped(text)
    words = ["backslashes"] if bare != text else []
    if bare.count("|") < len(NAMES["V2"]) - 1:
        words.append("other bars")
    segments = segments_of(bare)
    version = _VERSION_OF.get(len(segments))
    if version is None and not segments[-1].strip() and len(segments) - 1 in _VERSION_OF:
        segments.pop()
        words.append("a bar at its end")
        version = _VERSION_OF[len(segments)]
    if version is None or not any(bar in bare for bar in BARS):
        return None, ()
    mended = []
    for name, value in zip(NAMES[version], segments, strict=True):
        right, what = _data(value) if name == "DATA" else _segment(name, value)
        mended.append(right)
        words += what
    found = parse("|".join(mended), version)
    return (None, ()) if found.errors else (found, tuple(dict.fromkeys(words)))


def _segment(name: str, value: str) -> tuple[str, list[str]]:
    """Return a segment of the head with its marks put right, and what was wrong with them."""
    words = []
    right = value.strip(_BLANKS)
    for mark in _MARKS:
        if len(right) > 2 * len(mark) and right.startswith(mark) and right.endswith(mark):
            right = right[len(mark) : -len(mark)].strip(_BLANKS)
            words.append(f"marks around {name}")
    if right != value and not words:
        words.append("blanks around the bars")
    if name == "ROUTE":
        straight = _route(right)
        words += [] if straight == right else ["the arrow of ROUTE"]
        right = straight
    elif name in _UNUSED and (not right or (len(right) < 4 and not right.strip(_DASHES + "-"))):
        unused = "-" if right else _UNUSED[name]
        words += [] if right == unused else [f"{name} left empty" if not right else "a dash"]
        right = unused
    cased = _cased(name, right)
    return cased, words + ([] if cased == right else ["letter case"])


def _route(route: str) -> str:
    for arrow in _ARROWS:
        route = route.replace(arrow, ">")
    while "->" in route:
        route = route.replace("->", ">")
    ends = [one.strip(_BLANKS) for one in route.split(">")]
    return ">".join(ends)


def _cased(name: str, value: str) -> str:
    if name == "ROUTE":
        ends = [
            "User" if one.lower() == "user" else one[:1].upper() + one[1:]
            for one in value.split(">")
        ]
        return ">".join(ends)
    if name == "CTX":
        return value[:1].upper() + value[1:].lower()
    return value.upper()


def _data(value: str) -> tuple[str, list[str]]:
    """Return DATA without blanks at its ends, with the quotation marks that protect `;`."""
    words = []
    right = value.strip(_BLANKS)
    if right != value:
        words.append("blanks around the bars")
    if "“" in right and ";" in right:
        parts = right.replace("„", "“").split("=“")
        quoted = [parts[0]]
        for part in parts[1:]:
            inner, closing, rest = part.partition("”")
            is_whole = closing and rest[:1] in ("", ";")
            quoted.append(f'="{inner}"{rest}' if is_whole else f"=“{part}")
        if "".join(quoted) != "=“".join(parts):
            words.append("quotation marks")
            right = "".join(quoted)
    if "=" not in right and "＝" in right:
        right = right.replace("＝", "=").replace("；", ";")
        words.append("wide signs")
    return right, words


def _explained(said: str, text: str, asked: Asked) -> Line:
    """Return a line that cannot be read with what is wrong with it, and the line to send."""
    segments = [one.strip(_BLANKS).replace("\t", " ") for one in segments_of(unescaped(text))]
    judged, french = _judged_as(text, len(segments), asked.version), asked.lang == "fr"
    names = NAMES[judged]
    bars = any(bar in text for bar in BARS)
    kept: list[str] = []
    if not bars:
        fault = _SEPARATED[french]
        kept = segments if len(segments) == len(names) else []
        found = Parsed(judged, said, [], (Fault(code="E10", rule=f"{judged}-1"),))
    elif len(segments) != len(names):
        kept, missing = _aligned(segments, judged)
        found = Parsed(judged, said, [], parse("", judged).errors[:1])
        fault = _COUNT[french].format(count=len(segments), version=judged, wanted=len(names))
        fault += _MISSING[french].format(name=missing) if missing else ""
        if len(segments) > len(names) and kept:  # its head is right, so the bars are in DATA
            fault = _DATA_MARKS[french]
    else:
        kept = [
            _data(one)[0] if name == "DATA" else _segment(name, one)[0]
            for name, one in zip(names, segments, strict=True)
        ]
        found = parse("|".join(kept), judged)
        places = list(dict.fromkeys((one.segment or 1) - 1 for one in found.errors))[:_MOST_FAULTS]
        fault = "; ".join(_fault_of_segment(names[at], segments[at], french) for at in places)
    right = line_to_send(kept, asked, judged)
    return Line(said=said, found=found, fault=fault, right=right)


def _judged_as(text: str, count: int, version: str) -> str:
    """Return the version by which a faulty line is judged: its own, else that of the worker."""
    own = _VERSION_OF.get(count, "")
    if own == "V4" or (own and own == version):
        return own
    if own in ("V2", "V3") and text[:4].upper() == "MSG_":
        return own
    return version if count != len(NAMES["V5"]) else "V5"


def _aligned(segments: list[str], version: str) -> tuple[list[str], str]:
    """Return the segments in their places, where one is missing or DATA holds bars; and which.

    [] and "" where that is not clear.
    """
    names = NAMES[version]
    if len(segments) > len(names):
        head = segments[: len(names) - 1]
        is_head = not parse("|".join([*head, "x"]), version).errors
        return ([*head, _OPEN], "") if is_head else ([], "")
    if len(segments) == len(names) - 1:
        for place, name in enumerate(names[:-1]):
            trial = [*segments[:place], _DEFAULTS.get(name, "-"), *segments[place:]]
            if not parse("|".join(trial), version).errors:
                return trial, name
    return [], ""


def line_to_send(kept: list[str], asked: Asked, version: str = "") -> str:
    """Return the right line: what was said where it can stand, else what the request says.

    Args:
        kept: The segments that were said, in their places; [] where they are not clear.
        asked: What the worker was asked.
        version: The version of `kept`, "" for the one that the worker speaks.
    """
    request, worker, version = asked.request, asked.worker, version or asked.version
    written = "V4" if version == "V4" else "V5"
    said = dict(zip(NAMES[version], kept, strict=False))
    kind = _kind(said.get("TYPE", ""))
    code = next((one for one in (said.get("ERR", ""), said.get("STATE", "")) if is_code(one)), "")
    told = {
        "MSG": f"M{request.number + 1}",
        "ROUTE": f"{worker}>{request.sender}",
        "TYPE": kind,
        "TID": request.task or "-",
        "TASK": request.task or "-",
        "PRI": request.priority or "-",
        "STATE": _STATES.get(kind, "-"),
        "ERR": (code or _OTHER_ERROR) if kind == "E" else "-",
        "DEPTH": str(request.depth),
        "CTX": request.context or "-",
        "BUDGET": "-" if request.budget is None else f"B{request.budget}",
        "DATA": _DATA_OF.get(kind, _OPEN),
    }
    segments = [told[name] for name in NAMES[written]]
    for name in ("ROUTE", "BUDGET", "DATA"):
        if name in said and name in NAMES[written]:
            trial = [said[name] if one == name else told[one] for one in NAMES[written]]
            is_own = name != "ROUTE" or said[name].startswith(f"{worker}>")
            if is_own and said[name] != _OPEN and not parse("|".join(trial), written).errors:
                segments[NAMES[written].index(name)] = said[name]
    return "|".join(segments)


def _kind(said: str) -> str:
    word = said.strip().upper()
    known = word if word in TYPES["V5"] else _WORD_TYPES.get(word, "")
    return known if known in _STATES else "S"


def json_line(text: str, asked: Asked) -> Line | None:
    """Return what a message that was written as JSON comes to, None for any other text."""
    shown = text.strip()
    low = shown.casefold()
    if shown[:1] != "{" or shown[-1:] != "}" or '"type"' not in low or '"data"' not in low:
        return None
    try:
        told = read_json(shown)
    except ValueError:
        return None
    named = {str(name).casefold(): value for name, value in told.items()}
    kind = str(named.get("type", ""))
    if kind.upper() not in (*TYPES["V5"], *_WORD_TYPES) or "data" not in named:
        return None
    kept = ["", "", kind, *[""] * 7, str(named["data"])]
    return Line(
        said=" ".join(shown.split()),
        found=Parsed("V5", shown, [], (Fault(code="E10", rule=f"{detect(shown)}-0"),)),
        fault=_JSON[asked.lang == "fr"],
        right=line_to_send(kept, asked),
    )


def _fault_of_segment(name: str, value: str, french: bool) -> str:
    """Return what is wrong with the value of a segment, and what it must be."""
    if name == "DATA":
        return (_DATA_MARKS if value else _DATA_EMPTY)[french]
    got = value if len(value) <= _GOT_CHARS else f"{value[:_GOT_CHARS]}…"
    return _SEGMENT[french].format(name=name, got=got or _EMPTY[french], form=_FORMS[name][french])


def not_sendable(lang: str) -> str:
    """Return what is wrong with a valid line of an older version that has no place in V5."""
    return _NOT_SENDABLE[lang == "fr"]


def refusal_text(said: str, fault: str, right: str, lang: str) -> str:
    """Return what is said to a worker of a refused line: the line, the fault, what to send."""
    segments = right.split("|")
    kind = segments[6] if segments[2] == "E" else segments[2]
    return _REFUSED[lang == "fr"].format(
        said=said, fault=fault[:1].upper() + fault[1:], right=right, short=f"{kind} {segments[-1]}"
    )
