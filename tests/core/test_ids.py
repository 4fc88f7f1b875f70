"""Names and derived identifiers."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import InvalidInputError
from council.core.ids import (
    answer_op_id,
    checked_name,
    is_name,
    is_uuid4,
    slug,
    split_task_id,
    task_id,
    text_digest,
)

names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)


@pytest.mark.req("XC-009")
@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("henry", True),
        ("4-o_mini", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("", False),
        ("-henry", False),
        ("_henry", False),
        ("Henry", False),
        ("hen.ry", False),
        ("../henry", False),
        ("hen/ry", False),
        ("henry\n", False),
        ("hénry", False),
        ("hen ry", False),
        ("²", False),
    ],
)
def test_names_are_short_lower_case_and_no_path(text: str, legal: bool):
    assert is_name(text) is legal
    if legal:
        assert checked_name(text, "agent id") == text
    else:
        with pytest.raises(InvalidInputError, match="agent id"):
            checked_name(text, "agent id")


@pytest.mark.req("C0-016")
@given(st.uuids(version=4))
def test_every_version_4_uuid_is_known(one: uuid.UUID):
    assert is_uuid4(str(one))


@pytest.mark.req("C0-016")
@pytest.mark.parametrize(
    "text",
    [
        "uuid-v4",
        "",
        "6c84fb90-12c4-11e1-840d-7b25c5ee775a",
        str(uuid.uuid5(uuid.NAMESPACE_DNS, "council")),
        "0f8fad5b-d9cb-469f-c165-70867728950e",
        "0F8FAD5B-D9CB-469F-A165-70867728950E",
        "0f8fad5bd9cb469fa16570867728950e",
        "{0f8fad5b-d9cb-469f-a165-70867728950e}",
        "0f8fad5b-d9cb-469f-a165-70867728950g",
    ],
)
def test_nothing_else_is_a_version_4_uuid(text: str):
    assert not is_uuid4(text)


@pytest.mark.req("XC-004")
@given(st.uuids(version=4), st.integers(1, 999), names, st.integers(1, 9))
def test_a_task_id_is_derived_and_tells_what_it_is_for(one, tour, agent, attempt):
    task = task_id(str(one), tour, agent, attempt)
    assert task == task_id(str(one), tour, agent, attempt)
    assert split_task_id(task) == (str(one), tour, agent, attempt)


@pytest.mark.req("XC-004")
def test_two_tasks_never_share_an_id():
    made = {
        task_id("c", tour, agent, attempt)
        for tour in range(1, 13)
        for agent in ("a", "a-1", "1", "11", "b_1")
        for attempt in range(1, 13)
    }
    assert len(made) == 12 * 5 * 12


@pytest.mark.parametrize(
    "text", ["", "a.b.c", "c.x.henry.1", "c.1.henry.x", "c.1.henry.-1", "c.².henry.1"]
)
def test_what_is_no_task_id_is_said_to_be_none(text: str):
    assert split_task_id(text) is None


@given(st.text())
def test_any_text_is_a_task_id_or_none(text: str):
    assert split_task_id(text) is None or text.count(".") >= 3


@pytest.mark.req("C0-042")
def test_the_key_of_an_answer_follows_from_conversation_round_agent_and_text():
    key = answer_op_id("c", 1, "henry", "yes")
    assert key == answer_op_id("c", 1, "henry", "yes")
    others = {
        answer_op_id("d", 1, "henry", "yes"),
        answer_op_id("c", 2, "henry", "yes"),
        answer_op_id("c", 1, "sage", "yes"),
        answer_op_id("c", 1, "henry", "no"),
    }
    assert len(others | {key}) == 5


def test_a_digest_is_the_sha256_of_the_bytes():
    assert text_digest("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Faut-il créer un bot météo ?", "faut-il-creer-un-bot-meteo"),
        ("Should we build a weather bot?", "should-we-build-a-weather-bot"),
        ("../../etc/passwd", "etc-passwd"),
        ("  ", "conversation"),
        ("天気ボット", "conversation"),
        ("one two three", "one-two-three"),
        ("x" * 80, "x" * 60),
        ("word " * 20, "word-" * 11 + "word"),
    ],
)
def test_a_topic_becomes_a_file_name_part(text: str, short: str):
    assert slug(text) == short


@given(st.text())
def test_any_topic_becomes_a_legal_file_name_part(text: str):
    assert is_name(slug(text))
