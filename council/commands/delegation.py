"""What `agent message` and `agent call` do: agents call them in their turns.

Options and one JSON document (`--input`) say the same; an option counts before
the document. A refusal is an answer like any other, with its code.

Source: P8-011, P8-021, P8-024, P8-026, P8-061, `cli.md` sections 1 and 2.
"""

from __future__ import annotations

from typing import Any

from council.commands.output import Output, read_text
from council.core.delegation.delegation import DEFAULTS, ERROR, FORM, OK, REJECTED, TIMED_OUT
from council.core.errors import (
    CouncilError,
    InvalidInputError,
    RefusedError,
    TimedOutError,
    UsageError,
)
from council.core.plain_text import plain_line
from council.core.reading import TooDeepError, read_json
from council.operations.delegation.handing_over import Answered, Request
from council.operations.place import Place

_CODES = {
    OK: 0,
    ERROR: CouncilError.exit_code,
    REJECTED: RefusedError.exit_code,
    TIMED_OUT: TimedOutError.exit_code,
}
# Fields of the document: whether they are a text, a list of texts, or something else.
_TEXTS = {
    "fromAgentId": "as_",
    "toAgentId": "to",
    "traceId": "trace",
    "sessionKey": "session",
    "message": "text",
}
_FIELDS_OF_MESSAGE = {*_TEXTS, "artifactRefs", "priority"}
_FIELDS_OF_CALL = {*_TEXTS, "artifactRefs", "limits", "expectedSchema"}


def agent_message(place: Place, values: dict[str, Any]) -> Output:
    """Leave an agent a message."""
    from council.operations.delegation.delegating import message as leave

    given = _document(place, values, _FIELDS_OF_MESSAGE)
    request = _request(place, values, given)
    request.priority = values["priority"] or _text(given, "priority") or "P1"
    done = leave(place, request)
    if done.status != OK:
        return _answer(done)
    stood = done.told.pop("stood", "")
    record = {"status": done.status, **done.told, "artifacts": done.artifacts}
    said = f"{done.told['toAgentId']}: left in {done.told['sessionKey']} as {done.told['priority']}"
    notes = [stood] if stood else []
    return Output(record=record, text=said + _named(done.artifacts), notes=notes)


def agent_call(place: Place, values: dict[str, Any]) -> Output:
    """Have an agent do something, and wait for its answer."""
    from council.operations.delegation.delegating import call as ask

    given = _document(place, values, _FIELDS_OF_CALL)
    request = _request(place, values, given)
    request.limits = {**_limits_of(given), **dict(map(_limit, values["limit"]))}
    request.schema = given.get("expectedSchema")
    if values["schema"]:
        text = read_text("", values["schema"], place.settings.max_text_bytes)
        request.schema = _json(text, f"the schema in {values['schema']}")
    return _answer(ask(place, request))


def _document(place: Place, values: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Return the request that was given as one JSON document, empty without one.

    Raises:
        UsageError: It has a field that is none.
        InvalidInputError: It is no JSON object.
    """
    if not values["input"]:
        return {}
    text = read_text("", values["input"], 2 * place.settings.max_text_bytes)
    given = _json(text, "the request")
    if not isinstance(given, dict):
        raise InvalidInputError("the request is no JSON object", "give fromAgentId, toAgentId …")
    for name in given:
        if name not in known:
            fields = ", ".join(sorted(known))
            raise UsageError(f"the request has a field {name[:60]!r}", f"there are: {fields}")
    return given


def _json(text: str, what: str) -> Any:
    try:
        return read_json(text)
    except TooDeepError:
        raise InvalidInputError(f"{what} is nested too deeply", "make it flatter") from None
    except ValueError as error:
        raise InvalidInputError(f"{what} is not JSON: {error}", "correct it") from None


def _request(place: Place, values: dict[str, Any], given: dict[str, Any]) -> Request:
    """Return the request, an option before a field of the document.

    Raises:
        UsageError: A required part is missing.
    """
    told = {name: values[option] or _text(given, name) for name, option in _TEXTS.items()}
    if not told["toAgentId"]:
        raise UsageError("to whom?", "say --to AGENT")
    most = place.settings.max_text_bytes
    if values["text"] and values["message"]:
        raise UsageError("the message was given twice", "give it as argument or with --message")
    text = values["text"] or values["message"]
    if text or values["file"] or "message" not in given:
        told["message"] = read_text(text, values["file"], most)
    elif len(told["message"].encode("utf-8", "replace")) > most:
        raise InvalidInputError(f"the message is longer than {most} bytes", "publish it instead")
    refs = [one for many in values["ref"] for one in many.split(",") if one]
    return Request(
        sender=told["fromAgentId"],
        receiver=told["toAgentId"],
        trace=told["traceId"],
        session=told["sessionKey"],
        message=told["message"],
        refs=refs or _texts(given, "artifactRefs"),
    )


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is not a text", "correct the request")
    return value


def _texts(given: dict[str, Any], name: str) -> list[str]:
    value = given.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidInputError(f"{name} is not a list of texts", "correct the request")
    return value


def _limits_of(given: dict[str, Any]) -> dict[str, int]:
    value = given.get("limits")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInputError("limits is not an object", "correct the request")
    for name, number in value.items():
        if name not in DEFAULTS or type(number) is not int or not 0 <= number < 2**53:
            raise InvalidInputError(
                f"limits: {name[:60]} cannot be that", f"whole numbers for: {', '.join(DEFAULTS)}"
            )
    return value


def _limit(text: str) -> tuple[str, int]:
    """Return a limit that was given as an option.

    Raises:
        UsageError: It is none.
    """
    name, _, value = text.partition("=")
    if name not in DEFAULTS or not (value.isascii() and value.isdigit() and len(value) < 16):
        raise UsageError(f"not a limit: {text[:60]!r}", f"NAME=NUMBER, of: {', '.join(DEFAULTS)}")
    return name, int(value)


def _answer(done: Answered) -> Output:
    """Return what the caller gets, with the exit code of its status."""
    notes = ["asked before; this is the answer of then"] if done.told else []
    code = _CODES.get(done.status, CouncilError.exit_code)
    if done.error:
        if done.error.get("guard") == FORM:
            code = InvalidInputError.exit_code
        guard = f", {done.error['guard']}" if "guard" in done.error else ""
        said = " ".join(str(done.error["message"]).split())
        more = f" (what it ran and said: council explain {done.trace})" if done.trace else ""
        notes.append(plain_line(f"{done.status} ({done.error['code']}{guard}): {said}{more}"))
    text = (done.summary + _named(done.artifacts)).lstrip("\n")
    return Output(record=done, text=text, notes=notes, code=code, verbatim=True)


def _named(artifacts: list[str]) -> str:
    return "".join(f"\nartifact {one}" for one in artifacts)
