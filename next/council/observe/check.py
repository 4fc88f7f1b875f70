"""One conversation's page, checked: what is broken, and what does not count yet."""

from __future__ import annotations

from council.councils.model import AGREED, DONE, RESPONDED, WAITING
from council.kernel.errors import Refusal
from council.kernel.record import Any
from council.observe import copies, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App

STATUSES = (WAITING, RESPONDED, AGREED, DONE)


def check(app: App, name: str) -> dict[str, Any]:
    """Return what is wrong with the page of a conversation, as it was before this look.

    Returns:
        `name`, `ok`, `findings` (broken) and `notices` (nothing is lost, but look).
    """
    document = app.conversation(name)
    findings = _odd_statuses(app.page_of(name))
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


def _odd_statuses(page: str) -> list[str]:
    """Return the lines of participants on a page whose status is no word that counts."""
    try:
        with open(page, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    found = []
    for number, line in enumerate(lines, 1):
        head, mark, word = line.rpartition("): ")
        is_ours = mark and head.startswith("- ") and "(agent:" in head
        if is_ours and word.strip(" `*_.").upper() not in STATUSES:
            known = ", ".join(STATUSES)
            found.append(f"line {number}: {word.strip()!r} is no status; use one of {known}")
    return found
