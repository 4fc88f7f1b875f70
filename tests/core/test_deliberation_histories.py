"""Random histories of deliberations: whatever happens, what must hold holds.

Two to six agents answer well, in part, in garbage, late, out of turn and twice;
runs start, fail and vanish; people join, leave, steer and edit. The test keeps
its own account of what was said and judges each round by a rule of its own.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from council.core.conversations.answers import inject, respond, sealed_digest
from council.core.conversations.conversation import (
    Conversation,
    EntryKind,
    Participant,
    ParticipantStatus,
    Status,
    Step,
    TaskState,
    has_answered,
    measure,
)
from council.core.conversations.due import (
    Archive,
    Wake,
    attempts_used_up,
    awaited,
    due_agents,
    is_blind,
    next_due,
    pending,
    takes_turns,
)
from council.core.conversations.machine import advance
from council.core.conversations.procedures import ORDERS, PROCEDURES, Rules
from council.core.conversations.records import from_record, to_record
from council.core.conversations.steering import cancel, extend, pause, resume, stop
from council.core.conversations.tasks import task_failed, task_queued, task_started
from council.core.errors import (
    AlreadyAnsweredError,
    CouncilError,
    NotYourTurnError,
    RefusedError,
)
from council.core.ids import task_id
from council.core.reasons import read_reason
from tests.core.conversations.samples import CONVERSATION_ID, HOUR, MINUTE, NOW, convened
from tests.examples import examples

AGENTS = ("ada", "bob", "cyd", "dan", "eve", "fay")
STANCES = ("agree", "partial", "disagree")
LEASE = 2 * MINUTE
INSTANT = timedelta(microseconds=1)
SPANS = (timedelta(seconds=1), MINUTE, 3 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR)
# A turn is incomplete, stands, and its author is asked again at most so often.
ASKED_AGAIN = 2

numbers = st.integers(0, 5)
qualities = st.sampled_from(("good", "good", "good", "partial", "garbage", "unsure", "json"))
spans = st.sampled_from(SPANS)
# Mostly agreement, or no history would ever reach one.
stances = st.sampled_from(("agree", "agree", "agree", "partial", "disagree"))


class Said:
    """What one text states, as its author meant it."""

    def __init__(self, text: str, stances: dict[str, str], confidence: int, form: bool) -> None:
        self.text, self.stances, self.confidence, self.form = text, stances, confidence, form


def written(agent: str, tour: int, quality: str, stances: dict[str, str], mark: int) -> Said:
    """Return a text of that quality: `partial` leaves out every other response."""
    if quality == "garbage":
        text = f"{agent} {tour}.{mark}: I agree with everybody, @{agent} included; consensus!"
        return Said(text, {}, 0, form=False)
    if quality == "partial":
        stances = dict(list(stances.items())[::2])
    confidence = 0 if quality == "unsure" else 1 + (mark + tour) % 5
    if quality == "json":
        fields = {
            "position": f"Position {mark}",
            "responses": [{"agentId": who, "stance": what} for who, what in stances.items()],
            "reasoning": f"Because of {agent} {mark}.",
            "confidence": confidence,
        }
        return Said(json.dumps(fields), stances, confidence, form=True)
    lines = [f"- @{other}: {stance} — as {mark} says" for other, stance in stances.items()]
    parts = [f"## Position\n{agent} wants {mark} in {tour}.", "## Responses to Others", *lines]
    parts += [f"## Reasoning\nReason {mark} of {agent}.\n\nAnd another one in {tour}."]
    parts += [f"## Confidence\n{confidence}"] if confidence else []
    return Said("\n".join(parts), stances, confidence, form=True)


def judged(
    agents: list[str],
    stances: dict[str, dict[str, str]],
    spoke: set[str],
    sure: dict[str, int],
    threshold: int,
    asked: dict[str, set[str]],
) -> str:
    """Return strong, soft or none by the rule as a person would count it out."""

    def view(one: str, other: str) -> str:
        return stances.get(one, {}).get(other, "")

    def was_asked(one: str, other: str) -> bool:
        return bool(view(one, other)) or other in asked.get(one, ())

    there = []
    for one in agents:
        others = [other for other in agents if other != one]
        is_mute = any(was_asked(one, x) for x in others) and not any(view(one, x) for x in others)
        there += [one] if one in spoke and not is_mute else []
    if not there or len(there) < 2 <= len(agents):
        return "none"

    def support(one: str) -> list[str]:
        peers = [peer for peer in there if peer != one]
        return [
            peer for peer in peers if view(peer, one) == "agree" and view(one, peer) != "disagree"
        ]

    def rank(one: str) -> tuple[int, int, int, int, int]:
        mutual = [x for x in support(one) if view(one, x) == "agree" or not was_asked(one, x)]
        against = [x for x in there if x != one and view(x, one) == "disagree"]
        place = -agents.index(one)
        return len(mutual), len(support(one)), -len(against), sure.get(one, 0), place

    agree = 1 + len(support(max(there, key=rank)))
    wanted = {view(a, b) for a in there for b in there if a != b and was_asked(a, b)}
    if agree == len(agents) and wanted <= {"agree"}:
        return "strong"
    needed = min(threshold, len(agents)) or -(-2 * len(agents) // 3)
    return "soft" if agree >= needed else "none"


class Deliberations(RuleBasedStateMachine):
    """A deliberation under random acts, and an account of what was said in it."""

    procedure = "deliberation"

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.said: dict[tuple[str, int], list[Said]] = {}
        self.late: list[tuple[str, int, str]] = []
        self.asked_again: dict[tuple[str, int], int] = {}
        self.marks = 0
        self.all_left = False

    @initialize(
        count=st.integers(2, 6),
        order=st.sampled_from(("", *ORDERS)),
        sealed=st.booleans(),
        coordinator=st.sampled_from(("", "maman", "bob")),
        advocate=st.sampled_from(("", "", "ada", "bob")),
        early=st.sampled_from(("strong", "soft")),
        stability=st.booleans(),
        threshold=st.integers(0, 6),
        floor=st.sampled_from((0, 0, 3)),
        rounds=st.integers(1, 5),
        ends=st.sampled_from((None, None, 9 * HOUR)),
    )
    def convene(
        self, count, order, sealed, coordinator, advocate, early, stability, threshold, floor,
        rounds, ends,
    ) -> None:  # fmt: skip
        self.rules = Rules(
            max_rounds=rounds,
            threshold=threshold,
            early_stop=early,
            stability=stability,
            confidence_floor=floor,
            advocate=advocate,
        )
        self.phases = tuple(one.name for one in PROCEDURES[self.procedure].phases)
        self.state = convened(
            *AGENTS[:count],
            procedure=self.procedure,
            phases=self.phases,
            phase=self.phases[0],
            rules=self.rules if self.procedure == "deliberation" else None,
            order=order,
            sealed_phases=sealed,
            coordinator=coordinator,
            ends_at=ends and NOW + ends,
        )

    # --- what every act must keep ------------------------------------------------------------

    def move(self, act) -> Step:
        """Do `act` on the state and compare what came out with what went in."""
        before = self.state.copy()
        step = act(self.state)
        assert self.state == before, "the argument was changed"
        after = step.state
        kinds = [event.type for event in step.events]
        transitions = kinds.count("phase.changed") + kinds.count("round.changed")
        assert transitions <= 1
        assert after.tour == before.tour + transitions
        assert self.phases.index(after.phase) - self.phases.index(before.phase) >= 0
        assert (after.phase != before.phase) is ("phase.changed" in kinds)
        self.nothing_is_rewritten(before, after)
        if before.finished_at is None and before.tour == after.tour:
            self.the_floor_is_kept(before, after)
        self.nobody_is_passed_over_before_its_time(before, after, step)
        self.state = after
        people = after.participants.values()
        self.all_left |= all(one.status is ParticipantStatus.DONE for one in people)
        if transitions:
            self.the_verdict_is_what_was_said(before)
        return step

    def nothing_is_rewritten(self, before: Conversation, after: Conversation) -> None:
        texts = {one.id: one.text for one in after.entries}
        for one in before.entries:
            assert texts[one.id] == one.text, "what was said has changed"
        assert [one.id for one in after.entries][: len(before.entries)] == [
            one.id for one in before.entries
        ]

    def the_floor_is_kept(self, before: Conversation, after: Conversation) -> None:
        was, now = before.rounds[-1].speaker, after.rounds[-1].speaker
        if was != now and was:
            assert was not in awaited(after), f"{now} took the floor from {was}"

    def nobody_is_passed_over_before_its_time(
        self, before: Conversation, after: Conversation, step: Step
    ) -> None:
        for event in step.events:
            if event.type != "turn.missed" or after.tour != before.tour:
                continue
            if attempts_used_up(after, event.agent):
                continue
            assert event.agent in due_agents(before), f"{event.agent} was not even asked"
            assert self.now >= before.timeout_at
            assert not takes_turns(before) or before.rounds[-1].speaker == event.agent

    def the_verdict_is_what_was_said(self, before: Conversation) -> None:
        closed = self.state.rounds[-2]
        form = PROCEDURES[self.procedure].phase(closed.phase).form
        if form == "text":
            assert closed.verdict == {}
            return
        counted = [one for one in self.state.participants if one != self.rules.advocate]
        latest: dict[str, dict[str, str]] = {}
        sure: dict[str, int] = {}
        for tour in range(1, closed.tour + 1):
            blind = self.state.sealed_phases and tour == 1
            for agent in AGENTS:
                for said in self.said.get((agent, tour), []):
                    latest.setdefault(agent, {}).update({} if blind else said.stances)
                    sure |= {agent: said.confidence} if said.confidence else {}
        # What is sent when asked again adds to what was sent before, and takes nothing away.
        spoke = {
            agent
            for agent in AGENTS
            if any(said.form for said in self.said.get((agent, closed.tour), []))
            and sure.get(agent, 0) >= self.rules.confidence_floor
        }
        asked = self.asked_until(closed.tour)
        expected = judged(counted, latest, spoke, sure, self.rules.threshold, asked)
        assert closed.verdict["type"] == expected
        assert closed.verdict["reached"] is (expected != "none")
        assert self.state.has_consensus is (expected != "none")
        if closed.phase == self.state.phase == "DELIBERATE":
            assert expected != "strong", "the rounds went on after a strong consensus"
            assert expected == "none" or self.rules.early_stop == "strong"
            heard = {agent for agent, tour in self.said if tour == closed.tour}
            assert len(heard & set(self.state.participants)) >= 2

    def asked_until(self, last: int) -> dict[str, set[str]]:
        """Return about whom each was asked: who spoke before it, in a vote all that were heard."""
        asked: dict[str, set[str]] = {}
        heard: list[str] = []
        for one in self.state.rounds:
            phase = PROCEDURES[self.procedure].phase(one.phase)
            if one.tour > last or phase.form == "text":
                continue
            speakers = [agent for agent, tour in self.said if tour == one.tour]
            at_once = (self.state.order or phase.order) == "parallel" or (
                self.state.sealed_phases and one.tour == 1
            )
            for place, agent in enumerate(speakers):
                before = heard if phase.form == "vote" else [] if at_once else speakers[:place]
                asked.setdefault(agent, set()).update(x for x in before if x != agent)
            heard += speakers if phase.form == "turn" else []
        return asked

    # --- agents ------------------------------------------------------------------------------

    @rule(data=st.data(), quality=qualities)
    def take_the_floor(self, data: st.DataObject, quality: str) -> None:
        """Answer as one of those who are to answer: the usual case."""
        who = [one for one in due_agents(self.state) if one in self.state.participants]
        if who:
            self.speak(data.draw(st.sampled_from(who)), quality, "responded", data)

    @rule(agent=numbers, quality=qualities, status=st.sampled_from(("responded", "done", "agreed")),
          data=st.data())  # fmt: skip
    def answer(self, agent: int, quality: str, status: str, data: st.DataObject) -> None:
        """Answer as any agent and whether or not it may."""
        people = list(self.state.participants)
        self.speak(people[agent % len(people)], quality, status, data)

    def speak(self, agent: str, quality: str, status: str, data: st.DataObject) -> None:
        state = self.state
        others = [one for one in AGENTS if one in state.participants and one != agent]
        stated = {one: data.draw(stances) for one in others}
        self.marks += 1
        self.give(agent, written(agent, state.tour, quality, stated, self.marks), status)

    @rule(agent=numbers, which=st.integers(0, 1))
    def repeat(self, agent: int, which: int) -> None:
        """Send once more what was said in this round, the draft too."""
        people = list(self.state.participants)
        who = people[agent % len(people)]
        said = self.said.get((who, self.state.tour), [])
        if said and self.state.finished_at is None:
            text = said[min(which, len(said) - 1)].text
            before = self.state.copy()
            step = self.move(
                lambda state: respond(state, who, text, now=self.now, nonce="another salt")
            )
            assert step.outcome == "already-recorded"
            assert step.state == before

    def give(self, agent: str, said: Said, status: str, task: str = "") -> None:
        state, one = self.state, self.state.participants[agent]
        speaker = state.rounds[-1].speaker if takes_turns(state) else ""
        missed = agent in state.rounds[-1].absent
        again = one.again == state.tour
        asked_for = has_answered(one) and not again
        try:
            step = self.move(
                lambda state: respond(
                    state, agent, said.text, now=self.now, nonce=f"salt-{agent}-{self.marks}",
                    status=status, task=task,
                )
            )  # fmt: skip
        except AlreadyAnsweredError:
            assert asked_for or state.phase == "SYNTHESIZE"
        except NotYourTurnError:
            if state.phase != "SYNTHESIZE":
                assert takes_turns(state)
                assert agent not in due_agents(state)
                assert not missed
                assert agent != speaker or has_answered(one)
        except RefusedError:
            assert status == "agreed"
            assert is_blind(state) or self.procedure == "deliberation"
        else:
            assert not asked_for or step.outcome == "late" or state.phase == "SYNTHESIZE"
            self.write_down(agent, said, status, state, step)

    def write_down(
        self, agent: str, said: Said, status: str, before: Conversation, step: Step
    ) -> None:
        if step.outcome == "late":
            assert before.finished_at is not None
            self.late.append((agent, before.tour, said.text))
            return
        assert step.outcome == "recorded"
        if before.phase == "SYNTHESIZE":
            return
        if takes_turns(before):
            assert agent in due_agents(before) or agent in before.rounds[-1].absent, "out of turn"
        told = self.said.setdefault((agent, before.tour), [])
        told.append(said)
        assert len(told) <= 1 + ASKED_AGAIN, "asked for more than twice again"
        form = PROCEDURES[self.procedure].phase(before.phase).form
        asked = self.state.participants[agent].again == before.tour
        if form == "text":
            assert not asked
        elif len(told) == 1 and status != "done":
            assert asked is self.lacks_something(agent, said, before)
        elif len(told) == 2 and status != "done":
            assert asked is self.lacks_stances(agent, told, before)
        else:
            assert not asked

    def lacks_something(self, agent: str, said: Said, before: Conversation) -> bool:
        """Return true if position, confidence or a response to one who spoke before is missing."""
        if not said.form or not said.confidence:
            return True
        return self.lacks_stances(agent, [said], before)

    def lacks_stances(self, agent: str, told: list[Said], before: Conversation) -> bool:
        """Return true if all that was said in a round leaves out one who spoke before."""
        if before.phase != "VOTE" and not takes_turns(before):
            return False  # all speak at once, and cannot hear each other
        tours = range(1, before.tour) if before.phase == "VOTE" else (before.tour,)
        given = {who for said in told if said.form for who in said.stances}
        heard = {who for who, tour in self.said if tour in tours and who != agent}
        return bool(heard & set(before.participants) - given)

    @precondition(lambda self: self.state.tour > 1)
    @rule(agent=numbers, data=st.data())
    def answer_late(self, agent: int, data: st.DataObject) -> None:
        """Answer a round that is closed, with the task that was for it."""
        tour = data.draw(st.integers(1, self.state.tour - 1))
        people = list(self.state.participants)
        who = people[agent % len(people)]
        text = f"{who} comes late to {tour}: {data.draw(st.integers(0, 2))}"
        task = task_id(CONVERSATION_ID, tour, who, 99)  # a run of which no word was heard
        step = self.move(
            lambda state: respond(state, who, text, now=self.now, task=task, nonce="salt")
        )
        assert step.outcome == "late"
        if (who, tour, text) not in self.late:
            self.late.append((who, tour, text))

    # --- runs --------------------------------------------------------------------------------

    @rule(places=st.integers(0, 6))
    def heartbeat(self, places: int) -> None:
        """Start what is due, as many as there are places; the others wait."""
        self.move(lambda state: advance(state, self.now))
        due = [action for action in pending(self.state, self.now) if isinstance(action, Wake)]
        if takes_turns(self.state):
            assert len(due) <= 1, "two are asked at once in a round of turns"
        for wake in due[:places]:
            self.move(
                lambda state, wake=wake: task_started(
                    state, wake, driver="command", now=self.now, ends_at=self.now + LEASE
                )
            )
        for wake in due[places:]:
            self.move(
                lambda state, wake=wake: task_queued(state, wake, driver="command", now=self.now)
            )

    @rule(agent=numbers, final=st.booleans())
    def fail(self, agent: int, final: bool) -> None:
        for task in list(self.state.tasks.values()):
            if task.agent == AGENTS[agent] and task.state is TaskState.R:
                self.move(
                    lambda state, task=task: task_failed(
                        state, task.id, read_reason("exit code 1"), now=self.now, final=final
                    )
                )

    @rule(quality=qualities, data=st.data())
    def answer_in_a_run(self, quality: str, data: st.DataObject) -> None:
        """Answer with the task of a run that is under way, at times word for word as before."""
        running = [one for one in self.state.tasks.values() if one.state is TaskState.R]
        running = [one for one in running if one.agent in self.state.participants]
        if not running or self.state.phase == "SYNTHESIZE":
            return
        task = data.draw(st.sampled_from(sorted(running, key=lambda one: one.id)))
        one = self.state.participants[task.agent]
        said = self.said.get((task.agent, task.tour), [])
        if one.again == task.tour == self.state.tour and said and data.draw(st.booleans()):
            self.move(
                lambda state: respond(
                    state, one.id, said[-1].text, now=self.now, task=task.id, nonce="salt"
                )
            )
            assert self.state.participants[one.id].again == 0, "it insists, and is asked for ever"
            assert self.state.tasks[task.id].state is TaskState.D
        elif task.tour == self.state.tour and self.state.finished_at is None:
            others = [who for who in self.state.participants if who != one.id]
            stated = {who: data.draw(stances) for who in others}
            self.marks += 1
            text = written(one.id, task.tour, quality, stated, self.marks)
            self.give(one.id, text, "responded", task=task.id)

    # --- time and people ---------------------------------------------------------------------

    @rule(span=spans)
    def pass_time(self, span: timedelta) -> None:
        self.now += span

    @rule()
    def step(self) -> None:
        self.move(lambda state: advance(state, self.now))

    @rule(agent=numbers)
    def join(self, agent: int) -> None:
        """Add a participant, as a person does in the file."""
        newcomer = AGENTS[agent]
        if newcomer not in self.state.participants and self.state.finished_at is None:
            self.edit(lambda state: state.participants.update({newcomer: Participant(id=newcomer)}))

    @rule(agent=numbers)
    def leave(self, agent: int) -> None:
        """Take a participant out who has not spoken in this round."""
        one = self.state.participants.get(AGENTS[agent])
        if one is None or len(self.state.participants) == 1 or self.state.finished_at is not None:
            return
        if not one.sealed and self.state.entry_of(one.id, self.state.tour) is None:
            self.edit(lambda state: state.participants.pop(one.id))

    @rule(agent=numbers)
    def be_done(self, agent: int) -> None:
        """Set a participant DONE, as a person does in the file."""
        if AGENTS[agent] in self.state.participants and self.state.finished_at is None:

            def leave(state: Conversation) -> None:
                state.participants[AGENTS[agent]].status = ParticipantStatus.DONE
                state.participants[AGENTS[agent]].again = 0

            self.edit(leave)

    @precondition(lambda self: self.state.tour > 1)
    @rule(status=st.sampled_from((Status.CONVERGED, Status.TIMEOUT)))
    def end_it_in_the_file(self, status: Status) -> None:
        if self.state.finished_at is None:
            self.edit(lambda state: setattr(state, "status", status))

    def edit(self, change) -> None:
        def edited(state: Conversation) -> Step:
            new = state.copy()
            change(new)
            measure(new)
            return Step(state=new)

        self.move(edited)

    @rule(act=st.sampled_from((pause, resume)))
    def stand_still_or_go_on(self, act) -> None:
        self.steer(act)

    @precondition(lambda self: self.state.tour > 2)
    @rule()
    def stop(self) -> None:
        before = self.state
        self.steer(stop)
        if before.phase == "DELIBERATE":
            assert self.state.phase == "VOTE", "a vote always follows"

    @precondition(lambda self: self.state.tour > 3)
    @rule()
    def cancel(self) -> None:
        self.steer(cancel)

    @rule(by=spans)
    def extend(self, by: timedelta) -> None:
        self.steer(lambda state, now: extend(state, by, now))

    def steer(self, act) -> None:
        try:
            self.move(lambda state: act(state, self.now))
        except CouncilError:
            assert self.state.finished_at is not None

    @rule(agent=numbers, to_all=st.booleans())
    def guide(self, agent: int, to_all: bool) -> None:
        people = list(self.state.participants)
        target = "" if to_all else people[agent % len(people)]
        self.steer(
            lambda state, now: inject(state, "@ada: agree?", author="ann", now=now, target=target)
        )

    @rule()
    def save_and_load(self) -> None:
        """Put the state through its file form; what is sealed comes from elsewhere."""
        again = from_record(
            json.loads(json.dumps(to_record(self.state))),
            topic=self.state.topic,
            brief=self.state.brief,
            texts={entry.id: entry.text for entry in self.state.entries},
        )
        again.sealed = self.state.copy().sealed
        assert again == self.state
        self.state = again

    # --- what holds --------------------------------------------------------------------------

    @invariant()
    def nothing_said_is_lost_and_nobody_speaks_twice(self) -> None:
        state = self.state
        for (agent, tour), said in self.said.items():
            told = [one.text for one in said]
            one = state.participants.get(agent)
            if one is not None and one.sealed and tour == state.tour:
                sealed = state.sealed[agent]
                assert one.sealed == sealed_digest(sealed.nonce, sealed.text)
                assert [*sealed.drafts, sealed.text] == told
                continue
            mine = [one for one in state.entries if (one.agent, one.tour) == (agent, tour)]
            kept = [one for one in mine if one.kind in (EntryKind.DRAFT, EntryKind.CONTRIBUTION)]
            assert [one.text for one in kept] == told
            kinds = [EntryKind.DRAFT] * (len(told) - 1) + [EntryKind.CONTRIBUTION]
            assert [one.kind for one in kept] == kinds
        late = [
            (one.agent, one.tour, one.text)
            for one in state.entries
            if one.kind is EntryKind.LATE
        ]  # fmt: skip
        assert late == self.late

    @invariant()
    def rounds_are_counted_and_closed_with_a_verdict(self) -> None:
        rounds = self.state.rounds
        assert [one.tour for one in rounds] == list(range(1, self.state.tour + 1))
        played = [one for one in rounds if one.phase == "DELIBERATE"]
        assert len(played) <= self.rules.max_rounds
        assert sum(one.phase == "VOTE" for one in rounds) <= 1
        cancelled = self.state.closed_reason == "cancelled"
        for one in rounds[:-1]:
            assert one.ended_at is not None
            is_judged = PROCEDURES[self.procedure].phase(one.phase).form != "text"
            assert bool(one.verdict) is is_judged
            assert cancelled or one.reason
        judged_rounds = [one for one in rounds if one.verdict]
        if judged_rounds:
            assert self.state.has_consensus is judged_rounds[-1].verdict["reached"]

    @invariant()
    def one_has_the_floor_and_is_the_one_who_is_asked(self) -> None:
        state = self.state
        if state.finished_at is not None:
            assert pending(state, self.now) == (Archive(),)
            return
        step = advance(state, self.now)
        if step.state.paused_at is None and takes_turns(step.state):
            asked = due_agents(step.state)
            assert asked == (step.state.rounds[-1].speaker,), "nobody has the floor"
            assert step.state.rounds[-1].turn_at is not None

    @invariant()
    def a_step_is_idempotent(self) -> None:
        first = advance(self.state, self.now)
        assert advance(self.state, self.now) == first
        second = advance(first.state, self.now)
        if not any(event.type.endswith(".changed") for event in first.events):
            assert (second.state, second.events) == (first.state, [])

    @invariant()
    def nothing_is_due_before_it_is_said_to_be(self) -> None:
        due_at = next_due(self.state)
        if due_at is None or due_at <= self.now or advance(self.state, self.now).events:
            return
        just_before = max(self.now, due_at - INSTANT)
        assert advance(self.state, just_before).events == []
        assert pending(self.state, just_before) == ()
        assert advance(self.state, due_at).events or pending(self.state, due_at)

    def teardown(self) -> None:
        """Whatever happened: with time and a heartbeat the conversation ends."""
        if not hasattr(self, "state"):
            return
        if self.state.finished_at is None:
            self.steer(resume)
        for _ in range(200):
            if self.state.finished_at is not None:
                break
            self.now += HOUR
            self.heartbeat(6)
            self.rounds_are_counted_and_closed_with_a_verdict()
        assert self.state.finished_at is not None
        assert self.state.closed_reason is not None
        if self.state.closed_reason not in ("cancelled", "timeout") and self.state.ends_at is None:
            voted = any(one.phase == "VOTE" for one in self.state.rounds)
            assert voted or self.all_left or self.procedure != "deliberation"


class Councils(Deliberations):
    """The other procedure, in every order of speaking."""

    procedure = "council"


Deliberations.TestCase.settings = settings(max_examples=examples(30), stateful_step_count=40)
Councils.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=30)


@pytest.mark.req("DL-023", "DL-024", "DL-025", "DL-031", "DL-047", "DL-087", "XC-104")
class TestDeliberations(Deliberations.TestCase):
    """Played by pytest."""


@pytest.mark.long
class TestManyDeliberations(Deliberations.TestCase):
    """The same, and more of them."""

    settings = settings(max_examples=examples(90), stateful_step_count=40)


@pytest.mark.req("XC-104")
class TestCouncilsInTurn(Councils.TestCase):
    """Played by pytest."""
