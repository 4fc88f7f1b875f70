"""What a heartbeat found and did, for people and programs.

Source: `cli.md` section 3 (`heartbeat --json`).
"""

from __future__ import annotations

from datetime import datetime

from council.core.errors import CouncilError
from council.core.record import Record
from council.core.times import render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from council.core.conversations.conversation import Conversation, Step
    from council.core.conversations.due import Archive, Notify, Wake
    from council.core.rooms.channels import Channel
    from council.operations.place import Place

    class Reported(Protocol):
        """What a heartbeat found and did in one thing that it serves."""

        name: str

        @property
        def changed(self) -> bool:
            """Whether anything was done there."""

        def to_record(self) -> dict[str, Any]:
            """Return its part of `heartbeat --json`."""

        def to_text(self) -> str:
            """Return the line that tells a person of it."""


_NOTED = ("status", "phase", "tour", "rev", "waiting")
_NOTED_OF_ROOM = ("mode", "state", "speaker", "cycle", "rev", "awaited")
_TAKES_TURNS = ("normal", "shuffle")


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
    woken: list[str] = []
    waiting: list[str] = []
    archived: str = ""
    edited: bool = False
    rev: int = 0

    def to_record(self) -> dict[str, Any]:
        """Return the conversation's part of `heartbeat --json`."""
        moved = {"from": self.moved_from, "to": self.moved_to, "reason": self.reason}
        return {
            **_record_of_idle(self.name, self.conversation_id, self.to_note()),
            "transition": moved if self.moved_to else None,
            "woken": self.woken,
            "archived": self.archived or None,
        }

    def to_text(self) -> str:
        """Return the line that tells a person what was found and done."""
        if not (self.moved_to or self.woken or self.archived):
            return _line_of_idle(self.name, self.conversation_id, self.to_note())
        said = []
        if self.moved_to:
            said = [f"{self.moved_from} → {self.moved_to} ({self.reason})"]
            if self.moved_from == self.moved_to:
                said = [f"{self.phase} → round {self.tour} ({self.reason})"]
        else:
            said.append(f"{self.phase} (round {self.tour})")
        if self.woken:
            said.append(f"woke {', '.join(self.woken)}")
        waiting = [agent for agent in self.waiting if agent not in self.woken]
        if waiting:
            said.append(f"waiting for {', '.join(waiting)}")
        if self.archived:
            said.append(f"minutes in {self.archived}")
        return f"{self.name}: " + "; ".join(said)

    def to_note(self) -> list[Any]:
        """Return what the next heartbeat has to know of it if it stays idle."""
        return [getattr(self, field) for field in _NOTED]

    @classmethod
    def from_note(cls, name: str, conversation_id: str, noted: list[Any]) -> Beaten:
        """Return an idle conversation as `to_note` noted it."""
        found: dict[str, Any] = dict(zip(_NOTED, noted, strict=True))
        return cls(name=name, conversation_id=conversation_id, **found)

    def take_over(self, earlier: Beaten) -> None:
        """Add what an earlier heartbeat did here."""
        self.woken = earlier.woken + self.woken
        self.edited = earlier.edited or self.edited
        self.moved_from = earlier.moved_from or self.moved_from
        self.moved_to = self.moved_to or earlier.moved_to
        self.reason = self.reason or earlier.reason

    @property
    def changed(self) -> bool:
        """Whether the heartbeat did anything here."""
        return bool(self.moved_to or self.woken or self.archived or self.edited)


def _record_of_idle(name: str, conversation_id: str, noted: list[Any]) -> dict[str, Any]:
    """Return the JSON of a conversation in which nothing was done, from its note."""
    status, phase, tour, _, waiting = noted
    return {
        "name": name,
        "conversationId": conversation_id,
        "status": status,
        "phase": phase,
        "tour": tour,
        "transition": None,
        "woken": [],
        "waiting": waiting,
        "archived": None,
    }


