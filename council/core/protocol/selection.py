"""Which worker gets a task: the one whose capabilities fit best, then the least busy.

The score of a worker is the share of the required capabilities that it has.
Those below the threshold are left out, and so is who cannot be reached or may
not be called that deep; each with the reason, so that the choice can be shown.

Source: PR-509, PR-553, PR-561, PR-565.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from council.core.bounds import ProtocolRules
from council.core.protocol.protocol_ids import WORKER, in_order, role_of
from council.core.protocol.registry import Entry, EntryStatus, Registry
from council.core.record import Any, Record

USUAL_THRESHOLD = ProtocolRules().threshold
_UNAVAILABLE, _TOO_DEEP, _NOT_SUPPORTED = "E30", "E16", "E19"


class Weighed(Record):
    """A worker with what speaks for it; `why_not` and `code` say why it was left out."""

    candidate: Entry
    matched: tuple[str, ...]
    missing: tuple[str, ...]
    score: float
    why_not: str = ""
    code: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the candidate as the object that `agent select --json` shows."""
        one = self.candidate
        return {
            "id": one.id,
            "chosen": not self.why_not,
            **self.as_json("matched missing"),
            "score": round(self.score, 4),
            **one.as_json("load used_at:lastUsed serves_below:maxDepth version status"),
            **self.as_json("why_not? code?"),
        }


class Selection(Record):
    """All candidates: first those that fit, the best first, then those that were left out."""

    required: tuple[str, ...]
    threshold: float
    candidates: list[Weighed]

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of those that fit, the best first."""
        return tuple(one.candidate.id for one in self.candidates if not one.why_not)

    def first(self, count: int = 1) -> tuple[str, ...]:
        """Return the best one, or the best few for work in parallel."""
        return self.order[:count]


def select(
    required: Iterable[str],
    candidates: Iterable[Entry],
    *,
    threshold: float = USUAL_THRESHOLD,
    depth: int = 0,
    without: Collection[str] = (),
) -> Selection:
    """Weigh all candidates for a task.

    Args:
        required: The capabilities that it needs; without any, everybody fits.
        candidates: Who could do it.
        threshold: The least score, from 0 to 1.
        depth: The depth at which the task would be called.
        without: Ids that are not to get it, such as one that has failed at it.
    """
    wanted = tuple(dict.fromkeys(required))

    def weigh(one: Entry) -> Weighed:
        matched = tuple(name for name in wanted if name in one.capabilities)
        missing = tuple(name for name in wanted if name not in one.capabilities)
        score = len(matched) / len(wanted) if wanted else 1.0
        why_not, code = "", ""
        if one.id in without:
            why_not = "is left out"
        elif one.status != EntryStatus.ACTIVE:
            why_not, code = f"is {one.status}", _UNAVAILABLE
        elif depth >= one.serves_below:
            why_not, code = f"serves depths below {one.serves_below}, not {depth}", _TOO_DEEP
        elif score < threshold or (wanted and not matched):
            why_not, code = f"score {score:.2f} is below {threshold:g}", _NOT_SUPPORTED
            if not matched:
                why_not = "has none of them"
        return Weighed(
            candidate=one, matched=matched, missing=missing, score=score, why_not=why_not, code=code
        )

    weighed = sorted(map(weigh, candidates), key=_best_first)
    return Selection(required=wanted, threshold=threshold, candidates=weighed)


def _best_first(one: Weighed) -> tuple[Any, ...]:
    used = one.candidate.used_at
    return (
        bool(one.why_not),
        -one.score,
        one.candidate.load,
        used is not None,
        used.timestamp() if used else 0.0,
        one.candidate.use,
        in_order(one.candidate.id),
    )


def named_in(text: str, registry: Registry) -> tuple[str, ...]:
    """Return the capabilities that a text names: all where a worker has them all, else the first.

    A name counts as whole words, in any letter case; blanks and hyphens may stand for `_`.

    Source: OP-015.
    """
    words = _as_words(text)
    workers = [set(one.capabilities) for one in candidates_of(registry)]
    found = [(words.find(_as_words(name)), -len(name), name) for name in set().union(*workers)]
    named = tuple(name for place, _, name in sorted(found) if place >= 0)
    return named if any(one.issuperset(named) for one in workers) else named[:1]


def _as_words(text: str) -> str:
    """Return a text as its words in small letters, with a blank around each."""
    plain = "".join(letter if letter.isalnum() else " " for letter in text.casefold())
    return f" {' '.join(plain.split())} "


def candidates_of(registry: Registry) -> list[Entry]:
    """Return all workers of an informed registry."""
    return [one for one in registry.here() if role_of(one.id) == WORKER]
