"""The stream of events: one thread looks at the journals, and feeds all readers.

The id of a message is that of its event, so a reader that comes back says which one it had last and
gets what followed. If that is no longer kept, a single `reset` tells it to read everything anew.
Every block has data: some clients hand over an empty message for one that has only an id, and for
a comment with a blank line. So `ready` has id and retry, and between blocks a comment line stays
open, to which each ping adds a character.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import APIRouter, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from council.councils.row import CONVERSATIONS
from council.kernel import codec, files, times
from council.kernel.document import Document
from council.kernel.errors import Refusal
from council.kernel.journal import Journal
from council.kernel.times import timedelta
from council.observe import events, watch
from council.web import debates
from council.web.api import PREFIX, Line, Name, opened
from council.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from council.app import App

MOST_BYTES, AT_ONCE = 4 << 20, 64
PING_SECONDS, RETRY_MS = 15.0, 1000
BEFORE = timedelta(hours=1)  # what happened before the first reader came, and is kept
SPREAD = timedelta(minutes=1)  # between instants of lines that were written in the other order
Last = Annotated[str, Header(alias="Last-Event-ID", max_length=300)]


class _Item(NamedTuple):
    """A message: its id, its instant, the name and id of what it is about, and its bytes."""

    id: str
    at: str
    about: tuple[str, ...]
    data: bytes


class Stream:
    """What happens in a workspace, for all readers.

    Args:
        opened: Returns the workspace as it is now.
    """

    def __init__(self, opened: Callable[[], App]) -> None:
        self._opened, self._is_first = opened, True
        self._items, self._begin, self._bytes, self._loaded = deque[_Item](), 0, 0, -1
        self._known = dict[tuple[str, str], tuple[Any, str, int]]()  # to stamp, id and revision
        self._closed = set[str]()
        self._moved, self._readers, self._looked = asyncio.Event(), 0, asyncio.Event()
        self._thread: threading.Thread | None = None

    # --- the readers

    async def join(self, last: str) -> int:
        """Return from where a new reader reads, -1 if what it missed is not kept.

        One that was last served by another start of the server may get some events again.

        Args:
            last: The id that it had last, "" for a new one.

        Raises:
            Problem: The journals cannot be read in time.
        """
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._watch, args=(loop,), daemon=True)
            self._thread.start()
        if not self._readers:
            self._looked.clear()
        try:
            await asyncio.wait_for(self._looked.wait(), 30)
        except TimeoutError:
            raise Problem(503, "busy", "the journals are not read yet", "try again") from None
        end, since = self._begin + len(self._items), last.removeprefix("at ")
        for at, item in enumerate(self._items, self._begin):
            if last and item.id == last and at >= self._loaded:
                return at + 1
            if last and item.id == last:  # read from journals, which have no common order
                since = times.later(item.at, -SPREAD)
                break
        if since == last:
            return -1 if last else end
        return next((at for at, one in enumerate(self._items, self._begin) if one.at >= since), end)

    async def follow(self, about: str, at: int) -> AsyncIterator[bytes]:
        """Yield what one reader is sent: of one document by name or id, "" for all."""
        self._readers += 1
        try:
            kind = "ready" if at >= 0 else "reset"
            yield _block({}, kind, self._last(at), RETRY_MS).lstrip()
            at = self._begin + len(self._items) if at < 0 else at
            while True:
                moved, sent = self._moved, list[bytes]()
                if at < self._begin:
                    at = self._begin + len(self._items)
                    sent.append(_block({}, "reset", self._last(at)))
                for item in islice(self._items, at - self._begin, at - self._begin + AT_ONCE):
                    at += 1
                    if not about or about in item.about:
                        sent.append(item.data)
                if sent:
                    yield b"".join(sent)
                elif at == self._begin + len(self._items):
                    try:
                        await asyncio.wait_for(moved.wait(), PING_SECONDS)
                    except TimeoutError:
                        yield b":"
        finally:
            self._readers -= 1

    def _last(self, at: int) -> str:
        """Return the id with which a reader that has had all before `at` comes back."""
        before = at - self._begin if at >= 0 else len(self._items)
        return self._items[before - 1].id if before > 0 else f"at {times.text(self._opened().now)}"

    # --- the thread

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        for _ in watch.changes(f"{self._opened().root}/memory/shared"):
            if loop.is_closed():
                return
            if self._readers or not self._looked.is_set():
                with suppress(OSError, Refusal, RuntimeError):  # the next look may do better
                    found = sorted(self._look(self._opened()), key=lambda item: item.at)
                    self._is_first = False
                    loop.call_soon_threadsafe(self._add, found)

    def _add(self, found: list[_Item]) -> None:
        self._items += found
        self._loaded = len(found) if self._loaded < 0 else self._loaded
        self._bytes += sum(len(item.data) for item in found)
        while self._bytes > MOST_BYTES and len(self._items) > 1:
            self._bytes -= len(self._items.popleft().data)
            self._begin += 1
        self._looked.set()
        self._moved.set()
        self._moved = asyncio.Event()

    def _look(self, app: App) -> Iterator[_Item]:
        """Yield what is new in all documents; at first what happened within the hour."""
        since = times.text(app.now - BEFORE) if self._is_first else ""
        known = dict(self._known)
        for kind in app.kinds:
            for name in kind.names(app):
                document, key = kind.document(app, name), (kind.name, name)
                try:
                    stamp, old = _stamp(document), self._known.get(key)
                    if old and old[0] == stamp:
                        continue
                    if old:
                        document.read()  # takes in what a person typed on the page
                    rows = list(events.revisions(kind, document))
                except Refusal:
                    continue  # damaged, or gone: `status` names the fault
                ident, rev = rows[-1]["conversationId"], rows[-1]["rev"]
                if old and old[1] != ident:  # its name was given anew
                    known[kind.name, old[1]] = old
                    old = None
                known[key] = (stamp, ident, rev)
                yield from _items(rows, name, old[2] if old else 0, since)
        folder, kinds = f"{app.state_folder}/closed", {kind.name: kind for kind in app.kinds}
        places = {ident: (*key, rev) for key, (_, ident, rev) in known.items()}
        closed = {*files.names(folder)}
        for ident in closed - self._closed:
            if since and os.stat(f"{folder}/{ident}").st_mtime < times.instant(since).timestamp():
                continue
            of, name, rev = places.get(ident, (CONVERSATIONS.name, "", 0))
            kind = kinds[of]
            with suppress(Refusal):
                document = Document(f"{folder}/{ident}", None, kind.module)
                name = name or document.peek().name
                yield from _items(events.revisions(kind, document), name, rev, since)
        self._known, self._closed = known, closed


def _items(rows: Iterable[dict[str, Any]], name: str, rev: int, since: str) -> Iterator[_Item]:
    """Yield the events after a revision, from an instant on."""
    for row in rows:
        if row["rev"] > rev and row["at"] >= since:
            for event in events.of(row):
                ident = "".join(event["eventId"].split())  # an adopted page may name any id
                data = _block({"schemaVersion": 1, "name": name, **event}, id=ident)
                yield _Item(ident, row["at"], (name, row["conversationId"]), data)


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
    router = APIRouter(prefix=PREFIX, tags=["events"])

    async def follow(about: str, last: str) -> Response:
        at = await stream.join(last)
        return _EventStream(stream.follow(about, at), headers={"X-Accel-Buffering": "no"})

    @router.get("/events", response_class=_EventStream)
    async def everything(name: Line = "", last: Last = "") -> Response:
        """Send what happens, as it happens; `name` is the only document that is meant."""
        return await follow(name, last)

    @router.get("/councils/{name}/events", response_class=_EventStream)
    @router.get("/rooms/{name}/events", response_class=_EventStream)
    async def one(name: Name, last: Last = "") -> Response:
        """Send what happens in a conversation or a room, as it happens."""
        return await follow(name, last)

    @router.get("/debates/{id}/events", response_class=_EventStream)
    async def debate(request: Request, id: Name, last: Last = "") -> Response:
        """Send what happens in a debate, as it happens."""
        state = await run_in_threadpool(debates.found, opened(request), id)
        return await follow(state.conversation_id, last)

    return router


class _EventStream(StreamingResponse):
    media_type = "text/event-stream"
