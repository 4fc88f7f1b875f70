"""News: what an agent has not read before, and the rest in short.

A prompt shows in full what was said since its reader spoke last, and of what
came earlier, and of the reader's own words, only the gist: of a turn with a
form its position, its stances and its confidence, of any other text its
beginning. So a prompt grows with what is new and not with what is old. The
synthesis is written from everything, and its author is shown all in full.

Source: HR-028.
"""

from __future__ import annotations

from council.core.conversations.conversation import TURNS, Conversation
from council.core.conversations.owed import is_asked_again, takes_turns
from council.core.conversations.procedures import SYNTHESIZE
from council.core.excerpts import excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GIST_MAX_CHARS = 400


def mark_new(state: Conversation, agent: str, found: dict[str, Any]) -> None:
    """Say of each text in the parts of `agent` whether it is `new` to it. Changes `found`.

    `first` is added, too: True where the agent has taken no turn before this one.
    """
    had, has_spoken = _had_before(state, agent)
    whole = state.phase == SYNTHESIZE and found["mayAnswer"]
    for item in found["contributions"]:
        item["new"] = whole or item["id"] not in had
    for item in found["own"]:
        # What is to be completed has to be seen whole.
        item["new"] = whole or item["tour"] == state.tour
    found["first"] = not has_spoken


def _had_before(state: Conversation, agent: str) -> tuple[set[str], bool]:
    """Return the ids of the texts that `agent` could read when it spoke last, and if it did."""
    asked_again = is_asked_again(state, agent)
    mine = [
        (number, entry)
        for number, entry in enumerate(state.entries)
        if entry.agent == agent
        and entry.kind in TURNS
        and not (asked_again and entry.tour == state.tour)
    ]
    if not mine:
        return set(), False
    place, last = mine[-1]
    in_turn = takes_turns(state.copy(phase=last.phase, tour=last.tour))
    return {
        entry.id
        for number, entry in enumerate(state.entries)
        if entry.tour < last.tour or (in_turn and entry.tour == last.tour and number < place)
    }, True


def add_gists(found: dict[str, Any]) -> None:
    """Give each text that is not new its `short` form, "" where it is short itself.

    Changes `found`. It reads only what the parts show, so that it names nobody whom they hide.
    """
    forms = {one["id"]: one for one in (*found.get("turns", ()), *found.get("votes", ()))}
    for item in (*found["own"], *found["contributions"]):
        short = "" if item["new"] else _gist(item["text"], forms.get(item["id"]))
        item["short"] = short if len(short) < len(item["text"].strip()) else ""


def _gist(text: str, form: dict[str, Any] | None) -> str:
    if form is None or not form["position"]:
        return excerpt(text, GIST_MAX_CHARS)
    stances = [f"@{one['agent']}: {one['stance']}" for one in form["responses"] if one["stance"]]
    confidence = f"{form['confidence']}/5" if form["confidence"] else ""
    said = ", ".join([*stances, *([confidence] if confidence else [])])
    return "\n".join(one for one in (excerpt(form["position"]), said) if one)
