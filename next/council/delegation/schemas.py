"""The form of an answer: a JSON schema, checked in a process of its own with a time limit.

A schema comes from a caller and may be meant to never end; numbers are compared as decimals, as
JSON Schema counts them. What needs another document, or a definition that is not there, is refused
before anything is run.
"""

from __future__ import annotations

import subprocess
import sys

from council.kernel.errors import Invalid
from council.kernel.record import Any

SECONDS = 10.0
_PROGRAM = "from council.delegation.schemas import main; main()"


def check(schema: Any) -> None:
    """Refuse a schema that is none.

    Raises:
        Invalid: It is none (`bad-schema`), or schemas cannot be checked here (`no-jsonschema`).
    """
    fault = _asked(schema, [])[0]
    if fault == "no-jsonschema":
        hint = "install council-files[mcp], or leave --schema out"
        raise Invalid(fault, "--schema needs the package jsonschema", hint)
    if fault:
        raise Invalid("bad-schema", f"not a schema that can be checked: {fault}", "correct it")


def result(text: str, schema: Any) -> tuple[str, str]:
    """Return the JSON in an answer that keeps to the schema; or "" and what is wrong, in one line.

    Of several values none is chosen: what is asked for is one.
    """
    found = candidates(text)
    if not found:
        return "", "there is no JSON in it"
    faults = _asked(schema, found)[1:]
    fitting = [one for one, fault in zip(found, faults, strict=False) if not fault]
    if len(fitting) == 1:
        return fitting[0], ""
    return "", "several values in it fit: print one" if fitting else " ".join(faults[:1])[:300]


def candidates(text: str) -> list[str]:
    """Return the JSON values in a text: all of it, else each object or array in it."""
    import json  # late: few calls expect a form

    decoder, found, at = json.JSONDecoder(), list[str](), 0
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    while at < len(bare):
        try:
            end = decoder.raw_decode(bare, at)[1] if not at or bare[at] in "{[" else at
            if end == len(bare) and not at:
                return [bare]
            found += [bare[at:end]] * (bare[at] in "{[" and end > at)
        except (ValueError, RecursionError):
            end = at
        at = max(end, at + 1)
    return list(dict.fromkeys(found))[:20]


def _asked(schema: Any, values: list[str]) -> list[str]:
    """Return the fault of the schema and that of each value, "" for none."""
    import json  # late: see above

    words = [sys.executable, "-P", "-c", _PROGRAM]
    given = json.dumps([json.dumps(schema), *values])
    try:
        done = subprocess.run(
            words, input=given, capture_output=True, text=True, timeout=SECONDS, check=True
        )
        return [str(one) for one in json.loads(done.stdout)]
    except subprocess.TimeoutExpired:
        return [f"it takes more than {SECONDS:.0f} s", *["not checked in time"] * len(values)]
    except (subprocess.CalledProcessError, ValueError):
        return ["it cannot be checked", *["it cannot be checked"] * len(values)]


def main() -> None:
    """Read a schema and values from standard input; print the fault of each as JSON."""
    import json  # late: this process is started by `_asked` alone
    from decimal import Decimal  # late: as above

    schema, *values = [json.loads(one, parse_float=Decimal) for one in json.load(sys.stdin)]
    try:
        import jsonschema  # late: of an extra
    except ImportError:
        print(json.dumps(["no-jsonschema"]))
        return
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    faults = [_fault_of(kind, schema)]
    for value in values if not faults[0] else ():
        worst = jsonschema.exceptions.best_match(kind(schema).iter_errors(value))
        faults.append(f"{worst.json_path}: {worst.message}" if worst else "")
    print(json.dumps(faults))


def _fault_of(kind: Any, schema: Any) -> str:
    """Return why a schema is none: of its own form, or by a reference that leads nowhere."""
    import jsonschema  # late: of an extra

    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"{error.json_path}: {error.message}"
    left = [schema]
    for one in left:
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
        at, ref = schema, one.get("$ref", "#") if isinstance(one, dict) else "#"
        for part in str(ref).removeprefix("#").split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            at = at.get(key) if isinstance(at, dict) else None
        if not str(ref).startswith("#") or at is None:
            return f"nothing is at $ref {ref!r} in it"
    return ""
