"""`BOARD.md`: what is open and who owes an answer, for people; heartbeats keep it up to date."""

from __future__ import annotations

from council.agents import settings
from council.councils import rules
from council.kernel.errors import Refusal
from council.kernel.page import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App

WORDS = {
    "en": ("Board", "Nothing is open.", "waiting for", "cannot be read"),
    "fr": ("Tableau", "Rien n'est ouvert.", "en attente de", "illisible"),
}


def board(app: App) -> bool:
    """Bring the board up to date; return whether it had to be written."""
    title, nothing, waiting, broken = WORDS.get(settings.quick(app.root).language, WORDS["en"])
    rows = []
    for name in app.conversations():
        try:
            state = app.conversation(name).peek()
            who = ", ".join(rules.asked(state)) or "-"
            says = f"{one_line(state.topic)} ({state.phase} {state.tour}, {waiting} {who})"
        except Refusal:
            says = broken
        rows.append(f"- [{name}](council-{name}-conversation.md): {says}")
    data = "\n".join([f"# {title}", "", *(rows or [nothing]), ""]).encode("utf-8", "replace")
    path = f"{app.root}/memory/shared/BOARD.md"
    if settings.content(path) == data:
        return False
    settings.replace(path, data)
    return True
