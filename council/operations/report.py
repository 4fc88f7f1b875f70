"""What a heartbeat found and did, for people and programs.

Source: `cli.md` section 3 (`heartbeat --json`).
"""

from __future__ import annotations

from datetime import datetime

from council.core import owed
from council.core.conversation import Conversation
from council.core.errors import CouncilError
from council.core.owed import Archive, Notify, Wake
from council.core.record import Record
from council.core.step import Step
from council.core.times import render_instant
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Beaten(Record):
    """What a heartbeat found, at revision `rev`, and did in one conversation."""

    name: str
    conversation_id: str
    status: str
    phase: str
    tour: int
    moved_from: str = ""
    moved_to: str = ""
    reason: str = ""
    woken: list[str] = []  # noqa: RUF012 - Record copies it
    waiting: list[str] = []  # noqa: RUF012 - Record copies it
    archived: str = ""
    edited: bool = False
    rev: int = 0

    def to_record(self) -> dict[str, Any]:
        """Return the conversation's part of `heartbeat --json`."""
        moved = {"from": self.moved_from, "to": self.moved_to, "reason": self.reason}
        return {
            "name": self.name,
            "conversationId": self.conversation_id,
            "status": self.status,
            "phase": self.phase,
            "tour": self.tour,
            "transition": moved if self.moved_to else None,
            "woken": self.woken,
            "waiting": self.waiting,
            "archived": self.archived or None,
        }

    def to_text(self) -> str:
        """Return the line that tells a person what was found and done."""
        said = [f"{self.phase} (round {self.tour})"]
        if self.moved_to:
            said = [f"{self.moved_from} → {self.moved_to} ({self.reason})"]
        if self.woken:
            said.append(f"woke {', '.join(self.woken)}")
        waiting = [agent for agent in self.waiting if agent not in self.woken]
        if waiting:
            said.append(f"waiting for {', '.join(waiting)}")
        if self.archived:
            said.append(f"minutes in {self.archived}")
        return f"{self.name}: " + "; ".join(said)

    @property
    def changed(self) -> bool:
        """Whether the heartbeat did anything here."""
        return bool(self.moved_to or self.woken or self.archived or self.edited)


class Report(Record):
    """What one heartbeat found and did; `halted` when it was to start no run."""

    now: datetime
    halted: bool = False
    conversations: list[Beaten] = []  # noqa: RUF012 - Record copies it
    errors: list[tuple[str, CouncilError]] = []  # noqa: RUF012 - Record copies it

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return any(one.changed for one in self.conversations)

    def take_over(self, later: Report) -> None:
        """Add what a later heartbeat did to this report."""
        known = {one.name: one for one in self.conversations}
        for seen in later.conversations:
            before = known.get(seen.name)
            if before is None:
                self.conversations.append(seen)
                continue
            seen.woken = before.woken + seen.woken
            seen.edited = before.edited or seen.edited
            seen.moved_from = before.moved_from or seen.moved_from
            seen.moved_to = seen.moved_to or before.moved_to
            seen.reason = seen.reason or before.reason
            self.conversations[self.conversations.index(before)] = seen
        self.errors = later.errors

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `heartbeat --json`."""
        return {
            "now": render_instant(self.now),
            "conversations": [one.to_record() for one in self.conversations],
            "channels": [],
            "tasks": [],
            "changed": self.changed,
            "halted": self.halted,
            "errors": [{"name": name, **error.to_record()} for name, error in self.errors],
        }

    def to_text(self) -> str:
        """Return one line for each conversation, for people."""
        halted = ["halted: no run is started; go on with: council resume --all"]
        return "\n".join(
            [*(halted if self.halted else ()), *(one.to_text() for one in self.conversations)]
        )


def seen_of(name: str, before: Conversation, step: Step) -> Beaten:
    """Return what a step did to a conversation."""
    after = step.state
    seen = Beaten(
        name=name,
        conversation_id=after.conversation_id,
        status=str(after.status),
        phase=after.phase,
        tour=after.tour,
        waiting=list(owed.owing(after)),
        rev=before.rev,
    )
    for event in step.events:
        if event.type == "phase.changed":
            seen.moved_from, seen.moved_to = before.phase, after.phase
            seen.reason = event.data["reason"]
    return seen


def owed_by(
    place: Place, state: Conversation, now: datetime
) -> tuple[Wake | Notify | Archive, ...]:
    """Return what a conversation owes to the world, with the pauses the settings ask for."""
    return owed.pending(state, now, backoff=place.settings.retry_backoff)
