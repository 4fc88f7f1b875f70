"""What a heartbeat found and did, for people and programs.

Source: `cli.md` section 3 (`heartbeat --json`).
"""

from __future__ import annotations

from datetime import datetime

from council.core.errors import CouncilError
from council.core.record import Any, Record
from council.core.times import render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TypeAlias, TypeVar

    from council.core.conversations.conversation import Conversation, Step
    from council.core.conversations.due import Archive, Notify, Wake
    from council.core.rooms.channels import Channel
    from council.operations.place import Place
    from council.operations.protocol.orchestrating import Beaten as BeatenContext

    Found = TypeVar("Found", bound="_Beat")
    Reported: TypeAlias = "Beaten | BeatenRoom | BeatenContext"

_TAKES_TURNS = ("normal", "shuffle")


class _Beat(Record):
    """What a heartbeat found, at revision `rev`, and did in a conversation or a channel."""

    _noted: tuple[str, ...] = ()

    name: str
    conversation_id: str = ""
    woken: list[str] = []
    archived: str = ""
    rev: int = 0

    def to_note(self) -> list[Any]:
        """Return what the next heartbeat has to know of it if it stays idle."""
        return [getattr(self, field) for field in self._noted]

    @classmethod
    def from_note(cls, name: str, conversation_id: str, noted: list[Any]) -> Self:
        """Return an idle one as `to_note` noted it."""
        found: dict[str, Any] = dict(zip(cls._noted, noted, strict=True))
        return cls(name=name, conversation_id=conversation_id, **found)

    def _line(self, standing: str, waiting: list[str]) -> str:
        """Return the line that says to a person how it stands and what was done."""
        woke = f"; woke {', '.join(self.woken)}" if self.woken else ""
        minutes = f"; minutes in {self.archived}" if self.archived else ""
        return f"{self.name}: {standing}{woke}{_waiting_for(waiting)}{minutes}"


class Beaten(_Beat):
    """What a heartbeat found, and did in one conversation."""

    _noted = ("status", "phase", "tour", "rev", "waiting")

    status: str
    phase: str
    tour: int
    moved_from: str = ""
    moved_to: str = ""
    reason: str = ""
    waiting: list[str] = []
    edited: bool = False

    def to_record(self) -> dict[str, Any]:
        """Return the conversation's part of `heartbeat --json`."""
        moved = {"from": self.moved_from, "to": self.moved_to, "reason": self.reason}
        return {
            **self.as_json("name conversation_id status phase tour"),
            "transition": moved if self.moved_to else None,
            **self.as_json("woken waiting archived?"),
        }

    def to_text(self) -> str:
        """Return the line that says to a person what was found and done."""
        standing = f"{self.phase} (round {self.tour})"
        if self.moved_to:
            moved = f"{self.moved_from} → {self.moved_to}"
            if self.moved_from == self.moved_to:
                moved = f"{self.phase} → round {self.tour}"
            standing = f"{moved} ({self.reason})"
        return self._line(standing, [one for one in self.waiting if one not in self.woken])

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


def _waiting_for(agents: list[str]) -> str:
    return f"; waiting for {', '.join(agents)}" if agents else ""


def _line_of_idle(name: str, _: str, noted: list[Any]) -> str:
    """Return the line of a conversation in which nothing was done, from its note."""
    _, phase, tour, _, waiting = noted
    return f"{name}: {phase} (round {tour}){_waiting_for(waiting)}"


class BeatenRoom(_Beat):
    """What a heartbeat found, and did in one channel.

    `speaker` has the floor, "" for none; `awaited` says that there is
    something to answer or to wait for. `tended` says that the room was brought
    up to date, `archived` is where minutes were written.
    """

    _noted = ("mode", "state", "speaker", "cycle", "rev", "awaited")

    mode: str
    state: str
    speaker: str
    cycle: int
    awaited: bool = False
    tended: bool = False

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
        """Whether turns are taken here and no agent has the floor."""
        return self.has_turns and not self.speaker

    @property
    def waiting(self) -> list[str]:
        """The agent that an answer is awaited of, if there is one."""
        return [self.speaker] if self.awaited and self.speaker else []

    def to_record(self) -> dict[str, Any]:
        """Return the channel's part of `heartbeat --json`."""
        return self.as_json(
            "name:channelId mode state:tmState speaker:currentSpeaker? cycle asleep:dormant"
            " woken waiting archived?"
        )

    def to_text(self) -> str:
        """Return the line that says to a person what was found and done."""
        standing = f"{self.speaker} has the floor (cycle {self.cycle})"
        if not self.speaker or not self.has_turns:
            standing = "asleep" if self.has_turns else f"{self.mode}, {self.state}"
        return self._line(standing, [] if self.woken else self.waiting)

    def take_over(self, earlier: BeatenRoom) -> None:
        """Add what an earlier heartbeat did here."""
        self.woken = earlier.woken + self.woken
        self.tended = self.tended or earlier.tended
        self.archived = self.archived or earlier.archived


