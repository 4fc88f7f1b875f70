"""What happened: the revisions of a conversation, and its events for programs."""

from __future__ import annotations

from council.councils import service
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App


def log(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield the revisions of a conversation, open or closed, or of another document, from a day on.

    What is sealed now is left out of the events.
    """
    kind, phase, tour, sealed = app.other(which), "", 0, 0
    document = kind.document(app, which) if kind else service.document(app, which)
    state = document.peek()
    ident = kind.ident(state) if kind else state.conversation_id
    if not kind and state.rounds and state.rounds[-1].blind and not state.rounds[-1].ended_at:
        sealed = state.rounds[-1].tour
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
            row |= {"conversationId": ident, "kind": kind.name if kind else "conversation"}
            row["lines"] = [(kind or app.kinds[0]).logged(one) for one in events]
            yield {**row, "phase": phase, "tour": tour, "events": events}


def lines(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield each event as a program reads it, of one document or of all open ones."""
    every = [*app.conversations(), *(name for _, name in app.others())]
    for one in [which] if which else every:
        for row in log(app, one, since):
            for at, event in enumerate(row["events"]):
                ident = row["conversationId"]
                head = {"eventId": f"{ident}:{row['rev']}.{at}", "type": event["type"]}
                head |= {"at": event.get("at") or row["at"], "conversationId": ident}
                head["traceId"] = event.get("traceId") or ident
                head["agentId"] = event.get("agentId") or event.get("agent") or row["actor"]
                yield {**head, **event, **head}
