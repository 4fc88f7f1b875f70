"""The estimate of tokens."""

from __future__ import annotations

import pytest

from council.core.plain_text import estimated_tokens


@pytest.mark.req("PR-209")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("ok", 1), ("Five of them.", 4), ("2026", 2), ("clarification", 3), ("a|b", 3)],
)
def test_a_text_takes_about_as_many_tokens_as_it_has_words_numbers_and_signs(
    text: str, tokens: int
) -> None:
    assert estimated_tokens(text) == tokens


def test_long_texts_are_counted_in_linear_time() -> None:
    assert estimated_tokens("word " * 100_000) >= 100_000
