"""Random histories of a room: whatever happens, what must hold holds.

Agents pass, speak in fragments, stay silent, end twice and out of turn; people
and agents post, join and leave; runs are started, fail and vanish; the process
dies between the log and the channel. The channel goes through its record
before every act. The test keeps its own account of who did what in a cycle.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from council.core.conversations.due import Archive
from council.core.errors import RefusedError
from council.core.reading_answers.cleaning import is_pass
from council.core.reasons import said
from council.core.rooms.channels import (
    TAKES_TURNS,
    Channel,
    ChannelStep,
    FloorRules,
    Member,
    Message,
    MessageKind,
    Mode,
    TurnState,
    agents_of,
    channel_from_record,
    is_asleep,
)
from council.core.rooms.discussions import automatic_answer, completed, minuted, reminded
from council.core.rooms.due import (
    PostGuide,
    Remind,
    Reply,
    Signal,
    Wake,
    next_due,
    task_failed,
    task_queued,
    task_started,
)
from council.core.rooms.due import pending as due_actions
from council.core.rooms.floor import begin, change_mode, end, members_changed, opened, settle
from tests.core.rooms.samples import GUIDE, HOUR, MINUTE, MODERATOR, NOW, PERSON, SECOND, unopened
from tests.examples import examples

AGENTS = ("ann", "bob", "cyd", "dan", "eve")
RULES = FloorRules(max_cycles=5, max_repeats=2)
SPANS = (SECOND, 5 * SECOND, 16 * SECOND, 2 * MINUTE, 2 * HOUR)
LEASE = 2 * MINUTE

agents = st.sampled_from(AGENTS)
lengths = st.sampled_from((1, 5, 39, 40, 41, 90, 200))


class Rooms(RuleBasedStateMachine):
    """A room under random acts."""

    mode = Mode.CHAT

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.log: list[Message] = []
        self.marks = 0
        self.unsent: list[tuple[str, list[str]]] = []
        self.ended: list[tuple[str, str, str]] = []
        self.done: list[str] = []
        self.cycles_alone = 0

    @initialize(count=st.sampled_from((2, 3, 3, 4, 5, 1, 0)))
    def open(self, count: int) -> None:
        self.channel = unopened(*AGENTS[:count], mode=self.mode)
        self.move(lambda channel: opened(channel, self.now))

    # --- what every act must keep ------------------------------------------------------------

    def move(self, act) -> ChannelStep:
        """Do `act` on what lies on disk, save what comes back, and compare the two."""
        before = channel_from_record(self.channel.to_record())
        assert before == self.channel, "the record does not say everything"
        step = act(before)
        assert before == self.channel, "the argument was changed"
        after = self.channel = step.channel
        heard = [one for one in self.log if before.seen < one.id <= after.seen]
        slept_long = before.dormant_at and self.now - before.dormant_at >= RULES.rest
        new_topic = any(one.author == PERSON or (one.agent and slept_long) for one in heard)
        self.cycles_alone = 0 if new_topic else self.cycles_alone
        for one in step.events:
            self.follow(one)
        # Cycles of this very step may have begun before the word was heard.
        self.cycles_alone = 0 if new_topic else self.cycles_alone
        assert after.cycle >= before.cycle
        assert after.turn - before.turn == sum(e.type == "floor.given" for e in step.events)
        assert after.seen >= before.seen
        if after.cycle == before.cycle and after.state in TAKES_TURNS and before.speaker:
            assert after.speakers == before.speakers or is_asleep(after), "the list has changed"
        return step

    def follow(self, event) -> None:
        """Keep the account of a cycle by the events alone."""
        kind, agent = event.type, event.agent
        if kind in ("turn.ended", "turn.missed"):
            assert agent not in self.done, f"{agent} had two turns in one cycle"
            self.done.append(agent)
        elif kind == "cycle.ended":
            told = [one["agentId"] for one in event.data["results"]]
            assert told == self.done, "somebody is counted who had no turn"
            self.last_speaker = self.done[-1] if self.done else ""
            self.spoken = [one["agentId"] for one in event.data["results"] if not one["empty"]]
        elif kind == "order.rebuilt":
            self.joined = event.data["joined"]
        elif kind == "channel.dormant" and event.data["reason"] == "all-passed":
            assert not self.spoken, "a real word is a veto"
            assert not self.joined, "a newcomer has not been heard"
        elif kind == "state.changed" and event.data["from"] not in TAKES_TURNS:
            self.cycles_alone = 0
        elif kind == "order.shuffled":
            order = event.data["speakers"]
            assert len(order) < 2 or order[0] != self.last_speaker, "the last one opens"
        elif kind == "floor.given":
            if event.data["cycle"] != getattr(self, "cycle", None):
                self.cycle, self.done = event.data["cycle"], []
                self.cycles_alone += 1
                assert self.cycles_alone <= RULES.max_cycles, "a room goes on for ever"
            assert agent not in self.done, f"{agent} has the floor twice in one cycle"
            assert agent in agents_of(self.channel.members), f"{agent} has left"

    def settle(self) -> ChannelStep:
        return self.move(lambda channel: settle(channel, self.log[-40:], self.now, rules=RULES))

    # --- turns -------------------------------------------------------------------------------

    @rule(agent=agents, run=st.sampled_from(("", "x", "y")))
    def begins(self, agent: str, run: str) -> None:
        name = f"{run}{self.channel.turn}" if run else ""
        step = self.move(lambda channel: begin(channel, agent, name, len(self.log), self.now))
        state = self.channel.state
        mine = agent == self.channel.speaker and self.channel.delivery is None
        over = f"{agent} {name}" in self.channel.ended_runs
        assert step.allowed is (state is TurnState.DISABLED or (mine and not over))
        assert step.allowed or (step.model and step.reason)
        self.same_again(lambda channel: begin(channel, agent, name, len(self.log), self.now))

    @rule(length=lengths, pieces=st.integers(1, 3), posts_first=st.booleans(), same=st.booleans())
    def speaks(self, length: int, pieces: int, posts_first: bool, same: bool) -> None:
        """End the speaker's turn with a text that arrives before or after it, in pieces."""
        agent = self.channel.speaker
        if not agent or self.channel.delivery is not None:
            return
        self.marks += 1
        text = f"{'same' if same else self.marks} of {agent} ".ljust(length, "x") + "."
        size = -(-len(text) // pieces)
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        if posts_first:
            for part in parts:
                self.append(agent, part)
            self.ends(agent, text)
        else:
            self.ends(agent, text)
            if self.channel.delivery is not None:
                self.unsent.append((agent, parts))

    @rule(word=st.sampled_from(("NO_REPLY", "NO", "", "  \n", " NO ")))
    def passes(self, word: str) -> None:
        if self.channel.speaker and self.channel.delivery is None:
            self.ends(self.channel.speaker, word)

    @rule(agent=agents, text=st.sampled_from(("NO", "something else", "")))
    def ends_whoever_it_is(self, agent: str, text: str) -> None:
        self.ends(agent, text)

    def ends(self, agent: str, text: str) -> None:
        before = self.channel
        run = before.run if agent == before.speaker else ""
        self.marks += 1
        run = run or f"run{self.marks}"
        step = self.move(lambda c: end(c, agent, run, text, self.now, rules=RULES))
        if agent == before.speaker and before.delivery is None:
            expected = "advanced" if is_pass(text) else "awaiting-delivery"
            assert step.outcome == expected
            self.ended.append((agent, run, text))
        else:
            assert step.outcome in ("ignored", "already-ended")
            assert step.channel == before
        self.settle()

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def ends_again(self, data: st.DataObject) -> None:
        """Report an end a second time, whichever agent has the floor by now."""
        agent, run, text = data.draw(st.sampled_from(self.ended))
        before = self.channel
        step = self.move(lambda c: end(c, agent, run, text, self.now, rules=RULES))
        assert step.outcome == "already-ended"
        assert (step.channel, step.events) == (before, [])

    # --- messages ----------------------------------------------------------------------------

    def append(self, author: str, content: str, kind: str = "message", reply_to: int = 0) -> None:
        agent = author if author in AGENTS else ""
        self.log.append(
            Message(
                id=len(self.log) + 1,
                at=self.now,
                author=f"u-{agent}" if agent else author,
                agent=agent,
                content=content,
                kind=MessageKind(kind),
                reply_to=reply_to,
            )
        )

    @precondition(lambda self: self.unsent)
    @rule()
    def fragment_arrives(self) -> None:
        agent, parts = self.unsent[0]
        self.append(agent, parts.pop(0))
        if not parts:
            self.unsent.pop(0)
        awaited = self.channel.delivery
        self.settle()
        if awaited is not None and awaited.agent == agent and not parts and awaited.run:
            ours = [one for one in self.log if one.id > awaited.anchor and one.agent == agent]
            if ours and "".join(one.content for one in ours).endswith(awaited.tail):
                assert self.channel.delivery != awaited, "the text is there and nobody saw it"

    @rule(die=st.booleans())
    def person_posts(self, die: bool) -> None:
        awaited, asleep = self.channel.delivery, is_asleep(self.channel)
        was, cycle = self.channel.state, self.channel.cycle
        self.append(PERSON, "What about this?")
        if die:
            return  # the log has it and the channel does not: the next process sees it
        self.settle()
        if was not in TAKES_TURNS or self.channel.state not in TAKES_TURNS:
            return
        assert self.channel.speaker, "a person did not wake the room"
        if asleep or awaited is not None:
            assert self.channel.cycle > cycle or self.channel.delivery is None

    @rule(agent=agents)
    def agent_posts(self, agent: str) -> None:
        """Post by tool, in turn or out of turn."""
        before = self.channel
        self.append(agent, "by tool")
        self.settle()
        if agent == before.speaker and before.delivery is None:
            unchanged = self.channel.speaker == agent or agent not in agents_of(before.members)
            assert unchanged or self.channel.turn > before.turn

    @rule(kind=st.sampled_from(("message", "moderator", "reminder", "summary")))
    def moderator_posts(self, kind: str) -> None:
        self.settle()
        before = self.channel
        self.append(MODERATOR, "a word of the moderator", kind)
        self.settle()
        assert self.channel.speaker == before.speaker
        assert self.channel.turn == before.turn
        assert self.channel.delivery == before.delivery

    # --- members, modes, time ----------------------------------------------------------------

    @precondition(lambda self: self.channel.state is not TurnState.ARCHIVED)
    @rule(agent=agents)
    def joins_or_leaves(self, agent: str) -> None:
        here = dict(self.channel.members)
        if here.pop(f"u-{agent}", None) is None:
            here[f"u-{agent}"] = Member(account=f"u-{agent}", agent=agent)
        self.move(lambda c: members_changed(c, here, self.now, rules=RULES))

    @rule(word=st.sampled_from(("pass", "same", "same", "new")), cycles=st.integers(1, 3))
    def everybody_speaks(self, word: str, cycles: int) -> None:
        """Go through whole cycles in which all pass, repeat themselves, or say something new."""
        for _ in range(cycles * len(self.channel.speakers)):
            agent = self.channel.speaker
            if not agent or self.channel.delivery is not None:
                return
            self.marks += 1
            text = {"pass": "NO_REPLY", "same": f"{agent} thanks all"}.get(word, f"n{self.marks}")
            self.ends(agent, text)
            if word != "pass":
                self.append(agent, text)
                self.settle()

    @rule(mode=st.sampled_from(tuple(Mode)), really=st.integers(0, 5))
    def changes_mode(self, mode: Mode, really: int) -> None:
        before = self.channel
        if really and mode is not before.mode and mode is not Mode.CHAT:
            return
        try:
            self.move(lambda c: change_mode(c, mode, self.now, rules=RULES))
        except RefusedError:
            assert Mode.DISCUSSION in (before.mode, mode) or mode is Mode.WORK
            return
        assert before.mode in (Mode.CHAT, Mode.NONE, Mode.REPORT)

    @rule(span=st.sampled_from(SPANS))
    def time_passes(self, span: timedelta) -> None:
        self.settle()
        due = next_due(self.channel, rules=RULES)
        before = self.channel
        if due is None or due > self.now + span:
            self.now += span
            step = self.settle()
            assert (step.channel, step.events) == (before, []), "time did something unforeseen"
        else:
            self.now += span
            self.settle()

    # --- the heartbeat -----------------------------------------------------------------------

    @rule(fate=st.sampled_from(("queue", "start", "start", "fail", "fail for good", "signal")))
    def beat(self, fate: str) -> None:
        """Do what is due; what is done is due no longer."""
        self.settle()
        for action in due_actions(self.channel, self.now, backoff=()):
            self.serve(action, fate)

    def serve(self, action, fate: str) -> None:
        if isinstance(action, Signal):
            self.move(lambda c: ChannelStep(channel=c.copy(signalled=c.turn)))
        elif isinstance(action, Reply):
            self.append(MODERATOR, automatic_answer(self.channel), "auto", action.message)
            self.settle()
        elif isinstance(action, PostGuide):
            self.append(MODERATOR, GUIDE, "guide")
            self.settle()
        elif isinstance(action, Remind):
            self.move(lambda c: reminded(c, self.now))
        elif isinstance(action, Archive):
            self.move(lambda c: minuted(c, "minutes.md"))
        elif isinstance(action, Wake):
            assert action.agent == self.channel.speaker
            assert self.channel.roused_at is not None
            if fate == "queue":
                self.move(lambda c: task_queued(c, action, driver="d", now=self.now))
                return
            step = self.move(
                lambda c: task_started(
                    c, action, driver="d", now=self.now, ends_at=self.now + LEASE
                )
            )
            assert step.outcome == "claimed"
            again = task_started(step.channel, action, driver="d", now=self.now, ends_at=None)
            assert again.outcome == "", "one run was claimed twice"
            if fate.startswith("fail"):
                final = fate.endswith("good")
                self.move(
                    lambda c: task_failed(c, action.task, said("broken"), now=self.now, final=final)
                )
                self.settle()
            return
        assert action not in due_actions(self.channel, self.now)

    # --- what always holds -------------------------------------------------------------------

    def same_again(self, act) -> None:
        before = self.channel
        step = self.move(act)
        assert (step.channel, step.events) == (before, [])

    @invariant()
    def nobody_is_lost(self) -> None:
        channel: Channel = self.channel
        taken = channel.state in TAKES_TURNS
        assert bool(channel.speaker) is (taken and channel.dormant_at is None)
        if channel.speaker:
            assert channel.speaker in channel.speakers
            assert channel.speaker in agents_of(channel.members)
            assert channel.turn_at is not None
        else:
            assert channel.delivery is None
            assert channel.results == []
            assert channel.run == ""
        if channel.mode in (Mode.CHAT, Mode.DISCUSSION) and not taken:
            counted = len(agents_of(channel.members))
            assert counted < 2 or channel.state is TurnState.ARCHIVED
        assert len(channel.tasks) <= 3 * 2 * (len(AGENTS) + 1)

    @invariant()
    def a_second_look_finds_nothing(self) -> None:
        first = settle(self.channel, self.log[-40:], self.now, rules=RULES)
        second = settle(first.channel, self.log[-40:], self.now, rules=RULES)
        assert (second.channel, second.events) == (first.channel, [])

    def teardown(self) -> None:
        """Leave the room alone: agents that only ever fail bring it to rest."""
        if not hasattr(self, "channel"):
            return
        for _ in range(2000):
            self.settle()
            actions = due_actions(self.channel, self.now, backoff=())
            due = next_due(self.channel, rules=RULES)
            if not actions and due is None:
                break
            for one in actions:
                self.serve(one, "fail")
            if due is not None and due > self.now:
                self.now = due
        else:
            raise AssertionError("the room never comes to rest")
        assert self.channel.roused_at is None or not self.channel.speaker


class DiscussedRooms(Rooms):
    """The same with a guide, reminders and an end."""

    mode = Mode.DISCUSSION

    @precondition(lambda self: self.channel.cycle > 8)
    @rule()
    def initiator_completes(self) -> None:
        self.move(lambda c: completed(c, "ann", "summary.md", self.now))
        assert self.channel.state is TurnState.ARCHIVED


TestRooms = pytest.mark.req(
    "DG-003", "DG-004", "DG-063", "DG-064", "DG-070", "DG-075", "DG-086", "DG-087", "DG-096",
    "DG-097", "DG-098", "DG-101", "DG-142",
)(Rooms.TestCase)  # fmt: skip
TestDiscussedRooms = DiscussedRooms.TestCase
TestRooms.settings = settings(max_examples=examples(50), stateful_step_count=40)
TestDiscussedRooms.settings = settings(
    max_examples=examples(30), stateful_step_count=40, deadline=None
)
