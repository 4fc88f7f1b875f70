"""`BOARD.md`: what is open and who owes an answer, for people; heartbeats keep it up to date."""

from __future__ import annotations

from council.agents import settings
from council.councils import rules
from council.kernel import files
from council.kernel.errors import Refusal
from council.kernel.page import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App

WORDS = {
    "en": ("Board", "Nothing is open.", "waiting for", "cannot be read"),
    "fr": ("Tableau", "Rien n'est ouvert.", "en attente de", "illisible"),
}


def board(app: App, met: set[str] | None = None) -> bool:
    """Bring the board up to date; return whether it had to be written.

    With `met` only lines of these conversations are made anew, and those that are not there.
    """
    title, nothing, waiting, broken = WORDS.get(settings.load(app.root).language, WORDS["en"])
    path = f"{app.root}/memory/shared/BOARD.md"
    before = settings.content(path) or b""
    lines = before.decode("utf-8", "replace").split("\n")
    known = {line.split(": ", 1)[0]: line for line in lines if met is not None}
    rows = []
    for name in app.conversations():
        link = f"- [{name}](council-{name}-conversation.md): "
        if lines[0] == f"# {title}" and link[:-2] in known and name not in (met or ()):
            rows.append(known[link[:-2]])
            continue
        try:
            state = app.conversation(name).peek()
            who = ", ".join(rules.asked(state)) or "-"
            says = f"{one_line(state.topic)} ({state.phase} {state.tour}, {waiting} {who})"
        except Refusal:
            says = broken
        rows.append(link + says)
    data = "\n".join([f"# {title}", "", *(rows or [nothing]), ""]).encode("utf-8", "replace")
    if before == data:
        return False
    files.replace(path, data)
    return True
