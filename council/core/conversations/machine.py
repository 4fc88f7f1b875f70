"""The machine: what is due now, and what the world has to do.

A conversation is advanced by no process in particular. Cron, a person's command,
the last agent to answer: a process that has just changed the state calls
`advance`, one that starts agents asks `pending`. Three properties make that safe.

*Everything is in the state.* `advance` takes the state and the time and
returns the next state; it is idempotent, so calling it again, late, or from
eight processes in turn, changes nothing more. `pending` reads what is due
(an agent to wake, minutes to write) from the saved state alone. An effect
carried in memory from one to the other would be lost by a process that dies
in between; an effect that can be read again from the state cannot.

*Steps go forward only.* One call makes at most one phase transition. A phase
closes when all who still can have answered, when all who stay agree (in the
modes where that ends early), or when its time is up; then the absent are written down,
what was sealed is revealed, everybody but the DONE waits again, and the round
is one higher. A phase of several rounds repeats itself until what was said in
a closed round ends it, or its number. Phases only go forward and rounds are
counted, so any number of calls ends.

*No agent holds up the others.* Where one speaks after the other, the one who has
the floor, `Round.speaker`, has the time of one turn. Who lets it pass, or
fails for good, is passed over: it stands among the absent of the round, may
still answer while the round is open, and the next one has the floor.

*Time and chance come from outside.* `now` is an argument; identifiers follow
from conversation, round, agent and attempt. The same state at the same time
gives the same next state.

An agent that waits for a place among the running ones (a task in state N)
does not run out of time: the deadline stands still for it until it is
started. What a task did is remembered for the current and the last round; the
event log remembers the rest.

Source: C0-025 to C0-037, C0-061 to C0-064, C0-071 to C0-079, DL-021 to DL-025,
DL-047, DL-081, DL-086, DL-088, A-01 to A-06, A-82, A-83, A-87.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import (
    BY_HAND,
    CEILING,
    STOPPED,
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Participant,
    ParticipantStatus,
    Round,
    Status,
    Step,
    TaskState,
    has_answered,
    measure,
    raise_blockers,
    staying,
)
from council.core.conversations.due import (
    attempts_used_up,
    awaited,
    can_answer,
    current_phase,
    due_agents,
    is_asked_again,
    is_synthesized,
    last_word,
    next_phase,
    passed_over,
    round_now,
    synthesizers,
    takes_turns,
    tasks_of,
)
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.events import Event
from council.core.ids import text_digest
from council.core.reading_answers.cleaning import blockers_in
from council.core.reasons import LOST, TIMEOUT, Reason

DIGEST_AUTHOR = "council"


def begin(state: Conversation, now: datetime) -> Step:
    """Open a conversation: its first round starts, everybody waits (C0-037)."""
    new = state.copy()
    new.brief_digest = text_digest(new.brief)
    new.rounds = [Round(tour=new.tour, phase=new.phase, started_at=now)]
    measure(new)
    opened = {"name": new.name, "topic": new.topic, "participants": list(new.participants)}
    events = [Event(type="conversation.opened", data=opened)]
    _give_floor(new, now, events)
    return Step(state=new, events=events)


def advance(state: Conversation, now: datetime, *, ours: bool = False) -> Step:
    """Take every step that is due at `now`: at most one phase transition; idempotent.

    `state` is changed instead of copied if it is `ours`: if no other caller has it.
    """
    new = state if ours else state.copy()
    events: list[Event] = []
    if new.finished_at is not None or new.paused_at is not None:
        return Step(state=new)
    _expire_leases(new, now, events)
    if new.phase != SYNTHESIZE:
        measure(new)
        _pass_over(new, now, events)
        target = _due_transition(new, now)
        if target is not None:
            _enter(new, target[0], target[1], now, events)
    if new.phase == SYNTHESIZE:
        _finish_if_due(new, now, events)
    return Step(state=new, events=events)


def _due_transition(state: Conversation, now: datetime) -> tuple[str, str] | None:
    """Return (phase, reason) of the transition that is due, None when none is.

    The phase is "" where it follows from what was said in the round that closes.
    """
    procedure = PROCEDURES[state.procedure]
    phase = current_phase(state)
    end_now = _due_end(state, now)
    if end_now is not None:
        return (last_word(state) if end_now == "stopped" else SYNTHESIZE), end_now
    agreed = state.has_consensus and phase.ends_early == "agreed"
    if agreed and state.mode in procedure.early_modes:
        return SYNTHESIZE, "agreed"
    following = next_phase(state) if phase.form == "text" else ""
    if not any(can_answer(state, agent, now) for agent in awaited(state)):
        return following, _end_without_more(state)
    if _time_is_up(state, now) and not takes_turns(state):
        return following, "timeout"
    return None


def _end_without_more(state: Conversation) -> str:
    """Return why a round closes in which no other answer comes (OP-002)."""
    out = passed_over(state)
    if TIMEOUT in out.values():
        return "timeout"
    return ClosedReason.NOBODY_LEFT.value if out or awaited(state) else "all-answered"


def _pass_over(state: Conversation, now: datetime, events: list[Event]) -> None:
    """Pass over who cannot be had, and give the floor to the next. Changes `state`."""
    in_turn = takes_turns(state)
    may_skip = in_turn or current_phase(state).skips
    while True:
        _give_floor(state, now, events)
        late = in_turn and _time_is_up(state, now)
        out = [
            agent
            for agent in due_agents(state)
            if late
            or (not can_answer(state, agent, now) and (may_skip or is_asked_again(state, agent)))
        ]
        for agent in out:
            _skip(state, agent, events)
        if not out:
            return


def _skip(state: Conversation, agent: str, events: list[Event]) -> None:
    """Go on without an agent's answer, or with the incomplete one that stands."""
    reason = _absence(state, agent)
    is_incomplete = is_asked_again(state, agent)
    if is_incomplete:
        state.participants[agent].again = 0
    else:
        _round_under_way(state).absent[agent] = reason
    kind = "turn.incomplete" if is_incomplete else "turn.missed"
    events.append(round_event(state, kind, agent, reason=reason.to_record()))


