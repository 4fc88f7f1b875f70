"""What happened: the revisions of a conversation, and its events for programs."""

from __future__ import annotations

from council.councils import service
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App


def log(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield the revisions of a conversation, open or closed, from an instant or day on.

    What is sealed now is left out of the events.
    """
    document, phase, tour = service.document(app, which), "", 0
    state = document.peek()
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
        if line.at >= since:
            row = {"rev": line.rev, "at": line.at, "actor": line.by, "via": line.via}
            row |= {"conversationId": state.conversation_id}
            yield {**row, "phase": phase, "tour": tour, "events": events}


def lines(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield each event as a program reads it, of one conversation or of all open ones."""
    for one in [which] if which else app.conversations():
        for row in log(app, one, since):
            for at, event in enumerate(row["events"]):
                ident = row["conversationId"]
                head = {"eventId": f"{ident}:{row['rev']}.{at}", "type": event["type"]}
                head |= {"at": event.get("at") or row["at"], "traceId": ident}
                head |= {"agentId": event.get("agent") or row["actor"], "conversationId": ident}
                yield {**head, **event, **head}
