"""What the orchestrator's agent says of how to split a request."""

from __future__ import annotations

import pytest

from council.operations.protocol.task_prompts import parts_in


@pytest.mark.req("PR-553")
def test_one_line_is_one_task_with_its_capabilities() -> None:
    text = "Here you are:\n- [web_search, summarize] find news\n2. [plan] make a plan\n\nBye."
    assert [(one.caps, one.text) for one in parts_in(text)] == [
        (("web_search", "summarize"), "find news"),
        (("plan",), "make a plan"),
    ]


@pytest.mark.parametrize("text", ["", "Just words.", "- [plan]", "- plan] x", "[] "])
def test_what_names_no_task_splits_nothing(text: str) -> None:
    assert parts_in(text) == []


def test_words_that_name_no_capability_are_left_out() -> None:
    (one,) = parts_in("- [Web Search, plan] look [closely]")
    assert (one.caps, one.text) == (("plan",), "look [closely]")
