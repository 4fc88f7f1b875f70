"""Ids of the protocol: the same in the rules as on the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.protocol.protocol_ids import ROLES, fits, in_order, is_filter, is_protocol_id
from council.wire import identifiers


@pytest.mark.req("PR-505")
@given(st.one_of(st.text(max_size=12), st.from_regex(r"[OWRGX][0-9]{0,3}(\.[a-z0-9]{0,9})?")))
def test_the_rules_and_the_wire_know_the_same_ids(text: str):
    assert is_protocol_id(text) is identifiers.is_agent(text)
    assert ROLES == identifiers.ROLES


def test_ids_are_ordered_by_role_then_number():
    ids = ["G1", "R1", "W10", "W9", "W9.b", "O2", "O1"]

    assert sorted(ids, key=in_order) == ["O1", "O2", "W9", "W9.b", "W10", "R1", "G1"]


@pytest.mark.parametrize(
    ("pattern", "meant"), [("*", True), ("W*", True), ("O*", False), ("W1", True), ("W11", False)]
)
def test_a_filter_means_all_a_role_or_one(pattern: str, meant: bool):
    assert is_filter(pattern)
    assert fits("W1", pattern) is meant
    assert not is_filter("X*")
