"""Which worker gets a task: the one whose capabilities fit best, then the least busy (PR-561)."""

from __future__ import annotations

from council.agents.registry import Worker
from council.kernel.times import timedelta

FULL = 100  # a load in percent at which a worker is busy
SILENT = timedelta(minutes=3)  # after which a worker that sent a liveness message is gone


def select(
    required: list[str], workers: dict[str, Worker], threshold: float, without: list[str]
) -> list[str]:
    """Return the workers that fit, the best first; nothing required fits everybody.

    The score is the share of the required capabilities that a worker has. Equal ones are ordered
    by load, last use (never first) and number; busy ones come after all others.
    """
    rows = []
    for ident, one in workers.items():
        count = sum(name in one.caps for name in set(required))
        score = count / len(set(required)) if required else 1.0
        fits = score >= threshold and (count or not required) and one.max_depth
        if ident[:1] == "W" and ident not in without and fits:
            rows.append((one.load >= FULL, -score, one.load, one.used, _number(ident), ident))
    return [row[-1] for row in sorted(rows)]


def _number(ident: str) -> int:
    return int(ident[1:].partition(".")[0] or 0)


def named_in(text: str, workers: dict[str, Worker]) -> list[str]:
    """Return the capabilities that a text names: all where one worker has them all, else the first.

    A name counts as whole words; blanks and hyphens may stand for `_`.
    """
    words, every = _words(text), {name for one in workers.values() for name in one.caps}
    places = sorted((words.find(_words(name)), -len(name), name) for name in every)
    matches = [name for place, _, name in places if place >= 0]
    return matches if any({*matches} <= {*one.caps} for one in workers.values()) else matches[:1]


def _words(text: str) -> str:
    plain = "".join(one if one.isalnum() else " " for one in text.casefold())
    return f" {' '.join(plain.split())} "
