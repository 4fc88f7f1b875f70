"""A conversation as values: what its events add up to.

Nothing here decides anything. Document 000 has the words of a council, document 003 those of a
deliberation. `evolution.py` folds these events; all have `type`, and `at` is an instant as text:

- Its life: `opened` (conversationId, name, topic, brief, procedure, lang, config, participants,
  at), `round.begun` (tour, phase, at, order, parallel, blind, timeoutAt), `round.closed` (tour, at,
  reason, absent), `options.named` (options: new letters, when a round closes), `paused` (at),
  `resumed` (at), `extended` (timeoutAt), `stopped` (at, to: VOTE, SYNTHESIZE or MINUTES), `ended`
  (at, status, reason), `signed` (at, by, word, why), `archived` (path), `adopted` (state),
  `rendered`.
- Answers: `answered` (agent, kind, phase, tour, at, text, status, origin, heard), `amended` (the
  same), `asked` (also question: this answer counts unless a second one comes), `unclear` (agent,
  tour: the second was unclear, or none came), `late` (as answered, without heard), `passed` (agent,
  tour, code, words: absent in this round), `guided` (text, target, by, at).
- By hand on the page: `status.set` (agent, status, origin, at), `draft.set` (agent, text), `noted`
  (splices: `[position, lines removed, [lines]]`), `topic.set` (topic), `joined` (agent, name,
  emoji, role, person, model), `left` (agent), `blocker.raised` and `blocker.ended` (agent, text,
  at), `kept` (file, why: words that could not be taken in are in `conflicts/`).
- Of runs: see `runs/work.py`.
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
    """A part of an answer that could not be read, such as `position` or `stance:ID`.

    `code` is `no-position`, `no-stance`, `unclear-stance`, `two-values`, …; `seen` has the words in
    doubt, "" where the part is missing.
    """

    part: str
    code: str
    seen: str = ""


class Heard(Record, settled=True):
    """What was understood of an answer. Empty values were not said.

    Attributes:
        choice: A letter, `new` or `abstain`.
        status: One that the text itself states (`STATUS: AGREED`).
        blockers, resolved: Texts after `BLOCKING:` and `RESOLVED:`.
        questions: Peer id to the question put to it (`@id …?`).
        insights: Peer id to the insight (synthesis).
        unchanged, moved: The text says that its author kept, or changed, position.
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
        parts: Digests of the texts that make up `text`, or that it replaced, and of their keys.
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
    """An agent, or a person, who answers by hand and is never run.

    `origin` is how the status was set (see `Entry`), `model` the one that the settings named at
    first. The stances of the devil's `advocate` do not count.
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


class Absence(Record, settled=True):
    """Why a participant gave no answer in a round: a code (`timeout`, or of a run) and words."""

    code: str
    words: str = ""


class Round(Record):
    """A round: from the moment its speakers were asked until it closed.

    Attributes:
        order: The speakers; they are asked one after the other unless the round is `parallel`.
        blind: Answers are hidden until the round closes.
        reason: Why it closed: `all-answered`, `timeout`, `agreed`, `consensus`, `max-rounds`,
            `stopped`, `repetition`, `too-few`.
        asked: Member to the question that it was asked again and has not answered.
        floor_at, turn_until: When the present speaker got the floor, and when its turn ends.
        mark: 8 digits that name the round: a retried answer says which round it was for.
        agreed, verdict: Who was AGREED when it closed (council); the verdict (deliberation).
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


class Side(Option, settled=True):
    """An option, who holds it, and what the counted members say to it."""

    holders: list[str] = []
    approve: list[str] = []
    partial: list[str] = []
    disagree: list[str] = []


class Tally(Record):
    """What a count found (`verdict.py`); `show --consensus` prints it.

    Attributes:
        type: `strong`, `soft` or `none`; `reached` is whether it is one of the first two.
        winners, decision: Letters and texts of the options that are decided; `leading` has letters
            also where none is.
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
    """What `convene` was told, and the settings that it took over.

    Attributes:
        phases: The phases that will be taken, in order, ending with SYNTHESIZE.
        timeout: Seconds a phase may take.
        blind: COLLECT (or the first round) is sealed.
        threshold: Approvals needed; None is two thirds, rounded up.
        confidence_floor: A member less sure than this counts as absent; 0 is off.
        backoff: Seconds before the second and the third attempt of a run.
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
        entries: All that was said, in order; late answers among them (`late`).
        drafts: Agent to text typed in its section without its status.
        kept_aside: Names of files in `conflicts/` with words that could not be taken in.
        stop: The phase that a `stop` asked for (VOTE, SYNTHESIZE, MINUTES), until it began.
        ended_at: When the last phase closed; the minutes are due then.
        signed: `approved`, `rejected` or "".
        closed_reason: `consensus`, `phases_exhausted`, `timeout`, `cancelled`, `stopped`, or "".
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
    closed_reason: str = ""
    cancel_reason: str = ""
    minutes: str = ""

    def round(self) -> Round:
        """Return the round that is open, or the last one."""
        return self.rounds[-1]

    def is_sealed(self, entry: Entry) -> bool:
        """Return whether an entry is hidden from all but its author now."""
        now = self.rounds[-1] if self.rounds else None
        is_open = now is not None and now.blind and now.ended_at is None
        return is_open and entry.tour == self.tour and entry.kind != "guidance"
