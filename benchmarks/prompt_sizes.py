"""How long a prompt is, round by round, and how much of it is new to its reader.

Tokens are taken as characters by four. Nothing here depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from benchmarks.measuring import Part, Row
from benchmarks.workspaces import AGENTS, Site, said
from council.core.conversations.answers import respond
from council.core.conversations.conversation import Conversation, Participant
from council.core.conversations.due import due_agents, round_number
from council.core.conversations.machine import advance, begin
from council.core.conversations.procedures import Rules
from council.core.conversations.sight import parts
from council.core.deliberation.deliberation import responses_due
from council.operations.conversations.prompting import turn_prompt

ROUNDS = 8
# A prompt may grow by what is kept short of earlier rounds, and not by their texts.
BOUND = 1.5
_CHARS_PER_TOKEN = 4
_TEXT_CHARS = 1500
_NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
_FOUR = AGENTS[:4]
_NEW = "new to the reader"


def measure(folder: Path, rounds: int = ROUNDS) -> Part:
    """Measure every prompt of a council of four and of a deliberation of four."""
    site = Site(folder).with_agents()
    council = _Played(site, _opened())
    talk = _Played(
        site,
        _opened(
            procedure="deliberation",
            phases=("DELIBERATE", "VOTE", "SYNTHESIZE"),
            phase="DELIBERATE",
            sealed_phases=False,
            rules=Rules(max_rounds=rounds, stability=False),
        ),
    )
    return Part(
        "Length of prompts",
        f"The longest prompt of each round in a council of four and in a deliberation "
        f"of four with {rounds} rounds, in which each text has about "
        f"{_TEXT_CHARS // _CHARS_PER_TOKEN} tokens (four characters each), beside the texts in "
        "it that were said since its reader spoke last. What comes besides are the task, the "
        "form and the earlier texts in short. A synthesis reads everything in full, once.",
        [
            *_rows("council", council.play(_speech)),
            *_rows("deliberation", talk.play(_turn)),
        ],
        unit="tokens",
    )


def _rows(what: str, lengths: dict[str, tuple[float, float]]) -> list[Row]:
    rows = [Row(f"{what}, {one}", *_against(found)) for one, found in lengths.items()]
    others = [one for one in lengths if one not in ("VOTE", "SYNTHESIZE")]
    second, last = others[1], others[-1]
    before, after = lengths[second][0], lengths[last][0]
    return [*rows, Row(f"{what}, {last}", after, f"{what}, {second}", before, bound=BOUND)]


def _against(found: tuple[float, float]) -> tuple[float, str, float]:
    length, new = found
    return length, _NEW if new else "", new


def _opened(**fields: object) -> Conversation:
    given: dict[str, object] = {
        "conversation_id": str(UUID(int=7)),
        "name": "active",
        "topic": "Shall we build a weather bot?",
        "brief": said(1, _TEXT_CHARS),
        "created_at": _NOW,
        "updated_at": _NOW,
        "timeout_at": _NOW.replace(hour=23),
        "participants": {one: Participant(id=one, name=one.capitalize()) for one in _FOUR},
    }
    return begin(Conversation(**{**given, **fields}), _NOW).state


def _speech(state: Conversation, agent: str, seed: int) -> str:
    del state, agent
    return said(seed, _TEXT_CHARS)


def _turn(state: Conversation, agent: str, seed: int) -> str:
    """Return a complete turn or vote, with partial agreement, so that no round is left out."""
    heading, others = "Position", "Responses to Others"
    if state.phase == "VOTE":
        heading, others = "Final Position", "Agreement with Others"
    line = said(seed, 60).replace("\n", " ")
    stances = "".join(f"- @{one}: partial — {line}\n" for one in responses_due(state, agent))
    text = f"## {heading}\n{line}\n\n## {others}\n{stances}\n"
    reasons = "" if state.phase == "VOTE" else f"## Reasoning\n{said(seed, _TEXT_CHARS - 400)}\n\n"
    return f"{text}{reasons}## Confidence\n4\n"


class _Played:
    """A conversation in which everybody answers, and the prompts that are made on the way."""

    def __init__(self, site: Site, state: Conversation) -> None:
        self._place = site.place()
        self._state = state

    def play(self, text: Callable[[Conversation, str, int], str]) -> dict[str, tuple[float, float]]:
        """Return (tokens of the longest prompt, tokens in it that are new) by round."""
        found: dict[str, tuple[float, float]] = {}
        while self._state.finished_at is None and due_agents(self._state):
            agent = due_agents(self._state)[0]
            prompt = turn_prompt(self._place, self._state, agent, keep=False)
            number = round_number(self._state) if self._state.phase != "SYNTHESIZE" else 1
            what = f"{self._state.phase} {number}" if number > 1 else self._state.phase
            lengths = (len(prompt) / _CHARS_PER_TOKEN, self._new(agent) / _CHARS_PER_TOKEN)
            found[what] = max(found.get(what, (0.0, 0.0)), lengths)
            if self._state.phase == "SYNTHESIZE":
                break
            answer = text(self._state, agent, len(self._state.entries) + 1)
            step = respond(self._state, agent, answer, now=_NOW, nonce="salt")
            self._state = advance(step.state, _NOW).state
        return found

    def _new(self, agent: str) -> int:
        """Return the characters of the texts that are shown to `agent` as new."""
        seen = parts(self._state, agent, _NOW)
        shown = [*seen["own"], *seen["contributions"]]
        return sum(len(one["text"]) for one in shown if one["new"])
