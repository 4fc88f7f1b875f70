"""The streams of live events, of everything or of one conversation.

Source: DL-071.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent

from council.web.api import PREFIX
from council.web.events import Hub
from council.working.calling import Worker

LastId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=200)]


def router(hub: Hub, worker: Worker) -> APIRouter:
    """Return the routes of all streams."""
    del worker
    made = APIRouter(prefix=PREFIX, tags=["events"])

    @made.get("/events", response_class=EventSourceResponse, operation_id="get_events")
    async def events(last_event_id: LastId = None) -> AsyncIterator[ServerSentEvent]:
        """Send everything that happens in the workspace, as it happens."""
        async for one in hub.follow(last_event_id or "", lambda _: True):
            yield one

    return made
