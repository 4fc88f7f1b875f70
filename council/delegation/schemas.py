"""The form of an answer: a JSON schema, checked in a process of its own with a time limit.

A schema comes from a caller and may be meant to never end; multiples are counted in decimals, as
JSON Schema means them. What needs another document, or a definition that is not there, is refused
before anything is run.
"""

from __future__ import annotations

import json
import subprocess
import sys

from council.kernel.record import Any

SECONDS = 10.0
_PROGRAM = "from council.delegation.schemas import main; main()"


def result(text: str | None, schema: Any) -> tuple[str, str]:
    """Return the JSON in an answer that keeps to the schema; or "" and what is wrong, in one line.

    Of several values none is chosen: what is asked for is one. Without a text the schema is meant.
    """
    argv, given = [sys.executable, "-P", "-c", _PROGRAM], json.dumps([text, schema])
    how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": SECONDS, "check": True}
    try:
        found, fault = json.loads(subprocess.run(argv, input=given, **how).stdout)
        return found, fault
    except (subprocess.SubprocessError, ValueError):
        return "", f"it cannot be checked in {SECONDS:.0f} s"


def main() -> None:
    """Read a text and a schema from standard input; print what `result` returns as JSON."""
    try:
        print(json.dumps(_judged(*json.load(sys.stdin))))
    except ImportError:
        print(json.dumps(["", "install council-files[mcp]"]))


def _judged(text: str | None, schema: Any) -> tuple[str, str]:
    from fractions import Fraction  # late: this process is started by `result` alone

    import jsonschema  # late: of an extra
    import referencing.jsonschema  # late: as above

    def multiple(kind: Any, step: Any, value: Any, _: Any) -> Any:
        if kind.is_type(value, "number") and Fraction(str(value)) % Fraction(str(step)):
            yield jsonschema.ValidationError(f"{value!r} is not a multiple of {step!r}")

    values, errors = candidates(text or ""), dict[str, Any]()
    try:
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        kind.check_schema(schema)
        kind = jsonschema.validators.extend(kind, {"multipleOf": multiple})
        usual = referencing.jsonschema.DRAFT202012
        parts = [referencing.Resource.from_contents(schema, default_specification=usual)]
        inside = referencing.jsonschema.EMPTY_REGISTRY.resolver_with_root(parts[0])
        for one in parts:
            parts += one.subresources()
            for key in ("$ref", "$dynamicRef"):
                inside.lookup(one.contents.get(key, "#") if isinstance(one.contents, dict) else "#")
        for value in values or ["null"]:  # a schema that has no end shows it with any value
            wrong = kind(schema).iter_errors(json.loads(value))
            errors[value] = jsonschema.exceptions.best_match(wrong)
    except jsonschema.SchemaError as error:
        return "", f"{error.json_path}: {error.message}"
    except RecursionError:
        return "", "it refers to itself without end"
    except referencing.exceptions.Unresolvable as error:
        return "", f"nothing is at $ref {error.ref!r} in it"
    fits = [value for value in values if not errors[value]]
    if len(fits) == 1 or text is None:
        return "".join(fits), ""
    if fits or not values:
        return "", "several values in it fit: print one" if fits else "there is no JSON in it"
    return "", f"{errors[values[0]].json_path}: {errors[values[0]].message}"[:300]


def candidates(text: str) -> list[str]:
    """Return the JSON values in a text: all of it, else each object or array in it."""
    decoder, found, end = json.JSONDecoder(parse_constant=int), list[str](), 0  # no NaN
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    for at in [at for at, sign in enumerate(bare) if sign in "{[" or not at]:
        try:
            after = decoder.raw_decode(bare, at)[1] if at >= end else 0
        except (ValueError, RecursionError):
            continue
        if after and (bare[at] in "{[" or after == len(bare)):
            found, end = [*found, bare[at:after]], after
    return [*{json.dumps(json.loads(one), sort_keys=True): one for one in found}.values()][:20]
