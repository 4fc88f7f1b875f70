"""What passes in a room."""

from __future__ import annotations

import pytest

from council.core.reading_answers.cleaning import PASSES, is_pass
from tests.core.reading_answers.corpus import rows


@pytest.mark.req("HR-014")
@pytest.mark.parametrize("row", rows("room"), ids=lambda row: row["id"])
def test_a_message_of_the_corpus_passes_only_where_its_author_meant_to(row):
    assert {"pass": is_pass(row["text"])} == row["expected"]


@pytest.mark.req("DG-077", "HR-014")
def test_a_turn_is_empty_only_by_an_agreed_word_after_trimming():
    for word in PASSES:
        for padded in (word, f" {word}\n", f"\t{word}\r\n\u00a0", f"<think>hm</think>\n{word}"):
            assert is_pass(padded)
    for word in ("no", "No", "NO.", "NO NO", "no_reply", "NO_REPLY!", "NO REPLY", "ok", "-", "🔚"):
        assert not is_pass(word)


@pytest.mark.req("HR-014")
@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY.",
        "__NO_REPLY__",
        "`NO_REPLY`.",
        "```\nNO_REPLY\n```",
        '"NO_REPLY"',
        "NO_REPLY (the others have said it all.)",
        "**NO_REPLY.**\n\n*[nothing to add]*",
        "NO_REPLY (asleep).",
    ],
)
def test_no_reply_may_stand_in_markup_with_a_stop_or_a_bracketed_remark(text):
    assert is_pass(text)


@pytest.mark.req("HR-014")
@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY 🔚",
        "NO_REPLY, but the kettle is broken",
        "NO_REPLY (so far) but look at (2)",
        "NO_REPLY (unfinished",
        "NO_REPLY NO_REPLY",
        "(NO_REPLY)",
        "Why NO_REPLY?",
        "**NO**",
        "`HEARTBEAT_OK`!",
    ],
)
def test_any_other_word_or_sign_makes_it_a_message(text):
    assert not is_pass(text)
