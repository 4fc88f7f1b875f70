"""Explaining codes, messages and versions; the card; what changed."""

from __future__ import annotations

import pytest

from council.core.errors import NotFoundError, UsageError
from council.wire.codes import CODES, FRENCH, category_of
from council.wire.explanation import (
    NAMES,
    card,
    explain,
    explain_code,
    explain_codes,
    explain_version,
)
from council.wire.messages import VERSIONS, parse
from council.wire.pages import changes_between
from council.wire.word_texts import WARNINGS
from tests.wire.readings import PLAIN, V1
from tests.wire.test_messages import STRICT

V3_TABLE = {
    "E01": "file not found",
    "E02": "bad format",
    "E03": "timeout",
    "E04": "resource unavailable",
    "E05": "parsing failed",
    "E06": "agent busy",
    "E07": "protocol version incompatible",
    "E08": "unknown agent",
    "E09": "unknown task",
    "E10": "invalid priority",
    "E99": "other error",
}


@pytest.mark.req("PR-313", "PR-207")
def test_each_code_of_v3_and_v2_is_told_with_its_meaning():
    told = {row["code"]: row["meaning"] for row in explain_codes("V3")}

    assert told == V3_TABLE
    assert [row["code"] for row in explain_codes("V2")] == ["E01", "E02", "E03", "E04", "E99"]
    assert all(row["meaning"] == V3_TABLE[row["code"]] for row in explain_codes("V2"))


@pytest.mark.req("PR-313")
@pytest.mark.parametrize(
    ("code", "meanings"),
    [
        ("E03", {"V2": "timeout", "V3": "timeout", "V4": "segment missing"}),
        ("E10", {"V3": "invalid priority", "V4": "invalid priority", "V5": "bad message format"}),
        ("E12", {"V4": "protocol version incompatible", "V5": "forbidden characters in DATA"}),
    ],
)
def test_the_same_digits_mean_something_else_in_each_version(code: str, meanings: dict[str, str]):
    for version, meaning in meanings.items():
        assert explain_code(code, version)["meaning"] == meaning


@pytest.mark.req("PR-413", "PR-627")
@pytest.mark.parametrize(
    ("version", "codes", "category"),
    [
        ("V4", "E01 E05", "parsing"),
        ("V4", "E06 E09", "resource"),
        ("V4", "E10 E15", "protocol"),
        ("V4", "E20 E25", "timeout"),
        ("V4", "E99", "other"),
        ("V4", "E16 E26 E98", ""),
        ("V5", "E00", "ok"),
        ("V5", "E10 E19", "validation"),
        ("V5", "E20 E29", "timeout"),
        ("V5", "E30 E39", "resource"),
        ("V5", "E40 E49", "logic"),
        ("V5", "E90 E99", "system"),
        ("V5", "E01 E50 E89", ""),
        ("V3", "E01 E99", ""),
    ],
)
def test_codes_fall_into_the_categories_of_their_version(version: str, codes: str, category: str):
    assert {category_of(code, version) for code in codes.split()} == {category}


@pytest.mark.req("PR-413")
def test_each_code_of_v4_is_told_with_its_category():
    assert {row["code"]: row["category"] for row in explain_codes("V4")} == {
        **dict.fromkeys(("E01", "E02", "E03", "E04", "E05"), "parsing"),
        **dict.fromkeys(("E06", "E07", "E08", "E09"), "resource"),
        **dict.fromkeys(("E10", "E11", "E12", "E13", "E14", "E15"), "protocol"),
        **dict.fromkeys(("E20", "E21", "E22"), "timeout"),
        "E99": "other",
    }


def test_every_meaning_is_told_in_both_languages():
    for version in ("V2", "V3", "V4", "V5"):
        english, french = explain_codes(version), explain_codes(version, "fr")
        assert all(row["meaning"] for row in english + french)
        assert english != french
    assert {key for table in CODES.values() for key in table.values()} == set(FRENCH)


@pytest.mark.parametrize(("code", "version"), [("E05", "V2"), ("E01", "V5"), ("E99", "V9")])
def test_a_code_that_is_not_there_is_not_found(code: str, version: str):
    with pytest.raises(NotFoundError):
        explain_code(code, version)


