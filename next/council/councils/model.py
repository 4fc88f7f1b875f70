"""A conversation as values: what its events add up to.

Nothing here decides anything. The events are listed in `EVENTS`; `rules.evolve` folds them.
Document 000 has the words of a council, document 003 those of a deliberation.
"""

from __future__ import annotations

from council.kernel.record import Any, Record
from council.runs.work import Runs

Event = dict[str, Any]

COLLECT, CHALLENGE, RESOLVE, SYNTHESIZE = "COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE"
DELIBERATE, VOTE = "DELIBERATE", "VOTE"
MINUTES = "MINUTES"  # not a phase: `stop --now` skips the synthesis
MODES = ("debate", "prd", "analysis", "review", "synthesis")
ORDERS = ("rotate", "fixed", "shuffle", "parallel")
WAITING, RESPONDED, AGREED, DONE = "WAITING", "RESPONDED", "AGREED", "DONE"
ANSWERED = (RESPONDED, AGREED, DONE)
ACTIVE, CONVERGED, TIMEOUT, CANCELLED = "ACTIVE", "CONVERGED", "TIMEOUT", "CANCELLED"
STANCES = ("agree", "partial", "disagree")


class Stance(Record, settled=True):
    """What a member says to another member's position: a word of `STANCES` and its reason."""

    word: str
    comment: str = ""


class Quote(Record, settled=True):
    """A quotation in an answer: whose words, and whether they were found in what was said."""

    text: str
    of: str = ""
    found: bool = False


class Fault(Record, settled=True):
    """A part of an answer that could not be read.

    Attributes:
        part: `position`, `confidence`, `choice`, `status`, `blockers`, `recommendation`, or
            `stance:ID`.
        code: `no-position`, `no-confidence`, `no-stance`, `unclear-stance`, `two-values`, …
        seen: The words in doubt, "" where the part is missing.
    """

    part: str
    code: str
    seen: str = ""


class Heard(Record, settled=True):
    """What was understood of an answer. Empty values were not said.

    Attributes:
        choice: A letter, `new`, `abstain` or "".
        status: A status that the text itself states (`STATUS: AGREED`), or "".
        blockers: Texts after `BLOCKING:`; `resolved`: after `RESOLVED:`.
        questions: Peer id to the question put to it (`@id …?`).
        insights: Peer id to the insight (synthesis).
        unchanged: The position is said to be the one held before.
        moved: A vote that says that its author changed position.
        faults: What has to be asked again.
    """

    position: str = ""
    choice: str = ""
    confidence: int | None = None
    stances: dict[str, Stance] = {}
    reasoning: str = ""
    status: str = ""
    blockers: list[str] = []
    resolved: list[str] = []
    questions: dict[str, str] = {}
    quotations: list[Quote] = []
    recommendation: str = ""
    consensus: str = ""
    disagreement: str = ""
    insights: dict[str, str] = {}
    unchanged: bool = False
    moved: bool = False
    faults: list[Fault] = []


class Entry(Record, settled=True):
    """Something that was said, and counts.

    Attributes:
        id: `TOUR-AGENT`; guidance `TOUR-say-N`.
        kind: `contribution`, `turn`, `vote`, `synthesis`, `guidance`.
        origin: `verified` (said with a run's token), `claimed` (by --as), `edited` (on the page).
        target: Of guidance: the agent it is meant for, "" for everybody.
        late: It came when its round was over; it counts nowhere and reaches the minutes.
        key: The caller's own name for the answer, "" where it gave none.
        parts: Digests of the texts that make up `text`, where its author was asked again.
        heard: What was understood; empty for guidance.
        cut: The program's word where it called the answer cut or too long.
    """

    id: str
    kind: str
    agent: str
    phase: str
    tour: int
    at: str
    text: str
    status: str = ""
    origin: str = "claimed"
    target: str = ""
    late: bool = False
    cut: str = ""
    key: str = ""
    parts: list[str] = []
    heard: Heard = Heard()


class Participant(Record):
    """An agent or a person in a conversation.

    Attributes:
        status: One of WAITING, RESPONDED, AGREED, DONE.
        last_action: When it last did anything, as text; None before that.
        origin: Who set the status: `verified`, `claimed`, `edited`, "" at the start.
        person: A person, who answers by hand and is never run.
        model: The model that its settings named when the conversation was opened.
        advocate: The devil's advocate, whose stance does not count.
        joined: The round in which it joined.
    """

    status: str = WAITING
    last_action: str | None = None
    origin: str = ""
    name: str = ""
    emoji: str = ""
    role: str = ""
    person: bool = False
    model: str = ""
    advocate: bool = False
    joined: int = 1


