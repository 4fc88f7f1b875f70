"""Workspaces with a conversation in them, for the tests of the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from council.core.conversations.answers import respond
from council.core.conversations.conversation import Conversation, Step
from council.core.events import Event
from council.core.ids import answer_op_id
from council.store.conversations.conversations import Conversations, Edited
from council.store.paths import Workspace
from tests.core.conversations.samples import CONVERSATION_ID, FOUR, NOW, convened


class Room:
    """One workspace with one conversation, `active`, and short ways to work on it."""

    def __init__(self, root: Path, *agents: str, **fields: object) -> None:
        self.root = root
        self.workspace = Workspace(str(root))
        self.conversations = Conversations(self.workspace)
        self.live = root / "memory" / "shared" / "council-active-conversation.md"
        self.folder = root / "memory" / "shared" / ".council" / CONVERSATION_ID
        self.state = convened(*agents, **{"sealed_phases": False, **fields})

    def open(self) -> Room:
        self.conversations.create(
            self.state, now=NOW, events=[Event(type="conversation.opened")], actor="tests"
        )
        return self

    def answer(self, agent: str, text: str = "", *, nonce: str = "") -> Edited:
        said = text or f"{agent} says so."
        return self.conversations.edit(
            "active",
            lambda state: respond(state, agent, said, now=NOW, nonce=nonce),
            op_id=answer_op_id(CONVERSATION_ID, 1, agent, said),
            actor=agent,
            now=NOW,
        )

    def touch(self) -> Edited:
        """Do what a heartbeat with nothing to do does."""
        return self.conversations.edit("active", lambda state: Step(state=state), now=NOW)

    def read(self) -> Conversation:
        return self.conversations.read("active")

    def said(self) -> list[tuple[str, str]]:
        return [(entry.agent, entry.text) for entry in self.read().entries]

    def events(self) -> list[str]:
        from council.store.events import tail

        return [record["type"] for record in tail(self.workspace)]

    def tree(self) -> dict[str, tuple[bytes, int, int]]:
        """Return content, inode and time of change of every file but the lock."""
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                if name != "lock":
                    facts = path.stat()
                    found[str(path)] = (path.read_bytes(), facts.st_ino, facts.st_mtime_ns)
        return found

    def edit_by_hand(self, change: Callable[[str], str]) -> str:
        """Save the live file as an editor does that writes in place."""
        text = change(self.live.read_text())
        self.live.write_text(text)
        return text


__all__ = ["CONVERSATION_ID", "FOUR", "NOW", "Room"]
