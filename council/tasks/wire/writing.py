"""Messages written: of their fields, in another version, signed, and as the answer to a fault.

A message is opened into named values that all versions share. A conversion goes step by step along
V1 to V5; each step changes the values by its rows of `texts/protocol.txt` and maps the code; what
is left is written (PR-601 to PR-610, A-70, A-71). What is built is strictly valid (PR-007).

A signature is the pair `auth=SID:NONCE:SIG` in the DATA of a V5 message. SIG is the first 8 hex
digits of the HMAC-SHA256 of `SID:NONCE:` and the message without that pair and the `;` before it. A
pair of SID and NONCE is used once. 16 bits of nonce and 32 of signature are weak: they keep honest
programs apart and stop no determined attacker (PR-589, A-68).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from council.kernel.errors import Invalid, Refused, Usage
from council.kernel.record import Record
from council.tasks.wire import tables
from council.tasks.wire.model import MOST_CHARS, Message, Parsed, fitted, parse, parted

Values = dict[str, str]
_LETTERS = {"REQ": "R", "RES": "S", "CLR": "C", "UPD": "U", "ACK": "A", "ERR": "E"}
_WORDS = {letter: word for word, letter in _LETTERS.items()}
_ROLES = ("ORCHESTRATOR", "WORKER")
UNUSED = {"pri": "-", "state": "-", "err": "-", "depth": "0", "ctx": "-", "budget": "-"}
_LOSSES = ("ROUTE", "TYPE", "TID", "PRI", "STATE", "ERR", "DEPTH", "CTX", "BUDGET", "AUTH", "TRACE")
_DEFAULTS = {"msg": "", "from": "O1", "to": "", "type": "", "task": "-", **UNUSED, "data": "-"}
_NAMES = {"tid": "task", "role": "from"}
_ENDS = {"ORCHESTRATOR": "O1", "O": "O1", "WORKER": "W1", "W": "W1"}
_GOT_CHARS = 20
_AUTH = re.compile(r"auth=(S\d{1,7}):([0-9A-Fa-f]{4}):([0-9A-Fa-f]{8})", re.ASCII)


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
        values["route"] = "O1>W1" if own.get("role", own.get("from", ""))[0] == "O" else "W1>O1"
        values["type"] = _LETTERS.get(own["type"], own["type"])
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
    parsed = (message if isinstance(message, Parsed) else parse(message)).sound()
    line = parsed.text.rstrip("\r\n")
    if sidecar and (sidecar.version, sidecar.converted) == (to, line):
        return Converted(text=parse(sidecar.text, to).sound().text)
    gaps = {"DATA"} if "W_DATA_TRUNCATED" in parsed.warnings else set[str]()
    text = _walked(parsed, to, lossy, structural, gaps)
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
                what = f"{target} has no place for this {at} message: {row.why}"
                hint = "--lossy" * (row.rule == "lossy")
                raise Refused("not-convertible", what, hint, rule=row.why)
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


# Built of fields


def build(fields: dict[str, str], version: str = "V5", *, minimal: bool = False) -> str:
    """Return the text of a message; what is not given is filled in (PR-303, PR-315).

    `fields` have the names of `msg parse`; `-` is unused, `msg`, `tid` and `budget` may be bare
    numbers, `pid` is the parent message. `minimal` leaves PRI and STATE unused. What does not pass
    the strict check is Invalid.
    """
    inputs = {_NAMES.get(name, name): one for name, one in fields.items()}
    parent = inputs.pop("pid", "")
    if unknown := [name for name in inputs if name not in _DEFAULTS]:
        raise Usage("usage", f"no field {unknown[0][:20]!r}", f"fields: {', '.join(_DEFAULTS)}")
    values = {**_DEFAULTS, "pri": "P1" if version in ("V3", "V5") else "-"}
    values |= inputs | ({"pri": "-", "state": "-"} if minimal else {})
    values["type"] = _LETTERS.get(values["type"], values["type"])
    if values["type"] == "A" and values["data"] == "-":
        values["data"] = "ok"
    if parent:  # the message that this one follows from (PR-547)
        if not re.fullmatch(r"M?\d{1,4}", parent, re.ASCII):
            raise Invalid("bad-message", f"no parent message: {parent[:20]!r}", "write pid=M5")
        pid = f"pid=M{canonical(parent.removeprefix('M'))}"
        values["data"] = f"{pid};{values['data']}" if values["data"] != "-" else pid
    for name in ("from", "to"):
        values[name] = _ENDS.get(values[name], values[name])
    values["to"] = values["to"] or {"O1": "W1", "W1": "O1"}.get(values["from"], "")
    values["depth"] = values["depth"].replace("-", "0")
    values["ctx"] = values["ctx"].replace("-", "S0")
    for name, mark in (("msg", "M"), ("task", "T"), ("budget", "B")):
        values[name] = mark * values[name].isdigit() + values[name]
    parsed = parse(written(values, version), version, strict=True)
    parsed.errors = [fault for fault in parsed.errors if fault.rule != "W_TYPE_Q"]
    return parsed.sound().text


def reply(faulty: Parsed) -> str:
    """Return the message that answers the first fault, "" where there is none.

    It returns to the sender, with task, context, depth and budget where those can be read, and
    the code of the fault (PR-317, PR-418, PR-537).
    """
    if not faulty.errors:
        return ""
    version = "V5" if faulty.version == "V5D" else faulty.version
    fault, form = faulty.errors[0], tables.FORMS[faulty.version]
    parts = faulty.segments or faulty.text.rstrip("\r\n").split("|")
    values: Values = {**_DEFAULTS, "to": "W1"}
    for name, value in zip(form.names, parts, strict=False):
        if value and all(row.fits({name: value}) for row in form.checks if row.segment == name):
            values[_NAMES.get(name, name)] = value
    if "route" in values:
        values["from"], _, values["to"] = values["route"].partition(">")
    back, own = (_ENDS.get(values[name], values[name]) for name in ("from", "to"))
    own = {"O1": "W1", "W1": "O1"}[back] if version < "V3" else own
    own = "W1" if own[-1] == "*" or own[0] == "G" else own
    number = int(re.sub(r"\D", "", values["msg"]) or 0) % 9999 + 1
    code = "E10" if faulty.version == "V5D" else fault.code
    words = "parsing" if (version, code) == ("V3", "E05") else tables.meanings(version)[code]
    where = f"seg={fault.segment}" if fault.segment else f"segments={len(parts)}"
    got = parts[fault.segment - 1] if fault.segment and faulty.segments else ""
    more = f";got={got}" if 0 < len(got) <= _GOT_CHARS and got == fitted(got) else ""
    payloads = {"V4": where + more, "V5": f"desc={words};details={where.replace('=', ' ')}{more}"}
    values |= {"msg": f"M{number}", "from": own, "to": back, "type": "E", "err": code}
    values |= {"state": "F" if version == "V5" else "-"}
    values["task"] = "TASK_00" if version == "V2" and values["task"] == "-" else values["task"]
    return written({**values, "data": payloads.get(version, f"{words};{where}")}, version)


# Signatures


def sign(text: str, key: str, sid: str, nonce: str) -> str:
    """Return a V5 message with its signature at the end of DATA.

    `sid` is `S` and digits, `nonce` four hex digits that the session has not used yet.
    """
    plain = "|".join(parse(text, "V5", strict=True).sound().segments)
    if not _AUTH.fullmatch(f"auth={sid}:{nonce}:00000000") or _auths(plain):
        what = "this message is signed already" if _auths(plain) else f"{sid}:{nonce} cannot sign"
        raise Usage("usage", what, "sign a message without auth=, with S1 and four hex digits")
    signed = f"{plain};auth={sid}:{nonce}:{_signature(plain, key, sid, nonce)}"
    if len(signed.rpartition("|")[2]) > MOST_CHARS:
        raise Invalid("bad-message", "DATA is too long for a signature", "shorten it")
    return signed


def verify(text: str, key: str, earlier: Iterable[str] = ()) -> str:
    """Return `valid`, or what is wrong with a signature.

    Wrong is `missing`, `malformed`, `forged`, or `replayed`: one of the lines `earlier` has it.
    """
    line = text.rstrip("\r\n")
    pairs = _auths(line)
    match = _AUTH.fullmatch(pairs[0]) if len(pairs) == 1 else None
    if not match:
        return "malformed" if pairs else "missing"
    head, _, payload = line.rpartition("|")
    plain = head + "|" + ";".join(one for one in parted(payload, ";") if one != pairs[0])
    sid, nonce, signature = match.groups()
    from hmac import compare_digest  # late: it brings OpenSSL

    ours = (_signature(plain, key, sid, one) for one in {nonce, nonce.upper(), nonce.lower()})
    if not any(compare_digest(one, signature.upper()) for one in ours):
        return "forged"
    used = [one[5:].rpartition(":")[0].upper() for past in earlier for one in _auths(past)]
    return "replayed" if f"{sid}:{nonce.upper()}" in used else "valid"


def _auths(line: str) -> list[str]:
    return [one for one in parted(line.rpartition("|")[2], ";") if one.startswith("auth=")]


def _signature(plain: str, key: str, sid: str, nonce: str) -> str:
    from hmac import digest  # late: as above

    signed = f"{sid}:{nonce}:{plain}".encode("utf-8", "surrogatepass")
    return digest(key.encode(), signed, "sha256").hex()[:8].upper()
