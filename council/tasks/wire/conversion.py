"""Messages from one version to another, step by step along V1 to V5, with losses named.

A message is opened into named values that all versions share; each step changes them by its rows of
`texts/protocol.txt` and maps the code; what is left is written (PR-601 to PR-610, A-70, A-71).
"""

from __future__ import annotations

import re

from council.kernel.errors import Refused, Usage
from council.kernel.record import Record
from council.tasks.wire import tables
from council.tasks.wire.model import Message, Parsed, parse

Values = dict[str, str]
LETTERS = {"REQ": "R", "RES": "S", "CLR": "C", "UPD": "U", "ACK": "A", "ERR": "E"}
_WORDS = {letter: word for word, letter in LETTERS.items()}
_ROLES = ("ORCHESTRATOR", "WORKER")
UNUSED = {"pri": "-", "state": "-", "err": "-", "depth": "0", "ctx": "-", "budget": "-"}
_LOSSES = ("ROUTE", "TYPE", "TID", "PRI", "STATE", "ERR", "DEPTH", "CTX", "BUDGET", "AUTH", "TRACE")


class Sidecar(Record):
    """What the way back needs: the message as it was in a version, and what was made of it."""

    version: str
    text: str
    converted: str


class Converted(Record):
    """A converted message, and the segments that lost something."""

    text: str
    losses: list[str] = []
    sidecar: Sidecar | None = None


def canonical(ident: str) -> str:
    """Return an id without leading zeros: `M007` is `M7`, `MSG_7` is `MSG_07` (PR-643)."""
    match = re.fullmatch(r"(.*?)0*(\d+)", ident, re.ASCII)
    name, digits = match.groups() if match else (ident, "")
    return f"{name}{digits:0>2}" if name in ("MSG_", "TASK_") else name + digits


def opened(parsed: Parsed) -> Values:
    """Return the values of a valid message by the names that all versions share."""
    own = dict(zip(tables.FORMS[parsed.version].names, parsed.segments, strict=True))
    values = {**UNUSED, **own, "task": own.get("tid", own.get("task", "")) or "-"}
    if parsed.version in ("V1", "V2"):
        asks = own.get("role", own.get("from", ""))[0] == "O"
        values["route"] = "O1>W1" if asks else "W1>O1"
        values["type"] = LETTERS.get(own["type"], own["type"])
    if parsed.version < "V4" and values["type"] == "E":
        values["err"], values["data"] = own["data"][:3], own["data"][4:]
    values["data"] = values["data"] or "-"
    values["from"], _, values["to"] = values["route"].partition(">")
    return values


def written(values: Values, version: str) -> str:
    """Return the text of a message in a version, without what it has no segment for."""
    own, long = dict(values), version < "V4"
    for name, short, word in (("msg", "M", "MSG_"), ("task", "T", "TASK_")):
        if own[name] != "-" and long is not own[name].startswith(word):
            digits = canonical(own[name]).removeprefix(word).removeprefix(short)
            own[name] = canonical((word if long else short) + digits)
        own[name] = own[name] if long else canonical(own[name])
    if long and own["type"] == "E":
        own["data"] = own["err"] if own["data"] == "-" else f"{own['err']}:{own['data']}"
    ends = (own["from"], own["to"])
    own["route"] = ">".join(ends if version == "V3" else map(canonical, ends))
    own |= {"role": own["from"][:1], "tid": own["task"]}
    names = tables.FORMS[version].names
    if version != "V1":
        return "|".join(own[name] for name in names)
    own["from"], own["to"] = _ROLES[:: 1 if own["role"] == "O" else -1]
    own["type"] = _WORDS.get(own["type"], own["type"])
    rows = [name for name in names[1:] if name != "task" or own[name] != "-"]
    return "\n".join([f"[{own['msg']}]", *(f"{name.upper()}: {own[name]}" for name in rows)])


