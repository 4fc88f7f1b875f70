"""Records as JSON, both ways, by the annotations of their classes."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest

from council.core.errors import InvalidStateError
from council.core.reading import Reader, rows
from council.core.record import Record

if TYPE_CHECKING:
    from council.core.record import Positive

NOW = datetime(2026, 2, 8, 20, tzinfo=UTC)


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Leaf(Record):
    _keys = "name:- shown:label? note~"

    name: str
    shown: str = ""
    note: str = ""
    extra: dict[str, Any] = {}


class Tree(Record):
    tree_id: str
    mood: Mood = Mood.GOOD
    planted_at: datetime
    felled_at: datetime | None = None
    rings: Positive = 1
    leaves: dict[str, Leaf] = {}
    fallen: list[Leaf] = []
    best: Leaf | None = None
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = {}


RECORD: dict[str, Any] = {
    "treeId": "oak",
    "mood": "bad",
    "plantedAt": "2026-02-08T20:00:00Z",
    "felledAt": None,
    "rings": 3,
    "leaves": {"a": {"label": None, "future": [1]}, "b": {"label": "B", "note": "brown"}},
    "fallen": [],
    "best": None,
    "tags": ["x"],
    "later": {},
}


@pytest.mark.req("XC-013")
def test_a_record_is_written_as_it_was_read_unknown_fields_included():
    tree = Reader(RECORD, "tree").make(Tree)

    assert (tree.mood, tree.planted_at, tree.tags) == (Mood.BAD, NOW, ("x",))
    assert [one.name for one in tree.leaves.values()] == ["a", "b"]
    assert tree.to_record() == RECORD
    assert list(tree.to_record()) == list(RECORD)


def test_what_is_missing_has_its_default_and_no_two_values_share_it():
    least = {"treeId": "oak", "plantedAt": "2026-02-08T20:00:00Z"}
    tree, other = Reader(least, "tree").make(Tree), Reader(least, "tree").make(Tree)
    tree.leaves["a"] = Leaf(name="a")

    assert other == Tree(tree_id="oak", planted_at=NOW)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"treeId": None}, "tree: treeId is not a text"),
        ({"mood": "odd"}, "tree: mood is not one of good, bad"),
        ({"plantedAt": None}, "tree: plantedAt is not given"),
        ({"plantedAt": "soon"}, "tree: plantedAt is not a time"),
        ({"rings": 0}, "tree: rings is not a whole number from 1"),
        ({"rings": None}, "tree: rings is not a whole number from 1"),
        ({"leaves": {"a": {"note": 1}}}, "tree: leaves.a: note is not a text"),
        ({"fallen": [3]}, "tree: fallen is not a JSON object"),
        ({"best": {"label": 2}}, "tree: best: label is not a text"),
    ],
)
def test_a_wrong_field_is_named_by_its_place(change: dict[str, Any], said: str):
    with pytest.raises(InvalidStateError, match=said):
        Reader({**RECORD, **change}, "tree").make(Tree)


def test_remarks_and_empty_lines_between_the_rows_of_a_table_say_nothing():
    table = "# Animals\n#   of the forest\n\nfox || fox || renard\n\nowl || owl\n    || hibou\n"

    assert rows(table) == {"fox": ("fox", "renard"), "owl": ("owl", "hibou")}


def test_a_null_stands_for_what_is_missing_where_that_is_said():
    assert Reader({**RECORD, "rings": None}, "tree", nulls=True).make(Tree).rings == 1
