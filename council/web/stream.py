"""The stream of events: one thread looks at the journals, and feeds all readers.

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
import threading
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
from council.kernel.errors import Away, Refusal
from council.kernel.journal import Journal
from council.observe import named
from council.runs.kinds import KindRow
from council.web import api
from council.web.operations import PREFIX, Line, Name, opened

MOST_BYTES, AT_ONCE = 4 << 20, 64
PING_SECONDS, RETRY_MS, PATIENCE = 15.0, 1000, 30
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
        self._opened, self._thread = opened, threading.Thread(target=self._watch, daemon=True)
        self._begin, self._items = 0, deque([_Item(f"start-{secrets.token_hex(8)}", "", (), b"")])
        self._seen = dict[str, tuple[KindRow, str, str, int, Any]]()  # by folder
        self._closed, self._looks = set[str](), 0
        self._moved, self._readers, self._looked = asyncio.Event(), 0, asyncio.Event()

    async def join(self, last: str) -> int:
        """Return from where a reader reads that had the id `last`, -1 if that is not kept.

        A new one, of whom it is "", reads what is to come.
        """
        if self._thread.ident is None:
            self._loop = asyncio.get_running_loop()
            self._thread.start()
        if not self._readers:  # the thread has paused
            self._looked.clear()
        try:
            await asyncio.wait_for(self._looked.wait(), PATIENCE)
        except TimeoutError:
            raise Away("busy", "the journals are not read yet", "try again") from None
        ids = [item.id for item in self._items]
        return self._begin + ids.index(last) + 1 if last in ids else -1 if last else self._end

    @property
    def _end(self) -> int:
        return self._begin + len(self._items)

    async def follow(self, about: str, at: int) -> AsyncIterator[bytes]:
        """Yield what one reader is sent: of one document by name or id, "" for all."""
        self._readers += 1
        try:
            kind, at = ("ready", at) if at >= 0 else ("reset", self._end)
            before = self._items[max(at - self._begin, 1) - 1].id
            yield _block({}, kind, before, RETRY_MS).lstrip()
            while True:
                moved, sent = self._moved, list[bytes]()
                if at < self._begin:
                    at = self._end
                    sent.append(_block({}, "reset", self._items[-1].id))
                for item in islice(self._items, at - self._begin, at - self._begin + AT_ONCE):
                    at += 1
                    sent += [item.data] * (about in ("", *item.about))
                if sent:
                    yield b"".join(sent)
                elif at == self._end:
                    try:
                        await asyncio.wait_for(moved.wait(), PING_SECONDS)
                    except TimeoutError:
                        yield b":"
        finally:
            self._readers -= 1

    # --- the thread

    def _watch(self) -> None:
        for _ in named.changes(self._opened().root):
            if self._loop.is_closed():
                return
            if self._readers or not self._looked.is_set():
                with suppress(OSError, Refusal, RuntimeError):  # the next look may do better
                    found = sorted(self._look(self._opened()), key=lambda item: item.at)
                    self._loop.call_soon_threadsafe(self._add, found)

    def _add(self, found: list[_Item]) -> None:
        self._items += found
        size = sum(len(item.data) for item in self._items)
        while size > MOST_BYTES and len(self._items) > 1:
            size -= len(self._items.popleft().data)
            self._begin += 1
        self._looked.set()
        self._moved.set()
        self._moved = asyncio.Event()

    def _look(self, app: App) -> list[_Item]:
        """Return what is new in all documents since the last look, nothing at the first one."""
        is_first, made, seen = not self._looks, list[_Item](), dict(self._seen)
        places = {ident: (kind, name) for kind, name, ident, *_ in seen.values()}
        known = {ident: rev for _, _, ident, rev, _ in seen.values()}
        closed = {*files.names(f"{app.state_folder}/closed")}
        found: list[tuple[KindRow, str, Document[Any]]]
        found = [(k, name, k.document(app, name)) for k in app.kinds for name in k.names(app)]
        for ident in () if is_first else closed - self._closed:
            kind, name = places.get(ident, (CONVERSATIONS, ""))
            folder = f"{app.state_folder}/closed/{ident}"
            found.append((kind, name, Document(folder, None, kind.module)))
        for kind, name, document in found:
            try:
                stamp, old = _stamp(document), seen.get(document.folder)
                if old and old[-1] == stamp:
                    continue
                if old:
                    document.read()  # takes in what a person typed on the page
                rows = list(named.revisions(kind, document))
                name = name or document.peek().name
            except Refusal:
                continue  # damaged, or gone: `status` names the fault
            ident, rev = rows[-1]["conversationId"], rows[-1]["rev"]
            seen[document.folder] = (kind, name, ident, rev, stamp)
            for row in rows if not is_first else ():
                for event in named.of(row) if row["rev"] > known.get(ident, 0) else ():
                    key = "".join(event["eventId"].split())  # an adopted page may name any id
                    data = _block({"schemaVersion": 1, "name": name, **event}, id=key)
                    made.append(_Item(key, row["at"], (name, ident), data))
        self._seen, self._closed, self._looks = seen, closed, self._looks + 1
        return made


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

    @router.get("/events")
    @router.get("/councils/{name}/events")
    @router.get("/rooms/{name}/events")
    async def follow(name: Line = "", last: Last = "") -> Any:
        """Send what happens, as it happens; `name` is the only document that is meant."""
        at = await stream.join(last)
        return _EventStream(stream.follow(name, at), headers={"X-Accel-Buffering": "no"})

    @router.get("/debates/{id}/events")
    async def debate(request: Request, id: Name, last: Last = "") -> Any:
        """Send what happens in a debate, as it happens."""
        state = await run_in_threadpool(api.debate, opened(request), id)
        return await follow(state.conversation_id, last)

    return router


class _EventStream(StreamingResponse):
    media_type = "text/event-stream"
