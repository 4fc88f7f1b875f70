"""Answering: `council respond`, `council vote` and `council synthesize`.

The answer is recorded: who it is from, how sure that is, what follows from it.
The steps that are due after it are taken in the same revision; the next agents
are woken without waiting for them. A refused answer is not lost: its text lies
beside the tasks of the agent.

Source: C0-021, C0-041 to C0-046, `cli.md` section 3, XC-014, HR-010.
"""

from __future__ import annotations

import os
from contextlib import suppress

from council.core.conversations import answers, due, machine
from council.core.conversations.conversation import (
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Participant,
    Step,
    TaskState,
)
from council.core.conversations.due import current_phase, due_agents, is_under_way
from council.core.conversations.procedures import SYNTHESIZE, VOTE
from council.core.errors import (
    TRANSIENT,
    AlreadyAnsweredError,
    CouncilError,
    KeptError,
    NotFoundError,
    RefusedError,
)
from council.core.events import Event
from council.core.ids import sha256_hex, split_task_id, task_id
from council.core.reading_answers.cleaning import blockers_in, may_quote
from council.core.record import Any, Record
from council.operations.place import Place, can_wait
from council.store import outbox
from council.store.events import append, loose_records
from council.store.files import make_folder, replace
from council.store.outbox import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.operations.conversations.stating import Stated

NONCE_BYTES = 16


class Understood(Record):
    """What one answer states, said to its author as soon as it is recorded; nothing stores it.

    It is read as everything else that is concluded from texts, so what its author reads is
    what will count. Peers are called as its author knows them.

    `confidence` is 0 where none is stated. `questions` are pairs of who is
    asked and the question; `quotations` pairs of a passage and whether it was
    `found`, is `near` or `missing`. `status` is that of the participant now.
    """

    form: str = "text"
    position: str = ""
    stances: dict[str, str] = {}
    confidence: int = 0
    questions: list[tuple[str, str]] = []
    quotations: list[tuple[str, str]] = []
    blockers: list[str] = []
    status: str = ""

    def to_record(self) -> dict[str, object]:
        """Return the JSON object of `respond --json` under `understood`."""
        stated = self.as_json("position stances confidence?") if self.form != "text" else {}
        return {
            **stated,
            "questions": [{"to": to, "text": text} for to, text in self.questions],
            "quotations": [{"text": text, "found": found} for text, found in self.quotations],
            **self.as_json("blockers status"),
        }


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
        status: One of `ANSWERED` in lower case.
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

            said = composed(state, agent, stated, text, phase=_answered(state, state, task)[0])
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
        known = state.tasks.get(task)
        # A run that is asked once more has answered, too.
        is_done = known is not None and known.state is TaskState.D
        if printed and step.outcome == "recorded" and is_done:
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
        outcome = "checked" if step.outcome == "recorded" else step.outcome
        checked = _stands(state, agent, *_answered(state, state, task), outcome).copy(
            task=task,
            finished=False,
            faults=_seen_by(agent, state, lacking[-1]),
            asked_again=asked is not None and asked.again == state.tour,
            understood=heard[-1] if heard else None,
        )
        return _said_earlier(state, agent, task, step.outcome) or checked, state
    is_by_task = (task and not outbox.is_resumed()) or printed
    operation = Operation() if is_by_task else place.operation(name, agent, text)
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
    answered = _stands(
        edited.state, agent, *_answered(edited.state, was, task), edited.outcome
    ).copy(task=task)
    if was.tour != edited.state.tour:
        answered.moved_from, answered.moved_to = was.phase, edited.state.phase
    for event in edited.events:
        if event["type"] == "contribution.recorded" and event["agentId"] == agent:
            answered.faults = _seen_by(agent, edited.state, lacking[-1])
            answered.asked_again = event["data"].get("askedAgain", False)
            answered.understood = heard[-1] if heard else None
    return answered, edited.state


def understood(
    before: Conversation, after: Conversation, agent: str, text: str, now: datetime
) -> Understood:
    """Return what an answer to the round under way in `before` states.

    Args:
        before: The conversation as it was when the answer came.
        after: The conversation right after it.
        agent: Who answered; a participant.
        text: The answer.
        now: The time of the answer.
    """
    participant: Participant = after.participants[agent]
    form = current_phase(before).form
    found = Understood(form=form, blockers=blockers_in(text), status=str(participant.status))
    entry = before.new_entry(EntryKind.CONTRIBUTION, agent, text, now)
    if form != "text":
        _add_form(found, before, agent, text)
    if "@" in text:
        _add_questions(found, before, entry)
    if may_quote(text):
        from council.core.conversations.quotations import Checker

        found.quotations = [(one.text, str(one.found)) for one in Checker(before).in_entry(entry)]
    return found


