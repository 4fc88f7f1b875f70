"""A conversation as values: what its events add up to.

Document 000 has the words of a council, document 003 those of a deliberation. `evolution.py` folds
these events; all have `type`, and `at` is an instant as text:

- Its life: `opened` (fields of `State`), `round.begun` and `round.closed` (of `Round`, timeoutAt),
  `options.named` (options: new letters), `paused`, `resumed`, `extended`, `stopped`, `signed` and
  `archived` (fields of `State`), `ended` (at, status, reason, why).
- Answers: `answered` (fields of `Entry`), `amended` (the same, in the place of the first one),
  `asked` (also question: it counts unless a second one comes), `late` (it counts nowhere), `passed`
  (agent, tour, code, words: no longer waited for in this round), `guided` (text, target, by, at).
- By hand on the page: `status.set` (agent, status, origin, at), `draft.set` (agent, text), `noted`
  (splices: `[position, lines removed, [lines]]`), `topic.set` (topic), `joined` (agent, fields of
  `Participant`), `left` (agent), `blocker.raised` and `blocker.ended` (agent, text), `kept` (file,
  why: words that could not be taken in are in `conflicts/`).
- Of runs: see `runs/work.py`.
"""

from __future__ import annotations

from council.kernel.errors import Usage
from council.kernel.ids import shuffled
from council.kernel.record import Any, Record, camel
from council.runs.work import Runs

Event = dict[str, Any]

COLLECT, CHALLENGE, RESOLVE, SYNTHESIZE = "COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE"
DELIBERATE, VOTE = "DELIBERATE", "VOTE"
MINUTES = "MINUTES"  # not a phase: `stop --now` skips the synthesis
PHASES = {"council": [COLLECT, CHALLENGE, RESOLVE, SYNTHESIZE]}
PHASES["deliberation"] = [DELIBERATE, VOTE, SYNTHESIZE]
_KINDS = {DELIBERATE: "turn", VOTE: "vote", SYNTHESIZE: "synthesis"}
MODES = ("debate", "prd", "analysis", "review", "synthesis")
EARLY_MODES = ("debate", "analysis")  # where all AGREED skips the rounds that are left
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
    """A quotation in an answer, of whom, and whether it was found in what was said."""

    text: str
    of: str = ""
    found: bool = False


class Fault(Record, settled=True):
    """A part of an answer (`position`, `stance:ID`) that could not be read, and the words seen."""

    part: str
    code: str
    seen: str = ""


class Heard(Record, settled=True):
    """What was understood of an answer. Empty values were not said; dicts have ids of peers."""

    position: str = ""
    choice: str = ""  # a letter, `new` or `abstain`
    confidence: int | None = None
    stances: dict[str, Stance] = {}
    reasoning: str = ""
    status: str = ""  # one that the text itself states
    blockers: list[str] = []
    resolved: list[str] = []
    questions: dict[str, str] = {}
    quotations: list[Quote] = []
    recommendation: str = ""
    consensus: str = ""
    disagreement: str = ""
    insights: dict[str, str] = {}
    unchanged: bool = False  # the text says that its author kept its position
    moved: bool = False  # it says that its author changed it
    faults: list[Fault] = []  # what has to be asked again


class Form(Record, settled=True):
    """What an answer was asked for: in a `turn`, `vote`, `synthesis` or (free) `contribution`.

    `peers` (id to name) are the others, `needs` are owed a stance, `options` are by letter, `held`
    was the position, `blockers` are the author's own, `raised`: somebody's is open, an echo of
    `prompt` is cut off, `asked` is what is asked again (`Fault.part`).
    """

    kind: str = "turn"
    lang: str = "en"
    author: str = ""
    peers: dict[str, str] = {}
    needs: list[str] = []
    options: dict[str, str] = {}
    held: str = ""
    prompt: str = ""
    asked: list[str] = []
    blockers: list[str] = []
    raised: bool = False


class Entry(Record, settled=True):
    """Something that was said."""

    id: str  # `TOUR-AGENT`; of guidance `TOUR-say-N`
    kind: str  # contribution, turn, vote, synthesis or guidance
    agent: str
    phase: str
    tour: int
    at: str
    text: str
    status: str = ""
    origin: str = "claimed"  # verified (by a run's token), claimed (by --as), edited (on the page)
    target: str = ""  # of guidance: the agent it is meant for, "" for everybody
    late: bool = False  # its round was over: it counts nowhere and reaches the minutes
    cut: str = ""  # the program's word where it called the answer cut or too long
    parts: list[str] = []  # digests of the texts that it joins or replaced, and of their keys
    heard: Heard = Heard()


class Participant(Record):
    """An agent, or a person, who answers by hand and is never run."""

    status: str = WAITING
    last_action: str | None = None
    origin: str = ""  # how the status was set (see `Entry`)
    name: str = ""
    emoji: str = ""
    role: str = ""
    person: bool = False
    model: str = ""
    advocate: bool = False  # the devil's: its stances do not count


class Absence(Record, settled=True):
    """Why a participant gave no answer in a round: a code (`timeout`, or of a run) and words."""

    code: str
    words: str = ""


class Round(Record):
    """A round: from the moment its speakers were asked until it closed."""

    tour: int
    phase: str
    started_at: str
    order: list[str] = []  # its speakers, one after the other unless it is parallel
    parallel: bool = True
    blind: bool = False  # answers are hidden until it closes
    ended_at: str | None = None
    reason: str = ""  # all-answered timeout agreed consensus max-rounds stopped repetition too-few
    absent: dict[str, Absence] = {}
    asked: dict[str, str] = {}  # member to the question that it was asked again
    agreed: list[str] = []  # of a council: who was AGREED when it closed
    verdict: str = ""  # strong, soft or none, once it closed


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