def convert(
    message: str | Parsed, to: str, *, lossy: bool = False, structural: bool = False,
    sidecar: Sidecar | None = None,
) -> Converted:  # fmt: skip
    """Return a message as another version writes it.

    `lossy` puts the nearest thing in the place of what the target lacks, `structural` keeps the
    digits of codes although their meaning changes. `sidecar` is what a conversion away from `to`
    gave: the message that it made is turned back into the one that it was. Where the target has no
    place for the message: Refused (`not-convertible`; `rule` says for what).
    """
    if to not in tables.VERSIONS:
        raise Usage("usage", f"nothing is written in {to[:20]!r}", "use V1, V2, V3, V4 or V5")
    parsed = (message if isinstance(message, Parsed) else parse(message)).sound()
    line = parsed.text.rstrip("\r\n")
    if sidecar and (sidecar.version, sidecar.converted) == (to, line):
        return Converted(text=parse(sidecar.text, to).sound().text)
    gaps = {"DATA"} if "W_DATA_TRUNCATED" in parsed.warnings else set[str]()
    text = _walked(parsed, to, lossy, structural, gaps)
    if errors := parse(text, to).errors:
        raise _refused(parsed.version, to, f"rule {errors[0].rule}")
    losses = [name for name in (*_LOSSES, "DATA") if name in gaps]
    record = Sidecar(version=parsed.version, text=line, converted=text)
    return Converted(text=text, losses=losses, sidecar=record)


def _walked(parsed: Parsed, to: str, lossy: bool, structural: bool, gaps: set[str]) -> str:
    """Return the text in the target version; add to `gaps` what was lost on the way."""
    if parsed.version == to:
        return parsed.text.rstrip("\r\n") if to == "V1" else "|".join(parsed.segments)
    values, at = opened(parsed), parsed.version
    while at != to:
        target = "V4" if at == "V5D" else f"V{int(at[1]) + (1 if to > at else -1)}"
        step = tables.FORMS.get(f"{at}>{target}")
        for row in step.checks if step else []:
            if not (row.applies(values) and row.fits(values)):
                continue
            if row.rule == "refuse" or (row.rule == "lossy" and not lossy):
                raise _refused(at, target, row.why, "--lossy" * (row.rule == "lossy"))
            if row.rule != "put":
                segment = {"to": "route", "task": "tid"}.get(row.segment, row.segment)
                gaps.add(segment.upper())
            match = re.fullmatch(row.pattern, values[row.segment], re.DOTALL)
            values[row.segment] = match.expand(row.put) if match else ""
        coded = values["err"] != "-" and at not in ("V1", "V5D") and target != "V1"
        if coded and (not structural or values["err"] == "E00"):
            values["err"], exact = tables.mapped(values["err"], at, target)
            gaps.update(() if exact else {"ERR"})
        at = target
    return written(values, to)


def _refused(source: str, target: str, why: str, hint: str = "") -> Refused:
    what = f"{target} has no place for this {source} message: {why}"
    return Refused("not-convertible", what, hint, rule=why, segment=None)


def message_of(line: str | Parsed) -> Message:
    """Return what a line of any version says; raise Invalid or Refused where it is no V5."""
    parsed = (line if isinstance(line, Parsed) else parse(line)).sound()
    parsed = parsed if parsed.version == "V5" else parse(convert(parsed, "V5").text, "V5")
    return from_line(written(opened(parsed), "V5"))


def from_line(line: str) -> Message:
    """Return what a line that `line_of` or `written` made says; it is not checked again."""
    *segments, text = line.split("|")
    number, route, kind, *rest, depth, context, budget = ("" if s == "-" else s for s in segments)
    (sender, _, receiver), (task, priority, state, code) = route.partition(">"), rest
    return Message(
        number=int(number[1:]), sender=sender, receiver=receiver, kind=kind, task=task,
        priority=priority, state=state, code=code, depth=int(depth or 0), context=context,
        budget=int(budget[1:]) if budget else None, data=text,
    )  # fmt: skip


def line_of(message: Message, version: str = "V5") -> str:
    """Return a message as a line of a version, without what that version lacks.

    Raises Invalid where the values make no valid message, Refused where it has no place for it.
    """
    one, budget = message, message.budget
    segments = [f"M{one.number}", f"{one.sender}>{one.receiver}", one.kind, one.task, one.priority]
    segments += [one.state, one.code, str(one.depth), one.context or "S0"]
    segments += ["-" if budget is None else f"B{min(budget, 9999)}", one.data]
    parsed = parse("|".join(segment or "-" for segment in segments), "V5").sound()
    return parsed.text if version == "V5" else convert(parsed, version, lossy=True).text
