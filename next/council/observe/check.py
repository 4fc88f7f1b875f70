"""One conversation's page, checked: what is broken, and what does not count yet."""

from __future__ import annotations

from council.councils import service
from council.kernel.errors import Refusal
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import copies, status

if TYPE_CHECKING:
    from council.app import App


def check(app: App, which: str = "") -> dict[str, Any]:
    """Return what is wrong with the page of a conversation, as it was before this look.

    Returns:
        `name`, `ok`, `findings` (broken) and `notices` (nothing is lost, but look).
    """
    name = service.named(app, which)
    document = app.conversation(name)
    findings: list[str] = []
    notices = [f"{one} is a conflict copy" for one in copies.conflict_copies(app.root)]
    try:
        known = document.peek().rev if document.exists() else 0
        drafts = document.read().drafts
        for line in document.history():
            for event in line.events:
                if event["type"] == "kept":
                    path = status.CONFLICTS.format(name, event["file"])
                    into = findings if line.rev > known else notices
                    into.append(f"an edit was not used: {event['why']}; see {path}")
    except Refusal as error:
        findings.append(f"{error.message} ({error.hint})")
    else:
        words = "typed an answer, but the status is still WAITING: it does not count yet"
        notices += [f"{ident} {words}" for ident in drafts]
    return {"name": name, "ok": not findings, "findings": findings, "notices": notices}


def text(found: dict[str, Any]) -> str:
    """Return what `check` prints."""
    lines = [*found["findings"], *found["notices"]]
    return "\n".join(lines or [f"{found['name']}: well formed"])
