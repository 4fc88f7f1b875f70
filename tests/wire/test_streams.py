"""Where one message ends and the next begins."""

from __future__ import annotations

import pytest

from council.wire.messages import Splitter
from tests.wire.readings import V1, V3, V5


def split(lines: list[str], splitter: Splitter) -> list[str]:
    found = [splitter.feed(line) for line in lines]
    return [text for text in (*found, splitter.rest()) if text]


@pytest.mark.req("PR-103")
def test_a_block_ends_at_a_blank_line_and_another_message_at_its_line():
    lines = [*V1.split("\n"), "\r", V5 + "\r", "", *V1.split("\n")]

    assert split(lines, Splitter()) == [V1, V5, V1]


def test_a_stream_is_blocks_parted_by_blank_lines_and_one_message_a_line():
    stream = f"{V1}\n\n{V1}\n\n{V5}\n\n{V3}\r\nnonsense\nMSG_01\nFROM: WORKER\n"

    expected = [V1, V1, V5, V3, "nonsense", "MSG_01\nFROM: WORKER"]
    assert split(stream.split("\n"), Splitter()) == expected
    assert split([""], Splitter()) == split(["", ""], Splitter()) == []


def test_a_forced_version_decides_alone_what_is_a_block():
    lines = ["[MSG_01]", "FROM: WORKER", "", V5]

    assert split(lines, Splitter("V5")) == ["[MSG_01]", "FROM: WORKER", V5]
    assert split(["hello", "you", "", V5], Splitter("V1")) == ["hello\nyou", V5]


def test_of_a_block_that_never_ends_only_so_much_is_kept():
    found = split(["[MSG_01]", *["DATA: x"] * 10_000], Splitter(None, 100))

    assert len(found) == 1
    assert 100 < len(found[0]) < 120
