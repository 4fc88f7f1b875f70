"""What an answer quotes, and whether it was said."""

from typing import Any

import pytest

from council.councils.hearing import quotations
from tests.vectors.rows import tables_of

MADE = tables_of("quotations")


@pytest.mark.parametrize("row", MADE["answers"], ids=lambda row: row["text"])
def test_quotations(row: dict[str, Any]) -> None:
    found = quotations(row["text"], MADE["said"], MADE["names"])
    assert [[one.text, one.of, one.found] for one in found] == row["quoted"]


def test_hostile_texts_are_bounded() -> None:
    for piece in ('"', "> a\n\n", '@sage "a b c" ', "“", '@sage: "'):
        hostile = piece * (200_000 // len(piece))
        assert len(quotations(hostile, MADE["said"], MADE["names"])) <= 100
