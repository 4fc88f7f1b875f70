"""What is drawn for a pipe is, to the sign, what rich draws for one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich._emoji_codes import EMOJI
from rich.cells import cell_len

from council.commands import drawing, screens
from council.commands.drawing import Table, drawn

# Letters, wide signs, signs put together, marks of ours, control characters, line ends.
TOGETHER = ["👩\u200d💻", "❤\ufe0f", "✓\ufe0f", "1\ufe0f\u20e3", "🇩🇪", "👍🏽", "e\u0301", "ㅤ한"]
SIGNS = st.sampled_from([*"ab c\n\t\x1b…✓✗■→é日ｗ🦉⚓🪁☰\xa0", *TOGETHER])
TEXTS = st.lists(SIGNS, max_size=30).map("".join)


def test_every_sign_is_as_wide_as_rich_says():
    signs = (chr(number) for number in range(0x110000))
    wrong = [
        f"U+{ord(one):04X}"
        for one in signs
        if one.isprintable() and drawing.width_of(one) != cell_len(one)
    ]
    assert wrong == []


def test_every_emoji_is_as_wide_as_rich_says():
    wrong = [one for one in EMOJI.values() if drawing.width_of(one) != cell_len(one)]
    assert wrong == [] and len(EMOJI) > 3000


@given(st.text(st.sampled_from("".join(EMOJI.values()) + "a é\u0301日ｗ한\u200c")))
def test_signs_put_together_are_as_wide_as_rich_says(text: str):
    assert drawing.width_of(text) == cell_len(text)


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