def _line_of_idle(name: str, _: str, noted: list[Any]) -> str:
    """Return the line of a conversation in which nothing was done, from its note."""
    _, phase, tour, _, waiting = noted
    asked = f"; waiting for {', '.join(waiting)}" if waiting else ""
    return f"{name}: {phase} (round {tour}){asked}"


class BeatenRoom(Record):
    """What a heartbeat found, at revision `rev`, and did in one channel.

    `speaker` has the floor, "" for nobody; `awaited` tells that there is
    something to answer or to wait for. `tended` tells that the room was brought
    up to date, `archived` is where minutes were written.
    """

    name: str
    mode: str
    state: str
    speaker: str
    cycle: int
    rev: int
    awaited: bool = False
    woken: list[str] = []
    tended: bool = False
    archived: str = ""

    @property
    def changed(self) -> bool:
        """Whether the heartbeat did anything here."""
        return bool(self.woken or self.tended or self.archived)

    @property
    def has_turns(self) -> bool:
        """Whether turns are taken here."""
        return self.state in _TAKES_TURNS

    @property
    def asleep(self) -> bool:
        """Whether turns are taken here and nobody has the floor."""
        return self.has_turns and not self.speaker

    def to_record(self) -> dict[str, Any]:
        """Return the channel's part of `heartbeat --json`."""
        return {
            **self.as_json(
                "name:channelId mode state:tmState speaker:currentSpeaker? cycle asleep:dormant"
                " woken"
            ),
            "waiting": [self.speaker] if self.awaited and self.speaker else [],
            **self.as_json("archived?"),
        }

    def to_text(self) -> str:
        """Return the line that tells a person what was found and done."""
        said = [self._standing()]
        if self.woken:
            said.append(f"woke {', '.join(self.woken)}")
        elif self.awaited and self.speaker:
            said.append(f"waiting for {self.speaker}")
        if self.archived:
            said.append(f"minutes in {self.archived}")
        return f"{self.name}: " + "; ".join(said)

    def _standing(self) -> str:
        if not self.has_turns:
            return f"{self.mode}, {self.state}"
        if self.asleep:
            return "asleep"
        return f"{self.speaker} has the floor (cycle {self.cycle})"

    def take_over(self, earlier: BeatenRoom) -> None:
        """Add what an earlier heartbeat did here."""
        self.woken = earlier.woken + self.woken
        self.tended = self.tended or earlier.tended
        self.archived = self.archived or earlier.archived

    def to_note(self) -> list[Any]:
        """Return what the next heartbeat has to know of it if it stays idle."""
        return [getattr(self, field) for field in _NOTED_OF_ROOM]

    @classmethod
    def from_note(cls, name: str, noted: list[Any]) -> BeatenRoom:
        """Return an idle channel as `to_note` noted it."""
        found: dict[str, Any] = dict(zip(_NOTED_OF_ROOM, noted, strict=True))
        return cls(name=name, **found)


