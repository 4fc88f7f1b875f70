"""The step before every reader: thoughts, control sequences and the outer fence go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.reading_answers.cleaning import clean
from tests.timing import assert_linear

FORM = "## Position\nBuild it.\n\n## Confidence\n4"


@pytest.mark.req("HR-001")
@pytest.mark.parametrize(
    "thought",
    [
        "<think>\nDraft:\n## Position\nNo.\n</think>\n\n",
        "<thinking>no</thinking>\n",
        "<Reasoning depth=3>\nno\n</Reasoning>\n",
        "<analysis>\n```\nnever closed\n</analysis>\n",
        "no, that is\nnot it </think>\n",
        "<think>I must not write <think> twice</think>\n",
        "[THINK]no[/THINK]",
        "\ufeff",
        "\x1b[2K\x1b[1G",
        "\x1b]0;title\x07",
    ],
)
def test_what_is_set_aside_before_an_answer_leaves_the_answer(thought: str):
    assert clean(thought + FORM) == FORM


@pytest.mark.req("HR-001")
@pytest.mark.parametrize(
    "text",
    [
        "We strip `<think>` and `</think>` from every answer.\nThat is all.",
        "```\n<think>\nan example\n</think>\n```\nSo it looks.",
        "The tag <think> stands in a sentence, and </think> closes it here.",
        "<position>x</position>\n<reasoning>y</reasoning>",
    ],
)
def test_a_tag_that_is_spoken_of_or_part_of_a_form_stays(text: str):
    assert clean(text) == text


@pytest.mark.req("HR-001")
def test_a_thought_that_never_ends_is_no_answer():
    assert clean("<think>\nMaybe.\n\n" + FORM) == ""
    assert clean(FORM + "\n<think>\nMaybe.") == FORM + "\n"


@pytest.mark.req("HR-001")
def test_the_one_fence_around_an_answer_goes_and_fences_inside_stay():
    assert clean(f"```markdown\n{FORM}\n```") == FORM
    assert clean("```python\nx = 1\n```") == "```python\nx = 1\n```"
    two = "```\na\n```\nand\n```\nb\n```"
    assert clean(two) == two


@given(st.text())
def test_any_text_is_cleaned_once_and_for_all(text: str):
    once = clean(text)
    assert "\x1b" not in once
    if "`" not in text and "~" not in text and "<" not in text and "[" not in text:
        assert clean(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "a <think> ",
        "</think>",
        "\n<think>",
        "x </think>\n",
        "```\n",
        "\x1b[",
        "`</think>",
    ],
)
def test_hostile_text_costs_no_more_than_its_length(piece: str):
    assert_linear(clean, piece * 1000, piece * 32000, 32)
