"""What agents' programs print in a room, and what hooks report."""

from typing import Any

import pytest

from council.kernel.errors import Refusal
from council.rooms import hearing
from council.rooms.model import Member

MEMBERS = {
    "henry": Member(agent_id="henry", name="Henry"),
    "sage": Member(agent_id="sage", name="Sage"),
    "alice": Member(name="alice"),
}


TEXTS = [{"type": "text", "text": "Two"}, {"type": "text", "text": " parts."}]
PARTS = [TEXTS[0], {"type": "tool_use", "text": "no"}, TEXTS[1], "odd"]


@pytest.mark.parametrize(
    ("printed", "said"),
    [("henry: NO_REPLY", ""), ("[Henry] NO_REPLY", ""), ("**Henry:** NO_REPLY", ""),
     ("NO\\_REPLY", ""), ("NO_REPLY\n\nNO_REPLY", ""), ("NO_REPLY<|im_end|>", ""),
     ("NO_REPLY</s>", ""), ("**NO_REPLY.** (all is said)", ""),
     ("<think>Should I?</think>NO_REPLY", ""), ("  ", ""),
     ("The quiet one, at 40 euros.\n\nNO_REPLY", "The quiet one, at 40 euros."),
     ("One.\nNO_REPLY\nNO_REPLY.", "One."),
     ("I would say NO_REPLY is a word.", "I would say NO_REPLY is a word."),
     ("henry: The red one.", "The red one."), ("Henry is my name.", "Henry is my name."),
     ("henry: The red one.\nsage: I agree.\n**Alice:** Decided.",
      "The red one.\n> sage: I agree.\n> **Alice:** Decided."),
     ("Sage: you are wrong.\nThe end.", "Sage: you are wrong.\nThe end."),
     ("A.\n\nsages: many.", "A.\n\nsages: many."), ("<think>unfinished", "")],
)  # fmt: skip
def test_what_an_agent_says(printed: str, said: str) -> None:
    assert hearing.spoken(printed, "henry", MEMBERS) == said


@pytest.mark.parametrize(
    ("messages", "text"),
    [([], ""), ([{"role": "user", "content": "Hi."}], ""),
     ([{"role": "assistant", "content": "One."}, {"role": "tool", "content": "x"}], "One."),
     ({"messages": [{"role": "assistant", "content": PARTS}]}, "Two parts."),
     ([{"role": "assistant", "content": None}], "")],
)  # fmt: skip
def test_the_final_text_of_a_run(messages: Any, text: str) -> None:
    assert hearing.final_text(messages) == text


def test_messages_that_are_no_list_are_refused() -> None:
    with pytest.raises(Refusal):
        hearing.final_text("text")


@pytest.mark.parametrize(
    ("text", "who"),
    [("@sage: yours?", "sage"), ("  @Sage, yours?", "sage"), ("@sages", ""), ("@alice: yours?", ""),
     ("What does @sage say?", ""), ("@sage", "sage")],
)  # fmt: skip
def test_whom_a_text_addresses(text: str, who: str) -> None:
    assert hearing.addressed(text, MEMBERS) == who
