"""The message that answers a fault, with the code of that fault and in the version of its message.

It goes back where the message came from and keeps its task, context and depth.

Source: PR-317, PR-418, PR-537, PR-546, PR-578, A-43, A-57.
"""

from __future__ import annotations

from council.core.errors import UsageError
from council.wire.building import checked
from council.wire.codes import meaning_of
from council.wire.early import ROLES
from council.wire.forms import SEGMENTS
from council.wire.identifiers import (
    ends_of,
    is_clean,
    is_digits,
    is_long_task_id,
    is_task_id,
)
from council.wire.identifiers import number_of as number_in
from council.wire.parsed import Fault, Parsed

_GOT_CHARS = 20
_NAME_CHARS = 40
_LAST_NUMBER = 9999
_DEFAULT_ROUTE = "W1>O1"


def reply_to_fault(faulty: Parsed, *, number: int | None = None, sender: str = "") -> str | None:
    """Return the message that answers the first fault, None for a message without one.

    Args:
        faulty: The reading with its faults; also one made strict.
        number: The number of the reply; None takes the one after the message's.
        sender: Who replies, where the message does not name a single agent.

    Source: PR-317, PR-418, PR-537.
    """
    if not faulty.errors:
        return None
    fault = faulty.errors[0]
    version = "V5" if faulty.version == "V5D" else faulty.version
    told = _told(faulty)
    number = number or _number_after(told[0])
    task = _task_of(told, version)
    if version in ("V1", "V2"):
        data = f"{fault.code}:{meaning_of(fault.code, 'V2')}{_where(fault, ';')}"
        if version == "V1":
            ends = ROLES if told[1:2] == ["WORKER"] else ROLES[::-1]
            return checked([f"MSG_{number:02}", *ends, "ERR", task, data], version)
        role = "O" if told[1:2] == ["W"] else "W"
        return checked([f"MSG_{number:02}", role, "E", task or "TASK_00", data], version)
    route = _route_back(told, version, sender)
    pri = told[4] if len(told) > 4 and told[4] in ("P0", "P1", "P2") else "-"
    if version == "V3":
        word = "parsing" if fault.code == "E05" else meaning_of(fault.code, version)
        data = f"{fault.code}:{word}{_where(fault, ';') or _named(fault, ';id=')}"
        # Without a task the strict check warns; a reply about none cannot name one.
        return "|".join([f"MSG_{number:02}", route, "E", task, pri, "-", data])
    if version == "V4":
        where = _where(fault, "") or _named(fault, "id=") or _count(faulty, "=")
        data = where + _got(faulty, fault)
        return checked([f"M{number}", route, "E", task, pri, "-", fault.code, data], version)
    return _v5_reply(faulty, told, [f"M{number}", route, "E", task, pri, "F"])


def _v5_reply(faulty: Parsed, told: list[str], first: list[str]) -> str:
    fault = faulty.errors[0]
    # The draft is no V5: whatever is wrong with it, it has the wrong form.
    code = "E10" if faulty.version == "V5D" else fault.code
    where = _where(fault, "").replace("=", " ") or _named(fault, "") or _count(faulty, " ")
    data = f"desc={meaning_of(code, 'V5')};details={where}{_got(faulty, fault)}"
    kept = ["0", "-", "-"]
    for place, prefix in ((7, ""), (8, "S"), (9, "B")):
        value = told[place] if len(told) > 10 else ""
        trial = [*first, code, *kept, data]
        trial[place] = value
        if value and value.startswith(prefix) and not _breaks(trial, place):
            kept[place - 7] = value
    return checked([*first, code, *kept, data], "V5")


def _breaks(segments: list[str], place: int) -> bool:
    from council.wire.v5 import parse

    found = parse("|".join(segments)).strict()
    return any(fault.segment in (None, place + 1) for fault in found.errors)


def _told(faulty: Parsed) -> list[str]:
    """Return what can be made out of a message at fault, segment by segment."""
    if faulty.segments:
        return faulty.segments
    return faulty.text.rstrip("\r\n").split("|", len(SEGMENTS[faulty.version]))


def _number_after(message_id: str) -> int:
    digits = message_id.rpartition("_")[2].removeprefix("M")
    number = int(digits) if is_digits(digits) and len(digits) < 5 else 0
    return number % _LAST_NUMBER + 1


def _task_of(told: list[str], version: str) -> str:
    task = told[4 if version == "V1" else 3] if len(told) > 4 else ""
    if version in ("V4", "V5"):
        fits = is_task_id(task) and task != "-" and (version == "V5" or number_in(task))
        return f"T{number_in(task)}" if fits else "-"
    if is_long_task_id(task):
        return task
    return "-" if version == "V3" else ""


def _route_back(told: list[str], version: str, sender: str) -> str:
    ends = ends_of(told[1], version) if len(told) > 1 else None
    if ends is None:
        return f"{sender}>O1" if sender else _DEFAULT_ROUTE
    back, here = ends
    if not sender and here in ("*", "W*"):
        here = "W1"
    if not sender and here[0] == "G":
        here = "W1"
    return f"{sender or here}>{back}"


def _where(fault: Fault, mark: str) -> str:
    return f"{mark}seg={fault.segment}" if fault.segment else ""


def _named(fault: Fault, mark: str) -> str:
    """Return what does not exist; a reference without its sign, for it refers to nothing."""
    return f"{mark}{fault.named.removeprefix('#')[:_NAME_CHARS]}" if fault.named else ""


def _count(faulty: Parsed, mark: str) -> str:
    return f"segments{mark}{faulty.text.count('|') + 1}"


def _got(faulty: Parsed, fault: Fault) -> str:
    """Return the faulty value as a pair, if it is short and DATA may hold it."""
    if not fault.segment or not faulty.segments:
        return ""
    value = faulty.segments[fault.segment - 1]
    fits = 0 < len(value) <= _GOT_CHARS and is_clean(value)
    return f";got={value}" if fits and not set(value) & set('|>;"') else ""


def written_out(shorthand: str) -> str:
    """Return the V4 message that a short note `E|E08:id=Wn` of the document stands for.

    Numbers that the note does not say stay open (`M<n>`).

    Raises:
        UsageError: It is no such note.

    Source: PR-418, A-43.
    """
    head, bar, rest = shorthand.partition("|")
    code, _, data = rest.partition(":")
    if head != "E" or not bar or code[:1] != "E" or not is_digits(code[1:]) or len(code) != 3:
        raise UsageError(f"{shorthand!r} is no short note of an error", "write E|Exx:details")
    before, arrow, after = data.partition(">")
    task = "-"
    if arrow:
        # Only a change of state is written with an arrow, and it belongs to a task.
        task, data = "T<n>", f"from={before};to={after}"
    return f"M<n>|W1>O1|E|{task}|-|-|{code}|{data or '-'}"
