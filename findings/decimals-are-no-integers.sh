#!/usr/bin/env bash
# jsonschema 4.26.0 with numbers read as decimals, the usual answer to the question why 19.99 is no
# multiple of 0.01.
#
# One would expect: `parse_float=Decimal` makes `multipleOf` exact and changes nothing else.
# Seen: `2.0` is no integer any more. The check of the type knows whole floats, as JSON Schema asks,
# but no whole decimals. The schema itself is refused where it has `"maxLength": 3.0`, and messages
# for people say Decimal('2.5'). Models do write 2.0 for 2.
#
# Council reads floats and counts multiples as fractions (`delegation/schemas.py`).
. "$(dirname "$0")/_setup.sh" jsonschema==4.26.0

"$python" - <<'PY'
import json, sys
from decimal import Decimal
from jsonschema import Draft202012Validator, SchemaError

def judged(schema, value, kind):
    read = lambda text: json.loads(text, parse_float=kind)
    try:
        Draft202012Validator.check_schema(read(schema))
    except SchemaError as error:
        return f"no schema: {error.message}"
    faults = Draft202012Validator(read(schema)).iter_errors(read(value))
    return "; ".join(fault.message for fault in faults) or "valid"

cases = {
    ('{"multipleOf": 0.01}', "19.99"): ("19.99 is not a multiple of 0.01", "valid"),
    ('{"type": "integer"}', "2.0"): ("valid", "Decimal('2.0') is not of type 'integer'"),
    ('{"maxLength": 3.0}', '"abc"'): (
        "valid", "no schema: Decimal('3.0') is not of type 'integer'"
    ),
}
seen = {case: tuple(judged(*case, kind) for kind in (float, Decimal)) for case in cases}
for (schema, value), (as_float, as_decimal) in seen.items():
    print(f"jsonschema 4.26.0, {value} for {schema}: {as_float} | Decimal: {as_decimal}")
sys.exit(seen != cases)
PY
