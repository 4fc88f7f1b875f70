"""The form of an answer, by the real library in a process of its own."""

import pytest

from council.delegation import schemas
from tests.vectors.rows import tables_of

ROWS = tables_of("delegation")
PRICE = {
    "type": "object",
    "required": ["price"],
    "properties": {"price": {"type": "number", "multipleOf": 0.01}, "count": {"$ref": "#/$defs/n"}},
    "$defs": {"n": {"type": "integer"}, "r": {"properties": {"$ref": {"const": {"$ref": "-"}}}}},
}


@pytest.mark.parametrize(("text", "found", "fault"), ROWS["results"])
def test_the_one_value_that_fits_is_the_result(text, found, fault):
    made = schemas.result(text, PRICE)
    assert made[0] == found
    assert fault in made[1]


@pytest.mark.parametrize("schema", ROWS["no-schemas"])
def test_what_is_no_schema_is_refused_before_anything_runs(schema):
    assert schemas.result(None, schema)[1]
