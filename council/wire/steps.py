"""One step of a conversion: from a version to the one beside it, on segments.

Source: PR-209, PR-419, PR-502, PR-601 to PR-608.
"""

from __future__ import annotations

from council.wire import v1
from council.wire.checklist import DATA_CHARS, DEFAULT_PRIORITY
from council.wire.codes import UNMAPPED, mapped
from council.wire.draft import data_mode
from council.wire.identifiers import USER, canonical, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[list[str], "Passage"], list[str]]

_ORDER = (
    *("MSG", "ROUTE", "TYPE", "TID", "PRI", "STATE"),
    *("ERR", "DEPTH", "CTX", "BUDGET", "AUTH", "TRACE", "DATA"),
)
LETTERS = dict(zip(v1.TYPES, "RSCUAE", strict=True))
_WORDS = {letter: word for word, letter in LETTERS.items()}
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


class RefusedStep(Exception):  # noqa: N818 - it never leaves the conversion
    """A step meets what the other version has no place for; `is_final` if nothing stands for it."""

    def __init__(self, reason: str, *, is_final: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final


class Passage:
    """What one conversion may do, and what it has lost so far."""

    def __init__(self, *, lossy: bool, structural: bool) -> None:
        self.lossy = lossy
        self.structural = structural
        self.losses: set[str] = set()

    def lose(self, segment: str) -> None:
        """Note that a segment loses something."""
        self.losses.add(segment)

    def give_up(self, segment: str, reason: str) -> None:
        """Note a loss that only `lossy` allows.

        Raises:
            RefusedStep: It is not allowed.
        """
        if not self.lossy:
            raise RefusedStep(reason, is_final=False)
        self.lose(segment)

    def in_order(self) -> list[str]:
        """Return the names of the segments that lost something, in the order of V5."""
        return [name for name in _ORDER if name in self.losses]

    def code(self, code: str, source: str, target: str) -> str:
        """Return the code that stands for `code` in the next version."""
        if code == "-":
            return code
        if self.structural and code != "E00":
            return code
        found, exact = mapped(code, source, target)
        if not exact:
            self.lose("ERR")
        return found

    def within_limit(self, data: str) -> str:
        """Return DATA that fits V4 and V5."""
        if len(data) > DATA_CHARS:
            self.give_up("DATA", f"DATA above {DATA_CHARS}")
        return data[:DATA_CHARS]


def _v1_to_v2(segments: list[str], _: Passage) -> list[str]:
    msg, sender, _target, kind, task, data = segments
    if "|" in data:
        raise RefusedStep("| in V1 data")
    if not task and kind != "ACK":
        raise RefusedStep("no TASK")
    return [msg, sender[0], LETTERS[kind], task or "-", data or "-"]


def _v2_to_v1(segments: list[str], _: Passage) -> list[str]:
    msg, role, kind, task, data = segments
    sender, target = v1.ROLES if role == "O" else v1.ROLES[::-1]
    return [msg, sender, target, _WORDS[kind], "" if task == "-" else task, data]


def _v2_to_v3(segments: list[str], passage: Passage) -> list[str]:
    msg, role, kind, task, data = segments
    if ">" in data:
        raise RefusedStep("> in V2 data")
    route = "O1>W1" if role == "O" else "W1>O1"
    if kind == "E":
        data = passage.code(data[:3], "V2", "V3") + data[3:]
    return [msg, route, kind, task or "-", "-", "-", data]


def _v3_to_v2(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, task, pri, state, data = segments
    sender, _, target = route.partition(">")
    if target == "*" or kind == "B":
        raise RefusedStep("broadcast")
    ends = [f"{end[0]}{number_of(end)}" for end in (sender, target)]
    if sorted(ends) != ["O1", "W1"]:
        raise RefusedStep("third agent")
    if sender[0] == "W" and kind == "R":
        raise RefusedStep("request of a worker")
    if task == "-" and kind != "A":
        raise RefusedStep("no TASK")
    if pri not in ("-", DEFAULT_PRIORITY):
        passage.lose("PRI")
    if state != "-":
        passage.lose("STATE")
    if kind == "E":
        data = passage.code(data[:3], "V3", "V2") + data[3:]
    return [msg, sender[0], kind, task, data]


def _v3_to_v4(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, task, pri, state, data = segments
    sender, _, target = route.partition(">")
    short_msg = f"M{_in_range(msg, 'MSG', 9999)}"
    short_task = task if task == "-" else f"T{_in_range(task, 'TASK', 999)}"
    ends = [_short_agent(sender), target if target == "*" else _short_agent(target)]
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
            raise RefusedStep(f"role {end[0]}")
        if "." in end:
            raise RefusedStep("sub-agent")
    if target == "W*":
        passage.give_up("ROUTE", "W*")
        target = "*"
    if kind == "H":
        passage.give_up("TYPE", "type H")
        kind, data = "U", f"heartbeat;{data}"
    if kind == "E":
        if err == "-":
            passage.lose("ERR")
        code = UNMAPPED if err == "-" else passage.code(err, "V4", "V3")
        data = code if data == "-" else f"{code}:{data}"
    elif err != "-":
        passage.lose("ERR")
    long_task = task if task == "-" else f"TASK_{number_of(task):02}"
    return [f"MSG_{number_of(msg):02}", f"{sender}>{target}", kind, long_task, pri, state, data]


def _v4_to_v5(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, task, pri, state, err, data = segments
    code = passage.code(err, "V4", "V5")
    return [canonical(msg), route, kind, canonical(task), pri, state, code, "0", "-", "-", data]


def _v5_to_v4(segments: list[str], passage: Passage) -> list[str]:
    msg, route, kind, tid, pri, state, err, depth, ctx, budget, data = segments
    if number_of(msg) == 0:
        raise RefusedStep("M0")
    if USER in route.split(">"):
        raise RefusedStep("User endpoint")
    if len(route) > _V4_ROUTE_CHARS:
        raise RefusedStep(f"route above {_V4_ROUTE_CHARS}")
    if kind == "D":
        raise RefusedStep("type D")
    if kind in _STAND_INS:
        passage.give_up("TYPE", f"type {kind}")
        kind, flag = _STAND_INS[kind]
        data = flag + data
    task = canonical(tid)
    if task == "T0":
        passage.lose("TID")
        task = "-"
    for name, value, unused in (
        ("DEPTH", depth, "0"),
        ("CTX", ctx, "-"),
        ("BUDGET", budget, "-"),
    ):
        if value not in (unused, "-"):
            passage.lose(name)
    code = passage.code(err, "V5", "V4")
    return [canonical(msg), route, kind, task, pri, state, code, passage.within_limit(data)]


def _draft_to_v4(segments: list[str], passage: Passage) -> list[str]:
    *first, auth, trace, data = segments
    mode = data_mode(data)
    if mode in ("dict", "zip"):
        raise RefusedStep("dictionary in DATA" if mode == "dict" else "compressed DATA")
    for name, value in (("AUTH", auth), ("TRACE", trace)):
        if value != "-":
            passage.lose(name)
    return [*first, data]


def _in_range(identifier: str, name: str, highest: int) -> int:
    """Return the number of an id.

    Raises:
        RefusedStep: V4 has no such number.
    """
    number = number_of(identifier)
    if number == 0:
        raise RefusedStep(f"{name} 0")
    if not 0 < number <= highest:
        raise RefusedStep(f"{name} above {highest}")
    return number


def _short_agent(agent: str) -> str:
    role, highest = _HIGHEST[agent[0]]
    return f"{agent[0]}{_in_range(agent, role, highest)}"


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