def _add_form(found: Understood, state: Conversation, agent: str, text: str) -> None:
    from council.core.conversations.handles import known_to
    from council.core.deliberation import deliberation

    earlier = deliberation.said_in_round(state, agent)
    turn = deliberation.understood_turn(state, agent, [*earlier, text])
    found.position, found.confidence = turn.position, turn.confidence
    stances = turn.stances().items()
    found.stances = {known_to(state, agent, [one])[0]: said for one, said in stances if said}


def _add_questions(found: Understood, state: Conversation, entry: Entry) -> None:
    from council.core.conversations.handles import known_to, may_ask_people

    to_peers = found.form != "text"
    if to_peers or may_ask_people(state, entry.text):
        from council.core.deliberation.questions import questions_in

        asked = questions_in(state, entry, to_peers=to_peers)
        found.questions = [
            (known_to(state, entry.agent, [one.asked])[0], one.text) for one in asked
        ]


def _said_before(
    place: Place, name: str, agent: str, operation: Operation
) -> tuple[Answered, Conversation] | None:
    """Return what became of an answer whose conversation has ended since, None of any other."""
    from council.operations.conversations.recalling import done_and_over

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
    if agent in due_agents(was):
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
    # Only where something is missing.
    from council.core.conversations.anonymity import faults_seen_by

    return faults_seen_by(state, agent, faults)


def _refuse_other_phases(state: Conversation, only: str) -> None:
    """Refuse a vote or a synthesis where another thing is asked for."""
    if only and state.phase != {"synthesis": SYNTHESIZE, "vote": VOTE}[only]:
        raise RefusedError(
            f"{state.name} is in {state.phase}, not in its {only}",
            "answer the round with: council respond",
        )


def _answered(state: Conversation, was: Conversation, task: str) -> tuple[str, int]:
    """Return phase and round that an answer was meant for."""
    parts = split_task_id(task) if task else None
    tour = parts[1] if parts else was.tour
    return next((one.phase for one in state.rounds if one.tour == tour), was.phase), tour


def _origin(
    place: Place, state: Conversation, agent: str, task: str, token: str, *, printed: bool
) -> Origin:
    parts = split_task_id(task) if task else None
    if token and parts and parts[0] == state.conversation_id and parts[2] == agent:
        from council.core.trust import is_token, run_token  # a person has no token
        from council.store.keys import run_key

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
    if isinstance(error, TRANSIENT):
        return  # it waits, or is to be said again
    data = {"name": name, "code": error.code, "message": error.message}
    event = Event(type="answer.refused", agent=agent, data=data)
    owner, trace = (state.conversation_id, state.trace) if state else ("", "")
    with suppress(CouncilError):
        append(place.paths, loose_records([event], owner, place.now(), trace))


@can_wait
def respond(
    place: Place, name: str, agent: str, text: str, *, check: bool = False, **how: Any
) -> Answered:
    """Record what `agent` says and have the next agents woken, without waiting for them.

    The arguments are those of `record_answer`.
    """
    answered, state = record_answer(place, name, agent, text, check=check, **how)
    if check:
        return answered
    if answered.finished and not place.is_in_run:
        answered.minutes = _minutes(place, state)
    backoff = place.settings.retry_backoff
    if not answered.minutes and due.pending(state, place.now(), backoff=backoff):
        from council.operations.detach import wake_next

        wake_next(place)
    return answered


def _minutes(place: Place, state: Conversation) -> str:
    """Return where the minutes are written now, "" where that is left to a heartbeat."""
    from council.operations.conversations.steer import archived

    try:
        return archived(place, state)
    except CouncilError:
        return ""  # the answer stands, and is what was asked for


_NAME_DIGITS = 12


def refused(place: Place, wanted: str, agent: str, text: str, error: CouncilError) -> CouncilError:
    """Return a refusal as its author is informed of it.

    It says where the minutes are if the conversation that is `wanted` is over, and where the text
    is kept, which is not lost by it (HR-010).
    """
    if isinstance(error, KeptError):
        return error
    if isinstance(error, NotFoundError):
        from council.operations.conversations.recalling import explained

        error = explained(place, wanted, error)
    path = keep_refused(place, agent, text)
    if path:
        kept = f"your text is kept in {path}"
        error.hint = f"{error.hint}; {kept}" if error.hint else kept
    return error


def keep_refused(place: Place, agent: str, text: str) -> str:
    """Keep a text that was not recorded; return its path, "" where it cannot be kept.

    The same text is kept once. No folder is made for an agent that is unknown: a
    mistyped name would become one.
    """
    known = agent in place.settings.agents or os.path.isdir(place.paths.agent(agent))
    if not text.strip() or not known:
        return ""
    content = text.encode("utf-8", "surrogatepass")
    folder = place.paths.tasks(agent)
    path = f"{folder}/refused-{sha256_hex(content)[:_NAME_DIGITS]}.md"
    try:
        make_folder(folder)
        replace(path, content)
    except (OSError, CouncilError):
        return ""
    return path
