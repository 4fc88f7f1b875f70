"""Live events: one watcher reads the log of events, and feeds all readers of streams.

The id of a message is the id of the event, so a reader that comes back says which it had last and
gets the rest, each once. One that was away for longer than is kept gets a single `reset`: it
reads everything anew. A file that a person saved shows in no event before a command takes it in;
of that a `changed` is sent, which has no id.

Source: DL-071.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from itertools import islice
from typing import Any

from fastapi.sse import ServerSentEvent

from council.core.errors import CouncilError
from council.operations.place import Place
from council.operations.watch import fingerprint, listen
from council.working.calling import Worker

MOST_KEPT = 10_000
_CHECK_EVERY_S = 1.0
_PING_EVERY_S = 15.0


class Hub:
    """What happens in the workspace, for all who listen.

    Args:
        place: The workspace.
        worker: Reads it.
    """

    def __init__(self, place: Place, worker: Worker) -> None:
        self._place = place
        self._worker = worker
        self._kept: deque[dict[str, Any]] = deque(maxlen=MOST_KEPT)
        self._begins = 0  # how many events lie before those that are kept
        self._places: dict[str, int] = {}
        self._offsets: dict[str, int] = {}
        self._saves = 0
        self._changed = asyncio.Condition()

    async def watch(self) -> None:
        """Look for news until it is cancelled."""
        hint, loop = asyncio.Event(), asyncio.get_running_loop()
        flag = _Flag(lambda: loop.call_soon_threadsafe(hint.set))
        stop = await asyncio.to_thread(listen, self._place, flag)
        try:
            seen = ""
            while True:
                hint.clear()
                found = await asyncio.to_thread(fingerprint, self._place)
                if found != seen:
                    seen = found
                    await self._read()
                try:
                    await asyncio.wait_for(hint.wait(), _CHECK_EVERY_S)
                except TimeoutError:
                    seen = "" if not self._offsets else seen
        finally:
            await asyncio.to_thread(stop)

    async def _read(self) -> None:
        given = {"offsets": self._offsets, "last": 0 if self._offsets else MOST_KEPT}
        try:
            told = await self._worker.call("news", given, environ={})
        except CouncilError:
            return
        if told.get("error"):
            return
        async with self._changed:
            self._offsets = told["record"]["offsets"]
            for event in told["record"]["events"]:
                if event["eventId"] not in self._places:
                    self._keep(event)
            self._saves += 1
            self._changed.notify_all()

    def _keep(self, event: dict[str, Any]) -> None:
        if len(self._kept) == MOST_KEPT:
            self._places.pop(self._kept[0]["eventId"], None)
            self._begins += 1
        self._places[event["eventId"]] = self._begins + len(self._kept)
        self._kept.append(event)

    async def follow(
        self, last_id: str, wanted: Callable[[dict[str, Any]], bool]
    ) -> AsyncIterator[ServerSentEvent]:
        """Yield what happens, for one reader, until it goes away.

        Args:
            last_id: The id of the last event that it had; "" for one that is new.
            wanted: Returns true if an event is one that it asked for.
        """
        at, saves = self._begins + len(self._kept), self._saves
        if last_id:
            known = self._places.get(last_id)
            if known is None:
                yield ServerSentEvent(event="reset", data={})
            else:
                at = known + 1
        while True:
            if at < self._begins:
                at = self._begins + len(self._kept)
                yield ServerSentEvent(event="reset", data={})
            fresh = list(islice(self._kept, at - self._begins, None))
            at += len(fresh)
            shown = [one for one in fresh if wanted(one)]
            for one in shown:
                yield ServerSentEvent(id=one["eventId"], data=one)
            if saves != self._saves and not shown:
                yield ServerSentEvent(event="changed", data={})
            saves = self._saves
            async with self._changed:
                if at == self._begins + len(self._kept) and saves == self._saves:
                    try:
                        await asyncio.wait_for(self._changed.wait(), _PING_EVERY_S)
                    except TimeoutError:
                        yield ServerSentEvent(comment="still here")


class _Flag(threading.Event):
    """An event of threads that calls something as it is set."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self._then = then

    def set(self) -> None:
        """Set it and call."""
        super().set()
        self._then()
