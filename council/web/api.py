"""The HTTP interface: a route for each row of `routes`, made of its command.

Source: DL-061 to DL-067, P8-005, OP-008.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from inspect import Parameter, Signature
from tempfile import TemporaryFile
from typing import IO, Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel
from pydantic.json_schema import SkipJsonSchema

from council.core.errors import CouncilError
from council.web import problems
from council.web.routes import Route, routes
from council.web.schemas import answer_schema, field_name, given, model_of, place_of
from council.working.calling import Worker

PREFIX = "/api/council"
_BYTES = "application/octet-stream"
_MOST_KEY_CHARS = 200
_PIECE_BYTES = 1 << 16
_VISIBLE = r"^[\x21-\x7e]+$"
_REVISION = r'^"([0-9]{1,12})(\.[0-9a-f]+)?"$'
_EXIT = "The exit code of the command, where it is not 0: the JSON says what it came to."

Key = Annotated[
    str | SkipJsonSchema[None],
    Header(
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
NoneMatch = Annotated[
    str | SkipJsonSchema[None],
    Header(max_length=1000, description="The ETag that is known already."),
]


def router(worker: Worker, most_text_bytes: int) -> APIRouter:
    """Return all routes; what they do, the worker does."""
    made = APIRouter(prefix=PREFIX)
    for route in routes():
        made.add_api_route(
            f"/{route.path}",
            _endpoint(worker, route, most_text_bytes),
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
    """Return all responses of a route for the description of the interface.

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
        return {status: done} | problems.described(changes=True)
    headers["ETag"] = {"description": "What stands now.", "schema": {"type": "string"}}
    same = {"description": "It is as in the ETag that was sent."}
    return {status: done, 304: same} | problems.described(changes=False)


def _raw_body() -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": {"*/*": binary, _BYTES: binary}}}


def _endpoint(worker: Worker, route: Route, most_text_bytes: int) -> Any:
    model = model_of(route, most_text_bytes)
    inside = {field_name(one): one for one in route.within}
    beside = {field_name(one): one for one in route.fields}

    async def endpoint(request: Request, **told: Any) -> Response:
        fields: BaseModel | None = told.pop("fields", None)
        values = fields.model_dump(by_alias=True, exclude_none=True) if fields is not None else {}
        arguments = {beside[name].name: given(beside[name], one) for name, one in values.items()}
        arguments |= {one.name: told[f"in_{name}"] for name, one in inside.items()} | route.fixed
        more: dict[str, Any] = {}
        if typed := route.typed_in and arguments.get(route.typed_in):
            more["typed"] = typed if isinstance(typed, str) else json.dumps(typed)
            arguments[route.typed_in] = "-"
        if route.lists:
            more["lists"] = True
        if route.takes_body or route.gives_body:
            return await _with_files(worker, request, route, arguments, told)
        return await answer(
            worker, request, route.command.name, arguments, route.status, **_asked(told), **more
        )

    parameters = [_parameter("request", Request)]
    parameters += [
        _parameter(f"in_{name}", Annotated[str, place_of(one)]) for name, one in inside.items()
    ]
    if beside:
        where: Any = Body() if route.has_fields_in_body else Query()
        is_free = not any(one.is_required() for one in model.model_fields.values())
        default: Any = model() if is_free and route.has_fields_in_body else Parameter.empty
        parameters.append(_parameter("fields", Annotated[model, where], default))
    parameters += standing_headers(changes=route.changes, has_revision=_has_revision(route))
    endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = route.name
    return endpoint


def _has_revision(route: Route) -> bool:
    """Return true if a route changes a conversation or a room that stands already."""
    return route.path.startswith(("councils/{", "rooms/{", "discussions/{"))


def standing_headers(*, changes: bool, has_revision: bool = False) -> list[Parameter]:
    """Return the headers of a route, for the signature of its endpoint."""
    if not changes:
        return [_parameter("if_none_match", NoneMatch, None)]
    match = [_parameter("if_match", Match, None)] if has_revision else []
    return [_parameter("idempotency_key", Key, None), *match]


def _parameter(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _asked(headers: dict[str, Any]) -> dict[str, Any]:
    """Return what the headers of a request ask for, as `answer` takes it."""
    match = headers.get("if_match")
    return {
        "key": headers.get("idempotency_key") or "",
        "expected": int(match.strip('"').partition(".")[0]) if match else None,
        "known": headers.get("if_none_match") or "",
    }


async def _with_files(
    worker: Worker, request: Request, route: Route, arguments: dict[str, Any], told: dict[str, Any]
) -> Response:
    """Answer where the body of the request or of the response is a file."""
    with ExitStack() as opened:
        typed, printed = (opened.enter_context(TemporaryFile()) for _ in range(2))
        async for piece in request.stream():
            typed.write(piece)
        typed.seek(0)
        if route.takes_body and not arguments.get("type"):
            arguments["type"] = request.headers.get("content-type", "")
        made = await answer(
            worker,
            request,
            route.command.name,
            arguments,
            route.status,
            files=(typed.fileno(), printed.fileno()),
            file=route.takes_body,
            raw=route.gives_body,
            **_asked(told),
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
    worker: Worker,
    request: Request,
    call: str,
    arguments: dict[str, Any],
    status: int = 200,
    *,
    key: str = "",
    known: str = "",
    **more: Any,
) -> Response:
    """Have a command or a reading carried out and return its JSON, or why it was refused.

    Args:
        worker: Carries it out.
        request: What was asked.
        call: The command, or the reading.
        arguments: Its options by name.
        status: The status of success.
        key: The Idempotency-Key, "" for none.
        known: The ETags that the caller has already, "" for none.
        more: What goes with the request as it is.
    """
    if "if-match" in request.headers and more.get("expected") is None:
        return problems.problem(412, "no-revision", "this has no revision to be held against")
    if key:
        arguments = {**arguments, "operation_id": key}
    try:
        is_reading = request.method == "GET"
        environ = request.state.environ
        told = await worker.call(call, arguments, environ=environ, is_reading=is_reading, **more)
    except CouncilError as failed:
        return problems.of_death(failed)
    if told.get("error"):
        return problems.of_error(told["error"])
    made = JSONResponse(told["record"], status)
    record = told["record"]
    rev = record.get("rev") if isinstance(record, dict) else None
    if request.method == "GET":
        digest = blake2b(made.body, digest_size=8).hexdigest()
        made.headers["ETag"] = tag = f'"{rev}.{digest}"' if isinstance(rev, int) else f'"{digest}"'
        if known.strip() == "*" or tag in (
            one.strip().removeprefix("W/") for one in known.split(",")
        ):
            return Response(status_code=304, headers={"ETag": tag})
    elif isinstance(rev, int):
        made.headers["ETag"] = f'"{rev}"'
    if code := told.get("code"):
        made.headers["Council-Exit"] = str(code)
    return made
