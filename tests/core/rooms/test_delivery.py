"""Final texts, fingerprints."""

from __future__ import annotations

from itertools import pairwise

import pytest

from council.core.errors import InvalidInputError
from council.core.rooms.channels import Message
from council.core.rooms.floor import (
    final_text,
    gist,
    has_arrived,
    tail_of,
)
from tests.core.rooms.samples import NOW

TEXT = "one two three four five six seven eight nine ten eleven twelve"


def message(number: int, content: str, author: str = "u-ann", agent: str = "") -> Message:
    return Message(id=number, at=NOW, author=author, agent=agent, content=content)


@pytest.mark.req("DG-076", "DG-144")
def test_the_final_text_joins_the_text_parts_of_the_last_assistant_message():
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": "an earlier one"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "text": "hm"},
                {"type": "text", "text": "Two "},
                {"type": "tool", "name": "x"},
                {"type": "text", "text": "parts."},
            ],
        },
        {"role": "user", "content": [{"type": "text", "text": "not this"}]},
    ]
    assert final_text(messages) == "Two parts."
    assert final_text({"messages": messages, "runId": "r"}) == "Two parts."


@pytest.mark.req("DG-076")
@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], ""),
        ([{"role": "user", "content": "hi"}], ""),
        ([{"role": "assistant", "content": "plain"}], "plain"),
        ([{"role": "assistant", "content": []}], ""),
        ([{"role": "assistant"}], ""),
        ([{"role": "assistant", "content": [{"type": "text"}, 7, None]}], ""),
        (["noise", {"role": "assistant", "content": "x"}, 3], "x"),
    ],
)
def test_a_final_text_is_found_in_whatever_shape_it_comes(messages: object, text: str):
    assert final_text(messages) == text


@pytest.mark.parametrize("messages", [None, "text", 7, {"messages": "text"}, {}])
def test_messages_that_are_no_list_are_refused(messages: object):
    with pytest.raises(InvalidInputError):
        final_text(messages)


@pytest.mark.req("DG-082")
def test_the_fingerprint_is_the_end_of_the_text_in_the_length_chosen():
    assert tail_of(TEXT) == TEXT[-40:]
    assert tail_of(TEXT + " \n", 5) == "welve"
    assert tail_of("short", 40) == "short"


@pytest.mark.req("DG-083")
def test_only_messages_after_the_anchor_by_that_agent_and_among_the_last_20_count():
    tail = tail_of(TEXT)
    assert has_arrived(tail, [message(11, TEXT)], anchor=10, author="u-ann")
    assert not has_arrived(tail, [message(10, TEXT)], anchor=10, author="u-ann")
    assert not has_arrived(tail, [message(11, TEXT, "u-bob")], anchor=10, author="u-ann")
    assert has_arrived(tail, [message(11, TEXT, "x", "ann")], anchor=10, author="y", agent="ann")
    others = [message(number, "noise", "u-bob") for number in range(12, 32)]
    assert has_arrived(tail, [message(11, TEXT), *others[:19]], anchor=10, author="u-ann")
    assert not has_arrived(tail, [message(11, TEXT), *others], anchor=10, author="u-ann")


@pytest.mark.req("DG-084")
def test_the_newest_message_of_the_agent_must_end_with_the_fingerprint():
    later = [message(11, TEXT), message(12, "and something else that is quite long enough, no?")]
    assert not has_arrived(tail_of(TEXT), later, anchor=10, author="u-ann")
    assert has_arrived(tail_of(TEXT), [message(11, TEXT + " \n")], anchor=10, author="u-ann")


@pytest.mark.req("DG-081")
def test_a_last_fragment_shorter_than_the_fingerprint_is_read_on_from_those_before():
    for cut in range(1, len(TEXT)):
        parts = [message(11, TEXT[:cut].strip()), message(12, TEXT[cut:].strip())]
        assert has_arrived(tail_of(TEXT), parts, anchor=10, author="u-ann")
        if TEXT[cut:].strip():
            assert not has_arrived(tail_of(TEXT), parts[:1], anchor=10, author="u-ann")
    assert not has_arrived("", [message(11, "x")], anchor=10, author="u-ann")


@pytest.mark.req("DG-081")
def test_a_fragment_in_the_midst_of_the_fingerprint_is_not_the_last_one():
    start = len(TEXT) - len(tail_of(TEXT))
    for cut in range(start + 1, len(TEXT)):
        edges = (0, start, cut, len(TEXT))
        texts = [TEXT[one:other].strip() for one, other in pairwise(edges)]
        parts = [message(number, text) for number, text in enumerate(texts, start=11)]
        seen = [
            has_arrived(tail_of(TEXT), parts[:count], anchor=10, author="u-ann")
            for count in (1, 2, 3)
        ]
        assert seen == [False, not texts[2], True], texts


def test_a_gist_is_short_and_keeps_beginning_and_end():
    long = "the beginning " + "word " * 5000 + "the end"
    assert len(gist(long)) <= 600
    assert gist(long).startswith("the beginning")
    assert gist(long).endswith("the end")
    assert gist("  a \n b ") == "a b"
