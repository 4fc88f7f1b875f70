"""The streams of live events: of everything, or of one conversation or room.

Source: DL-071.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from council.web.api import PREFIX
from council.web.asking import RefusedError
from council.web.events import MOST_READERS, Hub, Joined

_MOST_CHARS = 200
# Path, the kind of what it is about, and where that is.
_STREAMS = (
    ("/debates/{wanted}/events", "conversation", "in a council"),
    ("/councils/{wanted}/events", "conversation", "in a council"),
    ("/rooms/{wanted}/events", "channel", "in a room"),
)
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The stream; it goes on until its reader leaves.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
_EVERYTHING = "Send everything that happens in the workspace, or to something, as it happens."

_Wanted = Annotated[str, Path(max_length=_MOST_CHARS)]
_About = Annotated[
    str, Query(max_length=_MOST_CHARS, description="Anything that `council events story` knows.")
]
_Header = Annotated[str, Header(alias="Last-Event-ID")]
_Last = Annotated[
    str, Query(description="The id of the last event, for clients that can set no header.")
]


def router(hub: Hub) -> APIRouter:
    """Return the routes of all streams."""
    made = APIRouter(prefix=PREFIX, tags=["events"])

    async def everything(
        request: Request, about: _About = "", last: _Last = "", last_event_id: _Header = ""
    ) -> Response:
        return await _stream(hub, request, about, "", last_event_id or last)

    def of(kind: str) -> Any:
        async def one(
            request: Request, wanted: _Wanted, last: _Last = "", last_event_id: _Header = ""
        ) -> Response:
            return await _stream(hub, request, wanted, kind, last_event_id or last)

        return one

    rows = [("/events", everything, _EVERYTHING)]
    for path, kind, where in _STREAMS:
        rows.append((path, of(kind), f"Send what happens {where}, as it happens."))
    for path, endpoint, said in rows:
        name = f"get{path}".translate(str.maketrans("/", "_", "{}"))
        made.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            response_class=_Stream,
            response_model=None,
            name=name,
            operation_id=name,
            summary=said,
            status_code=200,
            responses=_RESPONSES,
        )
    return made


async def _stream(hub: Hub, request: Request, wanted: str, kind: str, last: str) -> Response:
    if hub.readers >= MOST_READERS:
        why = f"{MOST_READERS} readers are served already"
        raise RefusedError(503, "busy", why, "end some, then try again")
    hub.readers += 1  # until it is served it holds its place as well
    try:
        return _Stream(hub, await hub.joined(wanted, kind, last, request.state.environ))
    except BaseException:
        hub.readers -= 1
        raise


class _Stream(StreamingResponse):
    """One stream; its place is given back when it ends, however that comes."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, joined: Joined) -> None:
        super().__init__(hub.follow(joined), headers={"X-Accel-Buffering": "no"})
        self._hub = hub

    async def __call__(self, *given: Any) -> None:
        try:
            await super().__call__(*given)
        finally:
            self._hub.readers -= 1