class Side(Option, settled=True):
    """An option, who holds it, and what the counted members say to it."""

    holders: list[str] = []
    approve: list[str] = []
    partial: list[str] = []
    disagree: list[str] = []


class Tally(Record):
    """What a count found (`verdict.py`); `show --consensus` prints it."""

    type: str = "none"  # strong, soft or none
    reached: bool = False
    threshold: int = 0
    n: int = 0
    options: list[Side] = []
    winners: list[str] = []  # letters of `decision`
    leading: list[str] = []  # letters also where nothing is decided
    decision: list[str] = []
    absent: list[str] = []
    abstained: list[str] = []
    moved: list[dict[str, str]] = []  # `{agent, from, to}` in the last round
    rounds: list[Tally] = []  # the tallies after earlier rounds
    agreed: list[str] = []  # these three are of a council
    edited: list[str] = []  # of the agreed: whose status was set on the page
    waiting: list[str] = []


class Config(Record, settled=True):
    """What `convene` was told, and the settings that it took over."""

    mode: str = "debate"
    order: str = "parallel"
    phases: list[str] = []  # that will be taken; the last is SYNTHESIZE
    timeout: int = 3600  # seconds a phase may take
    max_rounds: int = 5
    threshold: int | None = None  # approvals needed; None is two thirds, rounded up
    confidence_floor: int = 0  # a member less sure counts as absent; 0 is off
    blind: bool = True  # COLLECT, or the first round, is sealed
    anonymous: bool = False
    options: list[str] = []
    coordinator: str = ""
    synthesizer: str = ""
    sign_off: str = ""
    backoff: list[int] = []  # seconds before the second and third attempt of a run
    max_runs: int = 40
    max_tokens: int = 1_000_000
    max_usd: float = 5.0
    usual: list[str] = []  # which of these three were not told: a lower setting counts
    by_hand: list[str] = []  # agents that had no program when it was opened
    context_limit: int = 200_000


class State(Record):
    """A conversation. `rev` and `mark` are set by the document, all else by events."""

    conversation_id: str = ""
    name: str = ""
    topic: str = ""
    brief: str = ""
    private: dict[str, str] = {}  # what one participant alone is told
    procedure: str = "council"
    lang: str = "en"
    carrier: dict[str, str] = {}  # the trace in which it was opened (`runs/tracing.py`)
    config: Config = Config()
    rev: int = 0
    mark: str = ""
    phase: str = COLLECT
    tour: int = 1
    created_at: str = ""
    updated_at: str = ""
    timeout_at: str | None = None  # when the round is over, or the turn of its present speaker
    status: str = ACTIVE
    participants: dict[str, Participant] = {}
    blockers: list[Blocker] = []
    rounds: list[Round] = []
    entries: list[Entry] = []  # all that was said, in order
    options: list[Option] = []
    drafts: dict[str, str] = {}  # agent to text typed in its section without its status
    notes: list[str] = []
    kept_aside: list[str] = []  # files in `conflicts/` with words that were not taken in
    runs: Runs = Runs()
    paused_at: str | None = None
    stop: str = ""  # the phase that a `stop` asked for, until it began
    ended_at: str | None = None  # when the last phase closed; the minutes are due then
    signed: str = ""  # approved, rejected or ""
    signed_why: str = ""
    closed_reason: str = ""  # consensus phases_exhausted timeout cancelled stopped
    cancel_reason: str = ""
    minutes: str = ""

    def round(self) -> Round:
        """Return the round that is open, or the last one."""
        return self.rounds[-1]

    def talks(self) -> list[Round]:
        """Return the rounds that are not for the synthesis."""
        return [one for one in self.rounds if one.phase != SYNTHESIZE]

    def sealed(self) -> int:
        """Return the round whose answers are hidden from all but their authors, 0 for none."""
        now = self.rounds[-1] if self.rounds else None
        return now.tour if now and now.blind and now.ended_at is None else 0

    def is_sealed(self, entry: Entry) -> bool:
        """Return whether an entry is hidden from all but its author now."""
        return entry.kind != "guidance" and entry.tour == self.sealed()


def fields(one: Record, names: str) -> dict[str, Any]:
    """Return some fields of a record by their keys in JSON."""
    return {camel(name): getattr(one, name) for name in names.split()}


def kind_of(phase: str) -> str:
    """Return what is asked for in a phase: `contribution`, `turn`, `vote` or `synthesis`."""
    return _KINDS.get(phase, "contribution")


def phases(procedure: str, chosen: list[str]) -> list[str]:
    """Return the phases that will be taken, SYNTHESIZE the last; [] chooses all."""
    if (known := PHASES.get(procedure)) is None:
        raise Usage("bad-procedure", f"no such procedure: {procedure}", "council or deliberation")
    names = [name.strip().upper() for name in chosen]
    picked = [phase for phase in known if phase in names or not names or phase == SYNTHESIZE]
    if (picked[: len(names)] != names and names) or len(picked) < 2:
        what, order = f"not phases in order: {','.join(chosen)}", ",".join(known).lower()
        raise Usage("bad-phases", what, f"choose from {order}")
    return picked


def order_of(agents: list[str], how: str, number: int, seed: str, last: str) -> list[str]:
    """Return who speaks in round `number` (from 1) of a phase; `last` spoke last before."""
    at = (number - 1) % max(1, len(agents)) if how == "rotate" else 0
    return shuffled(agents, last, seed) if how == "shuffle" else agents[at:] + agents[:at]
