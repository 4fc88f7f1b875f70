"""What an author adds to an answer when it is asked again, read together with the first one.

Source: HR-008, HR-009.
"""

from __future__ import annotations

from council.core.reading_answers.confidence import confidence_of
from council.core.reading_answers.stances import stated
from council.core.reading_answers.turns import (
    Fault,
    Response,
    Turn,
    is_empty,
    own_answer,
    parse_turn,
    warnings_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def parse_addition(
    first: Turn, text: str, names: Mapping[str, str], *, author: str = "", vote: bool = False
) -> Turn:
    """Read what an author adds to a first answer that lacked something, laid over that one.

    What the second answer states counts, and what it leaves out stays. An
    answer without any part of the form is taken for the one thing that was
    missing if it reads as that: a number, or a stance.

    Source: HR-008.
    """
    second = parse_turn(text, names, author=author, vote=vote)
    has_form = second.is_readable
    if not has_form:
        second = _bare_addition(first, text)
    stated_anew = {one.agent for one in second.responses if one.stance}
    doubted = {one.agent for one in second.faults if one.code == "two-stances"}
    said = [one for one in first.responses if one.agent not in stated_anew | doubted]
    said += [one for one in second.responses if one.agent in stated_anew | doubted]
    known = {one.agent for one in said}
    said += [one for one in second.responses if one.agent not in known]
    turn = Turn(
        position=second.position or first.position,
        responses=said,
        reasoning=(second.reasoning if has_form else "") or first.reasoning,
        confidence=second.confidence or first.confidence,
    )
    turn.faults = _faults_of_merged(turn, first, second)
    turn.warnings = warnings_of(turn, vote)
    return turn


def read_together(
    texts: Sequence[str], names: Mapping[str, str], *, author: str = "", vote: bool = False
) -> Turn:
    """Read an answer and what its author added when it was asked again, oldest first (HR-008)."""
    turn = parse_turn(texts[0], names, author=author, vote=vote)
    for text in texts[1:]:
        turn = parse_addition(turn, text, names, author=author, vote=vote)
    return turn


def _bare_addition(first: Turn, text: str) -> Turn:
    """Return what a text without any form adds where one thing alone was missing."""
    bare = own_answer(text).strip()
    doubtful = [one.agent for one in first.responses if not one.stance]
    turn = Turn()
    if not first.confidence and not doubtful and "\n" not in bare:
        turn.confidence = confidence_of(bare)
    elif first.confidence and len(set(doubtful)) == 1:
        said = stated(bare)
        if said.stance:
            turn.responses = [Response(agent=doubtful[0], stance=said.stance, comment=said.comment)]
    return turn


def _faults_of_merged(turn: Turn, first: Turn, second: Turn) -> list[Fault]:
    """Return what two answers together still lack."""
    if is_empty(turn) and not (turn.reasoning and first.is_readable):
        return [Fault(code="no-form")]
    latest = [*second.faults, *first.faults]
    faults: list[Fault] = []
    if not turn.position:
        faults.append(Fault(code="no-position"))
    if not turn.confidence:
        unread = next((one for one in latest if one.code == "bad-confidence"), None)
        faults.append(unread or Fault(code="no-confidence"))
    for agent in dict.fromkeys(
        one.agent for one in turn.responses if not turn.stance_to(one.agent)
    ):
        of_agent = (one for one in latest if one.agent == agent)
        faults.append(next(of_agent, Fault(code="bad-stance", agent=agent)))
    return faults + [one for one in second.faults if one.code == "unknown-agent"]
