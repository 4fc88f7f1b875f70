"""Histories for tests of the rules of judgement: turns and rounds in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from council.core.deliberation.played import Played
from council.core.reading_answers.turns import Response, Turn

Matrix = Mapping[str, Mapping[str, str]]


def turn(
    stances: Mapping[str, str] | None = None,
    position: str = "A position.",
    *,
    confidence: int = 3,
    reasoning: str = "",
    comments: Mapping[str, str] | None = None,
) -> Turn:
    """Return a turn that states `stances`, each with the comment to that agent, if any."""
    return Turn(
        position=position,
        responses=[
            Response(agent=agent, stance=stance, comment=(comments or {}).get(agent, ""))
            for agent, stance in (stances or {}).items()
        ],
        reasoning=reasoning,
        confidence=confidence,
    )


def played(tour: int, turns: Mapping[str, Turn], **kind: bool) -> Played:
    return Played(tour=tour, turns=dict(turns), **kind)


def of_stances(tour: int, agents: Iterable[str], matrix: Matrix, **kind: bool) -> Played:
    """Return a round in which all `agents` took a turn and stated what `matrix` says."""
    return played(tour, {agent: turn(matrix.get(agent, {})) for agent in agents}, **kind)


def of_texts(tour: int, positions: Mapping[str, str], **kind: bool) -> Played:
    """Return a round of turns that state a position each and nothing else."""
    return played(tour, {agent: turn({}, text) for agent, text in positions.items()}, **kind)


def all_say(stance: str, agents: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the matrix in which everybody states `stance` to everybody else."""
    return {one: {other: stance for other in agents if other != one} for one in agents}
