"""Refusals as RFC 9457 has them, and the description of the interface."""

from __future__ import annotations

import json
import os
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.responses import JSONResponse

from council.kernel import errors

MEDIA_TYPE = "application/problem+json"
ABOUT = """Agents and people deliberate, and decide. Each operation does what a command of `council`
does, and returns the JSON that the command prints; `debates` is the interface of document 003. With
`If-Match`, the `ETag` of a council, a change is made only if no other one came first (else 412).
Refusals are problems (RFC 9457) with a `code` for programs and a `hint` for people."""
_KINDS = {
    errors.Usage: 400,
    errors.Invalid: 422,
    errors.Conflict: 409,
    errors.NotFound: 404,
    errors.Refused: 403,
}
_CODES = {"over": 409, "locked": 503, "disk-full": 507}
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
_MEANING: dict[int | str, str] = {
    400: "The request makes no sense as it is.",
    401: "It has neither the token nor a session.",
    403: "The server, a rule of the council or a permission forbids it.",
    404: "It does not exist.",
    405: "This path has no such method.",
    409: "It contradicts what is recorded, or is over.",
    412: "It was meant for another revision.",
    413: "The body is too long.",
    422: "A value cannot be accepted.",
    503: "Busy; try again.",
    "5XX": "The disk or another server failed.",
}
_SCHEMA = {
    "type": "object",
    "properties": {
        **{key: {"type": "string"} for key in ("type", "title", "detail", "code", "hint")},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
    },
    "required": ["type", "title", "status", "detail", "code", "hint"],
}


class Problem(Exception):  # noqa: N818  (a refusal is no error of the program)
    """A request that is refused: the status, a `code` for programs, and words for people."""

    def __init__(self, status: int, code: str, detail: str, hint: str = "", **more: object) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.hint, self.more = status, code, detail, hint, more
        self.headers: dict[str, str] = dict(_HEADERS.get(status, {}))

    def response(self) -> JSONResponse:
        """Return it for a program."""
        texts = {"title": HTTPStatus(self.status).phrase, "detail": self.detail, "hint": self.hint}
        content: dict[str, Any] = {
            **self.more,
            **{key: text.encode("utf-8", "replace").decode() for key, text in texts.items()},
            **{"type": f"urn:council:problem:{self.code}", "code": self.code},
        }
        content["status"] = self.status
        return JSONResponse(content, self.status, self.headers, MEDIA_TYPE)


def of(refusal: errors.Refusal) -> Problem:
    """Return the problem that a refusal of a service is."""
    kind = next((status for kind, status in _KINDS.items() if isinstance(refusal, kind)), 500)
    status = _CODES.get(refusal.code, kind)
    return Problem(status, refusal.code, refusal.message, refusal.hint, **refusal.more)


def described() -> dict[int | str, dict[str, Any]]:
    """Return the refusals of all routes for the description of the interface."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {one: {"description": text, "content": content} for one, text in _MEANING.items()}


def description(web: FastAPI, cookie: str) -> dict[str, Any]:
    """Return the description of the interface, `/openapi.json`; it is made once."""
    made = FastAPI.openapi(web)
    if "security" not in made:
        with open(f"{os.path.dirname(__file__)}/debate.json", encoding="utf-8") as file:
            made["components"]["schemas"] |= {**json.load(file), "Problem": _SCHEMA}
        token = {"type": "http", "scheme": "bearer"}
        session = {"type": "apiKey", "in": "cookie", "name": cookie}
        made["components"]["securitySchemes"] = {"token": token, "session": session}
        made["security"] = [{"token": []}, {"session": []}]
    return made
