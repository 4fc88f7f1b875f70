"""The pages: what a person sees and steers, rendered here from what a reading or command answers.

Source: DL-072 to DL-075, DG-131 to DG-137.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from council.working.calling import Worker

_TEMPLATES = Environment(
    loader=PackageLoader("council.web"), autoescape=True, undefined=StrictUndefined
)


def router(worker: Worker) -> APIRouter:
    """Return the routes of all pages."""
    made = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @made.get("/")
    async def home(request: Request) -> HTMLResponse:
        told = await worker.call("status", {}, environ=request.state.environ)
        return page("home.html", request, overview=told["record"])

    return made


def page(template: str, request: Request, **facts: Any) -> HTMLResponse:
    """Return a page made of a template."""
    made = _TEMPLATES.get_template(template)
    return HTMLResponse(made.render(form_token=request.state.form_token, **facts))
