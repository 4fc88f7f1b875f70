"""Refusals as RFC 9457 has them: a JSON object of type `application/problem+json`.

`code`, `hint` and whatever else an error knows stand in it beside the members of the standard.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"
SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "hint": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "code"],
}


def problem(
    status: int,
    code: str,
    detail: str,
    hint: str = "",
    headers: dict[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """Return a refusal as a response."""
    content = {
        "type": f"urn:council:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
        **more,
    }
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def of_error(error: dict[str, Any]) -> JSONResponse:
    """Return the response to a refusal as the process of a call tells it."""
    known = {**error}
    status, code = known.pop("status", 500), known.pop("code")
    return problem(status, code, known.pop("message"), known.pop("hint"), **known)
