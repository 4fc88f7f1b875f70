"""Recording an answer: who it is from, how sure that is, what follows from it.

The steps that are due after an answer are taken in the same revision; waking
who is next is left to the caller.

Source: C0-021, C0-041 to C0-046, XC-014, `cli.md` section 3.
"""

from __future__ import annotations

import os

from council.core.conversations import answers, machine
from council.core.conversations.conversation import Conversation, Origin, TaskState
from council.core.conversations.owed import owing
from council.core.conversations.procedures import SYNTHESIZE, VOTE
from council.core.conversations.tasks import is_under_way
from council.core.conversations.understood import Understood, understood
from council.core.errors import AlreadyAnsweredError, CouncilError, RefusedError, ignoring
from council.core.events import Event
from council.core.ids import split_task_id, task_id
from council.core.record import Record
from council.core.step import Step
from council.core.trust import is_token, run_token
from council.operations.place import Place
from council.store.events import append, loose_records
from council.store.keys import run_key
from council.store.outbox import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.stating import Stated

NONCE_BYTES = 16


class Answered(Record):
    """What became of an answer, in the shape of `respond --json`.

    `faults` are what its form lacks, None where no form is asked for. `understood` is
    what it states, None for a synthesis and for what was not recorded now. `again` is
    the task by which the words of an earlier round are said once more, "" elsewhere.
    `minutes` is their path where the answer ended the conversation and they are written.
    """

    outcome: str
    name: str
    conversation_id: str
    agent: str
    phase: str
    tour: int
    task: str
    moved_from: str = ""
    moved_to: str = ""
    finished: bool = False
    minutes: str = ""
    faults: list[dict[str, str]] | None = None
    asked_again: bool = False
    understood: Understood | None = None
    again: str = ""

    def to_record(self) -> dict[str, object]:
        """Return the JSON object of `respond --json`; a structured answer has its faults, too."""
        moved = {"from": self.moved_from, "to": self.moved_to}
        form: dict[str, object] = {}
        if self.faults is not None or self.asked_again:
            form = {"faults": self.faults or [], "askedAgain": self.asked_again}
        return {
            **self.as_json("outcome name conversation_id agent phase tour task?"),
            "transition": moved if self.moved_to else None,
            **self.as_json("understood"),
            **({"minutes": self.minutes} if self.minutes else {}),
            **form,
        }


def record_answer(
    place: Place,
    name: str,
    agent: str,
    text: str,
    *,
    task: str = "",
    status: str = "responded",
    token: str = "",
    only: str = "",
    stated: Stated | None = None,
    printed: bool = False,
    check: bool = False,
) -> tuple[Answered, Conversation]:
    """Record what `agent` says and take the steps that are due after it.

    Args:
        place: The workspace.
        name: The conversation.
        agent: Who answers.
        text: The answer, kept byte for byte unless it was printed.
        task: The task it answers, "" when the agent answers by itself.
        status: `responded`, `agreed` or `done`.
        token: The token of the run, "" outside one.
        only: `vote` or `synthesis`: refuse in any other phase; "" refuses in none.
        stated: Position, stances and confidence that were given apart; `text` is
            then the reasoning.
        printed: It is what a run printed: its thoughts are left out, its last line
            may state the status, and it is no answer if the run has given one by
            a command.
        check: Say what would be understood, and record nothing; the outcome of what
            would be recorded is `checked`.

    Raises:
        CouncilError: The answer is refused; the refusal is an event.
    """
    before: list[Conversation] = []
    lacking: list[list[dict[str, str]] | None] = []
    heard: list[Understood] = []

    def change(state: Conversation) -> Step:
        before[:] = [state]
        _refuse_other_phases(state, only)
        origin = _origin(place, state, agent, task, token, printed=printed)
        said = text
        if stated is not None:
            from council.operations.conversations.stating import composed

            said = composed(state, agent, stated, text, phase=_answered_phase(state, state, task))
        step = answers.respond(
            state,
            agent,
            said,
            now=place.now(),
            nonce=os.urandom(NONCE_BYTES).hex(),
            task=task,
            status=status,
            origin=origin,
            printed=printed,
            anew=bool(only),
        )
        if printed and step.outcome == "recorded" and _is_done(state, task):
            raise AlreadyAnsweredError(agent, state.phase, state.tour)
        lacking[:] = [step.faults]
        if step.outcome == "recorded" and agent in step.state.participants and not printed:
            heard[:] = [understood(state, step.state, agent, said, place.now())]
        return step.then(machine.advance(step.state, place.now(), ours=True))

    if check:
        place.conversations.require_adopted(name)
        state = place.conversations.read(name, with_sealed=True)
        step = change(state)
        asked = step.state.participants.get(agent) if step.outcome == "recorded" else None
        checked = Answered(
            outcome="checked" if step.outcome == "recorded" else step.outcome,
            name=name,
            conversation_id=state.conversation_id,
            agent=agent,
            phase=_answered_phase(state, state, task),
            tour=_answered_tour(state, task),
            task=task,
            faults=_seen_by(agent, state, lacking[-1]),
            asked_again=asked is not None and asked.again == state.tour,
            understood=heard[-1] if heard else None,
        )
        return _said_earlier(state, agent, task, step.outcome) or checked, state
    operation = Operation() if task or printed else place.operation(name, agent, text)
    over = _said_before(place, name, agent, operation) if operation.is_repeat else None
    if over is not None:
        return over
    try:
        edited = place.conversations.edit(
            name,
            change,
            op_id=operation.id,
            is_new=not operation.is_repeat,
            actor=agent,
            now=place.now(),
        )
    except CouncilError as error:
        _report_refusal(place, name, agent, error, before[0] if before else None)
        raise
    if edited.repeated:
        result = edited.result
        outcome = "late" if edited.outcome == "late" else "already-recorded"
        told = _stands(edited.state, agent, result["phase"], result["tour"], outcome)
        return told, edited.state
    was = before[0]
    earlier = _said_earlier(was, agent, task, edited.outcome)
    if earlier is not None:
        return earlier, edited.state
    moved = was.tour != edited.state.tour
    answered = Answered(
        outcome=edited.outcome,
        name=name,
        conversation_id=edited.state.conversation_id,
        agent=agent,
        phase=_answered_phase(edited.state, was, task),
        tour=_answered_tour(was, task),
        task=task,
        moved_from=was.phase if moved else "",
        moved_to=edited.state.phase if moved else "",
        finished=edited.state.finished_at is not None,
    )
    for event in edited.events:
        if event["type"] == "contribution.recorded" and event["agentId"] == agent:
            answered.faults = _seen_by(agent, edited.state, lacking[-1])
            answered.asked_again = event["data"].get("askedAgain", False)
            answered.understood = heard[-1] if heard else None
    return answered, edited.state


