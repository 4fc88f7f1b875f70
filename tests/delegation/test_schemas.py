"""The form of an answer, by the real library in a process of its own."""

import pytest

from council.delegation import schemas

PRICE = {
    "type": "object",
    "required": ["price"],
    "properties": {"price": {"type": "number", "multipleOf": 0.01}, "count": {"$ref": "#/$defs/n"}},
    "$defs": {"n": {"type": "integer"}, "r": {"properties": {"$ref": {"const": {"$ref": "-"}}}}},
}


@pytest.mark.parametrize(
    ("text", "found", "fault"),
    [('{"price": 19.99}', '{"price": 19.99}', ""),
     ('Here:\n```json\n{"price": 2}\n```', '{"price": 2}', ""),
     ('```json\n{"price": 2}\n```', '{"price": 2}', ""),
     ('{"price": 19.995}', "", "19.995 is not a multiple"),
     ('{"price": 1e30, "count": 2.0}', '{"price": 1e30, "count": 2.0}', ""),
     ('{"price": 1, "count": 2.5}', "", "2.5 is not of type 'integer'"),
     ('{"price": NaN}', "", "no JSON"), ('{"price": 1} or {"price": 2}', "", "several"),
     ('{"cost": 1}, so {"price": 2}', '{"price": 2}', ""), ("Forty.", "", "no JSON"),
     ("7", "", "not of type")],
)  # fmt: skip
def test_the_one_value_that_fits_is_the_result(text, found, fault):
    made = schemas.result(text, PRICE)
    assert made[0] == found
    assert fault in made[1]


@pytest.mark.parametrize(
    "schema",
    [*({"type": "nothing"}, {"$ref": "#/$defs/none"}, {"$ref": "other.json"}, [1]),
     *({"$ref": "#"}, {"items": {"$dynamicRef": "#none"}}, {"pattern": "("})],
)  # fmt: skip
def test_what_is_no_schema_is_refused_before_anything_runs(schema):
    assert schemas.result(None, schema)[1]
