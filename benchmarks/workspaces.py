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
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measuring import milliseconds
from council.core import machine
from council.core.conversation import (
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
AGENTS = ("ada", "bruno", "clio", "dario", "edda", "fynn")

_WORDS = (
    "the a we our council bot weather people ask need cost time month risk data model season "
    "because however unless so that if then user reason evidence plan should would could not"
).split()


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
        chars: int,
        *,
        waiting: int = 1,
        each: int = 4000,
        timeout: timedelta = timedelta(hours=12),
    ) -> None:
        """Open a conversation that has gone on for a while.

        All six agents have answered every round so far, each time with about
        `each` characters that quote somebody. Now they and `waiting` people
        (`p0`, `p1`, …) owe an answer; everybody has been woken.

        Args:
            name: Its name.
            chars: How much has been said, about.
            waiting: How many people take part besides.
            each: The length of one contribution.
            timeout: How long the round under way lasts.
        """
        each = min(each, max(200, chars // len(AGENTS)))
        state = _begun(name, [f"p{number}" for number in range(waiting)], timeout)
        tours = max(1, round(chars / (each * len(AGENTS))))
        for tour in range(1, tours + 1):
            _play(state, tour, each)
        _wait(state, tours + 1)
        self.place().conversations.create(state, now=state.created_at)


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


def _wait(state: Conversation, tour: int) -> None:
    """Begin a round in which everybody has been handed a prompt and nobody has answered."""
    state.tour = state.notified_tour = tour
    state.phase = "CHALLENGE"
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
    while length < chars:
        line = " ".join(chance.choices(_WORDS, k=14)).capitalize() + "."
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)