def _said_before(
    place: Place, name: str, agent: str, operation: Operation
) -> tuple[Answered, Conversation] | None:
    """Return what became of an answer whose conversation has ended since, None of any other."""
    from council.operations.conversations.once import done_and_over

    over = done_and_over(place, name, operation)
    said = answers.last_word(over, agent) if over is not None else None
    if over is None or said is None:
        return None
    return _stands(over, agent, said.phase, said.tour), over


def _said_earlier(was: Conversation, agent: str, task: str, outcome: str) -> Answered | None:
    """Return what is said of words that stand in an earlier round, None of any others."""
    said, participant = answers.last_word(was, agent), was.participants.get(agent)
    if outcome != "already-recorded" or task or said is None or said.tour == was.tour:
        return None
    if participant is not None and participant.sealed:
        return None
    told = _stands(was, agent, said.phase, said.tour)
    if agent in owing(was):
        told.again = task_id(was.conversation_id, was.tour, agent, 1)
    return told


def _stands(
    state: Conversation, agent: str, phase: str, tour: int, outcome: str = "already-recorded"
) -> Answered:
    return Answered(
        outcome=outcome,
        name=state.name,
        conversation_id=state.conversation_id,
        agent=agent,
        phase=phase,
        tour=tour,
        task="",
        finished=state.finished_at is not None,
    )


def _seen_by(
    agent: str, state: Conversation, faults: list[dict[str, str]] | None
) -> list[dict[str, str]] | None:
    if not faults:
        return faults
    from council.core.conversations.anonymity import (
        faults_seen_by,  # only where something is missing
    )

    return faults_seen_by(state, agent, faults)


def _refuse_other_phases(state: Conversation, only: str) -> None:
    """Refuse a vote or a synthesis where another thing is asked for."""
    fits = {
        "": True,
        "synthesis": state.phase == SYNTHESIZE,
        "vote": state.phase == VOTE,
    }
    if not fits[only]:
        raise RefusedError(
            f"{state.name} is in {state.phase}, not in its {only}",
            "answer the round with: council respond",
        )


def _is_done(state: Conversation, task: str) -> bool:
    """Tell whether a run has answered; also one that is asked once more has."""
    return task in state.tasks and state.tasks[task].state is TaskState.D


def _answered_tour(was: Conversation, task: str) -> int:
    parts = split_task_id(task) if task else None
    return parts[1] if parts else was.tour


def _answered_phase(state: Conversation, was: Conversation, task: str) -> str:
    tour = _answered_tour(was, task)
    return next((one.phase for one in state.rounds if one.tour == tour), was.phase)


def _origin(
    place: Place, state: Conversation, agent: str, task: str, token: str, *, printed: bool
) -> Origin:
    parts = split_task_id(task) if task else None
    if token and parts and parts[0] == state.conversation_id and parts[2] == agent:
        expected = run_token(run_key(place.paths), parts[0], parts[1], agent, parts[3])
        # What a run printed is brought by its supervisor, who knows whose it is.
        if is_token(token, expected) and (printed or is_under_way(state, task)):
            return Origin.VERIFIED
    if place.settings.trust == "strict":
        raise RefusedError(
            f"nothing shows that this is {agent}, and trust is strict",
            'answer from the run that was started, or set trust = "open" in council.toml',
        )
    return Origin.CLAIMED


def _report_refusal(
    place: Place, name: str, agent: str, error: CouncilError, state: Conversation | None = None
) -> None:
    """Write the event of a refused answer (XC-008); a disk that refuses that hides no refusal."""
    data = {"name": name, "code": error.code, "message": error.message}
    event = Event(type="answer.refused", agent=agent, data=data)
    owner, trace = (state.conversation_id, state.trace) if state else ("", "")
    with ignoring(CouncilError):
        append(place.paths, loose_records([event], owner, place.now(), trace))
