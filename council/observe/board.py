"""`BOARD.md`: what is open and who owes an answer, for people; heartbeats keep it up to date."""

from __future__ import annotations

from council.councils import rules
from council.councils.model import State
from council.kernel import files
from council.kernel.errors import Refusal
from council.kernel.page import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App

WORDS = {
    "en": ("# Board\n", "Nothing is open.", "waiting for", "cannot be read"),
    "fr": ("# Tableau\n", "Rien n'est ouvert.", "en attente de", "illisible"),
}


def board(app: App, met: set[str] | None = None) -> bool:
    """Bring the board up to date; return whether it had to be written.

    With `met` only lines of these documents are made anew, and those that are not there.
    """
    title, nothing, waiting, broken = WORDS[app.settings.language or "en"]
    path = f"{app.root}/memory/shared/BOARD.md"
    found = files.read(path, 1 << 26)
    before = found[0].decode("utf-8", "replace") if found else ""
    is_ours = met is not None and before.startswith(title)
    known = {line.partition(": ")[0]: line for line in before.split("\n") if is_ours}
    rows = []
    for kind, name in [(row, name) for row in app.kinds for name in row.names(app)]:
        page = kind.place(name)[1].removeprefix("../")
        link = f"- [{name}]({page})" if page else f"- {name}"
        if link in known and name not in (met or ()):
            rows.append(known[link])
            continue
        try:
            state = kind.document(app, name).peek()
            if isinstance(state, State):
                who = ", ".join(rules.asked(state)) or "-"
                says = f"{one_line(state.topic)} ({state.phase} {state.tour}, {waiting} {who})"
            else:
                row = kind.status(app, name, state)
                if not page and row["status"] == "quiet" and kind.module.wake(state) is None:
                    continue  # nothing is open in it
                says = one_line(kind.line(row).removeprefix(f"{name}: "))
        except Refusal:
            says = broken
        rows.append(f"{link}: {says}")
    text = "\n".join([title, *(rows or [nothing]), ""])
    if before != text:
        files.replace(path, text.encode("utf-8", "replace"))
    return before != text
