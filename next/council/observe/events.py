"""What happened: the revisions of a conversation, and its events for programs."""

from __future__ import annotations

from council.councils import kind, service
from council.kernel.document import Document
from council.kernel.errors import NotFound
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App


def log(app: App, which: str = "", number: int = 0, since: str = "") -> list[dict[str, Any]]:
    """Return the revisions of a conversation, open or closed: rev, at, actor, phase, tour, events.

    Args:
        app: The workspace.
        which: Its name, id or part of the title; "" is the only open one.
        number: Only the last so many; 0 is all.
        since: An instant or day as text; earlier ones are left out.
    """
    rows = [row for row in _rows(find(app, which)) if row["at"] >= since]
    return rows[-number:]


def lines(app: App, which: str = "", since: str = "") -> Iterator[dict[str, Any]]:
    """Yield each event as a program reads it, of one conversation or of all open ones."""
    for one in [which] if which else app.conversations():
        document = find(app, one)
        ident = document.peek().conversation_id
        for row in _rows(document):
            for at, event in enumerate(row["events"]):
                if row["at"] >= since:
                    yield {
                        **{"eventId": f"{ident}:{row['rev']}.{at}", "type": event["type"]},
                        **{"at": event.get("at") or row["at"], "traceId": ident},
                        **{"agentId": event.get("agent") or row["actor"], "conversationId": ident},
                        **{key: value for key, value in event.items() if key not in ("type", "at")},
                    }


def text(rows: list[dict[str, Any]]) -> str:
    """Return revisions as lines of 80 columns, the oldest first."""
    shown = []
    for row in rows:
        shown.append(f"{row['rev']}  {row['at']}  {row['phase']}, round {row['tour']}")
        for event in row["events"]:
            who = event.get("agent") or row["actor"]
            more = [event[key] for key in ("status", "reason", "code", "phase") if event.get(key)]
            shown.append(f"    {event['type']}: {', '.join([who, *map(str, more)])}")
    return "\n".join([*shown, ""])


def find(app: App, which: str) -> Document:
    """Return the document of a conversation, open or closed; a closed one has no page.

    Raises:
        NotFound: There is none of that name.
        Usage: The name fits several.
    """
    try:
        return app.conversation(service.named(app, which))
    except NotFound:
        from council.archive import minutes  # late: only where nothing open fits

        ident = minutes.find(app.root, which)["conversation"]
        return Document(f"{app.state_folder}/closed/{ident}", None, kind)


def _rows(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the revisions; what is sealed now is left out of the events."""
    state = document.peek()
    now = state.rounds[-1] if state.rounds else None
    sealed = now.tour if now and now.blind and now.ended_at is None else 0
    phase, tour = "", 0
    for line in document.history():
        events = []
        for event in line.events:
            if event["type"] == "round.begun":
                phase, tour = event["phase"], event["tour"]
            if sealed and event.get("tour") == sealed:
                event = {k: v for k, v in event.items() if k not in ("text", "heard", "question")}
            events.append(event)
        yield {"rev": line.rev, "at": line.at, "actor": line.by, "via": line.via} | {
            "phase": phase,
            "tour": tour,
            "events": events,
        }
