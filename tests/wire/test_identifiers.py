"""Identifiers and routes."""

from __future__ import annotations

import pytest

from council.wire.identifiers import canonical, ends_of, is_agent, number_of


@pytest.mark.req("PR-505")
@pytest.mark.parametrize(
    ("text", "fits"),
    [
        *[("O1", True), ("O9", True), ("O10", False), ("W99", True), ("W100", False)],
        *[("R9", True), ("R10", False), ("G9", True), ("G10", False), ("X1", False)],
        *[("W0", False), ("W01", False), ("w1", False), ("W", False), ("", False), ("1", False)],
        *[("O1.W1", True), ("O1.abcdefg", True), ("O1.abcdefgh", False), ("O1.", False)],
        *[("O1.a.b", False), ("O1.a-b", False), ("O1.é", False), ("W１", False), ("*", False)],
    ],
)
def test_an_agent_is_a_role_a_number_in_its_range_and_a_sub_agent(text: str, fits: bool):
    assert is_agent(text) is fits


@pytest.mark.req("PR-406", "PR-523")
@pytest.mark.parametrize(
    ("route", "v4", "v5"),
    [
        ("O1.a>W1.ab", True, True),
        ("O1.a>W1.abc", False, True),
        ("O1.ab>W1.abc", False, True),
        ("O1.abc>W1.abc", False, False),
    ],
)
def test_a_route_has_its_length(route: str, v4: bool, v5: bool):
    assert (ends_of(route, "V4") is not None, ends_of(route, "V5") is not None) == (v4, v5)


@pytest.mark.req("PR-643")
@pytest.mark.parametrize(
    ("identifier", "written"),
    [
        *[("M007", "M7"), ("M0", "M0"), ("M0000", "M0"), ("T10", "T10"), ("W03", "W3"), ("-", "-")],
        *[("MSG_7", "MSG_07"), ("MSG_0123", "MSG_123"), ("TASK_01", "TASK_01"), ("User", "User")],
    ],
)
def test_ids_of_one_number_are_written_one_way(identifier: str, written: str):
    assert canonical(identifier) == written


@pytest.mark.parametrize(
    ("identifier", "number"), [("M0042", 42), ("TASK_07", 7), ("M0", 0), ("MSG_" + "9" * 5000, -1)]
)
def test_a_number_too_long_to_matter_is_none(identifier: str, number: int):
    assert number_of(identifier) == number