@pytest.mark.req("PR-109")
@pytest.mark.parametrize(
    ("short", "word"),
    [
        ("REQ", "request"),
        ("RES", "response"),
        ("CLR", "clarification"),
        ("UPD", "update"),
        ("ACK", "acknowledge"),
        ("ERR", "error"),
    ],
)
def test_the_words_behind_the_abbreviations_are_told(short: str, word: str):
    assert explain_version("V1")["types"][short].startswith(word)
    told = explain(V1.replace("TYPE: REQ", f"TYPE: {short}").replace("DATA: ", "DATA: E01:"))
    assert word in told["segments"][3]["meaning"]


@pytest.mark.req("PR-592", "PR-001")
@pytest.mark.parametrize(
    ("version", "standing", "use"),
    [
        ("V1", "legacy", "documentation"),
        ("V2", "legacy", "documentation"),
        ("V3", "deprecated", "migrate"),
        ("V4", "stable", "simple systems"),
        ("V5", "recommended", "orchestrated"),
    ],
)
def test_the_standing_of_a_version_is_told(version: str, standing: str, use: str):
    page = explain_version(version)

    assert page["standing"] == standing
    assert use in page["use"]
    assert explain(PLAIN[version])["standing"] == page["use"]


@pytest.mark.req("PR-541")
def test_who_usually_sends_a_type_is_told():
    assert explain_version("V5")["senders"]["X"] == "W>W"
    assert set(explain_version("V5")["senders"]) == set(explain_version("V5")["types"])
    assert explain_version("V4")["senders"] == {}
    (warning,) = explain("M1|O1>W1|X|T1|-|-|-|1|S1|-|x")["warnings"]
    assert warning["meaning"] == "this type usually has another sender: W>W"


@pytest.mark.req("PR-597")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_the_card_shows_the_form_the_values_and_four_messages_that_are_valid(lang: str):
    lines = card(lang).splitlines()

    assert "  M<n>|FROM>TO|TYPE|TID|PRI|STATE|ERR|DEPTH|CTX|BUDGET|DATA" in lines
    for row in (
        "TYPE    R S E C U A B H D J L K X",
        "PRI     P0 P1 P2",
        "STATE   N R D F X",
        "ERR     E00-E99",
        "DEPTH   0-5",
        "CTX     S<id>",
        "BUDGET  B<n>",
    ):
        assert row in lines
    messages = [line.split(maxsplit=1)[1] for line in lines[-4:]]
    assert [parse(text).fields["type"] for text in messages] == ["R", "S", "E", "X"]
    assert all(parse(text).strict().valid for text in messages)


@pytest.mark.req("PR-101", "PR-102")
def test_the_page_on_v1_names_two_agents_and_its_priorities():
    page = " ".join(explain_version("V1")["page"])

    assert all(
        word in page
        for word in ("two agents", "ORCHESTRATOR", "WORKER", "speed", "clarity", "few tokens")
    )


@pytest.mark.req("PR-210")
def test_the_page_on_v2_says_what_came_of_its_plans_and_what_did_not():
    _, planned, came, missing = explain_version("V2")["page"]

    assert all(one in planned for one in ("routing", "priority 1 to 3", "REF_MSG_XX", "batches"))
    assert all(one in came for one in ("routing", "P0 to P2", "pid=", "#MSG:"))
    assert "dictionary" in missing and "batches" in missing


@pytest.mark.req("PR-320")
def test_the_page_on_v3_says_what_came_of_its_plans_and_what_did_not():
    _, planned, came, missing = explain_version("V3")["page"]

    assert all(one in planned for one in ("context", "dictionary", "TTL", "RETRY", "O1.W1.W1a"))
    assert all(one in came for one in ("hierarchy in V4", "CTX", "retries"))
    assert "dictionary" in missing


@pytest.mark.req("PR-456", "PR-457")
def test_the_page_on_the_draft_names_the_handshake_and_what_is_out_of_scope():
    page = explain_version("V5D")["page"]

    assert any("PR-591" in line and "VER" in line for line in page)
    scope = next(line for line in page if line.startswith("Out of scope"))
    assert all(one in scope for one in ("encryption", "NS1.O1", "delivery", "streaming"))


