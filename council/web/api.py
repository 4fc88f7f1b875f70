"""The HTTP interface: a route for each row of `routes`, made of its command.

Source: DL-061 to DL-067, P8-005, OP-008.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from inspect import Parameter, Signature
from tempfile import TemporaryFile
from typing import IO, Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic.json_schema import SkipJsonSchema

from council.web.asking import RefusedError, ask
from council.web.routes import Route, routes
from council.web.schemas import answer_schema, arguments_of, field_name, model_of, place_of

PREFIX = "/api/council"
_BYTES = "application/octet-stream"
_MOST_KEY_CHARS = 200
_PIECE_BYTES = 1 << 16
_VISIBLE = r"^[\x21-\x7e]+$"
_REVISION = r'^"[0-9]{1,12}"$'
_EXIT = "The exit code of the command, where it is not 0: the JSON says what it came to."

Key = Annotated[
    str | SkipJsonSchema[None],
    Header(
        alias="idempotency-key",
        max_length=_MOST_KEY_CHARS,
        pattern=_VISIBLE,
        description="Drawn for this request: sent again with it, it is done once, and answered "
        "as before.",
    ),
]
Match = Annotated[
    str | SkipJsonSchema[None],
    Header(
        pattern=_REVISION,
        description="The ETag of the revision that this change is meant for.",
        examples=['"4"'],
    ),
]


def router(most_text_bytes: int) -> APIRouter:
    """Return all routes of the table."""
    made = APIRouter(prefix=PREFIX)
    for route in routes():
        made.add_api_route(
            f"/{route.path}",
            _endpoint(route, most_text_bytes),
            methods=[route.method],
            name=route.name,
            operation_id=route.name,
            status_code=route.status,
            summary=route.command.summary,
            description=f"The command `council {route.command.name}`.",
            tags=[route.subject],
            responses=_responses(route),
            response_model=None,
            openapi_extra=_raw_body() if route.takes_body else None,
        )
    return made


def _responses(route: Route) -> dict[int | str, dict[str, Any]]:
    if route.gives_body:
        binary = {"type": "string", "format": "binary"}
        return described(route.status, binary, _BYTES, changes=False)
    return described(route.status, answer_schema(route), changes=route.changes)


def described(
    status: int, schema: dict[str, Any], media_type: str = "application/json", *, changes: bool
) -> dict[int | str, dict[str, Any]]:
    """Return what a route answers that is no refusal, for the description of the interface.

    Args:
        status: The status of success.
        schema: What the body is like then.
        media_type: The same.
        changes: Whether the route may change something.
    """
    headers: dict[str, Any] = {"Council-Exit": {"description": _EXIT, "schema": {"type": "string"}}}
    content = {media_type: {"schema": schema}}
    done: dict[str, Any] = {"description": "It was done.", "content": content, "headers": headers}
    if changes:
        return {status: done}
    headers["ETag"] = {"description": "The revision that stands.", "schema": {"type": "string"}}
    return {status: done}


def _raw_body() -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": {"*/*": binary, _BYTES: binary}}}


def _endpoint(route: Route, most_text_bytes: int) -> Any:
    model = model_of(route, most_text_bytes)
    inside = {field_name(one): one for one in route.within}

    async def endpoint(request: Request, **told: Any) -> Response:
        arguments, more = arguments_of(route, told.get("fields"))
        arguments |= {one.name: told[f"in_{name}"] for name, one in inside.items()}
        if match := told.get("if_match"):
            more["expected"] = int(match.strip('"'))
        if route.takes_body or route.gives_body:
            return await _with_files(request, route, arguments, **more)
        return await answer(request, route.command.name, arguments, route.status, **more)

    parameters = [_parameter("request", Request)]
    parameters += [
        _parameter(f"in_{name}", Annotated[str, place_of(one)]) for name, one in inside.items()
    ]
    if route.fields:
        where: Any = Body() if route.has_fields_in_body else Query()
        is_free = not any(one.is_required() for one in model.model_fields.values())
        default: Any = model() if is_free and route.has_fields_in_body else Parameter.empty
        parameters.append(_parameter("fields", Annotated[model, where], default))
    if route.changes:
        parameters.append(_parameter("key", Key, None))
    if route.changes and route.path.startswith(("councils/{", "rooms/{", "discussions/{")):
        parameters.append(_parameter("if_match", Match, None))  # it stands already
    endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = route.name
    return endpoint


def _parameter(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


async def _with_files(
    request: Request, route: Route, arguments: dict[str, Any], **more: Any
) -> Response:
    """Answer where the body of the request or of the response is a file."""
    with ExitStack() as opened:
        typed, printed = (opened.enter_context(TemporaryFile()) for _ in range(2))
        async for piece in request.stream():
            typed.write(piece)
        typed.seek(0)
        if route.takes_body and not arguments.get("type"):
            arguments["type"] = request.headers.get("content-type", "")
        more |= {"file": route.takes_body, "raw": route.gives_body}
        files = typed.fileno(), printed.fileno()
        made = await answer(
            request, route.command.name, arguments, route.status, files=files, **more
        )
        if route.takes_body or made.status_code != route.status:
            return made
        name = re.sub(r"[^A-Za-z0-9_]", "", arguments["artifact"])
        about = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Length": str(printed.seek(0, 2)),
        }
        opened.pop_all()  # it is closed when all of it was sent
        return StreamingResponse(_pieces(printed), route.status, about, _BYTES)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while piece := file.read(_PIECE_BYTES):
            yield piece


async def answer(
    request: Request, call: str, arguments: dict[str, Any], status: int = 200, **more: Any
) -> Response:
    """Have a command or a reading carried out and return its JSON.

    Args:
        request: What was asked; a change is done once by its Idempotency-Key.
        call: The command, or the reading.
        arguments: Its options by name.
        status: The status of success.
        more: What goes with the request as it is.

    Raises:
        RefusedError: It came to nothing.
    """
    headers, is_get = request.headers, request.method == "GET"
    if "if-match" in headers and "expected" not in more:
        raise RefusedError(412, "no-revision", "this has no revision to be held against")
    if (key := headers.get("idempotency-key")) and not is_get:
        arguments = {**arguments, "operation_id": key}
    told = await ask(request, call, arguments, is_reading=is_get, **more)
    record = told["record"]
    made = JSONResponse(record, status)
    rev = record.get("rev") if isinstance(record, dict) else None
    if isinstance(rev, int):
        made.headers["ETag"] = f'"{rev}"'
    if code := told.get("code"):
        made.headers["Council-Exit"] = str(code)
    return made
