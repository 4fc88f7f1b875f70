"""One conversation's page, checked: what is broken, and what does not count yet."""

from __future__ import annotations

import os

from council.councils import model
from council.kernel.errors import Refusal
from council.kernel.record import Any
from council.observe import copies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App

STATUSES = (model.WAITING, model.RESPONDED, model.AGREED, model.DONE)


def check(app: App, name: str) -> dict[str, Any]:
    """Return what is wrong with the page of a conversation, as it was before this look.

    Returns:
        `name`, `ok`, `findings` (broken) and `notices` (nothing is lost, but look).
    """
    document, page = app.conversation(name), app.page_of(name)
    findings = list(_odd_statuses(page))
    notices = [f"{one} is a conflict copy" for one in copies.conflict_copies(app.root)]
    try:
        known = set(document.peek().kept_aside) if document.exists() else set()
        state = document.read()
    except Refusal as error:
        findings.append(f"{error.message} ({error.hint})")
        return {"name": name, "ok": False, "findings": findings, "notices": notices}
    reasons = {
        event["file"]: event["why"]
        for line in document.history()
        for event in line.events
        if event["type"] == "kept"
    }
    for file in state.kept_aside:
        words = f"an edit was not used: {reasons.get(file, '')}; it is in conflicts/{file}"
        (notices if file in known else findings).append(words)
    for ident in state.drafts:
        words = f"{ident} typed an answer, but the status is still WAITING: it does not count yet"
        notices.append(words)
    return {"name": name, "ok": not findings, "findings": findings, "notices": notices}


def _odd_statuses(page: str) -> list[str]:
    """Return the lines of participants on a page whose status is no word that counts."""
    if not os.path.isfile(page):
        return []
    with open(page, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        _, mark, word = line.rpartition("): ")
        if line.startswith("- ") and "(agent:" in line and mark:
            plain = word.strip(" `*_.").upper()
            if plain not in STATUSES:
                known = ", ".join(STATUSES)
                found.append(f"line {number}: {word.strip()!r} is no status; use one of {known}")
    return found