class Absence(Record, settled=True):
    """Why a participant gave no answer in a round: a code (`timeout`, or of a run) and words."""

    code: str
    words: str = ""


class Round(Record):
    """A round: from the moment its speakers were asked until it closed.

    Attributes:
        order: Who speaks, in this order; in parallel rounds who is asked.
        parallel: Everybody is asked at once; otherwise one after the other.
        blind: What is said is hidden until the round closes.
        reason: Why it closed: `all-answered`, `timeout`, `agreed`, `consensus`, `max-rounds`,
            `stopped`, `repetition`, `too-few`.
        absent: Who gave no answer, with the reason.
        asked: What each member was asked again, and has not answered: its question as text.
        floor_at: When the present speaker got the floor (rounds that are not parallel).
        turn_until: When that speaker's turn ends; "" where the round is parallel.
        mark: 8 digits that name the round: a retried answer says which round it was for.
        agreed: The participants that were AGREED when the round closed.
        verdict: The verdict when the round closed: `strong`, `soft`, `none`; "" in a council.
    """

    tour: int
    phase: str
    started_at: str
    order: list[str] = []
    parallel: bool = True
    blind: bool = False
    ended_at: str | None = None
    reason: str = ""
    absent: dict[str, Absence] = {}
    asked: dict[str, str] = {}
    floor_at: str = ""
    turn_until: str = ""
    mark: str = ""
    agreed: list[str] = []
    verdict: str = ""


class Blocker(Record):
    """An issue that blocks agreement, until its author ends it."""

    agent: str
    text: str
    tour: int
    open: bool = True


class Option(Record, settled=True):
    """A position as it was first worded (`verdict.md`)."""

    letter: str
    text: str
    by: str = ""
    tour: int = 0


class Side(Record, settled=True):
    """An option, who holds it, and what the counted members say to it."""

    letter: str
    text: str
    by: str = ""
    holders: list[str] = []
    approve: list[str] = []
    partial: list[str] = []
    disagree: list[str] = []


class Tally(Record):
    """What a count found (`verdict.py`); `show --consensus` prints it.

    Attributes:
        type: `strong`, `soft` or `none`; `reached` is whether it is one of the first two.
        winners: Letters of the options that are decided; `leading` has them also where none is.
        decision: The texts of the winners.
        moved: `{agent, from, to}` of each change of option in the last round.
        rounds: The same after each round before the last one.
        has_consensus, agreed, waiting: Of a council.
    """

    type: str = "none"
    reached: bool = False
    threshold: int = 0
    n: int = 0
    options: list[Side] = []
    winners: list[str] = []
    leading: list[str] = []
    decision: list[str] = []
    absent: list[str] = []
    abstained: list[str] = []
    moved: list[dict[str, str]] = []
    rounds: list[Tally] = []
    has_consensus: bool = False
    agreed: list[str] = []
    waiting: list[str] = []


class Convergence(Record):
    """Document 000's figures; blockers are kept whole in `State.blockers`."""

    response_rate: float = 0.0
    has_consensus: bool = False


class Config(Record, settled=True):
    """What `convene` was told, and the settings it took over. It changes by event only.

    Attributes:
        phases: The phases that will be taken, in order, ending with SYNTHESIZE.
        timeout: Seconds a phase may take.
        blind: COLLECT (or the first round) is sealed.
        threshold: Approvals needed; None is two thirds, rounded up.
        confidence_floor: A member less sure than this counts as absent; 0 is off.
        options: Positions given beforehand.
        sign_off: The person whose word is needed, or "".
        backoff: Seconds before the second and the third attempt of a run.
        max_runs, max_tokens, max_usd: Ceilings of the conversation.
    """

    mode: str = "debate"
    order: str = "parallel"
    phases: list[str] = []
    timeout: int = 3600
    max_rounds: int = 5
    threshold: int | None = None
    confidence_floor: int = 0
    blind: bool = True
    anonymous: bool = False
    options: list[str] = []
    coordinator: str = ""
    synthesizer: str = ""
    sign_off: str = ""
    backoff: list[int] = []
    max_runs: int = 40
    max_tokens: int = 1_000_000
    max_usd: float = 5.0
    context_limit: int = 200_000


