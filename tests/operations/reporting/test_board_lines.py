"""The board as a page: stable, in both languages, and never broken by what it shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.operations.reporting.board_lines import CONTEXT, CONVERSATION, ROOM, Line, page

LINES = [
    Line(
        kind=CONVERSATION,
        name="weather",
        title="Will it rain?",
        stands=("round", {"phase": "COLLECT", "tour": 1}),
        awaited=[
            ("owl", "2026-02-08T20:00:00Z", "2026-02-08T21:00:00Z"),
            ("fox", "2026-02-08T20:00:00Z", "2026-02-08T21:00:00Z"),
        ],
    ),
    Line(
        kind=CONVERSATION,
        name="active",
        stands=("paused", {"phase": "VOTE", "tour": 3}),
        awaited=[("*", "2026-02-08T20:00:00Z", "")],
    ),
    Line(kind=ROOM, name="hall", stands=("asleep", {})),
    Line(
        kind=CONTEXT, name="S1", title="Sum up", stands=("open", {}), awaited=[("User", "a", "b")]
    ),
]


@pytest.mark.req("P8-006")
def test_page_names_what_is_open_and_who_owes_an_answer_since_and_until_when():
    shown = page(LINES, "en")

    assert "| weather: Will it rain? | COLLECT, round 1 | owl | 2026-02-08T20:00:00Z |" in shown
    assert "|   |   | fox | 2026-02-08T20:00:00Z | 2026-02-08T21:00:00Z |" in shown
    assert "| active | VOTE, round 3, paused | one who stays anonymous | 2026-02-08T" in shown
    assert "| hall | asleep |   |   |   |" in shown
    assert "| S1: Sum up | open | User | a | b |" in shown
    assert shown.index("active") < shown.index("weather")


@pytest.mark.req("P8-006", "XC-012")
def test_page_speaks_french():
    shown = page(LINES, "fr")
    assert "# Tableau" in shown
    assert "| weather: Will it rain? | COLLECT, tour 1 | owl |" in shown
    assert "## Salons" in shown and "## Tâches" in shown and "en sommeil" in shown
    assert "Rien n'est ouvert." in page([], "fr")
    assert "Nothing is open." in page([], "en")


@pytest.mark.req("P8-006")
def test_same_lines_in_any_order_are_the_same_page():
    assert page(LINES, "en") == page(LINES[::-1], "en")
    assert page([Line.from_note(one.to_note()) for one in LINES], "fr") == page(LINES, "fr")


@pytest.mark.req("XC-010")
@given(st.text(max_size=200) | st.text(alphabet="\x1b\x07|\\<a \n", max_size=20))
def test_title_stays_within_its_cell_whatever_it_holds(title):
    line = Line(kind=ROOM, name="hall", title=title, stands=("asleep", {}))
    rows = page([line], "en").splitlines()
    plain = page([line.copy(title="x")], "en").splitlines()

    assert len(rows) == len(plain)
    assert rows[:-1] == plain[:-1]
    bare = rows[-1].replace("\\\\", "").replace("\\|", "")
    assert bare.count("|") == 6
    assert "<" not in bare.replace("\\<", "")
    assert all(letter.isprintable() for letter in bare)
