"""Waiting for a conversation in front of the terminal, with a live table.

Source: `cli.md` section 2 (`ask`, `convene --run`).
"""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from council.cli.edge import Output
from council.cli.views import as_text, markdown_view, standing_view
from council.core.conversations.conversation import Conversation
from council.operations.conversations.follow import Ended, follow, minutes_of
from council.operations.place import Place
from council.operations.view import Standing
from council.store.minutes.minute_words import WORDS


def watch_to_the_end(place: Place, state: Conversation, *, quiet: bool) -> Output:
    """Show how a conversation stands until its minutes are written, then the verdict.

    Progress goes to standard error, so that standard output holds the verdict alone.
    """
    progress = Console(stderr=True, highlight=False, quiet=quiet)
    # No refresh thread: this process forks, and a fork must not copy a held lock.
    try:
        with Live(console=progress, auto_refresh=False, transient=True) as live:
            shown_phase, told = "", False
            for standing in follow(place, state.name, state.conversation_id):
                live.update(_with_spinner(standing_view(standing, place.now())), refresh=True)
                if standing.state.phase != shown_phase and not progress.is_terminal:
                    shown_phase = standing.state.phase
                    progress.print(f"{shown_phase} (round {standing.state.tour})")
                if not told and (by_hand := _by_hand(standing)):
                    told = True
                    _say(progress, _answering(state.name, by_hand))
    except KeyboardInterrupt:
        _say(progress, f"{state.name} goes on; see: council show --name {state.name}")
        raise
    ended = minutes_of(place, state.conversation_id)
    return Output(
        record=_record(state, ended),
        text=as_text(markdown_view(verdict(ended))),
        code=ended.code,
    )


def _by_hand(standing: Standing) -> list[str]:
    """Return who was handed a prompt and answers it by hand."""
    tasks = standing.state.tasks.values()
    return [one.agent for one in tasks if one.state == "R" and one.driver == "manual"]


def _answering(name: str, agents: list[str]) -> str:
    """Say how those answer for whom no program does; else a person waits and knows not for what."""
    who = f"{agents[0]} answers" if len(agents) == 1 else f"{', '.join(agents)} answer"
    return f"{who} by hand: council respond --as {agents[0]} --name {name}"


def _say(progress: Console, line: str) -> None:
    """Print a line in one piece, so that it can be copied."""
    progress.print(line, soft_wrap=True, markup=False)


def _with_spinner(view: Any) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_row(Spinner("dots") if sys.stderr.isatty() else "", view)
    return table


def verdict(ended: Ended) -> str:
    """Return the first minute of the minutes, the decision and the verdict last, and the path.

    A terminal of 24 rows shows its end: there the decision stands, once.
    """
    body = ended.text
    if body.startswith("---"):
        body = body.split("\n---", 1)[-1].split("\n", 1)[-1]
    body = "\n".join(line for line in body.splitlines() if not _is_mark(line))
    head, *sections = body.split("\n## ")
    titles = tuple(f"{words['glance']}\n" for words in WORDS.values())
    last = next((at for at, one in enumerate(sections) if one.startswith(titles)), len(sections))
    decided, *others = [f"## {one.strip()}" for one in sections[: last + 1]] or [""]
    title, _, said = head.strip().partition("\n")
    return "\n\n".join([*others, decided, title, said, f"Minutes: {ended.path}\n"])


def _is_mark(line: str) -> bool:
    return line.startswith("<!--council:")


def _record(state: Conversation, ended: Ended) -> dict[str, Any]:
    return {
        "name": state.name,
        "conversationId": state.conversation_id,
        "minutes": ended.path,
        "verdict": ended.front,
    }
