"""Live events: one watcher reads the log of events, and feeds all readers of streams.

The id of a message is the id of the event, so a reader that comes back says which it had last and
gets the rest, each once, as the log on the disk has it. Of what was missed for too long, and of
what a slow reader left lying, a single `reset` is told: it reads everything anew. A file that a
person saved shows in no event before a command takes it in; of that a `changed` is sent, which
has no id, to those who look at it.

An event is written as it is sent once, and all readers share these bytes.

Source: DL-071.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from council.operations.place import Place
from council.operations.reporting.story import Subject, belongs
from council.operations.watch import listen
from council.web.asking import RefusedError, asked
from council.working.calling import Worker

MOST_READERS = 500
MOST_KEPT_BYTES = 4 << 20
_MOST_AT_ONCE_BYTES = 32 * 1024
_CALLS_AT_ONCE = 4
_CHECK_EVERY_S = 1.0
_TOGETHER_S = 0.02  # a command writes several files
_SETTLE_S = 0.1  # an editor may still be writing
_PING_EVERY_S = 15.0
_READY_S = 10.0
_RETRY_MS = 1000
_OF_ROOMS = (".md", ".jsonl")


class _Item(NamedTuple):
    """An event; or, without one, the `kind:name` of what was saved."""

    event: dict[str, Any]
    saved: str
    sent: bytes


class Joined(NamedTuple):
    """What a reader asked for, what it gets at first, and from where on it gets the rest.

    `had` is the event behind which that begins, "" where it begins at once.
    """

    about: Subject | None
    first: deque[bytes]
    at: int
    had: str = ""


class Hub:
    """What happens in the workspace, for all who listen.

    Args:
        place: The workspace.
        worker: Reads it.
    """

    def __init__(self, place: Place, worker: Worker) -> None:
        self._place = place
        self._worker = worker
        self._kept: deque[_Item] = deque()
        self._kept_bytes = 0
        self._begins = 0  # how many items lie before those that are kept
        self._marks: dict[str, int] | None = None
        self._plain: list[str] = []
        self._last = ""
        self._seen: dict[str, Any] = {}
        self._log: object = None
        self._unsettled: dict[str, float] = {}
        self._pings = 0
        self._moved = asyncio.Event()
        self._ready = asyncio.Event()
        self._asked: dict[Any, asyncio.Task[dict[str, Any]]] = {}
        self._turns = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._is_ending = False
        self.readers = 0

    # --- The watcher

    async def watch(self) -> None:
        """Look for news until it is cancelled."""
        hint, loop = asyncio.Event(), asyncio.get_running_loop()
        stop = await asyncio.to_thread(
            listen,
            self._place,
            lambda: loop.call_soon_threadsafe(hint.set),
            self._place.paths.events,
        )
        pinged = loop.time()
        try:
            while True:
                hint.clear()
                pause = _CHECK_EVERY_S
                with suppress(RefusedError, OSError, ValueError):  # the next look may do better
                    await self._look(loop.time())
                    if self._unsettled:
                        pause = max(0.0, min(self._unsettled.values()) + _SETTLE_S - loop.time())
                if loop.time() - pinged >= _PING_EVERY_S:
                    pinged = loop.time()
                    self._pings += 1
                    self._wake()
                with suppress(TimeoutError):
                    await asyncio.wait_for(hint.wait(), pause)
                    await asyncio.sleep(_TOGETHER_S)
        finally:
            await asyncio.to_thread(stop)

    async def _look(self, now: float) -> None:
        """Read what is new; what others saved is told when it has been still for a while."""
        seen, log = await asyncio.to_thread(self._stamps)
        if self._ready.is_set():
            every = seen.keys() | self._seen.keys()
            changed = [one for one in every if seen.get(one) != self._seen.get(one)]
            self._unsettled |= dict.fromkeys(changed, now)
        self._seen = seen
        still = [one for one, at in self._unsettled.items() if now - at >= _SETTLE_S]
        if still or log != self._log:
            await self._read(still)
            self._log = log
            self._unsettled = {one: at for one, at in self._unsettled.items() if one not in still}
        self._ready.set()

    def _stamps(self) -> tuple[dict[str, Any], object]:
        """Return a stamp for each conversation and room, and one for the log."""
        paths = self._place.paths
        seen: dict[str, Any] = {}
        for name, stamp in _stamps_in(os.path.dirname(paths.control)):
            if conversation := paths.conversation_name(name):
                seen[f"conversation:{conversation}"] = stamp
        for name, stamp in _stamps_in(paths.channels):
            stem, form = os.path.splitext(name)
            if form in _OF_ROOMS:
                seen[f"channel:{stem}"] = [*seen.get(f"channel:{stem}", ()), stamp]
        return seen, _stamps_in(paths.events)

    async def _read(self, still: list[str]) -> None:
        names = [one.partition(":")[2] for one in still if one.startswith("conversation:")]
        given = {"marks": self._marks, "plain": self._plain, "saved": names}
        found = (await asked(self._worker, "news", given, environ={}))["record"]
        self._marks = found["marks"]
        if "last" in found:  # none was read before, or the log was taken away: all begin anew
            self._last = found["last"]
            self._begins += len(self._kept) + 1
            self._kept.clear()
            self._kept_bytes = 0
            self._wake()
            return
        self._plain = found["plain"]
        self._last = found["newest"] or self._last
        for event in found["events"]:
            self._last = event["eventId"]
            self._keep(_Item(event, "", _message(event, id=self._last)))
        rooms = [one for one in still if one.startswith("channel:")]
        for saved in [*(f"conversation:{one}" for one in found["saved"]), *rooms]:
            self._keep(_Item({}, saved, _message({}, event="changed")))
        self._wake()

    def _keep(self, item: _Item) -> None:
        self._kept.append(item)
        self._kept_bytes += len(item.sent)
        while self._kept_bytes > MOST_KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popleft().sent)
            self._begins += 1

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    def end(self) -> None:
        """End all streams."""
        self._is_ending = True
        self._wake()

    # --- The readers

    async def joined(self, wanted: str, kind: str, last: str, environ: dict[str, str]) -> Joined:
        """Return what a new reader gets.

        Args:
            wanted: What it reads of: anything that `events story` knows; "" for everything.
            kind: The kind that this must be, "" for any.
            last: The id of the last event that it had; "" for one that is new.
            environ: What it has shown to be.

        Raises:
            RefusedError: It gets nothing.
        """
        about: Subject | None = None
        had = ""
        missed: list[dict[str, Any]] | None = []
        try:
            await asyncio.wait_for(self._ready.wait(), _READY_S)
        except TimeoutError:
            why = "the log of events cannot be read"
            raise RefusedError(503, "unavailable", why, "council doctor") from None
        at, newest = self._begins + len(self._kept), self._last
        if wanted or last or environ:
            told = (await self._asked_once(wanted, kind, last, environ))["record"]
            missed = told["events"]
            about = Subject(**told["about"]) if wanted else None
            had = last if told.get("is_ahead") else ""
        first = deque([b"retry: %d\n\n" % _RETRY_MS])
        if missed is None:
            first.append(_reset(newest))
        else:
            first += [_message(one, id=one["eventId"]) for one in missed]
            if newest and not had:  # who leaves before anything happens comes back with that
                first.append(b"%s\n" % _id_of(newest))
        return Joined(about, first, at, had)

    async def _asked_once(
        self, wanted: str, kind: str, last: str, environ: dict[str, str]
    ) -> dict[str, Any]:
        """Ask for what many readers that come at once may all want, a single time."""
        key = (wanted, kind, last, self._begins + len(self._kept), *sorted(environ.items()))
        if key not in self._asked:
            given = {"wanted": wanted, "kind": kind, "last": last}
            more = {"marks": self._marks, "plain": self._plain}
            self._asked[key] = asyncio.create_task(self._ask({**given, **more}, environ))
            self._asked[key].add_done_callback(lambda _: self._asked.pop(key))
        return await asyncio.shield(self._asked[key])

    async def _ask(self, given: dict[str, Any], environ: dict[str, str]) -> dict[str, Any]:
        async with self._turns:
            return await asked(self._worker, "joined", given, environ=environ)

    async def follow(self, joined: Joined) -> AsyncIterator[bytes]:
        """Yield what one reader is sent, until it goes away; it is asked for more when that is."""
        about, first, at, had = joined
        pings = self._pings
        while first and not self._is_ending:
            yield first.popleft()
        while not self._is_ending:
            sent, size = [], 0
            if at < self._begins:
                at = self._begins + len(self._kept)
                sent.append(_reset(self._last))
                had = ""
            for item in islice(self._kept, at - self._begins, None):
                if size > _MOST_AT_ONCE_BYTES:
                    break
                at += 1
                if had:
                    had = "" if item.event.get("eventId") == had else had
                elif _is_wanted(item, about):
                    sent.append(item.sent)
                    size += len(item.sent)
            is_level = at == self._begins + len(self._kept)
            if pings != self._pings and is_level and not had:
                # A browser that comes back need not ask for what was not for it.
                sent.append(b": still here\n%s\n" % _id_of(self._last))
                pings = self._pings
            if sent:
                yield b"".join(sent)
            elif is_level:
                await self._moved.wait()


def _is_wanted(item: _Item, about: Subject | None) -> bool:
    if about is None:
        return True
    if item.saved:
        return item.saved == f"{about.kind}:{about.name}"
    return belongs(item.event, about)


def _message(data: dict[str, Any], *, event: str = "", id: str = "") -> bytes:
    named = f"event: {event}\n".encode() if event else b""
    told = json.dumps(data, separators=(",", ":"))
    return b"%s%sdata: %s\n\n" % (named, _id_of(id), told.encode())


def _reset(last: str) -> bytes:
    return _message({}, event="reset", id=last)


def _id_of(last: str) -> bytes:
    return f"id: {last}\n".encode() if last else b""


def _stamps_in(folder: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return a stamp for each file in a folder, sorted by their names."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for one in entries:
            with suppress(OSError):
                facts = one.stat()
                found.append((one.name, (facts.st_ino, facts.st_mtime_ns, facts.st_size)))
    return sorted(found)
