"""Refusals as RFC 9457 has them, and the description of the interface."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from council.kernel import codec, errors, words
from council.kernel.errors import Refusal

MEDIA_TYPE = "application/problem+json"
_KINDS = {
    errors.Usage: 400, errors.Invalid: 422, errors.Conflict: 409, errors.NotFound: 404,
    errors.Refused: 403, errors.Away: 503,
}  # fmt: skip
_CODES = {"over": 409, "locked": 503, "disk-full": 507}
HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
INTERFACE: dict[str, Any] = json.loads(words.template("web/interface.json"))


def of(error: Exception) -> Refusal:
    """Return an error as a refusal with a `status`: `unexpected` if it is one of our own."""
    if isinstance(error, HTTPException) and isinstance(error.__cause__, Refusal):
        error = error.__cause__  # of what reads the body
    if isinstance(error, Refusal):
        kind = next((status for kind, status in _KINDS.items() if isinstance(error, kind)), 500)
        error.more.setdefault("status", _CODES.get(error.code, kind))
        return error
    if isinstance(error, RequestValidationError | ValidationError):
        faults = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
        told = "; ".join(f"{where.removeprefix('body.') or 'body'}: {why}" for where, why in faults)
        return Refusal("invalid", told[:1000], "see /openapi.json", status=422)
    if isinstance(error, ClientDisconnect):
        return Refusal("malformed", "the body was cut off", status=400)
    if isinstance(error, HTTPException):
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        return Refusal(code, str(error.detail), status=error.status_code)
    return Refusal("unexpected", f"unexpected error: {type(error).__name__}", status=500)


def response(error: Refusal, status: int) -> Response:
    """Return a refusal for a program."""
    content = {**error.more, "title": HTTPStatus(status).phrase, "status": status}
    hint = re.sub(r"--([a-z]+)", r"`\1`", error.hint)  # fields have the names of options
    content |= {"detail": error.message, "hint": hint, "code": error.code}
    content["type"] = f"urn:council:problem:{error.code}"
    return Response(codec.encoded(content), status, media_type=MEDIA_TYPE)


def described() -> dict[int | str, dict[str, Any]]:
    """Return the refusals of all routes for the description of the interface."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {k: {"description": one, "content": content} for k, one in INTERFACE["refusals"].items()}


def description(web: FastAPI) -> dict[str, Any]:
    """Return the description of the interface, `/openapi.json`; it is made once."""
    made = FastAPI.openapi(web)
    made["components"]["schemas"] |= INTERFACE["schemas"]
    return made
