"""What a worker prints, read as messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.protocol.messages import Message
from council.wire.carried import line_of, message_of
from council.wire.working import fits, read_output, wrapped, written_short

REQUEST = message_of("M4|O1>W1|R|T2|P0|N|-|1|S7|B300|call=plan")
ANSWER = "M5|W1>O1|S|T2|P0|D|-|1|S7|B200|results=5"


def test_a_line_is_a_message_and_words_are_words() -> None:
    said = read_output(f"Thinking.\n{ANSWER}\n\nBye | all > of you\n", REQUEST)
    assert [one.message.data for one in said.messages] == ["results=5"]
    assert said.words == "Thinking.\n\nBye | all > of you"


def test_several_messages_come_in_their_order() -> None:
    progress = "M5|W1>O1|U|T2|P0|R|-|1|S7|B200|progress=50%"
    said = read_output(f"{progress}\n{ANSWER}", REQUEST)
    assert [one.message.kind for one in said.messages] == ["U", "S"]


def test_a_line_with_faults_is_told_apart() -> None:
    said = read_output(ANSWER.replace("|P0|", "|P9|"), REQUEST)
    assert (said.messages, said.words) == ([], "")
    assert said.faulty[0].found.errors[0].code == "E11"


@pytest.mark.req("PR-598")
def test_an_older_version_takes_depth_context_and_budget_from_its_request() -> None:
    (told,) = read_output("M5|W1>O1|S|T2|P0|D|-|results=5", REQUEST).messages
    assert (told.message.depth, told.message.context, told.message.budget) == (1, "S7", 300)
    (old,) = read_output("MSG_05|W1>O1|S|TASK_02|P0|D|results=5", REQUEST).messages
    assert (old.message.task, old.message.context) == ("T2", "S7")


@pytest.mark.req("PR-536")
def test_data_that_is_too_long_is_kept_whole_beside_its_message() -> None:
    long = "x" * 500
    (told,) = read_output(ANSWER.replace("results=5", long), REQUEST).messages
    assert told.whole == long
    assert len(told.message.data) == 200


@pytest.mark.req("PR-546", "PR-582")
def test_words_become_a_success_that_keeps_task_context_and_depth_and_costs_budget() -> None:
    message = wrapped("Five of them.", REQUEST, worker="W1")
    assert line_of(message) == "M5|W1>O1|S|T2|P0|D|-|1|S7|B296|result=Five of them."
    assert wrapped("x", REQUEST, worker="W1", tokens=900).budget == 0
    long = wrapped("y\n" * 900, REQUEST, worker="W1", ref="art_1")
    assert line_of(long).split("|")[-1].startswith("result=#REF:art_1;begins=y y y")


@pytest.mark.parametrize(
    ("text", "inline"),
    [("short", True), ("a;b", False), ("two\nlines", False), ("x" * 194, False), (" x", False)],
)
def test_what_data_cannot_hold_does_not_fit(text: str, inline: bool) -> None:
    assert fits(text) is inline


@given(st.text(max_size=300))
def test_any_output_is_read_and_words_that_fit_make_a_valid_line(text: str) -> None:
    said = read_output(text, REQUEST)
    assert isinstance(said.words, str)
    if fits(text):
        line = line_of(wrapped(text, REQUEST, worker="W1"))
        assert message_of(line).pair("result") == text


def test_a_short_line_that_says_nothing_known_is_mere_words() -> None:
    for line in ("S", "Z x=1", "hello there", "E1 x", ""):
        assert written_short(line, REQUEST, "W1") == []
    assert isinstance(written_short("A ok", REQUEST, "W1")[0], Message)
