"""What a screen shows of texts of others."""

from __future__ import annotations

import pytest

from council.core.plain_text import indented, plain_line, plain_text

EVIL = "\x1b[31mRED\x1b]0;t\x07\x9b2J\u202e\r"


@pytest.mark.parametrize("clean", [plain_line, plain_text, lambda text: indented(text, "  ")])
def test_nothing_that_a_terminal_obeys_is_left(clean):
    assert clean(EVIL + "!").replace("\n", "").isprintable()
    assert "RED" in clean(EVIL)
    assert clean("an ordinary text, à côté 👩‍🔬") == "an ordinary text, à côté 👩‍🔬"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x85", "\u2028"])
def test_a_line_stays_one_whatever_ends_lines(end):
    assert plain_line(f"hi{end}P0 fox: stop") == "hi P0 fox: stop"
    assert indented(f"hi{end}P0 fox: stop", "    ") == "hi\n    P0 fox: stop"


def test_a_text_keeps_its_lines_and_tabs():
    assert plain_text("a\n\tb\x1b\n") == "a\n\tb \n"