def test_every_page_is_there_in_both_languages():
    for version in (*VERSIONS, "V5D"):
        english, french = explain_version(version), explain_version(version, "fr")
        assert len(english["page"]) == len(french["page"])
        assert english["page"] != french["page"]
        assert len(english["segments"]) == len(NAMES[version])
    with pytest.raises(NotFoundError):
        explain_version("V6")


def test_a_message_is_explained_segment_by_segment():
    told = explain("M3|W1>O1|E|T1|P0|F|E33|1|S1|B50|call=x;params=a:b;src=#REF:T1:S")

    assert [part["name"] for part in told["segments"]] == list(NAMES["V5"])
    meanings = {part["name"]: part["meaning"] for part in told["segments"]}
    assert "error" in meanings["TYPE"]
    assert "failed" in meanings["STATE"]
    assert "critical" in meanings["PRI"]
    assert "file not found" in meanings["ERR"]
    assert told["call"]["arguments"]["a"] == "b"
    assert told["references"] == ["#REF:T1:S"]


def test_a_priority_is_explained_as_its_version_means_it():
    def meaning(text: str) -> str:
        parts = explain(text)["segments"]
        return next(part["meaning"] for part in parts if part["name"] == "PRI")

    assert "normal" in meaning("MSG_01|O1>W1|R|TASK_01|P1|N|x")
    assert "high" in meaning("M1|O1>W1|R|T1|P1|N|-|x")


def test_faults_and_warnings_are_explained():
    told = explain("M1|bad|R|T1|P1|N|-|0|S1|B1|x", "fr")
    assert told["errors"] == [
        {"code": "E13", "rule": "V5-3", "segment": 2, "name": "ROUTE", "meaning": "route invalide"}
    ]
    for text, warning, _ in STRICT:
        assert explain(text)["warnings"] == [{"name": warning, "meaning": WARNINGS[warning][0]}]


def test_a_fault_of_v1_is_explained_by_the_table_of_v2():
    assert explain("[MSG_01]\nFROM: X")["errors"][0]["meaning"] == "bad format"


@pytest.mark.req("PR-009", "PR-631", "PR-632", "PR-633", "PR-634")
@pytest.mark.parametrize(
    ("older", "newer", "added", "changed", "removed"),
    [
        ("V1", "V2", ["E01", "k=v;k=v"], ["one line", "letters", "FROM and TO"], ["blocks", "TO"]),
        (
            *("V2", "V3"),
            ["O1, W1", "FROM>TO", "PRI", "STATE", "type B", "E05 to E10", "checklist", "*"],
            ["5 to 7", "O to O1", ">"],
            [],
        ),
        (
            *("V3", "V4"),
            [
                *("ERR", "M1, T1", "type H", "R (router) and G (group)", "E11 to E15, E20 to E22"),
                *("categories", "state machine", "lengths", "checklist", "older versions"),
            ],
            ["7 to 8", "200", "inline", "E03, E04 and E07"],
            ["MSG_", "TASK_"],
        ),
        (
            *("V4", "V5"),
            [
                "DEPTH, CTX, BUDGET",
                "J, L, K, D, X (and Q)",
                "registry",
                "#REF:",
                "retry",
                "E16 to E19",
            ],
            ["8 to 11", "DATA moves", "most codes"],
            ["E01 to E09"],
        ),
    ],
)
def test_a_step_tells_what_it_added_changed_and_removed(
    older: str, newer: str, added: list[str], changed: list[str], removed: list[str]
):
    (step,) = changes_between(older, newer)

    assert (step["from"], step["to"]) == (older, newer)
    for kind, expected in (("added", added), ("changed", changed), ("removed", removed)):
        told = step[kind]
        assert len(told) == len(expected)
        assert all(part in text for part, text in zip(expected, told, strict=True))


@pytest.mark.req("PR-009")
def test_a_longer_way_tells_every_step():
    steps = changes_between("V1", "V5", "fr")

    assert [(step["from"], step["to"]) for step in steps] == [
        ("V1", "V2"),
        ("V2", "V3"),
        ("V3", "V4"),
        ("V4", "V5"),
    ]
    for older, newer in (("V5", "V4"), ("V4", "V4"), ("V4", "V6")):
        with pytest.raises(UsageError):
            changes_between(older, newer)