def _give_floor(state: Conversation, now: datetime, events: list[Event]) -> None:
    """Give the floor to who speaks next; its turn has its own time. Changes `state`."""
    speakers = due_agents(state) if takes_turns(state) else ()
    if not speakers:
        return
    under_way = _round_under_way(state)
    if under_way.speaker == speakers[0]:
        return
    under_way.speaker, under_way.turn_at = speakers[0], now
    state.timeout_at = now + state.phase_timeout
    events.append(round_event(state, "turn.started", speakers[0]))


def round_event(state: Conversation, kind: str, agent: str = "", **more: object) -> Event:
    """Return an event that names the round under way."""
    data: dict[str, object] = {"phase": state.phase, "tour": state.tour, **more}
    return Event(type=kind, agent=agent, data=data)


def _time_is_up(state: Conversation, now: datetime) -> bool:
    """Return true if the phase is over: its deadline has passed and no awaited agent is queued."""
    return now >= state.timeout_at and not any(
        one.state is TaskState.N for agent in due_agents(state) for one in tasks_of(state, agent)
    )


def _due_end(state: Conversation, now: datetime) -> str | None:
    """Return why the rounds end now, whatever the phase; None when they do not."""
    if state.status is not Status.ACTIVE:
        return "stopped"
    if state.ends_at is not None and now >= state.ends_at:
        return "timeout"
    return None if staying(state) else "all-answered"


def enter_phase(state: Conversation, phase: str, reason: str, now: datetime) -> Step:
    """Close the round under way and open the next one in `phase`, which must lie ahead."""
    new = state.copy()
    events: list[Event] = []
    _enter(new, phase, reason, now, events)
    return Step(state=new, events=events)


def _enter(
    state: Conversation, phase: str, reason: str, now: datetime, events: list[Event]
) -> None:
    left = state.phase
    absent = close_round(state, reason, now, events)
    if current_phase(state).form != "text":
        why = _judge(state, events)
        if not phase:
            over = bool(why) or current_phase(state).max_rounds == 1
            phase, reason = (next_phase(state) if over else left), why or reason
            state.rounds[-1].reason = reason
    if phase == SYNTHESIZE:
        conclude(state, reason)
    else:
        # Set by hand it has led here; set once more it ends this phase, too.
        state.status = Status.ACTIVE
    state.tour += 1
    state.phase = phase
    state.timeout_at = now + state.phase_timeout
    state.rounds.append(Round(tour=state.tour, phase=phase, started_at=now))
    for one in state.participants.values():
        one.again = 0
        if one.status is not ParticipantStatus.DONE:
            one.status = ParticipantStatus.WAITING
    consensus = state.has_consensus
    measure(state)
    if PROCEDURES[state.procedure].verdict == "statuses":
        state.has_consensus = consensus and phase == SYNTHESIZE
    kind = "phase.changed" if phase != left else "round.changed"
    data: dict[str, object] = {"from": left, "to": phase, "tour": state.tour, "reason": reason}
    events.append(Event(type=kind, data={**data, "absent": sorted(absent)}))
    _give_floor(state, now, events)


