"""What happened: revisions, their events for programs, and waiting for further ones."""

from __future__ import annotations

from council.councils import service
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App
    from council.kernel.document import Document
    from council.runs.kinds import KindRow

_WRITES = ("created", "modified", "moved", "deleted")  # opening and closing make events as well


def log(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield the revisions of a conversation, open or closed, or of another document, from a day on.

    What is sealed now is left out of the events.
    """
    kind = app.other(which)
    document = kind.document(app, which) if kind else service.document(app, which)
    for row in revisions(kind or app.kinds[0], document):
        if row["at"] >= since:
            yield row


def revisions(kind: KindRow, document: Document[Any]) -> Iterator[dict[str, Any]]:
    """Yield the revisions of a document of some kind, without what is sealed now."""
    phase, tour, sealed = "", 0, 0
    state = document.peek()
    last = state.rounds[-1] if getattr(state, "rounds", None) else None
    if last and last.blind and not last.ended_at:
        sealed = last.tour
    for line in document.history():
        events = []
        for event in line.events:
            if event["type"] == "round.begun":
                phase, tour = event["phase"], event["tour"]
            is_sealed = sealed and (event.get("tour") == sealed or event["type"] == "adopted")
            hidden = ("text", "heard", "question", "state") if is_sealed else ()
            events.append({key: one for key, one in event.items() if key not in hidden})
        row = {"rev": line.rev, "at": line.at, "actor": line.by, "via": line.via}
        row |= {"conversationId": kind.ident(state), "kind": kind.name}
        row["lines"] = [kind.logged(one) for one in events]
        yield {**row, "phase": phase, "tour": tour, "events": events}


def lines(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield each event as a program reads it, of one document or of all open ones."""
    every = [*app.conversations(), *(name for _, name in app.others())]
    for one in [which] if which else every:
        for row in log(app, one, since):
            yield from of(row)


def of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a revision as a program reads them."""
    for at, event in enumerate(row["events"]):
        ident = row["conversationId"]
        head = {"eventId": f"{ident}:{row['rev']}.{at}", "type": event["type"]}
        head |= {"at": event.get("at") or row["at"], "conversationId": ident}
        head["traceId"] = event.get("traceId") or ident
        head["agentId"] = event.get("agentId") or event.get("agent") or row["actor"]
        yield {**head, **event, **head}


def changes(folder: str, seconds: float = 1.0) -> Iterator[None]:
    """Yield now, after each change below a folder, and at least every so many seconds.

    A watch on a folder that is replaced falls silent, so nobody relies on it alone.
    """
    import threading  # late: only who waits needs these
    import warnings  # late: as above

    from watchdog.events import FileSystemEvent, FileSystemEventHandler  # late: as above
    from watchdog.observers import Observer  # late: as above

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
