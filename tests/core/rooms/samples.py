"""Channels for tests of the core: rooms with agents, a person and the moderator."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from council.core.rooms.channels import (
    Channel,
    ChannelStep,
    Discussion,
    Member,
    Message,
    MessageKind,
    Mode,
    channel_from_record,
)
from council.core.rooms.floor import begin, end, opened, settle

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
MODERATOR = "council"
PERSON = "zoe"
GUIDE = "## Topic\nBridges\n\n## Goals\nOne design\n\n## Completion criteria\nAll agree"


def members(*agents: str, people: tuple[str, ...] = (PERSON,)) -> dict[str, Member]:
    """Return the members of a room; the account of an agent is `u-<agent>`."""
    here = [Member(account=MODERATOR, moderator=True)]
    here += [Member(account=one) for one in people]
    here += [Member(account=f"u-{agent}", agent=agent) for agent in agents]
    return {one.account: one for one in here}


def unopened(*agents: str, mode: Mode = Mode.CHAT, **fields: Any) -> Channel:
    about = Discussion(initiator="ann", guide=GUIDE) if mode is Mode.DISCUSSION else None
    given = {
        "channel_id": "room",
        "name": "room",
        "mode": mode,
        "created_at": NOW,
        "updated_at": NOW,
        "members": members(*agents),
        "discussion": about,
    }
    return Channel(**{**given, **fields})


class Room:
    """One channel with its message log, and what has happened to it.

    Every act reads the channel from its record, as processes do, and settles.
    """

    def __init__(self, *agents: str, mode: Mode = Mode.CHAT, **fields: Any) -> None:
        self.now = NOW
        self.log: list[Message] = []
        self.events: list[tuple[str, str]] = []
        self.data: list[dict[str, Any]] = []
        self.runs = 0
        self.channel = unopened(*agents, mode=mode, **fields)
        self.take(opened(self.channel, self.now))

    def take(self, step: ChannelStep) -> ChannelStep:
        self.channel = channel_from_record(step.channel.to_record())
        assert self.channel == step.channel
        self.events += [(one.type, one.agent) for one in step.events]
        self.data += [{"type": one.type, **one.data} for one in step.events]
        return step

    def kinds(self, *wanted: str) -> list[str]:
        """Return the types of events so far, or those among `wanted`."""
        return [kind for kind, _ in self.events if not wanted or kind in wanted]

    def settle(self) -> ChannelStep:
        return self.take(settle(self.channel, self.log[-20:], self.now))

    def later(self, span: timedelta) -> None:
        self.now += span
        self.settle()

    def append(self, author: str, content: str, kind: str = "message", reply_to: int = 0) -> int:
        """Write a message without a word of it to the channel."""
        one = Message(
            id=len(self.log) + 1,
            at=self.now,
            author=f"u-{author}" if f"u-{author}" in self.channel.members else author,
            agent=author if f"u-{author}" in self.channel.members else "",
            content=content,
            kind=MessageKind(kind),
            reply_to=reply_to,
        )
        self.log.append(one)
        return one.id

    def post(self, author: str, content: str, kind: str = "message", reply_to: int = 0) -> int:
        number = self.append(author, content, kind, reply_to)
        self.settle()
        return number

    def begin(self, agent: str, run: str = "") -> ChannelStep:
        return self.take(begin(self.channel, agent, run, len(self.log), self.now))

    def end(self, agent: str, text: str, run: str | None = None) -> ChannelStep:
        self.runs += 1
        name = f"run-{self.runs}" if run is None else run
        step = self.take(end(self.channel, agent, name, text, self.now))
        self.settle()
        return step

    def say(self, agent: str, text: str) -> None:
        """Take a real turn whose text arrives."""
        assert self.end(agent, text).outcome == "awaiting-delivery"
        self.post(agent, text)

    def all_pass(self) -> None:
        for agent in self.channel.speakers:
            assert self.end(agent, "NO_REPLY").outcome == "advanced"
