"""What it costs to read and check messages, version by version.

V5 is held to two others that do the same work: a line split by hand with a
compiled expression for each segment, and a grammar of V5 for the parser
generator lark, where that is installed. Alone: `python -m benchmarks.wire`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from benchmarks import results
from benchmarks.measuring import Part, Row, in_turns, milliseconds, tell
from council.wire.conversion import convert
from council.wire.messages import parse, validate

MESSAGES = 1000
BY_HAND_BOUND = 2.0
GRAMMAR_BOUND = 0.1
PAYLOADS = (
    "call=web_search;query=latest news",
    "progress=50%;found=12 articles",
    "results=5;top1=first;top2=second;src=#REF:T1:raw",
    "analysis=done;tests=3;coverage=85%;quality=good",
    "résumé court",
)

AGENT = r"(?:[ORG][1-9]|W[1-9]\d?)(?:\.[A-Za-z0-9]+)?"
BY_HAND = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"M\d{1,4}",
        rf"(?=.{{1,12}}$)(?:{AGENT}|User)>(?:\*|W\*|User|{AGENT})",
        r"[RSECUABHDJLKXQ]",
        r"T\d{1,3}|-",
        r"P[012]|-",
        r"[NRDFX-]",
        r"E\d\d|-",
        r"[0-5-]",
        r"S[a-z0-9]{1,7}|-",
        r"B\d{1,4}|-",
        r"[^|>]{1,200}",
    )
]
GRAMMAR = r"""
start: head "|" task "|" limits "|" DATA
head: MSG "|" AGENT ">" target "|" TYPE
task: tid "|" pri "|" state "|" err
limits: depth "|" ctx "|" budget
target: AGENT | ALL
tid: TID | UNUSED
pri: PRI | UNUSED
state: STATE | UNUSED
err: ERR | UNUSED
depth: DEPTH | UNUSED
ctx: CTX | UNUSED
budget: BUDGET | UNUSED
MSG: /M[0-9]{1,4}/
AGENT: /([ORG][1-9]|W[1-9][0-9]?)(\.[A-Za-z0-9]+)?|User/
ALL: /W?\*/
TYPE: /[RSECUABHDJLKXQ]/
TID: /T[0-9]{1,3}/
PRI: /P[012]/
STATE: /[NRDFX]/
ERR: /E[0-9]{2}/
DEPTH: /[0-5]/
CTX: /S[a-z0-9]{1,7}/
BUDGET: /B[0-9]{1,4}/
UNUSED: "-"
DATA: /[^|>]{1,200}/
"""


def measure(rounds: int) -> Part:
    """Measure every version, and V5 against the other two ways."""
    texts = {"V5": [v5_line(number) for number in range(1, MESSAGES + 1)]}
    for older in ("V4", "V3", "V2", "V1"):
        texts[older] = [convert(plain(number), older).text for number in range(1, MESSAGES + 1)]
    runs: dict[str, Callable[[], float]] = {
        f"{version}, parse and validate": reading(texts[version]) for version in sorted(texts)
    }
    runs["V5, parse, validate and fields"] = lambda: milliseconds(
        lambda: [validate(parse(text)).fields for text in texts["V5"]]
    )
    runs["split and compiled expressions"] = lambda: milliseconds(
        lambda: [by_hand(text) for text in texts["V5"]]
    )
    grammar = of_lark()
    if grammar:
        runs["grammar of lark"] = lambda: milliseconds(
            lambda: [grammar(text) for text in texts["V5"]]
        )
    tell(f"wire: {MESSAGES} messages of each version, {rounds} rounds")
    found = in_turns(runs, rounds)
    ours = "V5, parse and validate"
    rows = [Row(what, found[what]) for what in runs if what.startswith("V") and what != ours]
    rows.append(compared(ours, "split and compiled expressions", found, BY_HAND_BOUND))
    if grammar:
        rows.append(compared(ours, "grammar of lark", found, GRAMMAR_BOUND))
    return Part(
        "Messages",
        f"{MESSAGES} messages are read and checked; milliseconds for all of them, so 4 ms are "
        f"{MESSAGES / 4 * 1000:,.0f} messages a second. The split by hand finds out only whether "
        "a line is valid; so does the grammar.",
        rows,
    )


def compared(what: str, against: str, found: dict[str, float], bound: float) -> Row:
    """Return the row of one way against another."""
    return Row(what, found[what], against, found[against], bound)


def reading(texts: list[str]) -> Callable[[], float]:
    """Return a run that reads and checks all texts."""
    return lambda: milliseconds(lambda: [validate(parse(text)) for text in texts])


def v5_line(number: int) -> str:
    """Return one of many unlike V5 messages."""
    kind, state = "RUSUC"[number % 5], "NRDRR"[number % 5]
    worker = f"W{number % 99 + 1}"
    route = f"O1>{worker}" if kind == "R" else f"{worker}>O1"
    return (
        f"M{number}|{route}|{kind}|T{number % 300 + 1}|P{number % 3}|{state}|-|{number % 3}|"
        f"S{number % 20 + 1}|B{number % 2000}|{PAYLOADS[number % 5]}"
    )


def plain(number: int) -> str:
    """Return one of many V5 messages that every version has a place for."""
    ends, kind = ("O1>W1", "R") if number % 2 else ("W1>O1", "S")
    data = PAYLOADS[number % 5]
    return f"M{number}|{ends}|{kind}|T{number % 300 + 1}|-|-|-|0|-|-|{data}"


def by_hand(text: str) -> list[str] | None:
    """Return the segments of a valid line, by the shortest code that checks each of them."""
    segments = text.split("|")
    if len(segments) != 11:
        return None
    for pattern, segment in zip(BY_HAND, segments, strict=True):
        if not pattern.fullmatch(segment):
            return None
    return segments


def of_lark() -> Callable[[str], object] | None:
    """Return the parser that lark makes of the grammar, None without lark."""
    try:
        from lark import Lark
    except ImportError:
        return None
    return Lark(GRAMMAR, parser="lalr").parse


if __name__ == "__main__":
    part = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 21)
    print(results.table([part]))
    sys.exit(1 if any(row.missed for row in part.rows) else 0)
