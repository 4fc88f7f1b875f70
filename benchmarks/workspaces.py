"""Workspaces to measure in: agents that run, and conversations of any size.

Conversations are made by the rules and the store of the product, so their
files are what a council would have written, without waiting for one.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measuring import milliseconds
from council.core.conversations import machine
from council.core.conversations.conversation import (
    Conversation,
    Entry,
    EntryKind,
    Participant,
    Round,
    Task,
    TaskState,
)
from council.core.ids import task_id, text_digest
from council.operations.place import Place

COUNCIL = str(Path(sys.executable).parent / "council")
PASS = (sys.executable, "-c", "pass")
PEOPLE = 4
AGENTS = ("ada", "bruno", "clio", "dario", "edda", "fynn")

# Bytes of a file: without anybody, for each who takes part, for what goes with each text.
_FIXED, _EACH_PARTICIPANT, _EACH_ENTRY = 2_000, 520, 560
_USUAL = 4_500  # a contribution and what goes with it

_WORDS = [
    "the",
    "a",
    "we",
    "our",
    "council",
    "bot",
    "weather",
    "people",
    "ask",
    "need",
    "cost",
    "time",
    "month",
    "risk",
    "data",
    "model",
    "season",
    "because",
    "however",
    "unless",
    "so",
    "that",
    "if",
    "then",
    "user",
    "reason",
    "evidence",
    "plan",
    "should",
    "would",
    "could",
    "not",
]


class Site:
    """A workspace on the disk, and the commands that are run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shared = root / "memory" / "shared"
        self.shared.mkdir(parents=True, exist_ok=True)
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(root),
            "LANG": "C.UTF-8",
        }

    def with_agents(self) -> Site:
        """Write settings and a `SOUL.md` for six agents that are programs."""
        tables = []
        for agent in AGENTS:
            tables.append(f'[agents.{agent}]\nargv = ["/bin/echo", "Yes, says {agent}."]\n')
            folder = self.root / "memory" / "agents" / agent
            folder.mkdir(parents=True)
            front = f"---\nname: {agent.capitalize()}\nemoji: 🦉\nrole: reviewer\n---\n"
            (folder / "SOUL.md").write_text(f"{front}You weigh what others say.\n")
        (self.root / "council.toml").write_text("\n".join(tables))
        return self

    def place(self) -> Place:
        """Return the workspace as the operations know it."""
        return Place(str(self.root), self.env, None)

    def printed(self, *words: str) -> str:
        """Run `council WORDS`, which must succeed, and return what it printed."""
        return self._run((COUNCIL, *words)).stdout.decode()

    def timed(self, argv: Sequence[str]) -> float:
        """Return the milliseconds of a command, which must succeed."""
        return milliseconds(lambda: self._run(argv))

    def _run(self, argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            list(argv), cwd=self.root, env=self.env, check=True, stdout=subprocess.PIPE
        )

    def file(self, name: str) -> Path:
        """Return the path of a conversation's file."""
        return self.shared / f"council-{name}-conversation.md"

    def converse(
        self,
        name: str,
        size: int,
        *,
        people: int = PEOPLE,
        timeout: timedelta = timedelta(hours=12),
        blind: bool = False,
    ) -> None:
        """Open a conversation that has gone on for a while.

        All six agents have answered every round so far with some KB that quote
        the one before. Now they and `people` (`p0`, `p1`, …) owe an answer;
        everybody has been woken.

        Args:
            name: Its name.
            size: How large its file is, about.
            people: How many people take part besides.
            timeout: How long the round under way lasts.
            blind: Whether its answers are sealed.
        """
        state = _begun(name, [f"p{number}" for number in range(people)], timeout)
        room = max(1200, size - _FIXED - _EACH_PARTICIPANT * len(state.participants))
        tours = max(1, round(room / len(AGENTS) / _USUAL))
        for tour in range(1, tours + 1):
            _play(state, tour, room // len(AGENTS) // tours - _EACH_ENTRY)
        _wait(state, tours + 1, "COLLECT" if blind else "CHALLENGE")
        self.place().conversations.create(state, now=state.created_at)

    def seats(self, size: int, rounds: int, *, blind: bool = False) -> Iterator[tuple[str, str]]:
        """Open conversations, and yield (name, agent) of people who may answer, `rounds` times.

        No answer is the last one that a round waits for.
        """
        each = PEOPLE - 1
        names = [f"seat{number}" for number in range((rounds + each - 1) // each)]
        for name in names:
            self.converse(name, size, blind=blind)
        return ((name, f"p{number}") for name in names for number in range(each))


def _begun(name: str, people: list[str], timeout: timedelta) -> Conversation:
    now = datetime.now(UTC).replace(microsecond=0)
    state = Conversation(
        conversation_id=str(uuid.uuid4()),
        name=name,
        topic="Shall we build a weather bot?",
        brief="Say what speaks for it and what against it.",
        created_at=now,
        updated_at=now,
        timeout_at=now + timeout,
        phase_timeout=timeout,
        participants={
            one: Participant(id=one, name=one.capitalize(), emoji="🦉")
            for one in [*AGENTS, *people]
        },
    )
    state = machine.begin(state, now).state
    state.rounds = []
    return state


def _play(state: Conversation, tour: int, each: int) -> None:
    phase = "COLLECT" if tour == 1 else "CHALLENGE"
    at = state.created_at
    for number, agent in enumerate(AGENTS):
        text = said(tour * len(AGENTS) + number, each)
        if state.entries:
            other = state.entries[-1]
            text = f"@{other.agent}:\n\n> {other.text.splitlines()[-1]}\n\n{text}"
        state.entries.append(
            Entry(
                id=f"{tour}-{agent}",
                kind=EntryKind.CONTRIBUTION,
                agent=agent,
                phase=phase,
                tour=tour,
                at=at,
                text=text,
                digest=text_digest(text),
                status="RESPONDED",
            )
        )
    state.rounds.append(
        Round(tour=tour, phase=phase, started_at=at, ended_at=at, reason="all-answered")
    )


def _wait(state: Conversation, tour: int, phase: str) -> None:
    """Begin a round in which everybody has been handed a prompt and nobody has answered."""
    state.tour = state.notified_tour = tour
    state.phase = phase
    state.rounds.append(Round(tour=tour, phase=state.phase, started_at=state.created_at))
    for agent in state.participants:
        task = task_id(state.conversation_id, tour, agent, 1)
        state.tasks[task] = Task(
            id=task,
            agent=agent,
            tour=tour,
            attempt=1,
            state=TaskState.R,
            at=state.created_at,
            driver="manual",
        )


def said(seed: int, chars: int) -> str:
    """Return about `chars` characters of prose; the same seed says the same."""
    chance = random.Random(seed)
    lines, length = [], 0
    while not lines or length < chars:
        line = " ".join(chance.choices(_WORDS, k=14)).capitalize() + "."
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)
