"""Files in which nobody has written: read back without a search, the same as with one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from council.core.conversation import Conversation
from council.core.errors import InvalidStateError
from council.store import statefile, untouched
from tests.store.councils import opened
from tests.store.test_statefile import conversations


@settings(max_examples=150)
@given(conversations())
@pytest.mark.req("XC-010")
def test_both_ways_of_reading_and_writing_agree(state: Conversation):
    data = untouched.render(state)

    assert data == statefile.render(state).encode("utf-8")
    assert untouched.read(data, "file") == statefile.load(data.decode("utf-8"), "file")[0]


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
