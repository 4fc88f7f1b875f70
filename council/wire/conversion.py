"""Convert a message from one version to another, step by step along V1 to V5.

`semantic` maps codes by their meaning, `structural` keeps their digits. What
has no place in the target is a loss and is listed; what cannot be left out is
refused, or with `lossy` replaced by the nearest thing. A side-car remembers
the original, so that the way back restores it. Messages of two versions are compared in
the version of the second, so that only what they say counts.

Source: PR-009, PR-209, PR-419, PR-451, PR-502, PR-601 to PR-610, A-70, A-71.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from council.core.errors import ConversionRefusedError, UsageError
from council.core.record import Any, Record
from council.wire.building import RENDER
from council.wire.codes import UNMAPPED, mapped
from council.wire.early import ROLES
from council.wire.forms import DATA_CHARS, DEFAULT_PRIORITY, NAMES, SEGMENTS, TYPES
from council.wire.identifiers import USER, canonical, number_of, one_line
from council.wire.messages import VERSIONS, parse
from council.wire.parsed import Parsed
from council.wire.v4 import data_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    Step = Callable[[list[str], "Passage"], list[str]]

# What the messages of one conversation share; the rest each says for itself.
_IN_COMMON = frozenset(("task", "tid", "pri", "depth", "ctx", "budget"))
# A reading adds these to what was written.
_ADDED = frozenset(("pri_effective", "flags", "pairs", "params", "desc"))
_ORDER = (*NAMES["V5"][:-1], "AUTH", "TRACE", "DATA")
_LETTERS = dict(zip(TYPES["V1"], TYPES["V2"], strict=True))
_WORDS = {letter: word for word, letter in _LETTERS.items()}
_HIGHEST = {"O": ("orchestrator", 9), "W": ("worker", 99)}
# What stands for a type that V4 lacks, and the flag that then opens DATA.
_STAND_INS = {
    "J": ("U", "JOIN;"),
    "L": ("U", "LEAVE;"),
    "K": ("U", "CAPS;"),
    "Q": ("C", ""),
    "X": ("R", ""),
}
_V4_ROUTE_CHARS = 10


class Passage:
    """What one conversion may do, and what it has lost so far."""

    def __init__(self, *, lossy: bool, structural: bool) -> None:
        self.lossy = lossy
        self.structural = structural
        self.losses: set[str] = set()
        self._step = ("", "")

    def begin(self, source: str, target: str) -> None:
        """Go from one version to its neighbour."""
        self._step = (source, target)

    def refused(self, reason: str, *, is_final: bool = True) -> ConversionRefusedError:
        """Return the error of a step that meets what the other version has no place for.

        `is_final` says that nothing stands for it.
        """
        return ConversionRefusedError(reason, *self._step, is_final=is_final)

    def give_up(self, segment: str, reason: str) -> None:
        """Note a loss that only `lossy` allows.

        Raises:
            ConversionRefusedError: It is not allowed.
        """
        if not self.lossy:
            raise self.refused(reason, is_final=False)
        self.losses.add(segment)

    def code(self, code: str, source: str, target: str) -> str:
        """Return the code that stands for `code` in the next version."""
        if code == "-":
            return code
        if self.structural and code != "E00":
            return code
        found, exact = mapped(code, source, target)
        if not exact:
            self.losses.add("ERR")
        return found

    def within_limit(self, data: str) -> str:
        """Return DATA that fits V4 and V5."""
        if len(data) > DATA_CHARS:
            self.give_up("DATA", f"DATA above {DATA_CHARS}")
        return data[:DATA_CHARS]


def _v1_to_v2(segments: list[str], passage: Passage) -> list[str]:
    msg, sender, _target, kind, task, data = segments
    if "|" in data:
        raise passage.refused("| in V1 data")
    if not task and kind != "ACK":
        raise passage.refused("no TASK")
    return [msg, sender[0], _LETTERS[kind], task or "-", data or "-"]


def _v2_to_v1(segments: list[str], _: Passage) -> list[str]:
    msg, role, kind, task, data = segments
    sender, target = ROLES if role == "O" else ROLES[::-1]
    return [msg, sender, target, _WORDS[kind], "" if task == "-" else task, data]


def _v2_to_v3(segments: list[str], passage: Passage) -> list[str]:
    msg, role, kind, task, data = segments
    if ">" in data:
        raise passage.refused("> in V2 data")
    route = "O1>W1" if role == "O" else "W1>O1"
    if kind == "E":
        data = passage.code(data[:3], "V2", "V3") + data[3:]
    return [msg, route, kind, task or "-", "-", "-", data]


def _v3_to_v2(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, task, pri, state, data = segments
    sender, _, target = route.partition(">")
    if target == "*" or kind == "B":
        raise passage.refused("broadcast")
    ends = [f"{end[0]}{number_of(end)}" for end in (sender, target)]
    if sorted(ends) != ["O1", "W1"]:
        raise passage.refused("third agent")
    if sender[0] == "W" and kind == "R":
        raise passage.refused("request of a worker")
    if task == "-" and kind != "A":
        raise passage.refused("no TASK")
    if pri not in ("-", DEFAULT_PRIORITY):
        passage.losses.add("PRI")
    if state != "-":
        passage.losses.add("STATE")
    if kind == "E":
        data = passage.code(data[:3], "V3", "V2") + data[3:]
    return [msg, sender[0], kind, task, data]


def _v3_to_v4(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, task, pri, state, data = segments
    sender, _, target = route.partition(">")
    short_msg = f"M{_in_range(passage, msg, 'MSG', 9999)}"
    short_task = task if task == "-" else f"T{_in_range(passage, task, 'TASK', 999)}"
    ends = [one if one == "*" else _short_agent(passage, one) for one in (sender, target)]
    err = "-"
    if kind == "E":
        err, data = passage.code(data[:3], "V3", "V4"), data[4:] or "-"
    data = passage.within_limit(data)
    return [short_msg, ">".join(ends), kind, short_task, pri, state, err, data]


def _v4_to_v3(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, task, pri, state, err, data = segments
    sender, _, target = route.partition(">")
    for end in (sender, target):
        if end[0] in "RG":
            raise passage.refused(f"role {end[0]}")
        if "." in end:
            raise passage.refused("sub-agent")
    if target == "W*":
        passage.give_up("ROUTE", "W*")
        target = "*"
    if kind == "H":
        passage.give_up("TYPE", "type H")
        kind, data = "U", f"heartbeat;{data}"
    if kind == "E":
        if err == "-":
            passage.losses.add("ERR")
        code = UNMAPPED if err == "-" else passage.code(err, "V4", "V3")
        data = code if data == "-" else f"{code}:{data}"
    elif err != "-":
        passage.losses.add("ERR")
    long_task = task if task == "-" else f"TASK_{number_of(task):02}"
    return [f"MSG_{number_of(msg):02}", f"{sender}>{target}", kind, long_task, pri, state, data]


def _v4_to_v5(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, task, pri, state, err, data = segments
    code = passage.code(err, "V4", "V5")
    return [canonical(msg), route, kind, canonical(task), pri, state, code, "0", "-", "-", data]


def _v5_to_v4(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, tid, pri, state, err, depth, ctx, budget, data = segments
    if number_of(msg) == 0:
        raise passage.refused("M0")
    if USER in route.split(">"):
        raise passage.refused("User endpoint")
    if len(route) > _V4_ROUTE_CHARS:
        raise passage.refused(f"route above {_V4_ROUTE_CHARS}")
    if kind == "D":
        raise passage.refused("type D")
    if kind in _STAND_INS:
        passage.give_up("TYPE", f"type {kind}")
        kind, flag = _STAND_INS[kind]
        data = flag + data
    task = canonical(tid)
    if task == "T0":
        passage.losses.add("TID")
        task = "-"
    for name, value, unused in (("DEPTH", depth, "0"), ("CTX", ctx, "-"), ("BUDGET", budget, "-")):
        if value not in (unused, "-"):
            passage.losses.add(name)
    code = passage.code(err, "V5", "V4")
    return [canonical(msg), route, kind, task, pri, state, code, passage.within_limit(data)]


def _draft_to_v4(segments: list[str], passage: Passage) -> list[str]:
    *first, auth, trace, data = segments
    mode = data_mode(data)
    if mode in ("dict", "zip"):
        raise passage.refused("dictionary in DATA" if mode == "dict" else "compressed DATA")
    for name, value in (("AUTH", auth), ("TRACE", trace)):
        if value != "-":
            passage.losses.add(name)
    return [*first, data]


def _in_range(passage: Passage, identifier: str, name: str, highest: int) -> int:
    """Return the number of an id.

    Raises:
        ConversionRefusedError: V4 has no such number.
    """
    number = number_of(identifier)
    if number == 0:
        raise passage.refused(f"{name} 0")
    if not 0 < number <= highest:
        raise passage.refused(f"{name} above {highest}")
    return number


def _short_agent(passage: Passage, agent: str) -> str:
    role, highest = _HIGHEST[agent[0]]
    return f"{agent[0]}{_in_range(passage, agent, role, highest)}"


STEPS: dict[tuple[str, str], Step] = {
    ("V1", "V2"): _v1_to_v2,
    ("V2", "V1"): _v2_to_v1,
    ("V2", "V3"): _v2_to_v3,
    ("V3", "V2"): _v3_to_v2,
    ("V3", "V4"): _v3_to_v4,
    ("V4", "V3"): _v4_to_v3,
    ("V4", "V5"): _v4_to_v5,
    ("V5", "V4"): _v5_to_v4,
    ("V5D", "V4"): _draft_to_v4,
}


class Converted(Record):
    """A converted message: its text, the segments that lost something, what the way back needs."""

    _keys = "version:- sidecar:-"

    text: str
    version: str
    losses: list[str]
    sidecar: dict[str, Any]


def convert(
    message: str | Parsed,
    to: str,
    *,
    lossy: bool = False,
    structural: bool = False,
    sidecar: dict[str, Any] | None = None,
) -> Converted:
    """Return a message as another version writes it.

    Args:
        message: A text of any version, or its reading.
        to: `V1` to `V5`.
        lossy: Replace what the target has no place for, where the document offers something.
        structural: Keep the digits of codes although their meaning changes.
        sidecar: What an earlier conversion away from `to` gave, of this message or of one that
            it answers; its lost values come back wherever the message was not changed since.

    Raises:
        UsageError: Nothing can be written in that version.
        InvalidMessageError: The message has faults.
        ConversionRefusedError: The message holds what the target has no place for.
    """
    if to not in VERSIONS:
        raise UsageError(f"nothing can be converted to {to!r}", f"choose {', '.join(VERSIONS)}")
    found = (message if isinstance(message, Parsed) else parse(message)).require_valid()
    passage = Passage(lossy=lossy, structural=structural)
    if "W_DATA_TRUNCATED" in found.warnings:
        passage.losses.add("DATA")
    segments = _walk(found, to, passage)
    if sidecar and sidecar.get("version") == to:
        segments = _restored(segments, found, sidecar, passage)
    text = RENDER[to](segments)
    check = parse(text, to)
    if check.errors:
        raise ConversionRefusedError(f"rule {check.errors[0].rule}", found.version, to)
    kept = {
        "version": found.version,
        "text": one_line(found.text) if found.version != "V1" else found.text,
        "convertedVersion": to,
        "converted": text,
    }
    losses = [name for name in _ORDER if name in passage.losses]
    return Converted(text=text, version=to, losses=losses, sidecar=kept)


def _walk(found: Parsed, to: str, passage: Passage) -> list[str]:
    segments = list(found.segments)
    for source, target in _path(found.version, to):
        passage.begin(source, target)
        segments = STEPS[source, target](segments, passage)
    return segments


def _path(source: str, target: str) -> Iterator[tuple[str, str]]:
    if source == "V5D":
        yield "V5D", (source := "V4")
    at, end = VERSIONS.index(source), VERSIONS.index(target)
    step = 1 if end > at else -1
    for place in range(at, end, step):
        yield VERSIONS[place], VERSIONS[place + step]


def _restored(
    segments: list[str], found: Parsed, sidecar: dict[str, Any], passage: Passage
) -> list[str]:
    """Return `segments` with the original's value where the converted one was not changed.

    Another message than the converted one, such as its answer, gets only what a conversation
    has in common.
    """
    original = parse(str(sidecar.get("text", "")), sidecar["version"])
    converted = parse(str(sidecar.get("converted", "")), sidecar.get("convertedVersion"))
    if original.errors or converted.errors or converted.version != found.version:
        return segments
    unchanged = Passage(lossy=True, structural=passage.structural)
    plain = _walk(converted, original.version, unchanged)
    is_same = found.segments[:2] == converted.segments[:2]
    restored = []
    for name, now, then, first in zip(
        SEGMENTS[original.version], segments, plain, original.segments, strict=True
    ):
        is_kept = now == then and (is_same or name in _IN_COMMON)
        restored.append(first if is_kept else now)
        if is_kept:
            passage.losses.discard(name.upper())
    return restored


class Comparison(Record):
    """Two messages: their versions, the one they were compared in, what differs.

    `compared_in` is None where the first cannot be converted; then each field is taken as it
    stands. A difference is the name of a field and both values, None where there is none.
    """

    versions: tuple[str, str]
    compared_in: str | None
    differences: list[tuple[str, Any, Any]]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `msg diff` for two messages."""
        return {
            **self.as_json("versions compared_in"),
            "same": not self.differences,
            "differences": [
                {"field": name, "before": before, "after": after}
                for name, before, after in self.differences
            ],
        }


def compare(before: Parsed, after: Parsed) -> Comparison:
    """Return what differs between two valid messages.

    Raises:
        InvalidMessageError: One of them has faults.
    """
    versions = (before.require_valid().version, after.require_valid().version)
    compared_in: str | None = after.version
    if before.version != after.version:
        try:
            before = parse(convert(before, after.version, lossy=True).text, after.version)
        except (ConversionRefusedError, UsageError):  # the draft is never written
            compared_in = None
    told = [{k: v for k, v in one.fields.items() if k not in _ADDED} for one in (before, after)]
    return Comparison(
        versions=versions,
        compared_in=compared_in,
        differences=[
            (name, told[0].get(name), told[1].get(name))
            for name in dict.fromkeys((*told[0], *told[1]))
            if told[0].get(name) != told[1].get(name)
        ],
    )
