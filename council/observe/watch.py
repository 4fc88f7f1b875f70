"""Waiting for changes of the pages: told by the system, and by the clock.

A watch on a folder that is replaced falls silent, so nobody relies on it alone.
"""

from __future__ import annotations

import threading
import warnings

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WRITES = ("created", "modified", "moved", "deleted")  # opening and closing make events as well


def changes(folder: str, seconds: float = 1.0) -> Iterator[None]:
    """Yield now, after each change below a folder, and at least every so many seconds."""
    changed = threading.Event()

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            # A folder is "modified" by the closing of a lock file in it as well.
            if event.event_type in _WRITES and not event.is_directory:
                changed.set()

    # It warns of each folder that was moved inside the watched one (watchdog 7.1).
    warnings.filterwarnings("ignore", module="watchdog")
    observer = Observer()
    try:
        observer.schedule(Handler(), folder, recursive=True)
        observer.start()
    except OSError:
        pass  # no folder, or no watches left: the clock is enough
    while True:
        yield
        changed.wait(seconds)
        changed.clear()
