"""What was played: the turns of a deliberation, round by round, as the rules of judgement read it.

A history is a sequence of `Played`, oldest round first. What is asked of it
here are facts: who stated which stance when, who was there, how sure they
said they were. What follows from them is decided elsewhere.

A stance counts as stated when it is one of the three words, towards somebody
else, and not in a blind round: there nobody has seen what it would judge.

Source: DL-044, DL-047, DL-097, HR-018.
"""

from __future__ import annotations

from council.core.reading_answers.stances import STANCES
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from council.core.reading_answers.turns import Turn

    Stances = dict[str, dict[str, str]]


class Played(Record):
    """One round: its number and the turn of each agent that took one, in order of speaking.

    In a `blind` round nobody saw the others before it closed; a `vote` is the
    round in which each gave its final position. `asked` names about whom each
    was asked for a stance. The answers of those in `unreadable` could not be
    read, also after they were asked again.
    """

    tour: int
    turns: dict[str, Turn]
    blind: bool = False
    vote: bool = False
    asked: dict[str, tuple[str, ...]] = {}
    unreadable: tuple[str, ...] = ()


def stated(played: Played) -> Stances:
    """Return the stances stated in one round, of each agent that stated any to each other."""
    if played.blind:
        return {}
    found: Stances = {}
    for agent, turn in played.turns.items():
        for other in {response.agent: None for response in turn.responses}:
            stance = turn.stance_to(other)
            if other != agent and stance in STANCES:
                found.setdefault(agent, {})[other] = stance
    return found


def stances_until(history: Sequence[Played]) -> Stances:
    """Return the latest stance that each agent stated to each other (DL-044)."""
    latest: Stances = {}
    for played in history:
        for agent, stances in stated(played).items():
            latest.setdefault(agent, {}).update(stances)
    return latest


def asked_until(history: Sequence[Played]) -> dict[str, set[str]]:
    """Return about whom each agent was asked in any round (HR-018)."""
    asked: dict[str, set[str]] = {}
    for played in history:
        for agent, others in played.asked.items():
            asked.setdefault(agent, set()).update(others)
    return asked


def first_stances(history: Sequence[Played]) -> Stances:
    """Return the earliest stance that each agent stated to each other."""
    return stances_until(history[::-1])


def first_look(history: Sequence[Played]) -> Stances:
    """Return what each agent stated in the first round in which it stated any stance."""
    seen: Stances = {}
    for played in history:
        for agent, stances in stated(played).items():
            seen.setdefault(agent, stances)
    return seen


def present_in(played: Played) -> list[str]:
    """Return who took a turn in a round of which something could be read."""
    return [agent for agent, turn in played.turns.items() if turn.is_readable]


def confidences(history: Sequence[Played]) -> dict[str, int]:
    """Return the latest confidence that each agent stated; who never did is not in it."""
    return {
        agent: turn.confidence
        for played in history
        for agent, turn in played.turns.items()
        if turn.confidence
    }
