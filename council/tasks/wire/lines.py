"""The lines of workers as models write them: read, put right where that is safe, or refused.

Put right are the marks of a head: blanks, other bars and arrows, letter case, dashes, empty unused
segments, and what surrounds a line. No word is guessed: `Done` is not `D`. A line put right counts
only if it is then valid as a whole.
"""

from __future__ import annotations

import re
from contextlib import suppress

from council.kernel.errors import Refusal
from council.kernel.record import Any, Record
from council.kernel.words import fill, load, template
from council.tasks.wire import tables
from council.tasks.wire.model import COUNTS, MOST_CHARS, Message, parse, parted, split
from council.tasks.wire.writing import UNUSED, message_of

_BARS = "|｜¦│┃∣❘ǀ"
_ARROW = "(?:-{0,3}(?:>|&gt;|&#62;)|=(?:>|&gt;)|[→⇒➜➔⟶＞›])"
_MARKS = r"[*_`]{0,3}[ \t]*"
_ID = r"(?:[OWRG]\d{0,3}(?:\.\w{1,8})?|W?\*|User)"
_ROUTE = rf"{_ID}[ \t]*\\?{_ARROW}[ \t]*{_ID}{_MARKS}"
_FREE = r"(?<![^\W_])(?<!\.)"  # no letter, digit or dot is before it
_NUMBER = rf"{_FREE}M(?:SG[_ -]?)?(?:\d{{1,6}}|[<{{]\w{{1,12}}[>}}]|n|\?+){_MARKS}"
_ODD = r"(?:[^\s|:*_`<>\"'“«]{0,16}[ \t]*\|[ \t]*|(?<![\w.>]))"
_HEAD = re.compile(  # a number and a route, a number and bars, something else and a route
    rf"{_NUMBER}[|\t;,/][ \t]*{_MARKS}{_ROUTE}[|\t;,/]|{_NUMBER}\|(?:[^|]*\|){{4}}"
    rf"|{_FREE}MSG_\d+{_MARKS}\|(?:[^|]*\|){{3}}|{_ODD}{_ROUTE}\|[^|]{{1,14}}\|(?:[^|]*\|){{3}}",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.IGNORECASE | re.DOTALL)
_STATES = {"S": "D", "C": "R", "U": "R", "X": "R", "A": "-", "E": "F"}
_DATA = {"S": "result=…", "E": "desc=…", "C": "question=…;options=a,b", "U": "progress=…"}


class Expected(Record):
    """What a worker was asked (`request`), the version it speaks, the language."""

    request: Message
    version: str = "V5"
    lang: str = "en"


class Heard(Record):
    """What the output of a worker says, in the words of V5."""

    messages: list[Message] = []
    result: str = ""  # all of it, where DATA cannot hold it
    refusal: str = ""  # what the worker is told of the first line that could not be read


def read_line(text: str, expected: Expected) -> Heard:
    """Return what the output of a worker says: messages, or what is wrong with its first bad line.

    Lines that follow a result belong to it, up to the end of the fence that it is in.
    """
    whole, more = Heard(), list[str]()
    fenced = follows = False
    for line in _THOUGHT.sub("", text.replace("\r\n", "\n").strip("\ufeff\n")).split("\n"):
        reading = _read(line, expected)
        if reading is None and re.match(r"\s*(```|~~~)", line):
            follows, fenced = follows and not fenced, not fenced
        elif reading is None:
            more += [line.rstrip()] * follows
        elif reading.refusal:
            whole.refusal = whole.refusal or reading.refusal
        else:
            whole.messages += reading.messages
            if follows := reading.messages[0].kind == "S":
                whole.result = reading.result
                more = [readable(reading.result or reading.messages[0].data)]
    whole.result = "\n".join(more).strip() if whole.result or any(more[1:]) else ""
    if not whole.messages and not whole.refusal:
        return refused("", _say("none", expected), {}, expected)
    return _joined(whole, expected)


def _joined(whole: Heard, expected: Expected) -> Heard:
    """Join a result that came in numbered chunks (`part=1/3`, PR-548) to one message."""
    parts = [one for one in whole.messages if one.kind == "S" and "part" in one.pairs]
    chunks = {one.pairs["part"]: one for one in parts}
    names = [f"{number}/{len(parts)}" for number in range(1, len(parts) + 1)]
    if chunks.keys() != {*names}:
        return refused(", ".join(chunks), _say("chunks", expected), {}, expected)
    items = [[i for i in parted(chunks[n].data, ";") if i[:5] != "part="] for n in names]
    result = "\n".join(readable(";".join(one)) for one in items) or whole.result
    return whole.copy(messages=[o for o in whole.messages if o not in parts[:-1]], result=result)


def find(line: str) -> str:
    """Return the line of the protocol in a line of text, "" where there is none."""
    bare = re.sub(r"\\([|>_*#-])", r"\1", line.translate({0xA0: " ", 0xFEFF: ""}))
    bare = re.sub(r"</\w{1,10}>$", "", bare.strip())
    if bare.count("|") < 4:
        bare = bare.translate(dict.fromkeys(map(ord, _BARS), "|"))
    bare = bare.strip("| \t")
    match = _HEAD.search(bare)
    if not match:
        return ""
    prefix, rest = bare[: match.start()], bare[match.start() :].strip()
    closing = prefix[len(prefix.rstrip("`*_\"'“«")) :][::-1].replace("“", "”").replace("«", "»")
    return (rest.rpartition(closing)[0] or rest) if closing else rest


