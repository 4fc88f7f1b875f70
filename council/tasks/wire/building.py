"""Messages built of fields, the answer to a faulty one, signatures; all strictly valid (PR-007).

A signature is the pair `auth=SID:NONCE:SIG` in the DATA of a V5 message. SIG is the first 8 hex
digits of the HMAC-SHA256 of `SID:NONCE:` and the message without that pair and the `;` before it. A
pair of SID and NONCE is used once. 16 bits of nonce and 32 of signature are weak: they keep honest
programs apart and stop no determined attacker (PR-589, A-68).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from council.kernel.errors import Invalid, Usage
from council.tasks.wire import tables
from council.tasks.wire.conversion import LETTERS, UNUSED, Values, canonical, written
from council.tasks.wire.model import MOST_CHARS, Parsed, fitted, parse, parted

_DEFAULTS = {"msg": "", "from": "O1", "to": "", "type": "", "task": "-", **UNUSED, "data": "-"}
_NAMES = {"tid": "task", "role": "from"}
_ENDS = {"ORCHESTRATOR": "O1", "O": "O1", "WORKER": "W1", "W": "W1"}
_GOT_CHARS = 20
_AUTH = re.compile(r"auth=(S\d{1,7}):([0-9A-Fa-f]{4}):([0-9A-Fa-f]{8})", re.ASCII)


def build(fields: dict[str, str], version: str = "V5", *, minimal: bool = False) -> str:
    """Return the text of a message; what is not given is filled in (PR-303, PR-315).

    `fields` have the names of `msg parse`; `-` is unused, `msg`, `tid` and `budget` may be bare
    numbers, `pid` is the parent message. `minimal` leaves PRI and STATE unused. What does not pass
    the strict check is Invalid.
    """
    inputs = {_NAMES.get(name, name): one for name, one in fields.items()}
    parent = inputs.pop("pid", "")
    unknown = [name for name in inputs if name not in _DEFAULTS]
    if unknown or version not in tables.VERSIONS:
        what = f"no field {unknown[0][:20]!r}" if unknown else f"no version {version[:20]!r}"
        raise Usage("usage", what, f"fields: {', '.join(_DEFAULTS)}; versions: V1 to V5")
    values = {**_DEFAULTS, "pri": "P1" if version in ("V3", "V5") else "-"}
    values |= inputs | ({"pri": "-", "state": "-"} if minimal else {})
    values["type"] = LETTERS.get(values["type"], values["type"])
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
    text = written(values, version)
    parsed = parse(text, version, strict=True)
    parsed.errors = [fault for fault in parsed.errors if fault.rule != "W_TYPE_Q"]
    parsed.sound()
    return text


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
    items = parted(line.rpartition("|")[2], ";")
    return [item for item in items if item.startswith("auth=")]


def _signature(plain: str, key: str, sid: str, nonce: str) -> str:
    from hmac import digest  # late: as above

    signed = f"{sid}:{nonce}:{plain}".encode("utf-8", "surrogatepass")
    return digest(key.encode(), signed, "sha256").hex()[:8].upper()
