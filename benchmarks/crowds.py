"""Workspaces with very many conversations, made in little time: `python -m benchmarks.crowds`.

One conversation is convened by the product; the others are copies of its
files under names and ids of their own. Nothing is brought to the disk.
"""

from __future__ import annotations

import os
import sys
import uuid
from datetime import datetime, timedelta
from pathlib import Path

from council.core.ids import sha256_hex
from council.operations.conversations.convene import Invitation, convene
from council.operations.place import Place
from council.store.documents import journal, lines

AGENTS = ("owl", "gecko")
_SHARED = Path("memory", "shared")
_FIRST = "first"


def make_idle(
    root: Path, count: int, *, now: datetime | None = None, prefix: str = "idle"
) -> list[str]:
    """Fill a workspace with conversations that wait for people for thirty days.

    Args:
        root: The workspace; what is missing of it is made.
        count: How many conversations to make.
        now: When they begin, None for the present.
        prefix: How their names begin; it may not be in use there yet.

    Returns:
        Their names.
    """
    (root / _SHARED).mkdir(parents=True, exist_ok=True)
    settings = root / "council.toml"
    if not settings.exists():
        settings.write_text("".join(f"[agents.{agent}]\n" for agent in AGENTS))
    first = f"{prefix}-{_FIRST}"
    place = Place(str(root), {"PATH": os.environ.get("PATH", os.defpath)}, now)
    opened = convene(
        place,
        Invitation(
            topic=f"What becomes of {first}?",
            name=first,
            agents=AGENTS,
            timeout=timedelta(days=30),
        ),
    )
    model = _Model(root, first, opened.state.conversation_id)
    names = [first, *(f"{prefix}-{number:05}" for number in range(1, count))]
    for name in names[1:]:
        model.copy_to(name)
    return names


class _Model:
    """The conversation that the others are copies of."""

    def __init__(self, root: Path, name: str, conversation_id: str) -> None:
        self._shared = root / _SHARED
        self._control = self._shared / ".council"
        self._name, self._id = name, conversation_id
        self._text = self._live(name).read_text(encoding="utf-8")
        tail = journal.read_tail(str(self._control / conversation_id / journal.FILE))
        if tail is None:
            raise SystemExit(f"{name} has no journal")
        self._head = tail.head

    def _live(self, name: str) -> Path:
        return self._shared / f"council-{name}-conversation.md"

    def copy_to(self, name: str) -> None:
        """Make one more conversation that differs in name and id alone."""
        conversation_id = str(uuid.uuid4())
        text = self._text.replace(self._id, conversation_id).replace(self._name, name)
        data = text.encode("utf-8")
        folder = self._control / conversation_id
        folder.mkdir(parents=True)
        own = {"seq": 1, "parent": "", "name": name, "digest": sha256_hex(data), "events": []}
        (folder / journal.FILE).write_bytes(lines.made(None, {**self._head, **own}, None, data)[0])
        self._live(name).write_bytes(data)
        (self._control / "open" / name).write_text(conversation_id + "\n")


if __name__ == "__main__":
    make_idle(Path(sys.argv[1]), int(sys.argv[2]))