def _read(line: str, expected: Expected) -> Heard | None:
    """Return the message of a line or what is wrong with it, None for words."""
    text, request = find(line), expected.request
    if not text:
        return None
    mark = next((one for one in "|\t;,/" if text.count(one) >= 4), "|")
    segments = [one.strip() for one in text.split(mark)]
    version = COUNTS.get(len(segments), "").removesuffix("V5D") if mark == "|" else ""
    names = tables.FORMS[version or expected.version].names
    values = {name: _mended(name, one) for name, one in zip(names, segments, strict=False)}
    if version:
        parsed = parse("|".join(values.values()), version)
        with suppress(Refusal):
            message = message_of(parsed)
            if version != "V5":  # an older line says nothing of these
                message.depth = request.depth + (message.kind == "X")
                message.context, message.budget = request.context, request.budget
            cut = values["data"] if len(values["data"]) > MOST_CHARS else ""
            return Heard(messages=[message], result=cut)
    before = line[: max(0, line.find(text[:4]))].rstrip(" `*_\"'“«")
    if before[-1:] not in ":：>" and re.search(r"[^\W\d_]{2}", before):
        return None  # prose that speaks of a line
    if version:
        faults = []
        for at in list(dict.fromkeys(one.segment - 1 for one in parsed.errors if one.segment))[:3]:
            got, form = segments[at][:24] or _say("empty", expected), _say(names[at], expected)
            faults.append(_say("segment", expected, name=names[at].upper(), got=got, form=form))
        fault = "; ".join(faults) or _say("place", expected)
    elif mark != "|":
        fault = _say("separated", expected)
    elif len(segments) > len(names):
        values["data"], fault = "", _say("bars", expected)
    else:
        counts = {"count": len(segments), "version": expected.version, "wanted": len(names)}
        values, fault = {**values, "data": segments[-1]}, _say("count", expected, **counts)
    return refused(line.strip(), fault, values, expected)


def _mended(name: str, value: str) -> str:
    """Return a segment with its marks put right."""
    if name == "data":
        return value if "=" in value else value.replace("＝", "=").replace("；", ";")
    value = re.sub(r"^([*_`\"]{1,3})(.+)\1$", r"\2", value).strip()
    if name == "route":
        ends = (one.strip() for one in re.split(_ARROW, value))
        return ">".join(one[:1].upper() + one[1:] for one in ends)
    if name in UNUSED and not value.strip("-—–−‐‑‒―﹣－"):
        return "-" if value else UNUSED[name]
    return value.capitalize() if name == "ctx" else value.upper()


def refused(line: str, fault: str, fields: dict[str, str], expected: Expected) -> Heard:
    """Return what is said of a line that counts for nothing; `fields` are those to repeat."""
    values = {"line": line or "-", "fault": fault, "right": _right(fields, expected)}
    text = template(f"texts/worker-lines-{expected.lang}.txt").partition("\n====\n")[2]
    return Heard(refusal=fill(text, values))


def _right(fields: dict[str, str], expected: Expected) -> str:
    """Return the line to send: what was said where it can stand, else what the request says."""
    request, version = expected.request, "V4" if expected.version == "V4" else "V5"
    first = fields.get("type", "")[:1].upper()
    kind = first if first in _STATES else "S"
    codes = re.findall(r"\bE\d\d\b", f"{fields.get('err')} {fields.get('state')}")
    values = {
        **{"msg": f"M{request.number + 1}", "route": f"{request.receiver}>{request.sender}"},
        **{"type": kind, "pri": request.priority or "-", "state": _STATES[kind]},
        **dict.fromkeys(("tid", "task"), request.task or "-"),
        **{"ctx": request.context or "-", "err": [*codes, "E99"][0] if kind == "E" else "-"},
        **{"depth": str(request.depth), "data": _DATA.get(kind, "…")},
        "budget": "-" if request.budget is None else f"B{request.budget}",
    }
    names = tables.FORMS[version].names
    for name in ("budget", "data"):
        trial = {**values, name: fields.get(name, "")}
        if name in names and not parse("|".join(trial[one] for one in names), version).errors:
            values = trial
    return "|".join(values[name] for name in names)


def readable(text: str) -> str:
    """Return DATA as people read it: a pair a line; a result that is all of it without its name."""
    flags, pairs = split(text)
    values = {name: value.strip('"') for name, value in pairs.items()}
    if not flags and len(values) == 1 and values.keys() & {"result", "results"}:
        return next(iter(values.values()))
    return "\n".join([*flags, *(f"{name}: {value}" for name, value in values.items())]) or text


def plain(text: str) -> str:
    """Return a text for people: of a line of the protocol in it only what DATA says (PR-557)."""
    lines = [(line, find(line)) for line in text.split("\n")]
    shown = (readable(one.rpartition("|")[2].strip()) if one else line for line, one in lines)
    return "\n".join(shown)


def _say(key: str, expected: Expected, **values: Any) -> str:
    return load(f"texts/worker-lines-{expected.lang}.txt")[key].format(**values)