def _judge(state: Conversation, events: list[Event]) -> str:
    """Judge the round that was closed; return why the rounds end with it, "" when they go on.

    Source: DL-023, DL-026, DL-047.
    """
    from council.core.deliberation import deliberation  # only where stances are asked for

    verdict = deliberation.verdict_now(state)
    state.rounds[-1].verdict = verdict.to_record()
    state.has_consensus = verdict.reached
    events.append(round_event(state, "consensus.checked", **state.rounds[-1].verdict))
    return deliberation.end_of_rounds(state, verdict)


def close_round(
    state: Conversation, reason: str, now: datetime, events: list[Event]
) -> dict[str, Reason]:
    """End the round under way and return who is absent and why. Changes `state`.

    What was sealed is revealed, the absent are written down, open tasks end.
    """
    for one in state.participants.values():
        if one.sealed:
            _reveal(state, one, events)
            one.sealed = ""
    measure(state)
    over = _round_under_way(state)
    everybody_speaks = current_phase(state).speakers == "participants"
    absent = {
        one.id: over.absent.get(one.id) or _absence(state, one.id, reason)
        for one in state.participants.values()
        if everybody_speaks and not has_answered(one)
    }
    for agent, why in absent.items():
        if agent not in over.absent:
            events.append(round_event(state, "turn.missed", agent, reason=why.to_record()))
    for task in list(state.tasks.values()):
        if task.tour < state.tour:
            del state.tasks[task.id]
        elif task.state in (TaskState.N, TaskState.R):
            task.state, task.reason = TaskState.X, Reason.of("round-closed")
    over.ended_at, over.reason, over.absent = now, reason, absent
    return absent


def _round_under_way(state: Conversation) -> Round:
    """Return the round under way, which is added where a file names none. Changes `state`."""
    under_way = round_now(state)
    if not any(one is under_way for one in state.rounds[-1:]):
        state.rounds.append(under_way)
    return under_way


def _absence(state: Conversation, agent: str, ended_by: str = "") -> Reason:
    """Return why an agent is absent: its last failure, who ended the round by hand, or the time."""
    failed = [one.reason for one in tasks_of(state, agent) if one.state is TaskState.F]
    return failed[-1] if failed else Reason.of(ended_by) if ended_by in BY_HAND else TIMEOUT


def _reveal(state: Conversation, one: Participant, events: list[Event]) -> None:
    sealed = state.sealed.pop(one.id, None)
    if sealed is None or sealed.tour != state.tour:
        data = {"tour": state.tour, "seal": one.sealed}
        events.append(Event(type="seal.missing", agent=one.id, data=data))
        return
    for draft in sealed.drafts:
        before = state.new_entry(EntryKind.DRAFT, one.id, draft, sealed.at)
        state.entries.append(before.copy(origin=sealed.origin))
    entry = state.new_entry(EntryKind.CONTRIBUTION, one.id, sealed.text, sealed.at).copy(
        digest=one.sealed,
        nonce=sealed.nonce,
        status=sealed.status,
        origin=sealed.origin,
        task=sealed.task,
        blocking=blockers_in(sealed.text),
    )
    state.entries.append(entry)
    raise_blockers(state, entry.blocking)
    events += [round_event(state, "seal.opened", one.id), *questions_to_people(state, entry)]


def questions_to_people(state: Conversation, entry: Entry) -> list[Event]:
    """Return an event for each question that an entry puts to the people who steer.

    Source: HR-024.
    """
    if "@" not in entry.text:
        return []
    from council.core.conversations.handles import may_ask_people  # few texts speak to anybody

    if not may_ask_people(state, entry.text):
        return []
    from council.core.deliberation.questions import questions_in

    data = {"phase": entry.phase, "tour": entry.tour, "entry": entry.id}
    return [
        Event(type="person.asked", agent=entry.agent, data={**data, "text": one.text})
        for one in questions_in(state, entry, to_peers=False)
    ]


