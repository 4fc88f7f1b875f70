"""What happened: the revisions of a conversation, and its events for programs."""

from __future__ import annotations

from council.councils import service
from council.kernel.document import Document
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App


def log(app: App, which: str = "", since: str = "") -> list[dict[str, Any]]:
    """Return the revisions of a conversation, open or closed, from an instant or day on."""
    return [row for row in _rows(service.document(app, which)) if row["at"] >= since]


def lines(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield each event as a program reads it, of one conversation or of all open ones."""
    for one in [which] if which else app.conversations():
        document = service.document(app, one)
        ident = document.peek().conversation_id
        for row in _rows(document):
            for at, event in enumerate(row["events"] if row["at"] >= since else []):
                head = {"eventId": f"{ident}:{row['rev']}.{at}", "type": event["type"]}
                head |= {"at": event.get("at") or row["at"], "traceId": ident}
                head |= {"agentId": event.get("agent") or row["actor"], "conversationId": ident}
                yield {**head, **event, **head}


def text(rows: list[dict[str, Any]]) -> str:
    """Return revisions as lines, the oldest first."""
    shown = []
    for row in rows:
        shown.append(f"{row['rev']}  {row['at']}  {row['phase']}, round {row['tour']}")
        for event in row["events"]:
            more = [event.get(key) for key in ("status", "reason", "code", "phase")]
            words = [event.get("agent") or row["actor"], *filter(None, more)]
            shown.append(f"    {event['type']}: {', '.join(words)}")
    return "\n".join([*shown, ""])


def _rows(document: Document[Any]) -> Iterator[dict[str, Any]]:
    """Yield the revisions; what is sealed now is left out of the events."""
    state, phase, tour = document.peek(), "", 0
    now = state.rounds[-1] if state.rounds else None
    sealed = now.tour if now and now.blind and now.ended_at is None else 0
    for line in document.history():
        events = []
        for event in line.events:
            if event["type"] == "round.begun":
                phase, tour = event["phase"], event["tour"]
            is_sealed = sealed and event.get("tour") == sealed
            hidden = ("text", "heard", "question") if is_sealed else ()
            events.append({key: one for key, one in event.items() if key not in hidden})
        row = {"rev": line.rev, "at": line.at, "actor": line.by, "via": line.via}
        yield {**row, "phase": phase, "tour": tour, "events": events}
