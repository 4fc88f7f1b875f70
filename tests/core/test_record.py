"""The base of every value."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from council.core.conversations.conversation import TaskState
from council.core.record import Record


class Leaf(Record):
    name: str
    marks: list[str] = []


class Tree(Record):
    root: str
    leaves: list[Leaf] = []
    by_name: dict[str, Leaf] = {}
    depth: int = 1


class Oak(Tree):
    acorns: int = 0


def test_values_are_given_by_name_and_the_rest_has_defaults():
    tree = Tree(root="r", depth=3)
    assert (tree.root, tree.leaves, tree.by_name, tree.depth) == ("r", [], {}, 3)


def test_a_default_list_belongs_to_one_value_only():
    one, other = Tree(root="r"), Tree(root="r")
    one.leaves.append(Leaf(name="x"))
    one.by_name["x"] = Leaf(name="x")
    assert other.leaves == []
    assert other.by_name == {}
    assert Tree(root="r").leaves == []


def test_a_missing_and_an_unknown_field_are_refused_by_name():
    with pytest.raises(TypeError, match="root"):
        Tree()
    with pytest.raises(TypeError, match="colour"):
        Tree(root="r", colour="green")
    with pytest.raises(TypeError, match="colour"):
        Tree(root="r").copy(colour="green")


def test_values_are_equal_by_kind_and_content():
    assert Leaf(name="x", marks=["a"]) == Leaf(name="x", marks=["a"])
    assert Leaf(name="x") != Leaf(name="y")
    assert Tree(root="r") != Oak(root="r")
    assert Leaf(name="x") != "x"


def test_values_that_change_are_no_keys():
    with pytest.raises(TypeError):
        hash(Leaf(name="x"))


def test_a_copy_shares_nothing_that_can_change():
    tree = Tree(root="r", leaves=[Leaf(name="x")], by_name={"x": Leaf(name="x")})
    twin = tree.copy()
    assert twin == tree
    twin.leaves[0].marks.append("changed")
    twin.by_name["x"].name = "changed"
    twin.leaves.append(Leaf(name="y"))
    assert tree == Tree(root="r", leaves=[Leaf(name="x")], by_name={"x": Leaf(name="x")})


def test_a_copy_takes_changes_and_keeps_its_kind():
    oak = Oak(root="r", acorns=2).copy(depth=5)
    assert oak == Oak(root="r", acorns=2, depth=5)


def test_a_kind_of_record_has_the_fields_of_its_parent_too():
    assert repr(Oak(root="r")) == "Oak(root='r', leaves=[], by_name={}, depth=1, acorns=0)"


class Fact(Record, settled=True):
    said: str
    tags: list[str] = []


class Album(Record):
    facts: list[Fact] = []
    first: Fact | None = None
    by_name: dict[str, Fact] = {}


def test_what_is_settled_is_shared_between_copies_and_what_holds_it_is_not():
    fact = Fact(said="so", tags=["a"])
    one = Album(facts=[fact], first=fact, by_name={"so": fact})

    other = one.copy()
    other.facts.append(Fact(said="else"))
    other.by_name.clear()

    assert (one.facts, one.by_name) == ([fact], {"so": fact})
    assert other.facts[0] is fact
    assert other.first is fact


def test_a_copy_of_something_settled_is_one_of_its_own():
    fact = Fact(said="so", tags=["a"])

    changed = fact.copy(said="no")
    changed.tags.append("b")

    assert (fact.said, fact.tags) == ("so", ["a"])


class Told(Record):
    at: datetime
    seen_at: datetime | None = None
    who_it_was: str = ""
    state: TaskState
    inside: Leaf | None = None
    pair: tuple[str, ...] = ()

    def to_record(self) -> dict[str, object]:
        return self.as_json("at state")


@pytest.mark.req("XC-003")
def test_a_record_writes_its_json_from_the_names_of_its_fields():
    """Camel case or the name behind the colon; `?` makes what is empty null."""
    at = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
    told = Told(at=at, state=TaskState.R, pair=("a", "b"))
    made = told.as_json("pair at seen_at who_it_was:who? state:turnState inside")
    assert list(made.items()) == [
        ("pair", ["a", "b"]),
        ("at", "2026-02-08T20:00:00Z"),
        ("seenAt", None),
        ("who", None),
        ("turnState", "R"),
        ("inside", None),
    ]
    assert type(made["turnState"]) is str
    assert told.as_json("who_it_was") == {"whoItWas": ""}


def test_records_inside_a_record_say_themselves_what_they_are():
    told = Told(at=datetime(2026, 2, 8, tzinfo=UTC), state=TaskState.R)

    class Box(Record):
        one: Told
        many: list[Told]
        named: dict[str, Told]

    said = told.to_record()
    found = Box(one=told, many=[told], named={"t": told}).as_json("one many named")
    assert found == {"one": said, "many": [said], "named": {"t": said}}
    with pytest.raises(AttributeError):
        told.as_json("nothing")