def conclude(state: Conversation, reason: str) -> None:
    """Set status and reason of the end as the last round closes (A-01, C0-079)."""
    played = [one for one in state.rounds if one.phase != SYNTHESIZE]
    everybody = set(state.participants)
    # No time ran out where a person ended a round.
    unanswered = [one.reason for one in played if everybody <= set(one.absent)]
    silent = [why for why in unanswered if reason != CEILING and why != STOPPED]
    by_hand = state.status
    if PROCEDURES[state.procedure].verdict == "stances":
        agreed = state.has_consensus  # a status set by hand ends the rounds and is no verdict
    else:
        agreed = by_hand is Status.CONVERGED or reason == "agreed"
    if agreed:
        state.status, state.closed_reason = Status.CONVERGED, ClosedReason.CONSENSUS
    elif ClosedReason.NOBODY_LEFT in (reason, *silent):
        state.status, state.closed_reason = Status.TIMEOUT, ClosedReason.NOBODY_LEFT
    elif by_hand is Status.TIMEOUT or reason == "timeout" or silent:
        state.status, state.closed_reason = Status.TIMEOUT, ClosedReason.TIMEOUT
    else:
        is_whole = not (played and played[-1].absent)
        has_agreed = is_whole and state.has_consensus
        state.status = Status.CONVERGED if is_whole else Status.TIMEOUT
        exhausted = ClosedReason.PHASES_EXHAUSTED
        state.closed_reason = ClosedReason.CONSENSUS if has_agreed else exhausted


def _finish_if_due(state: Conversation, now: datetime, events: list[Event]) -> None:
    if not is_synthesized(state):
        skips = current_phase(state).skips
        asked = dict.fromkeys(one.agent for one in state.tasks.values() if one.tour == state.tour)
        for agent in asked if skips else ():  # who failed for good is passed over
            if attempts_used_up(state, agent) and agent not in passed_over(state):
                _hand_on_synthesis(state, agent, now, events)
        if synthesizers(state) and not _time_is_up(state, now):
            return
        if skips and synthesizers(state):  # it did not come in time: the next one is asked
            _hand_on_synthesis(state, synthesizers(state)[0], now, events)
            if synthesizers(state):
                return
    finish(state, now, events)


def _hand_on_synthesis(state: Conversation, agent: str, now: datetime, events: list[Event]) -> None:
    """Pass over an agent that was to sum up; the next one has its own time. Changes `state`."""
    _skip(state, agent, events)
    state.timeout_at = now + state.phase_timeout


def finish(state: Conversation, now: datetime, events: list[Event]) -> None:
    """Close a conversation; where no synthesis stands a digest stands in. Changes `state`."""
    if not is_synthesized(state):
        from council.core.conversations import digest  # only an ending conversation needs it

        text = digest.automatic_digest(state)
        entry = state.new_entry(EntryKind.SYNTHESIS, DIGEST_AUTHOR, text, now)
        state.entries.append(entry.copy(origin=Origin.TOOL))
        events.append(Event(type="digest.written", data={"tour": state.tour}))
    close(state, now, events)


def close(state: Conversation, now: datetime, events: list[Event]) -> None:
    """Mark a conversation as finished; its minutes are due from now on. Changes `state`."""
    state.finished_at = now
    if state.rounds and state.rounds[-1].ended_at is None:
        last = state.rounds[-1]
        last.ended_at, last.reason = now, last.reason or "done"
    for task in state.tasks.values():
        if task.state in (TaskState.N, TaskState.R):
            task.state, task.reason = TaskState.X, Reason.of("ended")
    reason = None if state.closed_reason is None else str(state.closed_reason)
    data = {"status": str(state.status), "closedReason": reason}
    events.append(Event(type="conversation.finished", data=data))


def _expire_leases(state: Conversation, now: datetime, events: list[Event]) -> None:
    """Give up runs whose lease is over: their process died without a word."""
    for task in state.tasks.values():
        if task.state is TaskState.R and task.ends_at is not None and task.ends_at <= now:
            task.state, task.reason, task.at = TaskState.F, LOST, now
            events.append(Event(type="task.lost", agent=task.agent, data={"task": task.id}))
