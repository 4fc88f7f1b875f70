"""What a name means, whatever kind of document it names: shown, spoken to, what happened to it."""

from __future__ import annotations

from council.councils import service, views
from council.kernel import codec
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App
    from council.kernel.document import Document
    from council.runs.kinds import KindRow

_WRITES = ("created", "modified", "moved", "deleted")  # opening and closing make events as well


def meant(app: App, which: str) -> tuple[KindRow, Document[Any]]:
    """Return what a name means: before any other document a conversation that is open."""
    if which and not app.is_open(which) and (kind := app.other(which)):
        return kind, kind.document(app, which)
    return app.kinds[0], service.document(app, which)


def show(app: App, which: str, form: str = "", at: int = 0, last: int = 0) -> tuple[Any, str]:
    """Return a conversation, minutes, or another document, as data and as text for people.

    An open conversation is meant before any other of that name: as `json`, `debate-session` or
    `consensus`, else its page; `at` a revision, 0 for now. `last` is how many of the newest parts
    are wanted, 0 for all.
    """
    which = which or app.env.get("COUNCIL_NAME", "")
    is_talk = form in ("consensus", "debate-session") or app.is_open(which)
    if which and not is_talk and (kind := app.other(which)):
        found = kind.document(app, which)
        data, text = kind.shown(app, which, found.peek(at) if at else found.read(), last)
        return data, codec.printed(data) if form == "json" else text
    state = service.find(app, which, at)
    if form == "consensus":
        return views.consensus(state)
    data = views.debate_session(state) if form == "debate-session" else views.shown(state, last)
    as_data = form in ("json", "debate-session")
    return data, codec.printed(data) if as_data else views.text(state, app.root)


def say(app: App, name: str, text: str, to: str, by: str, key: str = "") -> dict[str, Any]:
    """Say something to a conversation, or to what `to` names: a participant, room or task."""
    kind = app.other(to) if to and not name else None
    if kind and kind.name == "room":
        from council.rooms import service as rooms  # late: most words are for conversations

        return rooms.post(app, to, text, by, key)
    if to[:1] in ("S", "T") and to[1:2].isdigit():
        from council.tasks import service as tasks  # late: as above

        if made := tasks.say(app, to, text, by):
            return made
    return service.say(app, name, text, to, by, key)


def log(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield the revisions of a document from a day on, without what is sealed now."""
    return (row for row in revisions(*meant(app, which)) if row["at"] >= since)


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
    every = ((kind, kind.document(app, name)) for kind in app.kinds for name in kind.names(app))
    for kind, document in [meant(app, which)] if which else every:
        for row in revisions(kind, document):
            yield from of(row) if row["at"] >= since else ()


def of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a revision as a program reads them."""
    for at, event in enumerate(row["events"]):
        ident = row["conversationId"]
        head = {"eventId": f"{ident}:{row['rev']}.{at}", "type": event["type"]}
        head |= {"at": event.get("at") or row["at"], "conversationId": ident}
        head["traceId"] = event.get("traceId") or ident
        head["agentId"] = event.get("agentId") or event.get("agent") or row["actor"]
        yield {**head, **event, **head}


def changes(root: str, again: bool = True) -> Iterator[None]:
    """Yield now and, if `again`, after each change of a workspace, and at least every second.

    A watch on a folder that is replaced falls silent, so nobody relies on it alone.
    """
    if not again:
        yield
        return
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
        observer.schedule(Handler(), f"{root}/memory/shared", recursive=True)
        observer.start()
    except OSError:
        pass  # no folder, or no watches left: the clock is enough
    while True:
        yield
        changed.wait(1)
        changed.clear()
