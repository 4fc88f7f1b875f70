"""The agents of the demo: who they are, what they will say, where that is put.

The texts come with the package. In a workspace that has agents of the same
ids the demo's get other ones, so nobody's agent is run or overwritten.

Source: C0-082, XC-011, `cli.md` section 2 (`demo`).
"""

from __future__ import annotations

import os

import council
from council.core.record import Record
from council.drivers.scripted import ANSWERS_FILE, parse_script
from council.operations.place import Place
from council.store.agents import SOUL_FILE
from council.store.files import make_folder, remove, write_new

PARTICIPANTS = ("henry", "sage", "nova", "blaise")
COORDINATOR = "maman"
BRIEF_FILE = "brief.md"

# Seconds an agent takes to answer when a person watches, by round.
_PACE = {
    "henry": (1, 2, 1),
    "sage": (2, 1, 2),
    "nova": (2, 2, 1),
    "blaise": (3, 1, 2),
    COORDINATOR: (2,),
}
# The stage looks ten times a second; the last phase must be there to be seen.
_SHORTEST_SYNTHESIS_S = 1


class Cast(Record):
    """The agents of one performance, and which of their files it wrote itself."""

    topic: str
    participants: list[str]
    coordinator: str
    brief: str
    written: list[str]


def put_in_place(place: Place, lang: str, *, paced: bool) -> Cast:
    """Write the agents of the demo into the workspace; overwrite nothing.

    Args:
        place: The workspace.
        lang: The language of what they say.
        paced: Whether they take their time, for somebody who watches.
    """
    texts = os.path.join(os.path.dirname(os.path.abspath(council.__file__)), "demo", lang)
    ids = _free_ids(place, texts)
    written: list[str] = []
    for agent, as_id in ids.items():
        folder = place.paths.agent(as_id)
        _write(os.path.join(folder, SOUL_FILE), _text(texts, agent, SOUL_FILE), written)
        answers = _answers(_text(texts, agent, ANSWERS_FILE), ids, paced=paced)
        remove(os.path.join(folder, ANSWERS_FILE))  # of a performance that was killed
        _write(os.path.join(folder, ANSWERS_FILE), answers, written)
    brief = os.path.join(place.paths.agent(ids[COORDINATOR]), BRIEF_FILE)
    remove(brief)
    _write(brief, _text(texts, BRIEF_FILE), written)
    return Cast(
        topic=_text(texts, "topic.txt").strip(),
        participants=[ids[agent] for agent in PARTICIPANTS],
        coordinator=ids[COORDINATOR],
        brief=os.path.relpath(brief, place.root),
        written=written,
    )


def take_away(place: Place, cast: Cast) -> None:
    """Remove what `put_in_place` wrote, and the folders that are empty then."""
    for path in cast.written:
        remove(path)
    told = place.paths.tasks(cast.coordinator)
    for file in os.listdir(told) if os.path.isdir(told) else ():
        if file.endswith(".notice.md"):  # to a coordinator who is ours alone
            remove(os.path.join(told, file))
    for agent in (*cast.participants, cast.coordinator):
        state = (place.paths.agent_state(agent), place.paths.sessions(agent))
        for folder in (place.paths.tasks(agent), *state, place.paths.agent(agent)):
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)


def _free_ids(place: Place, texts: str) -> dict[str, str]:
    """Return the id of each agent: its own, or when that is somebody else's a free one."""
    agents = (*PARTICIPANTS, COORDINATOR)
    prefix = ""
    number = 1
    while any(_is_taken(place, texts, agent, prefix + agent) for agent in agents):
        prefix = "demo-" if number == 1 else f"demo{number}-"
        number += 1
    return {agent: prefix + agent for agent in agents}


def _is_taken(place: Place, texts: str, agent: str, as_id: str) -> bool:
    if as_id in place.settings.agents:
        return True
    folder = place.paths.agent(as_id)
    soul = os.path.join(folder, SOUL_FILE)
    if not os.path.lexists(folder):
        return False
    if not os.path.isfile(soul):
        return bool(os.listdir(folder))
    with open(soul, encoding="utf-8", errors="replace", newline="") as file:
        there = file.read()
    return there not in [
        _text(os.path.join(os.path.dirname(texts), lang), agent, SOUL_FILE) for lang in ("en", "fr")
    ]


def _answers(text: str, ids: dict[str, str], *, paced: bool) -> str:
    """Return the script of one agent with the ids and the pace of this performance."""
    parts = []
    for at, one in enumerate(parse_script(text)):
        words = ["##", ids[one.agent], one.due, one.status]
        seconds = _PACE[one.agent][at] if paced else 0
        if one.agent == COORDINATOR:
            seconds = max(seconds, _SHORTEST_SYNTHESIS_S)
        if seconds:
            words += ["after", f"{seconds}s"]
        said = one.text
        for agent, as_id in ids.items():
            said = said.replace(f"@{agent}", f"@{as_id}")
        parts.append(f"{' '.join(word for word in words if word)}\n{said}\n")
    return "\n".join(parts)


def _text(*parts: str) -> str:
    with open(os.path.join(*parts), encoding="utf-8", newline="") as file:
        return file.read()


def _write(path: str, text: str, written: list[str]) -> None:
    make_folder(os.path.dirname(path))
    if write_new(path, text.encode("utf-8")):
        written.append(path)
