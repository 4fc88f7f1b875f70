"""What is drawn for a pipe is, to the sign, what rich draws for one."""

from __future__ import annotations

from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from council.commands import drawing, screens
from council.commands.drawing import Table, drawn

# Letters, wide signs, signs put together, marks of ours, control characters, line ends.
SIGNS = st.sampled_from("ab c\n\t\x1b…✓✗■→é日ｗ🦉👩\u200d💻\ufe0f\u0301☰ㅤ\xa0")
TEXTS = st.text(SIGNS, max_size=30)


def test_a_sign_that_needs_no_table_of_rich_is_as_wide_as_rich_says():
    for first, last in drawing._SURE:
        for one in map(chr, range(ord(first), ord(last) + 1)):
            if one.isprintable():
                assert drawing.width_of(one) == cell_len(one), hex(ord(one))
                assert category(one) != "Mn"


@given(st.lists(TEXTS, max_size=4))
def test_lines_in_a_pipe_are_those_of_rich(texts: list[str]):
    parts = [(one, "bold") for one in texts]

    assert drawn(*parts) == screens.as_text(*parts)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.none() | st.integers()), max_size=4), st.booleans())
def test_tables_in_a_pipe_are_those_of_rich(rows: list[tuple[str, str, int | None]], named: bool):
    columns = ("agent", "名", "note") if named else ("", "", "")
    shown = [((one, "green"), (two, "", f"\n→ {two}", "red"), number) for one, two, number in rows]
    table = Table(columns=columns, rows=shown, whole=columns[:1], overflow="ellipsis")

    assert drawn(table) == screens.as_text(table)


def test_what_is_wider_than_a_pipe_is_folded_as_rich_folds_it():
    table = Table(columns=("name", "topic"), rows=[("q1", "long " * 300)])

    assert drawn(table) == screens.as_text(table)
    assert max(map(len, drawn(table).splitlines())) <= drawing.PIPE_WIDTH
