"""The ids by which agents are known in messages, `O1`, `W12`, `R1`, `G3`, `W1.a`, and contexts.

A letter for the role, a number within the range of the role, and the name of
a sub-agent if it is one.

Source: PR-402, PR-504, PR-505, PR-530, PR-572, A-48, A-54.
"""

from __future__ import annotations

ORCHESTRATOR, WORKER, ROUTER, GROUP = "O", "W", "R", "G"
# The highest number of each role; sub-agents carry any letters and digits.
ROLES = {ORCHESTRATOR: 9, WORKER: 99, ROUTER: 9, GROUP: 9}
ROLE_WORDS = {ORCHESTRATOR: "orchestrator", WORKER: "worker", ROUTER: "router", GROUP: "group"}
EVERYBODY = "*"
ALL_WORKERS = "W*"
MAX_ID_CHARS = 10
_CONTEXT_REST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_CONTEXT_CHARS = 8

_ORDER = tuple(ROLES)


def is_protocol_id(text: str) -> bool:
    """Return true if `text` is an id: role, number within its range, sub-agent."""
    name, dot, sub = text.partition(".")
    highest = ROLES.get(name[:1])
    number = name[1:]
    if highest is None or not (number.isascii() and number.isdigit()) or len(number) > 2:
        return False
    if dot and not (sub.isalnum() and sub.isascii()):
        return False
    return number[0] != "0" and int(number) <= highest and len(text) <= MAX_ID_CHARS


def role_of(protocol_id: str) -> str:
    """Return the letter of the role of an id."""
    return protocol_id[:1]


def role_word(protocol_id: str) -> str:
    """Return the role of an id as a word."""
    return ROLE_WORDS[role_of(protocol_id)]


def number_of(protocol_id: str) -> int:
    """Return the number of an id."""
    return int(protocol_id.partition(".")[0][1:])


def in_order(protocol_id: str) -> tuple[int, int, str]:
    """Return what ids are sorted by: orchestrators, workers, routers, groups, each by number."""
    sub = protocol_id.partition(".")[2]
    return _ORDER.index(role_of(protocol_id)), number_of(protocol_id), sub


def fits(protocol_id: str, pattern: str) -> bool:
    """Return true if an id is meant by `*`, by a role such as `W*`, or by itself."""
    if pattern.endswith(EVERYBODY):
        return protocol_id.startswith(pattern[:-1])
    return protocol_id == pattern


def is_filter(pattern: str) -> bool:
    """Return true if `pattern` can choose agents: `*`, a role such as `W*`, or one id."""
    if pattern.endswith(EVERYBODY):
        return pattern[:-1] in ("", *ROLES)
    return is_protocol_id(pattern)


def is_context(text: str) -> bool:
    """Return true if `text` can name a context: `S` and up to seven letters or digits.

    >>> is_context("S1"), is_context("Sabc12"), is_context("s1"), is_context("S")
    (True, True, False, False)
    """
    return text[:1] == "S" and 1 < len(text) <= _CONTEXT_CHARS and not set(text[1:]) - _CONTEXT_REST
