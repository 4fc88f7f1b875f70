"""Informs clients of what has changed: a conversation that they follow, or what there is to read.

File events would need a thread and get lost; looking again every second is the truth.

Source: IO-004, CL-007.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from council.core.errors import CouncilError
from council.mcp.reading import uri_of
from council.operations.place import Place

_CHECK_EVERY_S = 1.0
_MOST_CLIENTS = 256
_FILES = ("conversation", "record")


class Following:
    """Who follows what.

    Clients of 2026-07-28 listen to `bus`, which they ask for by a request of their own; of the
    others the sessions are kept, and which resources each of them has subscribed to.
    """

    def __init__(self, place: Place) -> None:
        self.bus = InMemorySubscriptionBus()
        self._place = place
        self._clients: dict[int, tuple[ServerSession, set[str]]] = {}

    def of(self, session: ServerSession) -> set[str]:
        """Return what the client of a session follows, to be changed."""
        # A session is made for each request; what the client said at first is one object.
        client = id(session.client_params)
        if client not in self._clients and len(self._clients) >= _MOST_CLIENTS:
            self._clients.pop(next(iter(self._clients)))
        return self._clients.setdefault(client, (session, set()))[1]

    async def follow(self) -> None:
        """Look again and again, until it is cancelled."""
        seen = await asyncio.to_thread(self._seen)
        while True:
            await asyncio.sleep(_CHECK_EVERY_S)
            before, seen = seen, await asyncio.to_thread(self._seen)
            if before == seen:
                continue
            every = before.keys() | seen.keys()
            names = [name for name in every if before.get(name) != seen.get(name)]
            if before.keys() != seen.keys() or "" in names:
                await self.bus.publish(ResourcesListChanged())
            for uri in [uri_of(kind, name) for name in names if name for kind in _FILES]:
                await self.bus.publish(ResourceUpdated(uri=uri))
                for session, followed in list(self._clients.values()):
                    if uri in followed:
                        with suppress(Exception):  # one that has gone keeps it from no other
                            await session.send_resource_updated(uri)

    def _seen(self) -> dict[str, object]:
        """Return a stamp for each open conversation, and one under "" for all else."""
        paths = self._place.paths
        seen: dict[str, object] = {"": [_stamp(one) for one in (paths.minutes, paths.artifacts)]}
        with suppress(OSError, CouncilError):
            for name in self._place.conversations.names():
                seen[name] = _stamp(paths.conversation_file(name))
        return seen


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size
