"""The tables of codes between versions: `=` comes back, `~` does not."""

from __future__ import annotations

import pytest

from council.wire.codes import CODES, mapped

TABLES = {
    ("V2", "V3"): "E01 = E01, E02 = E02, E03 = E03, E04 = E04, E99 = E99",
    ("V3", "V2"): (
        "E01 = E01, E02 = E02, E03 = E03, E04 = E04, E05 ~ E02, E06 ~ E04, E07 ~ E99, E08 ~ E99, "
        "E09 ~ E99, E10 ~ E02, E99 = E99"
    ),
    ("V3", "V4"): (
        "E01 = E01, E02 = E02, E03 = E20, E04 = E07, E05 = E05, E06 = E06, E07 = E12, E08 = E08, "
        "E09 = E09, E10 = E10, E99 = E99"
    ),
    ("V4", "V3"): (
        "E01 = E01, E02 = E02, E03 ~ E05, E04 ~ E02, E05 = E05, E06 = E06, E07 = E04, E08 = E08, "
        "E09 = E09, E10 = E10, E11 ~ E99, E12 = E07, E13 ~ E05, E14 ~ E05, E15 ~ E05, E20 = E03, "
        "E21 ~ E03, E22 ~ E03, E99 = E99"
    ),
    ("V4", "V5"): (
        "E01 = E33, E02 = E12, E03 ~ E10, E04 ~ E10, E05 = E10, E06 = E31, E07 = E32, E08 = E41, "
        "E09 = E40, E10 = E11, E11 ~ E99, E12 = E90, E13 = E13, E14 = E14, E15 = E15, E20 = E20, "
        "E21 = E21, E22 = E22, E99 = E99"
    ),
    ("V5", "V4"): (
        "E00 = -, E10 = E05, E11 = E10, E12 = E02, E13 = E13, E14 = E14, E15 = E15, E16 ~ E99, "
        "E17 ~ E99, E18 ~ E99, E19 ~ E99, E20 = E20, E21 = E21, E22 = E22, E23 ~ E21, E30 ~ E07, "
        "E31 = E06, E32 = E07, E33 = E01, E40 = E09, E41 = E08, E42 ~ E99, E43 ~ E99, E90 = E12, "
        "E99 = E99"
    ),
}


@pytest.mark.req("PR-621", "PR-622", "PR-623", "PR-624", "PR-625")
@pytest.mark.parametrize(("source", "target"), TABLES)
def test_codes_map_as_the_tables_say(source: str, target: str):
    rows = [row.split() for row in TABLES[source, target].split(", ")]

    assert [code for code, _, _ in rows] == list(CODES[source])
    assert {code: mapped(code, source, target) for code, _, _ in rows} == {
        code: (other, sign == "=") for code, sign, other in rows
    }


@pytest.mark.req("PR-626")
@pytest.mark.parametrize(("source", "target"), TABLES)
def test_a_code_that_no_table_knows_becomes_e99_and_does_not_come_back(source: str, target: str):
    assert mapped("E77", source, target) == ("E99", False)
