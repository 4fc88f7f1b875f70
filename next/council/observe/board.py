"""`BOARD.md`: what is open and who owes an answer, for people; heartbeats keep it up to date."""

from __future__ import annotations

import os

from council.kernel.errors import Refusal
from council.observe.status import owed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App

WORDS = {
    "en": ("Board", "Nothing is open.", "waiting for", "cannot be read"),
    "fr": ("Tableau", "Rien n’est ouvert.", "en attente de", "illisible"),
}


def board(app: App) -> bool:
    """Bring the board up to date; return whether it had to be written."""
    title, nothing, waiting, broken = WORDS.get(app.settings.language, WORDS["en"])
    lines = [f"# {title}", ""]
    for name in app.conversations():
        link = f"[{name}](council-{name}-conversation.md)"
        try:
            state = app.conversation(name).peek()
        except Refusal:
            lines.append(f"- {link}: {broken}")
            continue
        who = ", ".join(owed(state)) or "-"
        topic = " ".join(state.topic.split()).replace("<", "\\<")
        lines.append(f"- {link}: {topic} ({state.phase} {state.tour}, {waiting} {who})")
    text = "\n".join([*lines, *([nothing] if len(lines) == 2 else []), ""])
    path = f"{app.root}/memory/shared/BOARD.md"
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return False
    except (OSError, UnicodeDecodeError):
        pass
    beside = f"{path}.{os.getpid()}"
    with open(beside, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(beside, path)
    return True
