"""The description of the whole interface, `/openapi.json`.

Source: DL-067.
"""

from __future__ import annotations

import json
import os
from typing import Any

from fastapi import FastAPI

from council.web import problems

_DEBATE = f"{os.path.dirname(os.path.dirname(__file__))}/schemas/debate.json"
ABOUT = """Agents and people deliberate, and decide. Each operation is a command of `council`, and
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
    made = FastAPI.openapi(app)
    if "security" not in made:
        parts = made["components"]
        with open(_DEBATE, encoding="utf-8") as file:
            parts["schemas"] |= {**json.load(file), "Problem": problems.SCHEMA}
        parts["securitySchemes"] = _SECURITY | {"session": _SECURITY["session"] | {"name": cookie}}
        made["security"] = [{name: []} for name in _SECURITY]
    return made
