"""The interface for programs: each route calls one service, and returns its JSON."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.routing import iter_route_contexts

from council.app import App
from council.web import problems

PREFIX = "/api/council"
ABOUT = """Agents and people deliberate and decide."""
router = APIRouter(prefix=PREFIX)


def opened(request: Request) -> App:
    """Return the workspace for one request."""
    app: App = request.app.state.open()
    return app


@router.get("/status")
def status(request: Request) -> Any:
    """Return what is open, who owes an answer and what failed."""
    from council.observe import status as look

    return look.status(opened(request))


def methods(web: FastAPI, scope: Any) -> set[str]:
    """Return the methods of all routes that a path has."""
    known = [one for one in iter_route_contexts(web.routes) if one.methods]
    there = [one for one in known if one.path_regex.match(scope["path"])]
    return {method for one in there for method in one.methods or ()}


def description(web: FastAPI, cookie: str) -> dict[str, Any]:
    """Return the description of the interface, `/openapi.json`; it is made once."""
    made = FastAPI.openapi(web)
    if "security" not in made:
        parts = made.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = problems.SCHEMA
        parts["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": cookie},
        }
        made["security"] = [{name: []} for name in parts["securitySchemes"]]
    return made
