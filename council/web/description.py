"""The description of the whole interface, `/openapi.json`.

Source: DL-067.
"""

from __future__ import annotations

import json
import os
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from council.web import problems

_DEBATE = f"{os.path.dirname(os.path.dirname(__file__))}/schemas/debate.json"
_ABOUT = """Agents and people deliberate, and decide. Each operation is a command of `council`, and
answers what that prints with `--json`; `debates` is the interface of document 003.

Refusals are problems (RFC 9457) with a `code` for programs and a `hint`. A change takes an
`Idempotency-Key`: sent again with it, it is done once. One of a council or a room takes `If-Match`,
the `ETag` of the revision that it is meant for: 412 if that has changed since."""

_SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of the workspace, or that of a run, which then names its task "
        "by `Council-Task`, and its agent and conversation by `Council-Agent` and `Council-Name`. "
        "A run may do what a command may inside it.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "description": "The session of a browser, opened by a link that the server printed.",
    },
}


def describe(app: FastAPI, cookie: str) -> dict[str, Any]:
    """Return the description of what an application serves to programs; it is made once.

    Args:
        app: The application.
        cookie: What the cookie of a session is called.
    """
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=_ABOUT, routes=app.routes
        )
        parts = made["components"]
        for ours in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(ours, None)
        with open(_DEBATE, encoding="utf-8") as file:
            parts["schemas"] |= {**json.load(file), "Problem": problems.SCHEMA}
        parts["securitySchemes"] = _SECURITY | {"session": _SECURITY["session"] | {"name": cookie}}
        made["security"] = [{name: []} for name in _SECURITY]
        for path in made["paths"].values():
            for method, operation in path.items():
                refusals = problems.described(changes=method != "get")
                known = {str(status): said for status, said in refusals.items()}
                operation["responses"] |= known
        app.openapi_schema = made
    return app.openapi_schema