class Report(Record):
    """What one heartbeat found and did; `halted` when it was to start no run.

    `guard` is what forbids this process alone to start any, "" for nothing.

    `idle` are the conversations that were not opened, as they were noted: name,
    id and note. `conversations` are the others. `idle_rooms` and `rooms` are the
    same of channels. `tasks` is what was found and done
    for task contexts. `passed_over`: somebody was, so that another is owed a start.
    """

    now: datetime
    halted: bool = False
    guard: str = ""
    conversations: list[Beaten] = []
    idle: list[tuple[str, str, list[Any]]] = []
    rooms: list[BeatenRoom] = []
    idle_rooms: list[tuple[str, str, list[Any]]] = []
    tasks: list[Reported] = []
    errors: list[tuple[str, CouncilError]] = []
    passed_over: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        found: list[Reported] = [*self.conversations, *self.rooms, *self.tasks]
        return any(one.changed for one in found)

    def everything(self) -> list[Beaten]:
        """Return all conversations, opened or not, in the order of their names."""
        if not self.idle:
            return self.conversations
        found = [*self.conversations, *(Beaten.from_note(*one) for one in self.idle)]
        return sorted(found, key=lambda one: one.name)

    def all_rooms(self) -> list[BeatenRoom]:
        """Return all channels, opened or not, in the order of their names."""
        if not self.idle_rooms:
            return self.rooms

        found = [*self.rooms, *(BeatenRoom.from_note(one[0], one[2]) for one in self.idle_rooms)]
        return sorted(found, key=lambda one: one.name)

    def take_over(self, later: Report) -> None:
        """Add what a later heartbeat did to this report."""
        self.conversations = _joined(self.everything(), later.everything())
        self.rooms = _joined(self.all_rooms(), later.all_rooms())
        self.idle, self.idle_rooms = [], []
        self.tasks = taken_over(self.tasks, later.tasks)
        self.errors = later.errors

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `heartbeat --json`."""
        found = [_record_of_idle(*one) for one in self.idle]
        found += [one.to_record() for one in self.conversations]
        if self.idle and self.conversations:
            found.sort(key=_name_of)
        return {
            "now": render_instant(self.now),
            "conversations": found,
            "channels": [one.to_record() for one in self.all_rooms()],
            **self.as_json("tasks changed halted"),
            "errors": [{"name": name, **error.to_record()} for name, error in self.errors],
        }

    def to_text(self) -> str:
        """Return one line for each conversation, for people."""
        lines = [_line_of_idle(*one) for one in self.idle]
        lines += [one.to_text() for one in self.conversations]
        if self.idle and self.conversations:
            lines.sort(key=_name_in)
        lines += [one.to_text() for one in self.all_rooms() if one.has_turns or one.changed]
        lines += [one.to_text() for one in self.tasks]
        if self.guard:
            lines.insert(0, f"{self.guard}; who is due waits for a heartbeat outside of it")
        if self.halted:
            lines.insert(0, "halted: no run is started; go on with: council resume --all")
        return "\n".join(lines)


def _joined(earlier: list[Any], later: list[Any]) -> list[Any]:
    """Return what two heartbeats found and did: how it stands is as the later one saw it."""
    found = {one.name: one for one in earlier}
    for one in later:
        if one.name in found:
            one.take_over(found[one.name])
        found[one.name] = one
    return [found[name] for name in sorted(found)]


def taken_over(before: list[Reported], later: list[Reported]) -> list[Reported]:
    """Return what two heartbeats found, each thing once: as the later one saw it, if it did."""
    again = {one.name: one for one in later if one.changed}
    found = {one.name: one for one in (*later, *before)} | again
    return [found[name] for name in sorted(found)]


def _name_of(record: dict[str, Any]) -> str:
    return str(record["name"])


def _name_in(line: str) -> str:
    return line.partition(":")[0]


def seen_of(name: str, before: Conversation, step: Step) -> Beaten:
    """Return what a step did to a conversation."""
    from council.core.conversations import due

    after = step.state
    seen = Beaten(
        name=name,
        conversation_id=after.conversation_id,
        status=str(after.status),
        phase=after.phase,
        tour=after.tour,
        waiting=list(due.owing(after)),
        rev=before.rev,
    )
    for event in step.events:
        if event.type in ("phase.changed", "round.changed"):
            seen.moved_from, seen.moved_to = before.phase, after.phase
            seen.reason = event.data["reason"]
    return seen


def owed_by(
    place: Place, state: Conversation, now: datetime
) -> tuple[Wake | Notify | Archive, ...]:
    """Return what a conversation owes to the world, with the pauses the settings ask for."""
    from council.core.conversations import due

    return due.pending(state, now, backoff=place.settings.retry_backoff)


def room_seen(channel: Channel, *, awaited: bool) -> BeatenRoom:
    """Return how a channel stands, before anything was done."""
    return BeatenRoom(
        name=channel.channel_id,
        mode=str(channel.mode),
        state=str(channel.state),
        speaker=channel.speaker,
        cycle=channel.cycle,
        rev=channel.rev,
        awaited=awaited,
    )
