"""The stream of events: one task looks at the journals, and feeds all readers.

The id of a message is that of its event, so a reader that comes back says which one it had last and
gets the rest. If that one is not kept here, also because the server was started again, it gets a
single `reset`: it has to read everything anew.
Every block has data: some clients hand over an empty message for one that has only an id, and for
a comment with a blank line. So `ready` has id and retry, and between blocks a comment line stays
open, to which each ping adds a character.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from council.app import App
from council.councils.row import CONVERSATIONS
from council.kernel import codec, files
from council.kernel.document import Document
from council.kernel.errors import Refusal
from council.kernel.journal import Journal
from council.observe import named
from council.runs.kinds import KindRow
from council.web import api
from council.web.operations import PREFIX, Line, Name, opened

MOST_BYTES, PING_SECONDS, RETRY_MS = 4 << 20, 15.0, 1000
Last = Annotated[str, Header(alias="Last-Event-ID", max_length=300)]


class _Item(NamedTuple):
    """A message: its id, its instant, the name and id of what it is about, and its bytes."""

    id: str
    at: str
    about: tuple[str, ...]
    data: bytes


class Stream:
    """What happens in a workspace, as `opened` returns it, from the first reader on, for all."""

    def __init__(self, opened: Callable[[], App]) -> None:
        self._opened, self._lock, self._moved = opened, asyncio.Lock(), asyncio.Event()
        self._begin, self._items = 0, deque([_Item(f"start-{secrets.token_hex(8)}", "", (), b"")])
        self._task: asyncio.Task[None] | None = None
        self._readers, self._found = 0, list[_Item]()
        self._closed: set[str] | None = None
        self._stamps = dict[str, Any]()  # by folder
        self._known = dict[str, tuple[KindRow, str, int]]()  # kind, name and revision by id

    async def look(self) -> None:
        """Take in what is new in the journals; from the first time on, go on doing that."""
        self._task = self._task or asyncio.create_task(self._watch())
        async with self._lock:
            await run_in_threadpool(self._look, self._opened())
            found, self._found = sorted(self._found, key=lambda item: item.at), []
        if not found:
            return
        self._items += found
        size = sum(len(item.data) for item in self._items)
        while size > MOST_BYTES and len(self._items) > 1:
            size -= len(self._items.popleft().data)
            self._begin += 1
        self._moved.set()
        self._moved = asyncio.Event()

    async def _watch(self) -> None:
        changes = named.changes(self._opened().root)
        while True:
            await run_in_threadpool(next, changes)
            if self._readers:
                with suppress(OSError, Refusal):  # the next look may do better
                    await self.look()

    async def follow(self, about: str, last: str) -> AsyncIterator[bytes]:
        """Yield what one reader is sent: of one document by name or id, "" for all.

        It had the message `last`; a new one, of whom it is "", reads what is to come.
        """
        ids = [item.id for item in self._items]
        is_lost = last not in ("", *ids)
        before = ids[-1] if is_lost else last or ids[-1]
        at = self._begin + ids.index(before) + 1
        self._readers += 1
        try:
            yield _block({}, "reset" if is_lost else "ready", before, RETRY_MS).lstrip()
            while True:
                moved, is_lost = self._moved, at < self._begin
                news = islice(self._items, max(0, at - self._begin), None)
                at = self._begin + len(self._items)
                if is_lost:
                    yield _block({}, "reset", self._items[-1].id)
                elif data := b"".join(one.data for one in news if about in ("", *one.about)):
                    yield data
                else:
                    try:
                        await asyncio.wait_for(moved.wait(), PING_SECONDS)
                    except TimeoutError:
                        yield b":"
        finally:
            self._readers -= 1

    def _look(self, app: App) -> None:
        """Find what is new in all documents since the last look, nothing at the first one."""
        closed, is_first = {*files.names(f"{app.state_folder}/closed")}, self._closed is None
        found: list[tuple[KindRow, str, Document[Any]]]
        found = [(k, name, k.document(app, name)) for k in app.kinds for name in k.names(app)]
        for ident in closed - (closed if self._closed is None else self._closed):
            kind, name, _ = self._known.get(ident, (CONVERSATIONS, "", 0))
            folder = f"{app.state_folder}/closed/{ident}"
            found.append((kind, name, Document(folder, None, kind.module)))
        for kind, name, document in found:
            try:
                stamp, old = _stamp(document), self._stamps.get(document.folder)
                if old == stamp:
                    continue
                if old:
                    document.read()  # takes in what a person typed on the page
                rows = list(named.revisions(kind, document))
                name = name or document.peek().name
            except Refusal:
                continue  # damaged, or gone: `status` names the fault
            ident, rev = rows[-1]["conversationId"], rows[-1]["rev"]
            known = self._known.get(ident, (kind, name, 0))[2]
            self._known[ident], self._stamps[document.folder] = (kind, name, rev), stamp
            for row in rows if not is_first else ():
                for event in named.of(row) if row["rev"] > known else ():
                    key = "".join(event["eventId"].split())  # an adopted page may name any id
                    data = _block({"schemaVersion": 1, "name": name, **event}, id=key)
                    self._found.append(_Item(key, row["at"], (name, ident), data))
        self._closed = closed


def _stamp(document: Document[Any]) -> tuple[Any, ...]:
    """Return what changes with a document: its newest segment and its page."""
    with files.reported("read", document.folder):
        facts = os.stat(document.page) if document.page else None
        page = (facts.st_ino, facts.st_size, facts.st_mtime_ns) if facts else ()
        return *Journal(document.folder).stamp(), *page


def _block(data: dict[str, Any], kind: str = "", id: str = "", retry: int = 0) -> bytes:
    lines = {"event": kind, "id": id, "retry": retry, "data": codec.encoded(data).decode()}
    told = "".join(f"{key}: {one}\n" for key, one in lines.items() if one)
    return f"\n{told}\n:".encode()


def routes(stream: Stream) -> APIRouter:
    """Return the routes of streams."""
    router = APIRouter(prefix=PREFIX, tags=["events"], default_response_class=_EventStream)

    async def events(about: str, last: str) -> Any:
        await stream.look()
        return _EventStream(stream.follow(about, last), headers={"X-Accel-Buffering": "no"})

    @router.get("/events")
    @router.get("/councils/{name}/events")
    @router.get("/rooms/{name}/events")
    async def follow(request: Request, name: Line = "", last: Last = "") -> Any:
        """Send what happens, as it happens; `name` is the only document that is meant."""
        found = await run_in_threadpool(named.meant, opened(request), name) if name else None
        return await events(found[1].peek().name if found else "", last)

    @router.get("/debates/{id}/events")
    async def debate(request: Request, id: Name, last: Last = "") -> Any:
        """Send what happens in a debate, as it happens."""
        state = await run_in_threadpool(api.debate, opened(request), id)
        return await events(state.conversation_id, last)

    return router


class _EventStream(StreamingResponse):
    media_type = "text/event-stream"
