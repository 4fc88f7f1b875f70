"""One conversation's page, checked: what is broken, and what does not count yet."""

from __future__ import annotations

from council.councils import service
from council.kernel.errors import Refusal
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import copies, status

if TYPE_CHECKING:
    from council.app import App


def check(app: App, which: str = "") -> dict[str, Any]:
    """Return `name`, `ok`, `findings` (broken) and `notices` (look) of a page as it was until now.

    Nothing is lost by either; looking mends the page.
    """
    name = service.named(app, which)
    document, findings = app.conversation(name), list[str]()
    notices = [f"{one} is a conflict copy" for one in copies.conflict_copies(app.root)]
    try:
        known = document.peek().rev if document.exists() else 0
        for ident in document.read().drafts:
            words = "typed an answer, but the status is still WAITING: it does not count yet"
            notices.append(f"{ident} {words}")
        for line in document.history():
            for event in [one for one in line.events if one["type"] == "kept"]:
                path = status.problem(name, "kept", file=event["file"])["what"].rpartition(" ")[2]
                into = findings if line.rev > known else notices
                into.append(f"an edit was not used: {event['why']}; see {path}")
    except Refusal as error:
        findings.append(f"{error.message} ({error.hint})")
    return {"name": name, "ok": not findings, "findings": findings, "notices": notices}
