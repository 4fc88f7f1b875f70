"""The HTTP interface: a route for each row of `routes`, made of its command.

Source: DL-061 to DL-067, P8-005, OP-008.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from council.core.errors import CouncilError
from council.web import problems
from council.web.routes import Route, routes
from council.web.schemas import field_name, model_of
from council.working.calling import Worker

PREFIX = "/api/council"
_MOST_KEY_CHARS = 200
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "It was refused.",
        "content": {problems.MEDIA_TYPE: {"schema": problems.SCHEMA}},
    }
}


def router(worker: Worker, most_text_bytes: int) -> APIRouter:
    """Return all routes; what they do, the worker does."""
    made = APIRouter(prefix=PREFIX, tags=["council"])
    for route in routes():
        made.add_api_route(
            f"/{route.path}",
            _endpoint(worker, route, most_text_bytes),
            methods=[route.method],
            name=route.name,
            operation_id=route.name,
            status_code=route.status,
            summary=route.command.summary,
            responses=PROBLEMS,
            response_model=None,
        )
    return made


def _endpoint(worker: Worker, route: Route, most_text_bytes: int) -> Any:
    model = model_of(route, most_text_bytes)
    inside = {field_name(one): one.name for one in route.within}
    names = {field_name(one): one.name for one in route.fields}

    async def endpoint(request: Request, **given: Any) -> Response:
        fields: BaseModel | None = given.pop("fields", None)
        told = fields.model_dump(exclude_none=True) if fields is not None else {}
        arguments = {names[name]: value for name, value in told.items()} | route.fixed
        arguments |= {inside[name]: given[name] for name in inside}
        if key := given.get("idempotency_key"):
            arguments["operation_id"] = key
        expected = _revision(given.get("if_match"))
        return await answer(worker, request, route.command.name, arguments, route.status, expected)

    parameters = [_parameter("request", Request)]
    parameters += [
        _parameter(name, Annotated[str, Path(max_length=200, pattern=_ONE_LINE)]) for name in inside
    ]
    if names:
        where: Any = Body() if route.has_body else Query()
        default: Any = Parameter.empty
        if route.has_body and not any(one.required for one in route.fields):
            default = model()
        parameters.append(_parameter("fields", Annotated[model, where], default))
    if not route.command.reads:
        key = Annotated[str | None, Header(max_length=_MOST_KEY_CHARS, pattern=_VISIBLE)]
        parameters.append(_parameter("idempotency_key", key, None))
        match = Annotated[str | None, Header(pattern=r'^"[0-9]{1,12}"$')]
        parameters.append(_parameter("if_match", match, None))
    endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = route.name
    return endpoint


_ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
_VISIBLE = r"^[\x21-\x7e]+$"


def _parameter(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _revision(tag: str | None) -> int | None:
    return int(tag.strip('"')) if tag else None


async def answer(
    worker: Worker,
    request: Request,
    call: str,
    arguments: dict[str, Any],
    status: int = 200,
    expected: int | None = None,
) -> Response:
    """Have a command or a reading carried out and return its JSON, or why it was refused."""
    more = {"environ": request.state.environ, "expected": expected}
    try:
        told = await worker.call(call, arguments, **more)
    except CouncilError as failed:
        return problems.of_error({**failed.to_record(), "status": failed.http_status})
    if told.get("error"):
        return problems.of_error(told["error"])
    record = told["record"]
    headers = {}
    if isinstance(record, dict) and isinstance(record.get("rev"), int):
        headers["ETag"] = f'"{record["rev"]}"'
    return JSONResponse(record, status, headers)