class State(Record):
    """A conversation. `rev` and `mark` are set by the document, all else by events.

    Attributes:
        phase: One of the phases of its procedure; `tour` counts rounds from 1.
        timeout_at: The deadline of the phase (the state block's `timeoutAt`).
        status: ACTIVE, CONVERGED, TIMEOUT or CANCELLED.
        entries: All that was said, in order; late answers among them (`late`).
        drafts: Agent to text typed in its section without its status.
        notes: The lines under `## Notes`.
        kept_aside: Names of files in `conflicts/` with words that could not be taken in.
        paused_at: Since when it is paused; None where it is not.
        stop: The phase that a `stop` asked for (VOTE, SYNTHESIZE, MINUTES), until it began.
        ended_at: When the last phase closed; the minutes are due then.
        signed: `approved`, `rejected` or "".
        closed_reason: `consensus`, `phases_exhausted`, `timeout`, `cancelled`, `stopped`, or "".
        minutes: The path of the minutes once they are written.
        said: How many characters were said in all.
    """

    conversation_id: str = ""
    name: str = ""
    topic: str = ""
    brief: str = ""
    procedure: str = "council"
    lang: str = "en"
    config: Config = Config()
    rev: int = 0
    mark: str = ""
    phase: str = COLLECT
    tour: int = 1
    created_at: str = ""
    updated_at: str = ""
    timeout_at: str | None = None
    status: str = ACTIVE
    participants: dict[str, Participant] = {}
    convergence: Convergence = Convergence()
    blockers: list[Blocker] = []
    rounds: list[Round] = []
    entries: list[Entry] = []
    options: list[Option] = []
    drafts: dict[str, str] = {}
    notes: list[str] = []
    kept_aside: list[str] = []
    runs: Runs = Runs()
    paused_at: str | None = None
    stop: str = ""
    ended_at: str | None = None
    signed: str = ""
    signed_why: str = ""
    sign_rounds: int = 0
    closed_reason: str = ""
    cancel_reason: str = ""
    minutes: str = ""
    said: int = 0

    def round(self) -> Round:
        """Return the round that is open, or the last one."""
        return self.rounds[-1]

    def is_sealed(self, entry: Entry) -> bool:
        """Return whether an entry is hidden from all but its author now."""
        now = self.rounds[-1] if self.rounds else None
        return bool(
            now
            and now.blind
            and now.ended_at is None
            and entry.tour == now.tour
            and entry.kind != "guidance"
        )


# Every event type of a conversation and its required keys. Events are plain dicts with `type`.
EVENTS: dict[str, tuple[str, ...]] = {
    # its life
    "opened": (
        *("conversationId", "name", "topic", "brief", "procedure", "lang", "config"),
        *("participants", "at"),
    ),
    "round.begun": ("tour", "phase", "at", "order", "parallel", "blind", "timeoutAt"),
    "round.closed": ("tour", "at", "reason", "absent"),
    "paused": ("at",),
    "resumed": ("at",),
    "extended": ("timeoutAt",),
    "stopped": ("at", "to"),  # to: the phase that follows: VOTE, SYNTHESIZE or MINUTES
    "ended": ("at", "status", "reason"),
    "signed": ("at", "by", "word", "why"),
    "archived": ("path", "at"),
    "adopted": ("state",),
    "rendered": (),
    # what is said
    "answered": ("agent", "kind", "phase", "tour", "at", "text", "status", "origin", "heard"),
    "amended": ("agent", "tour", "at", "text", "status", "origin", "heard"),
    # asked again: the rest is as in `answered`; that entry counts unless a second answer comes
    "asked": ("agent", "tour", "question", "kind", "phase", "at", "text", "heard"),
    "unclear": ("agent", "tour"),  # asked once, still unclear: what was heard stands
    "late": ("agent", "kind", "phase", "tour", "at", "text", "origin"),
    "passed": ("agent", "tour", "code", "words", "at"),  # absent in this round
    "guided": ("text", "target", "by", "at"),
    "options.named": ("options",),  # new letters, when a round closes
    # by hand on the page
    "status.set": ("agent", "status", "origin", "at"),
    "draft.set": ("agent", "text"),
    "noted": ("splices",),  # [[position, lines removed, [lines]]]
    "topic.set": ("topic",),
    "joined": ("agent", "name", "emoji", "role", "person", "model"),
    "left": ("agent",),
    "blocker.raised": ("agent", "text", "at"),
    "blocker.ended": ("agent", "text", "at"),
    "kept": ("file", "why"),  # words that could not be taken in are in conflicts/
}
