"""The JSON value that is the result of an answer."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from council.core.reading_answers.json_fields import result_in, values_in
from tests.core.reading_answers.corpus import rows
from tests.timing import assert_cheap, assert_linear

VERDICT = {"type": "object", "required": ["verdict"]}


def read(text: str, schema: object = VERDICT) -> object:
    found = result_in(text, Draft202012Validator(schema).is_valid)
    return None if found is None else json.loads(found)


@pytest.mark.req("HR-013")
@pytest.mark.parametrize("row", rows("result"), ids=lambda row: row["id"])
def test_a_result_of_the_corpus_is_the_one_that_was_meant(row):
    assert {"json": read(row["text"], row["schema"])} == row["expected"]


@pytest.mark.req("HR-013")
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"verdict": 1}\n\nIt took: {"tokens": 12}', {"verdict": 1}),
        ('A set {a, b} and [see 2]: {"verdict": {"x": "}"}}.', {"verdict": {"x": "}"}}),
        ('> {"verdict": 1}', {"verdict": 1}),
        ('{"verdict": 1} {"verdict": 2}', {"verdict": 2}),
    ],
)
def test_the_last_value_that_is_accepted_counts(text, result):
    assert read(text) == result


@pytest.mark.req("HR-013")
@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": 1}, no: {"verdict": 2',
        '{"draft": {"verdict": 1}, "final": {"verdict": "wa',
        '{"draft": {"verdict": 1},}',
        '{"options": [{"verdict": 1}, {"verdict": 2}]}',
        '<think>{"verdict": 1}</think>\nNothing.',
        "{'verdict': 1}",
        '{"verdict": ',
        "[" * 100_000,
        "",
    ],
)
def test_no_value_is_taken_out_of_a_broken_one_out_of_another_or_out_of_a_thought(text):
    assert read(text) is None


@pytest.mark.req("HR-013")
@pytest.mark.parametrize(
    ("text", "result"), [("42", 42), ("The sum is\n\n42", 42), ("I would pay 42 euros.", None)]
)
def test_a_number_counts_where_it_stands_alone(text, result):
    assert read(text, {"type": "number"}) == result


@pytest.mark.parametrize("piece", ["{", '{"a": ', "[{}, ", '"', "{}", "{x", "\n1"])
def test_looking_for_values_takes_time_in_proportion_to_the_text(piece):
    assert_linear(lambda size: values_in(piece * size), 1000, 32_000, 32)


def test_a_megabyte_of_broken_values_is_given_up_in_good_time():
    assert_cheap(lambda: values_in("{x" * (1 << 19)), within_s=3)
