"""The form that a caller expects of a result: a JSON Schema, and where a result breaks it.

The validator is loaded only where a form is expected. It fetches nothing: a
schema must hold everything it refers to.

Source: HR-013, P8-027.
"""

from __future__ import annotations

from typing import Any

from council.core.delegation.delegation import ERROR, FORM, OK, SUMMARY_CHARS
from council.core.errors import CouncilError, InvalidInputError
from council.core.reading import TooDeepError, read_json
from council.core.reading_answers.cleaning import clean
from council.operations.place import Place
from council.store.delegation import artifacts

_SCHEMA_AT_FAULT = "the expected schema"


def check_schema(schema: Any) -> None:
    """Let a schema pass that is one; None expects nothing.

    Raises:
        InvalidInputError: It is no JSON Schema.
    """
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise InvalidInputError("the expected schema is no JSON Schema", "give an object")
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        raise InvalidInputError(
            f"the expected schema is no JSON Schema: {_line(error.message)} at {error.json_path}",
            "correct the schema",
        ) from None


def fitting(text: str, schema: Any) -> tuple[str, str]:
    """Return the part of an answer that is its result, and what is wrong with it, "" for nothing.

    It is the last JSON value that the schema accepts; where none is accepted
    all that was said, without thoughts, and how the last value breaks the form.

    Source: HR-013, P8-027.
    """
    said = clean(text).strip()
    if schema is None:
        return said, ""
    from council.core.reading_answers.json_fields import result_in, values_in

    faults: list[str] = []

    def accepts(value: Any) -> bool:
        faults.append(fault(value, schema))
        return not faults[-1]

    found = result_in(text, accepts)
    if found is not None:
        return found, ""
    if faults:
        return said, faults[0]
    return said, f"the result is not JSON{_why_not_json(said) if not values_in(text) else ''}"


def _why_not_json(said: str) -> str:
    try:
        read_json(said)
    except TooDeepError:
        return " that can be read: it is nested too deeply"
    except ValueError as error:
        return f": {_line(str(error))}"
    return ""


def fault(result: Any, schema: Any) -> str:
    """Return where and how a value breaks the form that is expected of it, "" if it does not."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    registry: Any = Registry()  # resolves nothing that lies outside the schema
    try:
        found = best_match(validator_for(schema)(schema, registry=registry).iter_errors(result))
    except Unresolvable as error:
        return f"{_SCHEMA_AT_FAULT} refers to what it does not hold: {_line(str(error))}"
    except RecursionError:
        return f"{_SCHEMA_AT_FAULT} refers to itself without end"
    return f"at {found.json_path}: {_line(found.message)}" if found else ""


def mendable_fault(text: str, schema: Any) -> str:
    """Return what is wrong with the form of an answer that another one could mend, "" for nothing.

    That is not so where the schema itself is at fault.
    """
    wrong = fitting(text, schema)[1]
    return "" if wrong.startswith(_SCHEMA_AT_FAULT) else wrong


def judged(result: dict[str, Any], text: str, schema: Any) -> dict[str, Any]:
    """Return an answer as it is to a caller that expects this form: `text` is all of it."""
    said, wrong = fitting(text, schema)
    kept = {**result, "status": ERROR if wrong else OK}
    kept.pop("error", None)
    if wrong:
        kept["error"] = {"code": "E10", "guard": FORM, "message": wrong}
    elif schema is not None and len(said) <= SUMMARY_CHARS:
        kept["summary"] = said
    return kept


def judged_again(place: Place, result: dict[str, Any], schema: Any) -> dict[str, Any]:
    """Return an earlier answer as it is to who asks now, perhaps for another form of it.

    What came to nothing for another reason stays as it is.
    """
    error = result.get("error")
    if error and error.get("guard") != FORM:
        return result
    return judged(result, _whole(place, result), schema)


def _whole(place: Place, result: dict[str, Any]) -> str:
    """Return the text of an answer whose summary may be only its beginning."""
    summary, named = str(result.get("summary", "")), result.get("artifacts") or []
    if len(summary) < SUMMARY_CHARS or not named:
        return summary
    try:
        text = artifacts.read(place.paths, named[0], now=place.now()).decode("utf-8")
    except (CouncilError, UnicodeDecodeError):
        return summary
    return text if text.startswith(summary) else summary


def _line(text: str) -> str:
    plain = " ".join(text.split())
    # What is wrong stands behind the value that it is wrong with, however long that is.
    return plain if len(plain) <= 200 else f"{plain[:98]} … {plain[-99:]}"
