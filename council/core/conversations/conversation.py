"""The values of one conversation and their JSON form.

`Conversation` is everything the machine decides on. Its record is the JSON of
the state block in the file; three things of it live in the readable part
only and are not in the record: the topic (the title), the brief, and the
texts of the contributions. Unknown fields are kept and written back.

`Step` is what a rule answers: the next state and what happened on the way.

Where a conversation stands is said by response rate, blockers and consensus.
Consensus is a rule over statuses and never a reading of words: all who take
part AGREED and no blocker is open. What a text states of either is read in
`reading_answers.cleaning`.

Source: C0-004 to C0-018, DL-012, DL-026, DL-054, XC-013, A-01, A-02, `architecture.md` section 3,
C0-012, C0-018, C0-074, C0-080, A-08.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from council.core.bounds import Ceiling, Usage
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE, Rules
from council.core.events import Event, trace_of
from council.core.ids import text_digest
from council.core.reasons import NO_REASON, Reason
from council.core.record import Any, Positive, Record

SCHEMA_VERSION = 1


class Status(StrEnum):
    """How a conversation stands (C0-007)."""

    ACTIVE = "ACTIVE"
    CONVERGED = "CONVERGED"
    TIMEOUT = "TIMEOUT"


_ROW = 7


class ParticipantStatus(StrEnum):
    """How a participant stands in the current round (C0-010): a row for each word.

    All but WAITING have answered; DONE has left for good (A-03). A row holds

    - the word;
    - what it counts as: `agreement`, `dissent` where others agree, or `nothing`;
    - its mark in `status`, and the style of that;
    - what the help of `respond` says of it;
    - the words, in lower case, by which printed and edited texts state it;
    - what an agent does that states it, as prompts say in English, and in French;

    what is missing at its end is empty. The sentences of the minutes about it stand with the
    others, in `texts/minutes.txt`.

    >>> ParticipantStatus("AGREED").mark
    '✓✓'
    """

    WAITING = ("WAITING", "nothing", "…", "yellow")
    RESPONDED = ("RESPONDED", "dissent", "✓", "green", "default", "responded, répondu, repondu")
    AGREED = (
        "AGREED",
        "agreement",
        "✓✓",
        "bold green",
        "nothing left to argue",
        "agreed, agree, i agree, accord, d'accord, en accord, je suis d'accord",
        "you agree and withdraw your blockers",
        "tu es d'accord et tu retires tes points bloquants",
    )
    DONE = (
        "DONE",
        "dissent",
        "■",
        "dim",
        "leaves for good",
        "done, terminé, termine",
        "you leave for good",
        "tu pars pour de bon",
    )

    mark: str
    style: str
    help: str
    printed: str
    en: str
    fr: str
    agrees: bool
    dissents: bool

    def __new__(cls, word: str, *rest: str) -> ParticipantStatus:
        """Make the value of the word, with what else its row says."""
        status = str.__new__(cls, word)
        status._value_ = word
        said = (*rest, *[""] * _ROW)[:_ROW]
        counts, status.mark, status.style, status.help, status.printed, status.en, status.fr = said
        status.agrees, status.dissents = counts == "agreement", counts == "dissent"
        return status


# The statuses that an answer may have, the usual one first; and how a sentence names them.
ANSWERED = tuple(one for one in ParticipantStatus if one is not ParticipantStatus.WAITING)
ANY_ANSWERED = f"{', '.join(ANSWERED[:-1])} or {ANSWERED[-1]}"


class TaskState(StrEnum):
    """The life of a task: N waits for a place, R runs, D done, F failed, X cancelled."""

    N = "N"
    R = "R"
    D = "D"
    F = "F"
    X = "X"


class ClosedReason(StrEnum):
    """Why a conversation ended (C0-079, OP-002)."""

    CONSENSUS = "consensus"
    PHASES_EXHAUSTED = "phases_exhausted"
    TIMEOUT = "timeout"
    NOBODY_LEFT = "nobody-left"
    CANCELLED = "cancelled"


class EntryKind(StrEnum):
    """What an entry of the ledger is."""

    CONTRIBUTION = "contribution"
    SYNTHESIS = "synthesis"
    LATE = "late"
    INJECTION = "injection"
    DRAFT = "draft"  # an answer whose author was asked once more and answered anew


class Origin(StrEnum):
    """How sure we are who wrote an entry (XC-014): `verified` came with a run token."""

    VERIFIED = "verified"
    CLAIMED = "claimed"
    TOOL = "tool"


# Why a round ended that a person ended; who had not answered by then missed no deadline.
STOPPED = "stopped"
BY_HAND = ("cancelled", STOPPED)
# Why a round ended after which no other run could be paid for (OP-018).
CEILING = "ceiling"
# The entries that are an agent's turn in a round.
TURNS = (EntryKind.CONTRIBUTION, EntryKind.SYNTHESIS)


class Participant(Record):
    """One who takes part.

    `sealed` is the salted digest of a contribution that lies in `sealed/` until
    the blind phase closes, "" otherwise. `again` is the round in which it is asked
    for its answer once more, as something of the form is missing in the first;
    0 when it is not (DL-013, DL-015). `extra` keeps unknown JSON fields.
    """

    _keys = "id:- again~"

    id: str
    status: ParticipantStatus = ParticipantStatus.WAITING
    last_action: datetime | None = None
    name: str = ""
    emoji: str = ""
    role: str = ""
    model: str = ""
    sealed: str = ""
    again: int = 0
    extra: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """Return emoji and display name, as headings show them."""
        return f"{self.emoji} {self.name or self.id}".strip()


class Entry(Record, settled=True):
    """One text of the conversation: a contribution, a late one, an injection, a synthesis.

    One that stands in a conversation is never changed: another takes its place.
    `id` is unique in the conversation and derived (`<tour>-<agent>`, with a
    suffix for further ones). `text` is byte for byte what was given. `digest`
    is the SHA-256 of the text, or for one that was sealed the salted digest,
    whose `nonce` is then revealed here. `blocking` holds the issues that its
    `BLOCKING:` lines raise. `target` is the addressee of an injection, "" for all.
    """

    _keys = "text:-"

    id: str
    kind: EntryKind
    agent: str
    phase: str = ""
    tour: Positive
    at: datetime
    text: str
    status: str = ""
    origin: Origin = Origin.CLAIMED
    task: str = ""
    target: str = ""
    blocking: list[str] = []
    digest: str = ""
    nonce: str = ""
    extra: dict[str, Any] = {}

    @property
    def standing(self) -> ParticipantStatus:
        """The status that its author has by it; RESPONDED where it names none."""
        named = (one for one in ANSWERED if one == self.status.upper())
        return next(named, ParticipantStatus.RESPONDED)


class Task(Record):
    """One attempt to get one turn.

    `ends_at` is the end of its lease, None while it waits for a place and for
    an agent that is handed its prompt and answers by itself. `final` marks a
    failure after which no other attempt is made in this round, `at_once` one that came within
    seconds and by no fault that passes.
    """

    _keys = "id:- at_once~"

    id: str
    agent: str
    tour: Positive
    attempt: Positive
    state: TaskState
    at: datetime
    ends_at: datetime | None = None
    driver: str = ""
    reason: Reason = NO_REASON
    final: bool = False
    at_once: bool = False
    extra: dict[str, Any] = {}

    @property
    def is_failed_run(self) -> bool:
        """Whether it was started and failed; one that was refused uses up no attempt (OP-011)."""
        return self.state is TaskState.F and self.reason.is_start


class Round(Record):
    """One round that was played or is under way; `absent` maps agent ids to the reason.

    Where one speaks after the other, `speaker` has the floor since `turn_at`.
    `verdict` is what the stances came to as it closed, in its JSON form; empty
    where no stances are asked for.
    """

    _keys = "speaker~ turn_at~ verdict~"

    tour: Positive
    phase: str = ""
    started_at: datetime
    ended_at: datetime | None = None
    reason: str = ""
    absent: dict[str, Reason] = {}
    speaker: str = ""
    turn_at: datetime | None = None
    verdict: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class SealedText(Record):
    """A contribution of a blind phase as it lies in `sealed/`: never part of the file.

    `drafts` is what an author that was asked again had answered before, oldest first.
    """

    agent: str
    tour: int
    text: str
    nonce: str
    at: datetime
    status: str
    origin: Origin
    task: str = ""
    drafts: list[str] = []


class Conversation(Record):
    """Everything the machine knows of one conversation.

    `rules` are those of a procedure that is judged by stances, None of another; `ceiling` is
    what its runs may use up, None where the settings alone bound them; `usage` what those of
    each agent have used, as far as it is known;
    `session_id` is the other id that such a conversation bears (DL-051), `trace_id` the
    trace in which it was convened, "" for one of its own (`trace`). `order` is
    the order of speaking that was asked for, "" for that of each phase. `sealed`
    holds the texts of the current blind phase where the store could read them;
    they are in no record. `titles` are headings a person renamed.
    """

    conversation_id: str
    name: str
    topic: str
    brief: str
    brief_digest: str = ""
    mode: str = "debate"
    procedure: str = "council"
    phases: tuple[str, ...] = ("COLLECT", "CHALLENGE", "RESOLVE", SYNTHESIZE)
    phase: str = "COLLECT"
    tour: Positive = 1
    created_at: datetime
    updated_at: datetime
    timeout_at: datetime
    ends_at: datetime | None = None
    phase_timeout: timedelta = timedelta(hours=1)
    status: Status = Status.ACTIVE
    closed_reason: ClosedReason | None = None
    participants: dict[str, Participant] = {}
    response_rate: float = 0.0
    has_consensus: bool = False
    blocking_issues: list[str] = []
    convergence_extra: dict[str, Any] = {}
    sealed_phases: bool = True
    order: str = ""
    rules: Rules | None = None
    ceiling: Ceiling | None = None
    usage: dict[str, Usage] = {}
    session_id: str = ""
    trace_id: str = ""
    lang: str = "en"
    coordinator: str = ""
    synthesizer: str = ""
    cwd: str = ""
    paused_at: datetime | None = None
    finished_at: datetime | None = None
    notified_tour: int = 1
    rev: int = 0
    schema_version: int = SCHEMA_VERSION
    entries: list[Entry] = []
    tasks: dict[str, Task] = {}
    rounds: list[Round] = []
    sealed: dict[str, SealedText] = {}
    titles: dict[str, str] = {}
    extra: dict[str, Any] = {}

    @property
    def trace(self) -> str:
        """The trace that everything it causes belongs to (XC-102, IO-002)."""
        return self.trace_id or trace_of(self.conversation_id)

    def entry_of(self, agent: str, tour: int) -> Entry | None:
        """Return what `agent` contributed in round `tour`, None if nothing stands in the file."""
        mine = (one for one in self.entries if one.agent == agent and one.tour == tour)
        return next((one for one in mine if one.kind in TURNS), None)

    def new_entry(
        self, kind: EntryKind, agent: str, text: str, at: datetime, tour: int = 0
    ) -> Entry:
        """Return an entry for round `tour`, 0 for the one under way; it is not added."""
        tour = tour or self.tour
        phases = {one.tour: one.phase for one in self.rounds} | {self.tour: self.phase}
        return Entry(
            id=self.free_id(f"{tour}-{agent}" + ("" if kind in TURNS else f"-{kind}")),
            kind=kind,
            agent=agent,
            phase=phases.get(tour, self.phase),
            tour=tour,
            at=at,
            text=text,
            digest=text_digest(text),
        )

    def free_id(self, stem: str) -> str:
        """Return `stem` as the id of a new entry, with a number after it where it is taken."""
        taken = {one.id for one in self.entries}
        entry_id, number = stem, 2
        while entry_id in taken:
            entry_id, number = f"{stem}-{number}", number + 1
        return entry_id


def has_answered(participant: Participant) -> bool:
    """Return true if nothing of a participant is due in this round (C0-026: AGREED counts)."""
    return participant.status is not ParticipantStatus.WAITING


class Step(Record):
    """The result of one rule: a new state, its events, and what to seal first.

    `outcome` is `recorded`, `already-recorded` or `late` for an answer, ""
    otherwise. `seal` holds the texts that must lie in `sealed/` before the
    state is committed. `faults` are what the form of an answer lacks, None
    where no form is asked for; those of a sealed answer are for its author alone.
    """

    state: Conversation
    events: list[Event] = []
    outcome: str = ""
    seal: list[SealedText] = []
    faults: list[dict[str, str]] | None = None

    def then(self, following: Step) -> Step:
        """Return this step followed by another one that started from its state."""
        return Step(
            state=following.state,
            events=self.events + following.events,
            outcome=self.outcome or following.outcome,
            seal=self.seal + following.seal,
            faults=self.faults,
        )


def staying(state: Conversation) -> list[Participant]:
    """Return the participants who have not left: all that are not DONE."""
    return [one for one in state.participants.values() if one.status is not ParticipantStatus.DONE]


def all_agreed(state: Conversation) -> bool:
    """Return true if all who are not DONE have AGREED, and at least one has."""
    left = staying(state)
    return bool(left) and all(one.status.agrees for one in left)


def withdraw_blockers(state: Conversation, agent: str) -> None:
    """Take out the blockers that `agent` raised earlier, as it now agrees. Changes `state`."""
    own = {issue for entry in state.entries if entry.agent == agent for issue in entry.blocking}
    authors = {entry.agent for entry in state.entries} - {agent}
    others = {issue for author in authors for issue in _upheld(state, author)}
    state.blocking_issues = [
        issue for issue in state.blocking_issues if issue not in own or issue in others
    ]


def _upheld(state: Conversation, author: str) -> set[str]:
    """Return the blockers that `author` raised and has not withdrawn by agreeing since."""
    upheld: set[str] = set()
    for entry in state.entries:
        if entry.agent == author:
            if entry.standing.agrees:
                upheld.clear()
            upheld.update(entry.blocking)
    return upheld


def raise_blockers(state: Conversation, issues: list[str]) -> None:
    """Add open blockers, each once. Changes `state`."""
    for issue in issues:
        if issue not in state.blocking_issues:
            state.blocking_issues.append(issue)


def response_rate(state: Conversation) -> float:
    """Return answered / total, from 0 to 1 (C0-018)."""
    answered = [has_answered(one) for one in state.participants.values()]
    return round(sum(answered) / len(answered), 4) if answered else 0.0


def measure(state: Conversation) -> None:
    """Bring response rate and consensus up to date with the statuses. Changes `state`."""
    state.response_rate = response_rate(state)
    if PROCEDURES[state.procedure].verdict == "stances":
        return  # then a closed round decides, see `machine`
    state.has_consensus = all_agreed(state) and not state.blocking_issues
