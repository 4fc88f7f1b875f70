"""One exchange of a room and its channel of Discord: what was said in either goes to the other.

- What was fetched bears its id there in our log. The anchor is written down with it, and what
  stands in the log since is not taken in again.
- What was posted is written down a fragment at a time. One that was posted by a process that
  died then is found after the anchor and known by its text; if it cannot be seen yet, its nonce
  makes Discord take it once.

Source: DG-081 to DG-088.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from council.core.errors import CouncilError
from council.core.events import Event
from council.core.record import Any, Record
from council.core.rooms import discord_texts as texts
from council.core.rooms import floor
from council.core.rooms.channels import (
    DISCORD,
    NAMED,
    TAKES_TURNS,
    Channel,
    ChannelStep,
    Member,
    Message,
    MessageKind,
    Tie,
    TurnState,
    account_of,
)
from council.core.rooms.discord_texts import Hindered
from council.core.times import render_instant
from council.operations.place import Place
from council.operations.rooms import rooms
from council.store.rooms import identities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.discord import Discord, Heard
    from council.store.rooms.channel_session import ChannelSession

    _Rule = Callable[[ChannelSession, Channel, Tie], list[Event]]

EMPTY = "discord-empty"
LONGEST_S = 60.0
_MOST_WAITING = 50
_MOST_FETCHED = 500


class Fragment(Record):
    """A piece of a message of ours that does not lie there yet."""

    number: int
    part: int
    of: int
    text: str


def change_tie(place: Place, channel_id: str, rule: _Rule) -> Channel:
    """Change the tie of a room, if there still is one; the rule gets copies to change."""

    def changed(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        channel = step.channel.copy()
        if channel.discord is None:
            return step
        events = rule(session, channel, channel.discord)
        return step.then(ChannelStep(channel=channel, events=events))

    return rooms.change(place, channel_id, place.now(), changed).channel


def make(there: Discord, channel: Channel, wanted: Tie) -> str:
    """Make the channel there, once whatever process dies, and return its id."""
    mark = f"council · {channel.channel_id} · {render_instant(channel.created_at)}"
    accounts = [one for one in channel.members if one.isdecimal()]
    return there.make(wanted.guild, channel.channel_id, mark, accounts, channel.private)


class Exchange:
    """One exchange of one room.

    Attributes:
        trouble: What is in the way of being understood though nothing failed, the cause "" if
            nothing is.
    """

    def __init__(self, place: Place, channel_id: str, there: Discord) -> None:
        self.place, self.id, self.there = place, channel_id, there
        self._queue: list[Fragment] = []
        self._channel = rooms.look(place, channel_id, place.now()).channel
        self.trouble = Hindered(EMPTY if self._tie.trouble == EMPTY else "")
        self._agents: dict[str, str] = {}
        with suppress(CouncilError):  # the heartbeat reports a registry that is broken
            found = identities.load(place.paths).identities
            self._agents = {one.account: one.agent for one in found}

    @property
    def _tie(self) -> Tie:
        return self._channel.discord or Tie(channel="")

    def do(self) -> None:
        """Fetch, post, and fetch again until both are alike, or it has taken long enough."""
        if not self._tie.channel:
            made = make(self.there, self._channel, self._tie)
            self._keep(channel=made, anchor=made)
        self._read_members()
        here, ends_s = self._tie.channel, time.monotonic() + LONGEST_S
        # When it is another one it was untied, or tied anew, meanwhile.
        while self._tie.channel == here and time.monotonic() < ends_s:
            found = self.there.after(here, self._tie.anchor, _MOST_FETCHED)
            self._take_in(found)
            for one in found:  # a process that gave a sign may have died before it took it back
                if one.author == self.there.me and one.content.strip() == texts.SIGNAL:
                    self._take_back(str(one.id))
            if len(found) >= _MOST_FETCHED:
                continue  # what is ours may lie there, further on
            for fragment in self._queue:
                if time.monotonic() < ends_s:
                    self._post(fragment)
            if not self._queue and self._channel.seen <= self._tie.taken:
                self._signal()
                return

    def _keep(self, **facts: Any) -> None:
        def rule(_: ChannelSession, __: Channel, tied: Tie) -> list[Event]:
            vars(tied).update(facts)
            return []

        self._channel = change_tie(self.place, self.id, rule)

    # What was said there.

    def _take_in(self, found: list[Heard]) -> None:
        """Take in what others said, and find of ours what lies there without being written down."""

        def rule(session: ChannelSession, _: Channel, tied: Tie) -> list[Event]:
            known = {one.extra.get(DISCORD) for one in session.messages_after(tied.taken)}
            self._queue = self._waiting(session, tied)
            for one in found:
                if one.id <= int(tied.anchor or 0):
                    continue
                if one.author == self.there.me:
                    # A process that posted it and died then has not written it down.
                    is_news = one.id > int(tied.own or 0) and bool(self._queue)
                    if is_news and texts.is_same(one.content, self._queue[0].text):
                        tied.own = str(one.id)
                        _count(tied, self._queue.pop(0))
                elif one.is_speech and str(one.id) not in known:
                    session.post(self._message(one))
                tied.anchor = str(one.id)
            tied.taken = session.newest
            if not self._queue:
                tied.posted, tied.parts = session.newest, 0
            return []

        self._channel = change_tie(self.place, self.id, rule)

    def _message(self, one: Heard) -> Message:
        names = {key: texts.shown_name(name) for key, name in one.names.items()}
        text = texts.as_said(one.content, {**names, **self._agents}, one.also)
        if not one.is_program:
            self.trouble = Hindered(EMPTY if text == texts.NO_TEXT else "")
        # A program that is no agent here is no person either: the guards count its words.
        agent = self._agents.get(one.author) or (f"discord-{one.author}" if one.is_program else "")
        extra = {DISCORD: str(one.id), NAMED: texts.shown_name(one.name)}
        return Message(id=1, at=one.at, author=one.author, agent=agent, content=text, extra=extra)

    def _read_members(self) -> None:
        """Let agents in that may read the channel there, and out that may not, once a cycle.

        Into a private channel of ours those are let in who are members here.
        """
        tied, cycle = self._tie, self._channel.cycle
        # At the end of the cycle the list is made anew: who counts is asked for just before.
        is_last = self._channel.speakers[-1:] == (self._channel.speaker,)
        is_known = tied.cycle and (tied.cycle == cycle or not is_last)
        if is_known and self._channel.state in TAKES_TURNS:
            return
        standing = {key for key in self._channel.members if key.isdecimal()}
        asked = standing | {one for one in self._agents if one.isdecimal()}
        asked.discard(self.there.me)
        here = set(self.there.members(tied.channel, sorted(asked))) if asked else set()
        if self._channel.private:
            for account in sorted(standing - here):
                self.there.admit(tied.channel, account)
            here = standing

        def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
            members = {
                key: one
                for key, one in step.channel.members.items()
                if not key.isdecimal() or key in here or key not in asked
            }
            known = {one.agent for one in members.values()}
            for account in sorted(here - members.keys()):
                agent = self._agents.get(account, "")
                if agent and agent not in known:
                    joined = Member(account=account, agent=agent, joined_at=session.now)
                    members[account] = joined
            if list(members) == list(step.channel.members):
                return step
            return step.then(
                floor.members_changed(step.channel, members, session.now, rules=session.rules)
            )

        if self._channel.state is not TurnState.ARCHIVED:
            self._channel = rooms.change(self.place, self.id, self.place.now(), rule).channel
        if is_last and self._tie.cycle != cycle:
            self._keep(cycle=cycle)

    # What was said here.

    def _waiting(self, session: ChannelSession, tied: Tie) -> list[Fragment]:
        """Return what is to be posted, oldest first, so much as one exchange takes."""
        accounts = {agent: account for account, agent in self._agents.items()}
        found: list[Fragment] = []
        for one in session.messages_after(tied.posted):
            if DISCORD in one.extra:
                continue
            pieces = texts.fragments(one.content, self._heading(one), accounts)
            found += [
                Fragment(number=one.id, part=part, of=len(pieces), text=text)
                for part, text in enumerate(pieces)
            ]
            if len(found) > _MOST_WAITING:
                break
        return found[tied.parts :]

    def _heading(self, one: Message) -> str:
        if one.kind is not MessageKind.MESSAGE:
            return ""
        if not one.agent:
            return texts.heading(one.author)
        with suppress(CouncilError):  # a line that a person wrote may name what is no agent
            agent = self.place.agent(one.agent)
            return texts.heading(agent.name, agent.emoji)
        return texts.heading(one.agent)

    def _post(self, one: Fragment) -> None:
        """Post a fragment and write down that it lies there.

        One that Discord will never take is passed over; it stands in the log of the room.
        """
        begun = render_instant(self._channel.created_at)
        refused, own = "", ""
        try:
            nonce = texts.nonce_of(self.id, begun, one.number, one.part)
            own = self.there.say(self._tie.channel, one.text, nonce)
        except Hindered as error:
            if not error.is_of_message:
                raise
            refused = error.said or error.cause

        def rule(session: ChannelSession, channel: Channel, tied: Tie) -> list[Event]:
            tied.own = own or tied.own
            _count(tied, one)
            if channel.delivery is not None:  # it is arriving: it is waited for anew
                channel.delivery.ends_at = session.now + session.rules.patience
            data = {"message": one.number, "reason": refused}
            return [Event(type="message.undelivered", data=data)] if refused else []

        self._channel = change_tie(self.place, self.id, rule)

    def _signal(self) -> None:
        """Call a speaker that listens on Discord: the identifier appears and vanishes (DG-085)."""
        channel, tied = self._channel, self._tie
        account = account_of(channel, channel.speaker) if channel.speaker else ""
        is_due = tied.signalled < channel.turn and channel.roused_at is not None
        if not account.isdecimal() or not is_due or channel.delivery is not None:
            return
        begun = render_instant(channel.created_at)
        nonce = texts.nonce_of(self.id, begun, channel.turn, -1)
        own = self.there.say(tied.channel, texts.SIGNAL, nonce)
        self._take_back(own)
        self._keep(signalled=channel.turn, own=own)

    def _take_back(self, message: str) -> None:
        try:
            self.there.delete(self._tie.channel, message)
        except Hindered as error:
            if error.cause != "discord-channel":  # it is gone already
                raise


def _count(tied: Tie, one: Fragment) -> None:
    """Note that a fragment lies there; after the last one all of its message does."""
    is_last = one.part + 1 == one.of
    tied.posted, tied.parts = (one.number, 0) if is_last else (tied.posted, one.part + 1)
