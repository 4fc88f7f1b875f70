"""Files in which nobody has written: read back without a search, the same as with one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from council.core.conversations.conversation import Conversation
from council.core.errors import InvalidStateError
from council.store.conversations import untouched
from council.store.statefile import statefile
from tests.store.councils import opened, said
from tests.store.statefile.test_statefile import conversations


@settings(max_examples=150)
@given(conversations())
@pytest.mark.req("XC-010")
def test_both_ways_of_reading_and_writing_agree(state: Conversation):
    data = untouched.render(state)

    assert data == statefile.render(state).encode("utf-8")
    assert untouched.read(data, "file") == statefile.load(data.decode("utf-8"), "file")[0]


@settings(max_examples=150)
@given(conversations())
def test_what_was_read_is_written_again_as_if_it_had_not_been_read(state: Conversation):
    data = untouched.render(state)

    known = untouched.read(data, "file")

    assert untouched.render(known) == data
    changed = known.copy(rev=known.rev + 1, topic="Another topic")
    fresh, _ = statefile.load(data.decode("utf-8"), "file")
    fresh = fresh.copy(rev=known.rev + 1, topic="Another topic")
    assert untouched.render(changed) == untouched.render(fresh)
    assert untouched.render(changed) == statefile.render(fresh).encode("utf-8")


def test_an_entry_that_takes_the_place_of_another_is_written_as_it_is():
    state = said(opened(), "henry", "Yes.")
    known = untouched.read(untouched.render(state), "file")

    known.entries[0] = known.entries[0].copy(text="No.", status="AGREED")

    again = untouched.read(untouched.render(known), "file")
    assert (again.entries[0].text, again.entries[0].status) == ("No.", "AGREED")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"# Only a title\n",
        lambda data: data[: len(data) // 2],
        lambda data: data + b"One more line.\n",
        lambda data: data.replace(b'"schemaVersion"', b"schemaVersion"),
    ],
)
def test_what_was_not_written_by_us_is_refused(spoil):
    data = untouched.render(opened())

    with pytest.raises(InvalidStateError):
        untouched.read(spoil(data), "file")


@settings(max_examples=100)
@given(conversations())
@pytest.mark.req("C0-011")
def test_what_is_read_of_a_part_of_a_file_is_what_the_whole_of_it_says(state: Conversation):
    text = statefile.render(state)
    page = statefile.parse(text)

    assert statefile.lines_of(state) == page.lines
    for cut in (text, text[: len(text) // 2], text[:-20], text.replace("<!--council-state", "", 1)):
        whole, part = statefile.parse(cut), statefile.outline(cut)
        assert (part.record, part.complete) == (whole.record, whole.complete)
