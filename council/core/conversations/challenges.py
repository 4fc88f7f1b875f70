"""Challenges: who is spoken to in a text of criticism, and with which passages.

It reads names and `@` mentions only; whether a challenge is fair, or was
answered, it does not judge.

Source: C0-050.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, Entry
from council.core.conversations.handles import names
from council.core.reading_answers.names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PASSAGES_MAX_CHARS = 2000


def challenges(state: Conversation, agent: str, others: list[Entry]) -> list[dict[str, Any]]:
    """Return the challenges that name `agent`, with the passages that do (C0-050)."""
    known = names(state)
    at_names = Names(known.items())
    called = [name.casefold() for name, one in known.items() if one == agent]
    folds = [(name, name.casefold()) for name in known]
    found = []
    for entry in others:
        if entry.phase == "CHALLENGE":
            folded = entry.text.casefold()
            if not any(name in folded for name in called):
                continue
            present = [(fold, known[name]) for name, fold in folds if fold in folded]
            passages = _addressed(entry.text, agent, at_names, present)
            author = state.participants.get(entry.agent)
            if passages:
                found.append(
                    {
                        "id": entry.id,
                        "agent": entry.agent,
                        "label": author.label if author else entry.agent,
                        "tour": entry.tour,
                        "passages": passages,
                    }
                )
    return found


def _addressed(text: str, agent: str, at_names: Names, known: list[tuple[str, str]]) -> str:
    """Return the lines of `text` that speak to `agent`, cut at `PASSAGES_MAX_CHARS`.

    A line that names participants speaks to them, and so do the lines after
    it until others are named. What is quoted names nobody. `known` are the
    names (in lower case, with whose they are) that stand in the text at all: in a
    council of many most do not.
    """
    addressed: set[str] = set()
    kept: list[str] = []
    for line in text.splitlines():
        if not line.lstrip().startswith(">"):
            named = {one for _, one in at_names.mentions(line)} | _named_plainly(line, known)
            if named:
                addressed = named
            elif line.startswith("#"):
                addressed = set()
        if agent in addressed:
            kept.append(line.rstrip())
        elif kept and kept[-1]:
            kept.append("")
    passages = "\n".join(kept).strip()
    if len(passages) > PASSAGES_MAX_CHARS:
        return passages[:PASSAGES_MAX_CHARS].rstrip() + " […]"
    return passages


def _named_plainly(line: str, known: list[tuple[str, str]]) -> set[str]:
    """Return the participants whose name stands in `line` as a word of its own, without `@`."""
    folded = line.casefold()
    named = set()
    for word, agent in known:
        at = folded.find(word)
        while at >= 0:
            end = at + len(word)
            if not folded[at - 1 : at].isalnum() and not folded[end : end + 1].isalnum():
                named.add(agent)
                break
            at = folded.find(word, at + 1)
    return named
