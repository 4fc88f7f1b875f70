"""Write a message: from fields to a text that passes the strict check.

What is not given is filled in: O1 as sender, DEPTH 0, the reserved context S0.
The full form writes the default priority out, the minimal form leaves PRI and
STATE unused.

Source: PR-007, PR-303, PR-315, PR-415, PR-536, PR-547, PR-548, PR-573, PR-576,
PR-643.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from council.core.errors import InvalidMessageError, UsageError
from council.core.protocol.payload import flags_and_pairs
from council.wire import early
from council.wire.data import cut_in_parts, render_data, with_parent
from council.wire.forms import DATA_CHARS, DEFAULT_PRIORITY, SEGMENTS
from council.wire.identifiers import canonical, is_digits, is_message_id, number_of
from council.wire.messages import VERSIONS, parse
from council.wire.parsed import Fault

Render = Callable[[list[str]], str]

RENDER: dict[str, Render] = {"V1": early.render, **dict.fromkeys(VERSIONS[1:], "|".join)}
# What a reading adds to the segments; a writer derives it again.
_DERIVED = frozenset(("pri_effective", "flags", "pairs", "desc", "err", "params"))
_ENDS = frozenset(("from", "to"))
_TASK = frozenset(("task", "tid"))
# Here an error carries its code in DATA.
_CODE_IN_DATA = ("V1", "V2", "V3")
_BY_ROLE = ("V1", "V2")
_WITH_PARENT = ("V4", "V5")
_BAR = {
    "V3": Fault(code="E02", rule="V3-9", segment=7),
    "V4": Fault(code="E02", rule="V4-10", segment=8),
    "V5": Fault(code="E12", rule="V5-13", segment=11),
}
OPTIONS = Fault(code="E10", rule="V5-options", segment=11)
NO_SESSION = "S0"
MAX_OPTIONS = 4
MAX_OPTION_WORDS = 3


def build(
    fields: Mapping[str, object],
    version: str = "V5",
    *,
    minimal: bool = False,
    pid: str | None = None,
) -> str:
    """Return the text of a message.

    Args:
        fields: Values by the names that a reading uses; None or `-` is unused. `msg`, `tid` and
            `task` may be bare numbers. Without `data`, `flags` and `pairs` make it.
        version: `V1` to `V5`.
        minimal: Leave PRI and STATE unused.
        pid: The message that this one follows from; V4 and V5 carry it in DATA.

    Raises:
        UsageError: A version or field does not exist.
        InvalidMessageError: The values do not make a message that passes the strict check.
    """
    if version not in VERSIONS:
        raise UsageError(f"nothing is written in {version!r}", "write V1, V2, V3, V4 or V5")
    _refuse_unknown(fields, version)
    values = {name: _text(value) for name, value in fields.items() if name not in _DERIVED}
    if "err" in fields:
        values["err"] = _text(fields["err"])
    values["data"] = _data(fields, version, values)
    if pid:
        if version not in _WITH_PARENT:
            raise UsageError(f"{version} has no parent id", "write it in V4 or V5")
        values["data"] = with_parent(values["data"], parent_id(pid))
    _fill(values, version)
    if minimal:
        values["pri"] = values["state"] = "-"
    segments = [values.get(name, "-") for name in SEGMENTS[version]]
    return checked(segments, version)


def build_parts(
    fields: Mapping[str, object], version: str = "V5", *, minimal: bool = False
) -> list[str]:
    """Return a message, or several with following numbers where DATA has no room for all of it.

    Each of several carries a numbered part, `part=i/n`.

    Args:
        fields: As for `build`; the number in `msg` is that of the first.
        version: `V4` or `V5`; the others do not bound DATA.
        minimal: Leave PRI and STATE unused.

    Raises:
        UsageError: A version or field does not exist, or the version does not bound DATA.
        InvalidInputError: DATA cannot hold the text, or not in so many parts.
        InvalidMessageError: The values do not make messages that pass the strict check.

    Source: PR-548.
    """
    if version not in ("V4", "V5"):
        raise UsageError(f"{version} has no parts: its DATA has no end", "write it in V4 or V5")
    _refuse_unknown(fields, version)
    data = _data(fields, version, {"type": _text(fields.get("type"))})
    if len(data) <= DATA_CHARS:
        return [build(fields, version, minimal=minimal)]
    kept = {name: one for name, one in fields.items() if name not in ("flags", "pairs", "desc")}
    parts = cut_in_parts(data)
    # What is wrong with the fields is wrong with the first part: nobody numbers what has no number.
    build({**kept, "data": parts[0]}, version, minimal=minimal)
    first = number_of(_text(fields.get("msg")))
    return [
        build({**kept, "msg": f"M{number}", "data": part}, version, minimal=minimal)
        for number, part in enumerate(parts, start=first)
    ]


def parent_id(given: str) -> str:
    """Return the id of the message that another one follows from; a bare number is one, too.

    Raises:
        UsageError: It is no id of V4 or V5.
    """
    name = canonical(f"M{given}" if is_digits(given) else given)
    if not is_message_id(name):
        raise UsageError(f"{given!r} is no id of a message", "write it as M5")
    return name


def checked(segments: list[str], version: str, allowed: Container[str] = ()) -> str:
    """Return the text of segments that pass the strict check but for the warnings `allowed`.

    Raises:
        InvalidMessageError: They do not.
    """
    text = RENDER[version](segments)
    found = parse(text, version).strict()
    errors = [one for one in found.errors if one.rule not in allowed]
    if version in _BAR and "|" in segments[-1]:
        errors = [_BAR[version]]
    elif not errors and found.segments != segments:
        # A line break at the end of DATA would get lost.
        errors = [Fault(code="E10", rule=f"{version}-0")]
    elif not errors and version == "V5" and segments[2] == "D" and not _offers(segments[-1]):
        errors = [OPTIONS]
    if errors:
        raise InvalidMessageError([fault.to_record() for fault in errors])
    return text


def _refuse_unknown(fields: Mapping[str, object], version: str) -> None:
    known = {*SEGMENTS[version], *_DERIVED, *_ENDS, *_TASK} - {"route"}
    known |= {"role"} if version in _BY_ROLE else set()
    unknown = sorted(set(fields) - known)
    if unknown:
        names = " ".join(SEGMENTS[version]).replace("route", "from to").split()
        code = ["err"] if version in _CODE_IN_DATA else []
        raise UsageError(
            f"{version} has no field {', '.join(unknown)}",
            f"its fields are: {', '.join([*names[:-1], *code, names[-1]])}",
        )


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def _data(fields: Mapping[str, object], version: str, values: dict[str, str]) -> str:
    """Return DATA as given, or made of the parts that a reading splits it into."""
    code = values.get("err", "-")
    in_data = version in _CODE_IN_DATA and code != "-"
    data = payload_in(fields)
    if fields.get("data") is not None:
        is_told = data[:3] == code and early.starts_with_code(data)
        return f"{code}:{data}" if in_data and not is_told else data
    data = data or str(fields.get("desc") or "")
    if in_data:
        return f"{code}:{data}" if data else code
    if not data and values.get("type") in ("A", "ACK"):
        return "ok"
    return data


def payload_in(fields: Mapping[str, object]) -> str:
    """Return DATA as fields give it, or made of their flags and pairs; "" where they give none.

    Raises:
        InvalidInputError: No text reads back as these flags and pairs.
    """
    if fields.get("data") is not None:
        return str(fields["data"])
    flags, pairs = fields.get("flags"), fields.get("pairs")
    return render_data(
        [str(one) for one in flags] if isinstance(flags, list | tuple) else [],
        {str(name): str(one) for name, one in pairs.items()} if isinstance(pairs, dict) else {},
    )


def _fill(values: dict[str, str], version: str) -> None:
    """Put in what was left out, and bring ids into the form of the version."""
    if version in ("V1", "V2"):
        _fill_two_agents(values, version)
    else:
        values["route"] = f"{values.get('from', 'O1')}>{values.get('to', '')}"
    if version == "V5":
        values["tid"] = values.get("tid", values.get("task", "-"))
        values["depth"] = "0" if values.get("depth", "-") == "-" else values["depth"]
        if values.get("ctx", "-") == "-":
            values["ctx"] = NO_SESSION
        if values.get("budget", "-").isdigit():
            values["budget"] = f"B{values['budget']}"
    else:
        values["task"] = values.get("task", values.get("tid", "-"))
        if version == "V1" and values["task"] == "-":
            values["task"] = ""
    if version in ("V3", "V5"):
        values.setdefault("pri", DEFAULT_PRIORITY)
    short = version in ("V4", "V5")
    for name, word in (("msg", "M"), ("tid", "T"), ("task", "T")):
        if values.get(name, "").isdigit():
            number = values[name].lstrip("0") or "0"
            long = "MSG_" if word == "M" else "TASK_"
            values[name] = f"{word}{number}" if short else f"{long}{number:0>2}"


def _fill_two_agents(values: dict[str, str], version: str) -> None:
    sender = values.get("role", values.get("from", "O"))
    orchestrator, worker = early.ROLES
    if version == "V2":
        values["role"] = {orchestrator: "O", worker: "W", "O1": "O", "W1": "W"}.get(sender, sender)
        return
    names = {"O": orchestrator, "O1": orchestrator, "W": worker, "W1": worker}
    values["from"] = names.get(sender, sender)
    other = worker if values["from"] == orchestrator else orchestrator
    values["to"] = names.get(values.get("to", other), values.get("to", other))


def _offers(data: str) -> bool:
    """Return true if a choice for the user has two to four options of one to three words."""
    _, pairs = flags_and_pairs(data)
    options = [value for name, value in pairs.items() if name[:3] == "opt" and name[3:].isdigit()]
    return 2 <= len(options) <= MAX_OPTIONS and all(
        1 <= len(option.split()) <= MAX_OPTION_WORDS for option in options
    )
