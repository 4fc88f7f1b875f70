"""What agents' programs print in a room, and what hooks report."""

import time
from typing import Any

import pytest

from council.kernel.errors import Refusal
from council.rooms import hearing
from council.rooms.model import Member
from tests.vectors.rows import tables_of

MEMBERS = {
    "henry": Member(agent_id="henry", name="Henry", emoji="🦉"),
    "sage": Member(agent_id="sage", name="Sage", emoji="🦎"),
    "alice": Member(name="alice"),
}
ROWS = tables_of("rooms")
TEXTS = [{"type": "text", "text": "Two"}, {"type": "text", "text": " parts."}]
PARTS = [TEXTS[0], {"type": "tool_use", "text": "no"}, TEXTS[1], "odd"]


@pytest.mark.parametrize(("printed", "said"), ROWS["spoken"])
def test_what_an_agent_says(printed: str, said: str) -> None:
    assert hearing.spoken(printed, "henry", MEMBERS) == said


@pytest.mark.parametrize("run", [" ", "\n", "*", "(", "NO_REPLY", "NO_REPLY\n", "NO_REPLY ("])
def test_long_runs_of_signs_take_no_time(run: str) -> None:
    before = time.process_time()
    assert hearing.spoken(f"NO_REPLY{run * 900}x", "henry", MEMBERS)[-1:] == "x"
    assert time.process_time() - before < 1


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


@pytest.mark.parametrize(("text", "who"), ROWS["addressed"])
def test_whom_a_text_addresses(text: str, who: str) -> None:
    assert hearing.addressed(text, MEMBERS) == who
