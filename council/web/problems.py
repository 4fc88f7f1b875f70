"""Refusals as RFC 9457 has them, and the description of the interface."""

from __future__ import annotations

import json
import os
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from council.kernel import errors
from council.kernel.errors import Refusal

MEDIA_TYPE = "application/problem+json"
_KINDS = {
    errors.Usage: 400,
    errors.Invalid: 422,
    errors.Conflict: 409,
    errors.NotFound: 404,
    errors.Refused: 403,
    errors.Away: 503,
}
_CODES = {"over": 409, "locked": 503, "disk-full": 507}
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
with open(f"{os.path.dirname(__file__)}/interface.json", encoding="utf-8") as _file:
    INTERFACE: dict[str, Any] = json.load(_file)


class Problem(Refusal):
    """A request that is refused with a status."""

    def __init__(self, status: int, code: str, detail: str, hint: str = "", **more: object) -> None:
        super().__init__(code, detail, hint, **more)
        self.status, self.headers = status, dict(_HEADERS.get(status, {}))

    def response(self) -> JSONResponse:
        """Return it for a program."""
        title = HTTPStatus(self.status).phrase
        texts = {"title": title, "detail": self.message, "hint": self.hint}
        content: dict[str, Any] = {
            **self.more,
            **{key: text.encode("utf-8", "replace").decode() for key, text in texts.items()},
            **{"type": f"urn:council:problem:{self.code}", "code": self.code},
        }
        content["status"] = self.status
        return JSONResponse(content, self.status, self.headers, MEDIA_TYPE)


def of(error: Exception) -> Problem:
    """Return the problem that an error is: `unexpected` if it is one of our own."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Refusal):
        kind = next((status for kind, status in _KINDS.items() if isinstance(error, kind)), 500)
        status = _CODES.get(error.code, kind)
        return Problem(status, error.code, error.message, error.hint, **error.more)
    if isinstance(error, RequestValidationError | ValidationError):
        faults = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
        told = "; ".join(f"{where.removeprefix('body.') or 'body'}: {why}" for where, why in faults)
        return Problem(422, "invalid", told[:1000], "see /openapi.json")
    if isinstance(error, HTTPException):
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        return Problem(error.status_code, code, str(error.detail))
    return Problem(500, "unexpected", f"unexpected error: {type(error).__name__}")


def described() -> dict[int | str, dict[str, Any]]:
    """Return the refusals of all routes for the description of the interface."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    rows: dict[str, str] = INTERFACE["refusals"]
    return {one: {"description": text, "content": content} for one, text in rows.items()}


def description(web: FastAPI, cookie: str) -> dict[str, Any]:
    """Return the description of the interface, `/openapi.json`; it is made once."""
    made = FastAPI.openapi(web)
    if "security" not in made:
        made["components"]["schemas"] |= INTERFACE["schemas"]
        token = {"type": "http", "scheme": "bearer"}
        session = {"type": "apiKey", "in": "cookie", "name": cookie}
        made["components"]["securitySchemes"] = {"token": token, "session": session}
        made["security"] = [{"token": []}, {"session": []}]
    return made
