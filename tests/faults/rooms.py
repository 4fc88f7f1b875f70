"""A conversation with many seats, worked on by forked processes through the store itself."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from council.core.conversations.answers import respond
from council.core.conversations.conversation import Step
from council.core.ids import answer_op_id
from council.store.conversations.conversations import Conversations
from council.store.paths import Workspace
from tests.core.conversations.samples import CONVERSATION_ID, NOW, convened
from tests.faults import tracing
from tests.faults.invariants import Watched


class Room:
    """A workspace with one open conversation, `active`, and short ways to work on it."""

    def __init__(self, root: Path, agents: list[str], **fields: object) -> None:
        tracing.adopt_orphans()
        self.root = root
        (root / "memory" / "shared").mkdir(parents=True, exist_ok=True)
        self.agents = agents
        self.state = convened(*agents, **{"sealed_phases": False, **fields})
        self.conversations = Conversations(Workspace(str(root)))
        self.watched = Watched(root)

    def open(self) -> Room:
        self.conversations.create(self.state, now=NOW, actor="tests")
        return self

    def answer(self, agent: str) -> int:
        """Answer and return the revision in which that stands."""
        text = text_of(agent)
        edited = self.conversations.edit(
            "active",
            lambda state: respond(state, agent, text, now=NOW, nonce=os.urandom(16).hex()),
            op_id=answer_op_id(CONVERSATION_ID, 1, agent, text),
            actor=agent,
            now=NOW,
        )
        return edited.state.rev

    def touch(self) -> int:
        """Take in what people have saved; change nothing else."""
        return self.conversations.edit("active", lambda state: Step(state=state), now=NOW).state.rev


def text_of(agent: str) -> str:
    return f"said by {agent} once"


class Diary:
    """What processes write down as it happens: one line each, in one file, none torn."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def write(self, **said: Any) -> None:
        line = json.dumps(said).encode() + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, line)
        os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]


def together(works: list[Callable[[], object]], said: Path) -> list[str]:
    """Run all of them at once, let go by one pipe; return the last words of those that failed.

    Args:
        works: What to do.
        said: Takes what they say.
    """
    reading, writing = os.pipe()

    def waiting(work: Callable[[], object]) -> Callable[[], int]:
        def run() -> int:
            os.close(writing)
            os.read(reading, 1)
            sys.stderr = said.open("a", buffering=1)
            work()
            return 0

        return run

    children = [tracing.forked(waiting(work)) for work in works]
    os.close(reading)
    os.close(writing)
    statuses = [tracing.status_of(child) for child in children]
    if not any(statuses):
        return []
    return [f"somebody failed: {said.read_text().strip().splitlines()[-1:]}"]


def timed(diary: Diary, who: str, work: Callable[[], int]) -> int:
    """Do something that returns a revision, and write down when it began and ended."""
    began = time.monotonic_ns()
    rev = work()
    diary.write(kind="done", who=who, began=began, ended=time.monotonic_ns(), rev=rev)
    return rev