class Report(Record):
    """What one heartbeat found and did; `halted` when it was to start no run.

    `guard` is what forbids this process alone to start any, and the way out, "" for nothing.

    `idle` are the conversations that were not opened, as they were noted: name,
    id and note. `conversations` are the others. `idle_rooms` and `rooms` are the
    same of channels. `tasks` is what was found and done
    for task contexts. `passed_over`: an agent was, so that another start is due.
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

    @property
    def is_anything_open(self) -> bool:
        """Whether there is anything that a heartbeat looks after."""
        found = (self.conversations, self.idle, self.rooms, self.idle_rooms, self.tasks)
        return any(found)

    def everything(self) -> list[Beaten]:
        """Return all conversations, opened or not, in the order of their names."""
        return _in_order(self.conversations, Beaten, self.idle)

    def all_rooms(self) -> list[BeatenRoom]:
        """Return all channels, opened or not, in the order of their names."""
        return _in_order(self.rooms, BeatenRoom, self.idle_rooms)

    def take_over(self, later: Report) -> None:
        """Add what a later heartbeat did to this report."""
        self.conversations = _joined(self.everything(), later.everything())
        self.rooms = _joined(self.all_rooms(), later.all_rooms())
        self.idle, self.idle_rooms = [], []
        self.tasks = taken_over(self.tasks, later.tasks)
        self.errors = later.errors

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `heartbeat --json`."""
        return {
            "now": render_instant(self.now),
            "conversations": [one.to_record() for one in self.everything()],
            "channels": [one.to_record() for one in self.all_rooms()],
            **self.as_json("tasks changed halted"),
            "errors": [{"name": name, **error.to_record()} for name, error in self.errors],
        }

    def to_text(self) -> str:
        """Return one line for each conversation, for people."""
        lines = [_line_of_idle(*one) for one in self.idle]
        lines += [one.to_text() for one in self.conversations]
        if self.idle and self.conversations:
            lines.sort(key=lambda line: line.partition(":")[0])
        lines += [one.to_text() for one in self.all_rooms() if one.has_turns or one.changed]
        lines += [one.to_text() for one in self.tasks]
        if self.guard and lines:
            lines.insert(0, self.guard)
        if self.halted:
            lines.insert(0, "halted: no run is started; go on with: council resume --all")
        return "\n".join(lines)


def _in_order(
    opened: list[Found], kind: type[Found], idle: list[tuple[str, str, list[Any]]]
) -> list[Found]:
    """Return those that were opened and, where there are any, those that were not."""
    if not idle:
        return opened
    return sorted([*opened, *(kind.from_note(*one) for one in idle)], key=lambda one: one.name)


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


def seen_of(name: str, before: Conversation, step: Step) -> Beaten:
    """Return what a step did to a conversation."""
    from council.core.conversations import due

    after = step.state
    seen = Beaten(
        name=name,
        conversation_id=after.conversation_id,
        **after.as_json("status phase tour"),
        waiting=list(due.due_agents(after)),
        rev=before.rev,
    )
    for event in step.events:
        if event.type in ("phase.changed", "round.changed"):
            seen.moved_from, seen.moved_to = before.phase, after.phase
            seen.reason = event.data["reason"]
    return seen


def due_actions(
    place: Place, state: Conversation, now: datetime
) -> tuple[Wake | Notify | Archive, ...]:
    """Return what is due in a conversation, with the pauses the settings ask for."""
    from council.core.conversations import due

    return due.pending(state, now, backoff=place.settings.retry_backoff, here=place.has)


def room_seen(channel: Channel, *, awaited: bool) -> BeatenRoom:
    """Return how a channel stands, before anything was done."""
    stands = channel.as_json("mode state speaker cycle rev")
    return BeatenRoom(name=channel.channel_id, awaited=awaited, **stands)
