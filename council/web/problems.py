"""Refusals as RFC 9457 has them: a JSON object of type `application/problem+json`.

`code`, `hint` and whatever else an error knows stand in it beside the members of the standard.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse

from council.working.calling import in_fields

MEDIA_TYPE = "application/problem+json"
SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "pattern": "^urn:council:problem:"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "What kind of refusal it is, for programs."},
        "hint": {"type": "string", "description": "What to do about it."},
    },
    "required": ["type", "title", "status", "detail", "code", "hint"],
}
_MEANT: dict[int | str, str] = {
    400: "The request cannot be meant so.",
    401: "It bears no token, no session, or a token of no run.",
    403: "A guard, a rule of the council, or the rights of a run forbid it.",
    404: "There is no such thing.",
    408: "Its body took too long.",
    409: "What is recorded contradicts it, is over, damaged, or of a newer version.",
    412: "It was meant for another revision; `difference` says what has changed since.",
    413: "The body is too long.",
    422: "A value cannot be accepted, or an Idempotency-Key came with another request.",
    431: "Its address and headers are too long.",
    503: "No process could carry it out; ask again.",
    "5XX": "Its disk refuses, or a server that it needs does not answer.",
}
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}


def described() -> dict[int | str, dict[str, Any]]:
    """Return the refusals of all routes for the description of the interface."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {one: {"description": text, "content": content} for one, text in _MEANT.items()}


def problem(
    status: int,
    code: str,
    detail: str,
    hint: str = "",
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """Return a refusal as a response; what it says of options, it says of fields."""
    content = {
        **more,
        "type": f"urn:council:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": in_fields(detail),
        "code": code,
        "hint": in_fields(hint),
    }
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def of_error(error: dict[str, Any]) -> JSONResponse:
    """Return the response to a refusal as the process of a call tells it."""
    known = {**error}
    status, code, hint = (known.pop(one) for one in ("status", "code", "hint"))
    return problem(status, code, known.pop("message"), hint, _HEADERS.get(status), **known)
