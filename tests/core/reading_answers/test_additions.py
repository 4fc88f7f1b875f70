"""A second answer is laid over the first: what it leaves out stays."""

from __future__ import annotations

import random

import pytest

from council.core.reading_answers.rendering import render_turn
from council.core.reading_answers.turns import Response, Turn, parse_addition, parse_turn

NAMES = {"claude": "claude", "gpt": "gpt", "glm": "glm"}
WHOLE = """\
## Position
Build it.

## Responses to Others
- @claude: agree — The data is free.
- @gpt: partial — It is slow.

## Reasoning
First, the data.

Second, the cost.

## Confidence
"""


def added(first: str, second: str) -> Turn:
    return parse_addition(parse_turn(first, NAMES, author="glm"), second, NAMES, author="glm")


@pytest.mark.req("HR-008")
@pytest.mark.parametrize(
    "second", ["## Confidence\n5", "Confidence: 5", "5", "5/5", "I'm at 5.", "**Confidence**: 5"]
)
def test_the_confidence_alone_loses_nothing(second: str):
    turn = added(WHOLE + "5 on the list, 4 on the number", second)

    assert (turn.position, turn.confidence) == ("Build it.", 5)
    assert [(one.agent, one.stance) for one in turn.responses] == [
        ("claude", "agree"),
        ("gpt", "partial"),
    ]
    assert turn.reasoning == "First, the data.\n\nSecond, the cost."
    assert turn.faults == []


@pytest.mark.req("HR-008")
@pytest.mark.parametrize("second", ["disagree — too slow", "- @gpt: disagree — too slow"])
def test_the_one_stance_alone_loses_nothing(second: str):
    first = WHOLE.replace("partial — It is slow", "well — It is slow") + "4"
    turn = added(first, second)

    assert (turn.stance_to("claude"), turn.stance_to("gpt")) == ("agree", "disagree")
    assert (turn.position, turn.confidence) == ("Build it.", 4)
    assert turn.faults == []


@pytest.mark.req("HR-008")
def test_what_is_stated_anew_counts():
    turn = added(WHOLE, "## Position\nWait.\n\n## Confidence\n2")

    assert (turn.position, turn.confidence) == ("Wait.", 2)
    assert turn.stance_to("claude") == "agree"


@pytest.mark.req("HR-008", "HR-006")
def test_words_that_add_nothing_leave_the_answer_and_its_gap():
    turn = added(WHOLE + "80%", "As I said: quite sure, some 80 percent of 5.")

    assert (turn.position, turn.confidence) == ("Build it.", 0)
    assert [one.code for one in turn.faults] == ["bad-confidence"]
    assert turn.reasoning == "First, the data.\n\nSecond, the cost."


@pytest.mark.req("HR-008")
@pytest.mark.parametrize("seed", range(200))
def test_nothing_of_the_first_answer_is_lost_whatever_the_second_holds(seed: int):
    chance = random.Random(seed)
    first = parse_turn(WHOLE + chance.choice(["", "4", "80%"]), NAMES, author="glm")
    second = render_turn(
        position=chance.choice(["", "Wait."]),
        responses=[
            Response(agent=agent, stance=chance.choice(["agree", "partial", "disagree"]))
            for agent in ("claude", "gpt")
            if chance.random() < 0.5
        ],
        reasoning=chance.choice(["", "Because of the frost."]),
        confidence=chance.choice([0, 2, 5]),
    )
    turn = parse_addition(first, second or "Nothing more.", NAMES, author="glm")
    said = parse_turn(second, NAMES, author="glm")

    assert turn.position == (said.position or first.position)
    assert turn.confidence == (said.confidence or first.confidence)
    assert turn.reasoning in (said.reasoning, first.reasoning)
    for agent in ("claude", "gpt"):
        assert turn.stance_to(agent) == (said.stance_to(agent) or first.stance_to(agent))
