"""What happened: the revisions of a conversation, and its events for programs."""

from __future__ import annotations

from council.councils import service
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App
    from council.kernel.document import Document
    from council.runs.kinds import KindRow


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
