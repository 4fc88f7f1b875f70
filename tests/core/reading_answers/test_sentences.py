"""Whole sentences as language models write them in prose: read where they are plain, else asked."""

from __future__ import annotations

import pytest

from council.core.reading_answers.turns import parse_turn

NAMES = {"ada": "ada", "ben": "ben", "cleo": "cleo"}


@pytest.mark.req("HR-005", "HR-006")
@pytest.mark.parametrize(
    ("sentence", "stance"),
    [
        ("I agree with @ada, because it is cheap.", "agree"),
        ("I fully agree with @ada that it is cheap.", "agree"),
        ("I agree with @ada in part: the cost is real.", "partial"),
        ("I only partly agree with @ada.", "partial"),
        ("I disagree with @ada on this.", "disagree"),
        ("I don't agree with @ada.", "disagree"),
        ("@ada, I disagree: it is dear.", "disagree"),
        ("Je suis d'accord avec @ada.", "agree"),
        ("Ich stimme @ada zu.", ""),
        ("I agree with @ada on most points.", ""),
        ("I agree with @ada, mostly.", ""),
        ("I agree with @ada, but only on costs.", ""),
        ("I agree with @ada up to a point.", ""),
        ("I would agree with @ada if it were cheap.", ""),
        ("If I agree with @ada, it is for the cost.", ""),
        ("Do I agree with @ada?", ""),
        ("Ben agrees with @ada.", ""),
        ("I used to agree with @ada.", ""),
        ("Nobody can say that I agree with @ada.", ""),
    ],
)
def test_a_sentence_states_what_it_plainly_says_and_nothing_else(sentence: str, stance: str):
    text = f"I think we should wait. {sentence}\n\nMy confidence is 4 out of 5."
    turn = parse_turn(text, NAMES, author="cleo")

    assert turn.stance_to("ada") == stance
    assert (turn.position, turn.confidence) == ("I think we should wait.", 4)
