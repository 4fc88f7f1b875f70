"""What an agent or a person says: contributions, syntheses, guidance.

It decides who may speak now, what counts as a repeat, what comes late, and
what is sealed. It does not decide what follows: that is the machine's.

Source: HR-002, HR-012, C0-042 to C0-046, C0-063, C0-074, C0-080, DL-013, DL-015, DL-087, XC-014,
`trust.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from council.core.conversations.conversation import (
    ANSWERED,
    ANY_ANSWERED,
    TURNS,
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Participant,
    ParticipantStatus,
    SealedText,
    Step,
    TaskState,
    has_answered,
    measure,
    raise_blockers,
    response_rate,
    withdraw_blockers,
)
from council.core.conversations.due import (
    current_phase,
    due_agents,
    is_asked_again,
    is_blind,
    passed_over,
    takes_turns,
    tasks_of,
)
from council.core.conversations.machine import DIGEST_AUTHOR, questions_to_people, round_event
from council.core.conversations.procedures import PROCEDURES
from council.core.errors import (
    AlreadyAnsweredError,
    FinishedError,
    InvalidInputError,
    NotAParticipantError,
    NotYourTurnError,
    RefusedError,
    UsageError,
)
from council.core.events import Event
from council.core.ids import sha256_hex, split_task_id
from council.core.reading_answers.cleaning import blockers_in, clean, split_status
from council.core.reasons import Reason
from council.core.record import Record


def sealed_digest(nonce: str, text: str) -> str:
    """Return the salted digest under which a sealed text is committed to (`trust.md`)."""
    return sha256_hex(f"{nonce}\n{text}".encode())


def checked_text(text: str) -> str:
    """Return a text that may enter a conversation.

    Raises:
        InvalidInputError: It is empty, or holds U+0000 or a lone surrogate.
    """
    if not text.strip():
        raise InvalidInputError("the text is empty", "give it as argument, --file or - (stdin)")
    if "\x00" in text:
        raise InvalidInputError("the text holds a NUL character", "take it out and send it again")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"the text is not valid Unicode at character {error.start}", "send it as UTF-8"
        ) from None
    return text


class _Answer(Record):
    """One answer on its way in.

    `status` is the one that counts, `wished` another one that was asked for, "" for
    none. `stated` is what a printed text states at its end, "" for none; `bare` that
    it states nothing else.
    """

    agent: str
    text: str
    now: datetime
    nonce: str
    task: str
    status: ParticipantStatus
    origin: Origin
    wished: str = ""
    stated: str = ""
    bare: bool = False

    def as_responded(self) -> _Answer:
        """Return it with a status that claims no more than that it was given."""
        return self.copy(status=ParticipantStatus.RESPONDED, wished=str(self.status))


def respond(
    state: Conversation,
    agent: str,
    text: str,
    *,
    now: datetime,
    nonce: str = "",
    task: str = "",
    status: str = "responded",
    origin: Origin = Origin.CLAIMED,
    printed: bool = False,
    anew: bool = False,
) -> Step:
    """Take an agent's answer to the round under way, or to the round its task names.

    Args:
        state: The conversation it answers.
        agent: Who answers.
        text: What it says, kept byte for byte unless it was printed.
        now: The time of the answer.
        nonce: The salt if the answer has to be sealed; drawn by the caller.
        task: The task it answers, "" when the agent answers by itself.
        status: One of `ANSWERED` in lower case.
        origin: How sure the caller is who answers.
        printed: The text is what a program printed: it is kept without its
            thoughts, and its last line may state the status (HR-002, HR-012).
        anew: It is meant for the round under way, even with the words of the last one.

    Returns:
        A step whose outcome is `recorded`, `already-recorded` (the same text
        again; without a task also that of the last round) or `late` (its round is
        closed; kept apart).

    Raises:
        InvalidInputError: The text cannot be kept, or was nothing but thoughts.
        NotAParticipantError: The agent does not take part.
        NotYourTurnError: Another agent has the floor, or writes the synthesis.
        AlreadyAnsweredError: Another text of this agent stands already.
        RefusedError: AGREED where it can mean nothing: in a blind phase, or
            where agreement is stated as a stance.
    """
    checked_text(text)
    if status not in map(str.lower, ANSWERED):
        raise UsageError(f"unknown status {status!r}", f"use {ANY_ANSWERED.lower()}")
    stated = ParticipantStatus(status.upper())
    answer = _Answer(
        agent=agent, text=text, now=now, nonce=nonce, task=task, status=stated, origin=origin
    )
    tour = _tour_of(state, agent, task)
    if printed:
        answer = _as_printed(state, answer, tour)
    if not (task or anew or printed) and _is_last_word(state, answer):
        return Step(state=state.copy(), outcome="already-recorded")
    is_late = tour < state.tour or state.finished_at is not None
    if is_late or current_phase(state).speakers == "synthesizer":
        return _late(state, answer, tour) if is_late else _synthesize(state, answer)
    participant = state.participants.get(agent)
    if participant is None:
        raise NotAParticipantError(agent, tuple(state.participants))
    standing = _standing_text(state, participant)
    again = is_asked_again(state, agent)
    text = answer.text
    if standing and again and answer.stated and (answer.bare or standing == text):
        return _restate(state, answer)
    is_repeated = text in (standing, *_drafts(state, agent))
    if is_repeated and again and _is_of_another_run(state, answer):
        return _insist(state, answer)
    if is_repeated:
        return Step(state=state.copy(), outcome="already-recorded")
    left = participant.status is ParticipantStatus.DONE
    if not again and (standing is not None or participant.sealed or left):
        raise AlreadyAnsweredError(agent, state.phase, state.tour)
    if answer.status.agrees:
        refuse_empty_agreement(state)
    # Who was passed over may still speak while the round is open.
    if takes_turns(state) and agent not in (*due_agents(state), *passed_over(state)):
        from council.core.conversations.handles import known_to

        raise NotYourTurnError(agent, state.phase, known_to(state, agent, due_agents(state)))
    return _contribute(state, answer)


def refuse_empty_agreement(state: Conversation) -> None:
    """Refuse AGREED where it can mean nothing.

    Raises:
        RefusedError: In a blind phase, or where agreement is stated as a stance.
    """
    if current_phase(state).form != "text":
        raise RefusedError(
            f"agreement in {state.phase} is a stance towards somebody, not a status",
            "state it: --stance PEER=agree",
        )
    if is_blind(state):
        raise RefusedError(
            f"nobody can agree in {state.phase}: the answers are sealed until it closes",
            "answer without --status agreed; agreement is possible from the next phase on",
        )


def _tour_of(state: Conversation, agent: str, task: str) -> int:
    if not task:
        return state.tour
    parts = split_task_id(task)
    if parts is None or parts[0] != state.conversation_id or not 1 <= parts[1] <= state.tour:
        raise InvalidInputError(
            f"{task!r} is no task of this conversation", "see: council context --as " + agent
        )
    if parts[2] != agent:
        raise RefusedError(
            f"task {task} belongs to {parts[2]}, not to {agent}",
            "answer with your own task, or without one",
        )
    return parts[1]


def _standing_text(state: Conversation, participant: Participant) -> str | None:
    """Return what the agent has already said in this round, None for nothing we can read."""
    entry = state.entry_of(participant.id, state.tour)
    if entry is not None:
        return entry.text
    sealed = state.sealed.get(participant.id)
    if participant.sealed and sealed is not None:
        return sealed.text
    if participant.status is ParticipantStatus.DONE:
        said = last_word(state, participant.id)
        return None if said is None else said.text
    return None


def last_word(state: Conversation, agent: str) -> Entry | None:
    """Return the last turn of an agent that can be read, None before its first."""
    mine = (one for one in reversed(state.entries) if one.agent == agent and one.kind in TURNS)
    return next(mine, None)


def _is_last_word(state: Conversation, answer: _Answer) -> bool:
    """Return true if an author says what it said last, in a phase that asks for a text.

    Its caller may not know that this was accepted, and gives it once more when
    the next round has begun (OP-008). Who holds its position in a structured turn or
    a vote may well do so in the same words.
    """
    said = last_word(state, answer.agent)
    participant = state.participants.get(answer.agent)
    if said is None or (participant is not None and participant.sealed):
        return False
    is_same = said.text == answer.text and said.status in ("", answer.status)
    return is_same and current_phase(state).form == "text"


def _drafts(state: Conversation, agent: str) -> list[str]:
    """Return the texts of an agent in whose place another one came in the round under way."""
    sealed = state.sealed.get(agent)
    hidden = sealed.drafts if sealed is not None and sealed.tour == state.tour else []
    mine = [one for one in state.entries if one.agent == agent and one.tour == state.tour]
    return hidden + [one.text for one in mine if one.kind is EntryKind.DRAFT]


def _is_of_another_run(state: Conversation, answer: _Answer) -> bool:
    """Return true if an answer comes from another run than the same words that stand."""
    standing = state.entry_of(answer.agent, state.tour) or state.sealed.get(answer.agent)
    return bool(answer.task) and answer.task != (standing.task if standing else "")


def _insist(state: Conversation, answer: _Answer) -> Step:
    """Let an answer stand whose author says the same when it is asked once more."""
    new = state.copy()
    new.participants[answer.agent].again = 0
    _settle_tasks(new, answer.agent)
    event = round_event(new, "turn.incomplete", answer.agent, reason="same-answer")
    return Step(state=new, events=[event], outcome="already-recorded")


def _as_printed(state: Conversation, answer: _Answer, tour: int) -> _Answer:
    """Return what a program printed as the answer it is to that round.

    In a blind phase there is nothing yet to agree with: AGREED counts as RESPONDED.
    """
    name = next((one.phase for one in state.rounds if one.tour == tour), state.phase)
    phase = PROCEDURES[state.procedure].phase(name)
    text, stated = clean(answer.text), ""
    if phase.form == "text" and phase.speakers == "participants":
        text, stated = split_status(answer.text)
    if not text.strip() and not stated:
        raise InvalidInputError("nothing but thoughts was printed", "print the answer as well")
    bare = not text.strip()
    answer = answer.copy(
        text=clean(answer.text) if bare else text,
        status=ParticipantStatus(stated.upper()) if stated else answer.status,
        stated=stated,
        bare=bare,
    )
    is_early = answer.status.agrees and tour == state.tour and is_blind(state)
    return answer.as_responded() if is_early else answer


def _restate(state: Conversation, answer: _Answer) -> Step:
    """Let an answer stand with the status that its author states when asked once more."""
    new = state.copy()
    participant = new.participants[answer.agent]
    entry, sealed = new.entry_of(answer.agent, new.tour), new.sealed.get(answer.agent)
    seal: list[SealedText] = []
    if entry is not None:
        if answer.status.agrees and entry.blocking and not answer.bare:
            answer = answer.as_responded()  # it raises its blocker once more
        blocking = entry.blocking
        if answer.status.agrees:
            withdraw_blockers(new, answer.agent)
            blocking = []
        _replace(new, entry, entry.copy(status=str(answer.status), blocking=blocking))
    elif sealed is not None:
        seal.append(sealed.copy(status=str(answer.status), nonce=answer.nonce))
        new.sealed[answer.agent] = seal[0]
        participant.sealed = sealed_digest(answer.nonce, sealed.text)
    participant.again = 0
    return _recorded(new, participant, answer, seal)


def _contribute(state: Conversation, answer: _Answer) -> Step:
    new = state.copy()
    participant = new.participants[answer.agent]
    if current_phase(new).form == "text":
        answer = _ask_how_it_stands(new, participant, answer)
    faults = _ask_again(new, participant, answer)
    seal: list[SealedText] = []
    events: list[Event] = []
    standing = new.entry_of(answer.agent, new.tour)
    if standing is not None:  # it makes room, as a draft
        _replace(new, standing, standing.copy(kind=EntryKind.DRAFT))
    if is_blind(new):
        seal.append(_seal(new, participant, answer))
    else:
        entry = _entry(new, answer, EntryKind.CONTRIBUTION, new.tour)
        entry.status = str(answer.status)
        entry.blocking = blockers_in(answer.text)
        if answer.status.agrees:
            withdraw_blockers(new, answer.agent)
        new.entries.append(entry)
        raise_blockers(new, entry.blocking)
        events = questions_to_people(new, entry)
    return _recorded(new, participant, answer, seal, faults, events)


def _ask_how_it_stands(state: Conversation, participant: Participant, answer: _Answer) -> _Answer:
    """Ask once how an author stands who agrees beside a blocker of its own, or printed DONE.

    A program that prints DONE usually means that it has finished. Changes `participant`.

    Returns:
        The answer with the status that counts until then.
    """
    is_asked = participant.again == state.tour
    is_denied = answer.status.agrees and bool(blockers_in(answer.text))
    is_unsure = is_denied or (answer.stated == "done" and not is_asked)
    participant.again = state.tour if is_unsure and not is_asked else 0
    return answer.as_responded() if is_unsure else answer


def _recorded(
    new: Conversation,
    participant: Participant,
    answer: _Answer,
    seal: list[SealedText],
    faults: Sequence[dict[str, str]] = (),
    events: Sequence[Event] = (),
) -> Step:
    """Return the step after an answer that stands by now. Changes `new`."""
    participant.status, participant.last_action = answer.status, answer.now
    passed_over(new).pop(answer.agent, None)
    _settle_tasks(new, answer.agent)
    measure(new)
    data: dict[str, object] = {
        "status": str(participant.status),
        "origin": str(answer.origin),
        "sealed": bool(seal),
    }
    has_form = current_phase(new).form != "text"
    asked = is_asked_again(new, answer.agent)
    if has_form and not seal:  # what is wrong with a sealed text would show what stands in it
        data["faults"] = list(faults)
    if has_form or asked:
        data["askedAgain"] = asked
    if answer.wished:
        data["stated"] = answer.wished
    event = round_event(new, "contribution.recorded", answer.agent, **data)
    return Step(
        state=new,
        events=[event, *events],
        outcome="recorded",
        seal=seal,
        faults=list(faults) if has_form else None,
    )


def _ask_again(
    state: Conversation, participant: Participant, answer: _Answer
) -> list[dict[str, str]]:
    """Return what the form of an answer lacks; it is asked for once more. Changes `participant`."""
    if current_phase(state).form == "text":
        return []
    from council.core.deliberation import deliberation  # only where a form is asked for

    faults = deliberation.examine(state, participant, answer.text, answer.status)
    return [one.as_json("code agent found") for one in faults]


def _replace(state: Conversation, entry: Entry, by: Entry) -> None:
    """Let another entry take the place of one. Changes `state`."""
    state.entries = [by if one is entry else one for one in state.entries]


def _seal(state: Conversation, participant: Participant, answer: _Answer) -> SealedText:
    """Commit to a text without showing it; its digest is salted (`trust.md`)."""
    if not answer.nonce:
        raise UsageError("a sealed contribution needs a nonce", "draw one and give it")
    standing = state.sealed.get(answer.agent)
    sealed = SealedText(
        agent=answer.agent,
        tour=state.tour,
        text=answer.text,
        nonce=answer.nonce,
        at=answer.now,
        status=str(answer.status),
        origin=answer.origin,
        task=answer.task,
        drafts=[*standing.drafts, standing.text] if standing and participant.sealed else [],
    )
    participant.sealed = sealed_digest(answer.nonce, answer.text)
    state.sealed[answer.agent] = sealed
    return sealed


def _entry(state: Conversation, answer: _Answer, kind: EntryKind, tour: int) -> Entry:
    entry = state.new_entry(kind, answer.agent, answer.text, answer.now, tour)
    return entry.copy(origin=answer.origin, task=answer.task)


def _settle_tasks(state: Conversation, agent: str) -> None:
    """End the tasks of an agent that has answered: the running one is done."""
    for task in tasks_of(state, agent):
        if task.state is TaskState.R:
            task.state = TaskState.D
        elif task.state is TaskState.N:
            task.state, task.reason = TaskState.X, Reason.of("answered")


def _late(state: Conversation, answer: _Answer, tour: int) -> Step:
    if answer.agent not in {state.synthesizer, state.coordinator, *state.participants}:
        raise NotAParticipantError(answer.agent, tuple(state.participants))
    for entry in state.entries:
        if (entry.agent, entry.tour, entry.text) != (answer.agent, tour, answer.text):
            if entry.kind in TURNS and answer.task and entry.task == answer.task:
                # it answered by tool, say
                raise AlreadyAnsweredError(answer.agent, entry.phase, tour)
            continue
        if entry.kind is EntryKind.LATE:
            return Step(state=state.copy(), outcome="late")
        if entry.kind in (*TURNS, EntryKind.DRAFT):
            return Step(state=state.copy(), outcome="already-recorded")
    new = state.copy()
    entry = _entry(new, answer, EntryKind.LATE, tour)
    new.entries.append(entry)
    data = {"phase": entry.phase, "tour": tour, "entry": entry.id}
    event = Event(type="contribution.late", agent=answer.agent, data=data)
    return Step(state=new, events=[event], outcome="late")


def _synthesize(state: Conversation, answer: _Answer) -> Step:
    agent = answer.agent
    for standing in state.entries:
        if standing.kind is EntryKind.SYNTHESIS:
            if standing.agent == agent and standing.text == answer.text:
                return Step(state=state.copy(), outcome="already-recorded")
            raise AlreadyAnsweredError(standing.agent, state.phase, state.tour)
    named = tuple(one for one in (state.synthesizer, state.coordinator) if one)
    allowed = {*named, *due_agents(state)} if named else set(state.participants)
    if agent not in allowed:
        if agent in state.participants:
            raise NotYourTurnError(agent, state.phase, due_agents(state) or named)
        raise NotAParticipantError(agent, (*named, *state.participants))
    new = state.copy()
    new.entries.append(_entry(new, answer, EntryKind.SYNTHESIS, new.tour))
    if agent in new.participants:
        participant = new.participants[agent]
        participant.last_action = answer.now
        if not has_answered(participant):
            participant.status = ParticipantStatus.RESPONDED
        new.response_rate = response_rate(new)
    _settle_tasks(new, agent)
    data = {"tour": new.tour, "origin": str(answer.origin)}
    event = Event(type="synthesis.written", agent=agent, data=data)
    return Step(state=new, events=[event], outcome="recorded")


def inject(
    state: Conversation, message: str, *, author: str, now: datetime, target: str = ""
) -> Step:
    """Add a person's guidance; all agents read it in their next prompt, and `target` answers it.

    Raises:
        InvalidInputError: The text cannot be kept.
        NotAParticipantError: The target does not take part.
        FinishedError: The conversation only waits for its minutes.
    """
    checked_text(message)
    if state.finished_at is not None:
        raise FinishedError(state.name)
    if target and target not in state.participants:
        raise NotAParticipantError(target, tuple(state.participants))
    new = state.copy()
    entry = new.new_entry(EntryKind.INJECTION, author or DIGEST_AUTHOR, message, now)
    entry.target = target
    new.entries.append(entry)
    data = {"entry": entry.id, "target": target or None, "tour": new.tour}
    return Step(state=new, events=[Event(type="guidance.added", agent=entry.agent, data=data)])
