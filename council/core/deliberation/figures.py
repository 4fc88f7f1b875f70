"""Figures over finished conversations: how often they converge, how fast, how diverse they are.

One `Outcome` for each conversation, one `Figures` for many. A mean over
nothing is None, never 0.

Source: DL-091 to DL-094.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from council.core.bounds import Usage
from council.core.conversations.conversation import ClosedReason, Conversation
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE, VOTE
from council.core.deliberation.judgement import CANCELLED, rounds_to_consensus
from council.core.record import Any, Record

VERDICTS = ("strong", "soft", "none")


class Outcome(Record):
    """What one finished conversation came to.

    Args:
        procedure: Its procedure.
        consensus: `strong`, `soft` or `none`; of a council `agreed` or `none`.
        cancelled: Whether it was cancelled; then it counts for no rate (DL-091).
        rounds: After how many rounds of talk there was a consensus, 0 for never.
        absences: How many turns were missed.
        phase_seconds: How long each phase took.
        diversity: How far the final positions lay apart; None where there are none.
        flips: How often an agent changed its mind; None where no stances are stated.
        ratings: The stars people gave.
        usage: What each agent has used, as far as it is known.
    """

    procedure: str
    consensus: str
    cancelled: bool = False
    rounds: int = 0
    absences: int = 0
    phase_seconds: dict[str, float] = {}
    diversity: float | None = None
    flips: int | None = None
    ratings: list[int] = []
    usage: dict[str, Usage] = {}

    @property
    def converged(self) -> bool:
        """Return true if it reached a consensus (DL-091: soft or strong)."""
        return not self.cancelled and self.consensus != "none"


def outcome_in(state: Conversation) -> Outcome:
    """Return what the state of a finished conversation says of its outcome."""
    seconds: dict[str, float] = {}
    for one in state.rounds:
        if one.ended_at is not None:
            took = max((one.ended_at - one.started_at).total_seconds(), 0.0)
            seconds[one.phase] = seconds.get(one.phase, 0.0) + took
    consensus, rounds = _consensus(state)
    return Outcome(
        usage=state.usage,
        procedure=state.procedure,
        consensus=consensus,
        cancelled=state.closed_reason is ClosedReason.CANCELLED,
        rounds=rounds,
        absences=sum(len(one.absent) for one in state.rounds if one.phase != SYNTHESIZE),
        phase_seconds=seconds,
    )


def _consensus(state: Conversation) -> tuple[str, int]:
    """Return the kind of consensus and after how many rounds of talk it was there."""
    if PROCEDURES[state.procedure].verdict == "stances":
        judged = [one for one in state.rounds if one.verdict]
        reached = [
            ("vote" if one.phase == VOTE else "turn", one.verdict.get("reached") is True)
            for one in judged
        ]
        kind = judged[-1].verdict.get("type") if judged else "none"
        return kind if kind in VERDICTS else "none", rounds_to_consensus(reached)
    if state.closed_reason is not ClosedReason.CONSENSUS or not state.has_consensus:
        return "none", 0
    return "agreed", sum(1 for one in state.rounds if one.phase != SYNTHESIZE)


class Figures(Record):
    """The figures over some conversations."""

    count: int = 0
    cancelled: int = 0
    converged: int = 0
    consensus: dict[str, int] = {}
    rounds: dict[int, int] = {}
    diversities: list[float] = []
    ratings: list[int] = []
    flips: int = 0
    absences: int = 0
    phase_seconds: dict[str, list[float]] = {}

    @property
    def complete(self) -> int:
        """Return how many came to their end."""
        return self.count - self.cancelled

    @property
    def convergence_rate(self) -> float | None:
        """Return the share of the complete ones that reached a consensus (DL-091)."""
        return self.converged / self.complete if self.complete else None

    @property
    def mean_rounds(self) -> float | None:
        """Return the mean number of rounds to consensus of those that reached one (DL-092)."""
        return mean([number for number, times in self.rounds.items() for _ in range(times)])

    @property
    def diversity(self) -> float | None:
        """Return the mean diversity of final positions before the synthesis (DL-094)."""
        return mean(self.diversities)

    @property
    def rating(self) -> float | None:
        """Return the mean of all ratings (DL-093)."""
        return mean(self.ratings)

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of one procedure, or of all."""
        return {
            **self.as_json("count:conversations complete cancelled converged"),
            "convergenceRate": _short(self.convergence_rate),
            "consensus": self.consensus,
            "meanRoundsToConsensus": _short(self.mean_rounds),
            "roundsToConsensus": {str(number): times for number, times in self.rounds.items()},
            "diversity": _short(self.diversity),
            "rating": _short(self.rating),
            "ratings": len(self.ratings),
            **self.as_json("flips absences"),
            "phases": {
                phase: {"meanSeconds": _short(mean(spans)), "totalSeconds": sum(spans)}
                for phase, spans in self.phase_seconds.items()
            },
        }


def figures(outcomes: Iterable[Outcome]) -> Figures:
    """Gather the figures of some conversations."""
    found = Figures()
    for one in outcomes:
        kind = CANCELLED if one.cancelled else one.consensus
        found.count += 1
        found.cancelled += one.cancelled
        found.converged += one.converged
        found.consensus[kind] = found.consensus.get(kind, 0) + 1
        if one.converged and one.rounds:
            found.rounds[one.rounds] = found.rounds.get(one.rounds, 0) + 1
        if one.diversity is not None and not one.cancelled:
            found.diversities.append(one.diversity)
        found.ratings += one.ratings
        found.flips += one.flips or 0
        found.absences += one.absences
        for phase, seconds in one.phase_seconds.items():
            found.phase_seconds.setdefault(phase, []).append(seconds)
    found.rounds = dict(sorted(found.rounds.items()))
    return found


def mean(values: Sequence[float]) -> float | None:
    """Return the mean of some values, None of none."""
    return sum(values) / len(values) if values else None


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
