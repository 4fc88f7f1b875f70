"""Watching a workspace: what is open, as it changes; with `advance`, a clock as well.

File events are a hint that comes early; looking again every second is the
truth, as hints get lost. Each heartbeat is a process of its own: this one has
a thread that listens to the file system, and a process with threads must not
fork.

Source: C0-022, C0-023, C0-081, `cli.md` section 2 (`watch`), DG-005, EN-003.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta

from council.core.errors import ConflictError, NotFoundError
from council.core.events import Event
from council.operations.detach import run_heartbeat
from council.operations.place import Place, open_place
from council.operations.view import Overview, status
from council.store.events import append, loose_records
from council.store.files import make_folder
from council.store.slots import take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.engine.link import Link

# --- Who keeps a workspace going: one process, however many offer to


class Duty:
    """The duty of a workspace as one process sees it.

    Args:
        place: The workspace.
        path: The lock of the duty, that of the heartbeat unless it says another.
        told: What its events say besides.
    """

    def __init__(self, place: Place, path: str = "", **told: object) -> None:
        self._place = place
        self._path = path or place.paths.duty_lock
        self._told = told
        self._lock: int | None = None

    def is_mine(self) -> bool:
        """Return true if this process is on duty; it takes over where no other is.

        Raises:
            CouncilError: The system refuses.
        """
        if self._lock is None:
            make_folder(self._place.paths.control)
            self._lock = take(self._path)
            if self._lock is not None:
                self._tell("service.started")
        return self._lock is not None

    def end(self) -> None:
        """Leave the duty to another process that stands by."""
        if self._lock is not None:
            with suppress(NotFoundError):  # it was moved away, or removed
                self._tell("service.stopped")
            os.close(self._lock)
            self._lock = None

    def _tell(self, kind: str) -> None:
        event = Event(type=kind, data={"process": os.getpid(), **self._told})
        append(self._place.paths, loose_records([event], "", self._place.now()))


INTERVAL = timedelta(minutes=30)
ACTIVE_INTERVAL = timedelta(minutes=5)
TIED_INTERVAL = timedelta(seconds=10)
_CHECK_EVERY_S = 1.0
_SETTLE_S = 0.2
_LINK_BEATS_EVERY_S = 60.0
_OF_ROOMS = (".md", ".jsonl")


def beat_interval(
    anything_open: bool,
    interval: timedelta = INTERVAL,
    active_interval: timedelta = ACTIVE_INTERVAL,
    *,
    is_tied: bool = False,
) -> timedelta:
    """Return how long to wait between two heartbeats; no file shows what is said on Discord.

    Source: C0-022, C0-023, DG-088.
    """
    if is_tied:
        return min(interval, active_interval, TIED_INTERVAL)
    return min(interval, active_interval) if anything_open else interval


def watch(
    place: Place,
    *,
    advance: bool,
    interval: timedelta = INTERVAL,
    active_interval: timedelta = ACTIVE_INTERVAL,
) -> Iterator[Overview]:
    """Yield how everything stands, at least once a second, until the caller stops.

    Args:
        place: The workspace.
        advance: Run the heartbeat when files change and at the intervals, and be the link
            to the engine if there is one, while no other process does so already.
        interval: The time between heartbeats when nothing is open.
        active_interval: The same while something is.
    """
    changed = threading.Event()
    stop = listen(place, changed.set)
    beaten_at, seen, is_told = -1.0, "", True
    duty, link, ends = Duty(place), None, ExitStack()
    if advance:
        signal.signal(signal.SIGTERM, leave)  # else no event would say that the duty ended
    try:
        while True:
            if advance and link is None:
                link = _linked(place, changed.set, ends)
            if link is not None and not link.stands():
                ends.close()
                place, link = open_place(place.root, "", place.environ), None
            place.renew()
            is_news = link is not None and link.bring(is_told=is_told)
            overview = status(place)
            now_seen = _fingerprint(place)
            is_tied = any(one.channel.discord is not None for one in overview.rooms)
            is_open = overview.anything_open
            pause = beat_interval(is_open, interval, active_interval, is_tied=is_tied)
            due = beaten_at < 0 or time.monotonic() - beaten_at >= pause.total_seconds()
            # Who stands by takes over when the one on duty is gone.
            if advance and (due or is_news or now_seen != seen) and duty.is_mine():
                run_heartbeat(place)
                beaten_at, seen = time.monotonic(), _fingerprint(place)
                overview = status(place)
            yield overview
            is_told = changed.wait(_CHECK_EVERY_S)
            if is_told:
                time.sleep(_SETTLE_S)  # an editor may still be writing
                changed.clear()
    finally:
        ends.close()
        duty.end()
        stop()


def _linked(place: Place, wake: Callable[[], object], ends: ExitStack) -> Link | None:
    """Become the link of a workspace that has joined an engine, unless another process is."""
    if place.engine is None:
        return None
    from council.operations.engine.link import Link

    with suppress(ConflictError):
        return ends.enter_context(Link(place, place.warnings.append, wake))
    return None


def keep_linked(place: Place, say: Callable[[str], None]) -> None:
    """Be the link of a workspace until a signal ends it, or the workspace leaves its engine.

    Raises:
        NotFoundError: It has joined none.
        ConflictError: A link of it runs already.
        CouncilError: The system refuses.
    """
    from council.operations.engine.link import LOOK_EVERY_S, Link

    signal.signal(signal.SIGTERM, leave)
    wake = threading.Event()
    with Link(place, say, wake.set) as link:
        watched = (os.path.basename(place.paths.events), "protocol", "protocol/inbox")
        folders = (f"{place.paths.shared}/{one}" for one in watched)
        stop = listen(place, wake.set, *folders)
        seen, beaten_at = "", -_LINK_BEATS_EVERY_S
        try:
            while link.stands():
                is_due = link.bring() or time.monotonic() - beaten_at >= _LINK_BEATS_EVERY_S
                now_seen = _fingerprint(place)
                if now_seen != seen and not is_due:
                    time.sleep(_SETTLE_S)  # an editor may still be writing
                if now_seen != seen or is_due:
                    link.beat()
                    seen, beaten_at = now_seen, time.monotonic()
                wake.wait(LOOK_EVERY_S)
                wake.clear()
            say(link.farewell)
        finally:
            stop()


def leave(*_: object) -> None:
    """End the process in good order; for a signal."""
    raise SystemExit(0)


def _fingerprint(place: Place) -> str:
    """Return what changes whenever a process writes to a conversation or a room."""
    parts = []
    paths = [place.paths.conversation_file(name) for name in place.conversations.names()]
    if os.path.isdir(place.paths.channels):
        names = (one for one in os.listdir(place.paths.channels) if one.endswith(_OF_ROOMS))
        paths += [f"{place.paths.channels}/{name}" for name in sorted(names)]
    for path in paths:
        with suppress(OSError):
            found = os.stat(path)
            parts.append(f"{path}:{found.st_ino}:{found.st_mtime_ns}:{found.st_size}")
    return "\n".join(parts)


def listen(place: Place, changed: Callable[[], object], *more: str) -> Callable[[], None]:
    """Call `changed` whenever a file of a conversation or a room changes, until the end of it.

    The files in folders of the shared one that are named as `more` count, too. Each of them, and
    that of rooms, may be made later.

    Returns:
        What ends it. Where the system allows no more watches it is never called.
    """
    import logging

    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    # It warns of events that come while it ends; without a handler that goes to the screen.
    logging.getLogger("watchdog").addHandler(logging.NullHandler())

    folders = (place.paths.channels, *more)

    class Hint(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            if event.event_type not in ("created", "modified", "moved", "deleted"):
                return
            made = (event.src_path, event.dest_path) if event.is_directory else ()
            for folder in folders:
                if event.event_type in ("created", "moved") and folder in made:
                    with suppress(OSError):
                        observer.schedule(self, folder, recursive=False)
            changed()

    try:
        observer, hint = Observer(), Hint()
        observer.schedule(hint, place.paths.shared, recursive=False)
        for folder in filter(os.path.isdir, folders):
            observer.schedule(hint, folder, recursive=False)
        observer.start()
    except OSError:
        return lambda: None  # too many watches, or no such folder: looking again is enough

    def stop() -> None:
        observer.stop()
        observer.join()

    return stop


def keep_going(root: str, parent: int) -> None:
    """Run the heartbeat on changes and by the clock until the process that started this is gone."""
    place = open_place(root, "", os.environ)
    for _ in watch(place, advance=True):
        if os.getppid() != parent:
            return


if __name__ == "__main__":
    keep_going(sys.argv[1], int(sys.argv[2]))
