"""What a heartbeat found and did in rooms, for people and programs.

Source: `cli.md` section 3 (`heartbeat --json`), DG-137.
"""

from __future__ import annotations

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.rooms.channels import Channel

_TAKES_TURNS = ("normal", "shuffle")


class BeatenRoom(Record):
    """What a heartbeat found, at revision `rev`, and did in one channel.

    `speaker` has the floor, "" for nobody; `awaited` tells that there is
    something to answer or to wait for. `before` had the floor when the heartbeat
    came. `tended` tells that the room was brought up to date, `archived` is where
    minutes were written.
    """

    name: str
    mode: str
    state: str
    speaker: str
    cycle: int
    rev: int
    awaited: bool = False
    before: str = ""
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
        self.before = earlier.before

    def to_note(self) -> list[Any]:
        """Return what the next heartbeat has to know of it if it stays idle."""
        return [self.mode, self.state, self.speaker, self.cycle, self.rev, self.awaited]

    @classmethod
    def from_note(cls, name: str, noted: list[Any]) -> BeatenRoom:
        """Return an idle channel as `to_note` noted it."""
        mode, state, speaker, cycle, rev, awaited = noted
        return cls(
            name=name,
            mode=mode,
            state=state,
            speaker=speaker,
            cycle=cycle,
            rev=rev,
            awaited=awaited,
            before=speaker,
        )


def seen_of(channel: Channel, *, awaited: bool) -> BeatenRoom:
    """Return how a channel stands, before anything was done."""
    return BeatenRoom(
        name=channel.channel_id,
        mode=str(channel.mode),
        state=str(channel.state),
        speaker=channel.speaker,
        cycle=channel.cycle,
        rev=channel.rev,
        awaited=awaited,
        before=channel.speaker,
    )


def joined(earlier: list[BeatenRoom], later: list[BeatenRoom]) -> list[BeatenRoom]:
    """Return what two heartbeats found and did: how rooms stand is as the later one saw it."""
    found = {one.name: one for one in earlier}
    for one in later:
        if one.name in found:
            one.take_over(found[one.name])
        found[one.name] = one
    return [found[name] for name in sorted(found)]
