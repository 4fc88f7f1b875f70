"""A trial as a kind of document: questions, what was said to them, and whether that is right.

Every question is put twice to every member alone: its rounds are question by question, first and
second time. Votes are counted from these answers; talks are conversations. Events: `trial.opened`
(fields of `State`), `trial.answered` and `trial.talked` (fields of `Said`, key: `TOUR.AGENT` or
`ARM.NUMBER`), `trial.paused` (why), `trial.resumed` (maxRuns, maxUsd), `trial.ended` (at).
"""

from __future__ import annotations

import re
import unicodedata

from council.kernel import ids, times
from council.kernel.record import Record
from council.kernel.times import datetime
from council.runs import work as runs
from council.runs.work import Event, Runs, Try, Work

ALONE, VOTE, TALKS = "alone", "vote", ("council", "deliberation")
ARMS = (ALONE, VOTE, *TALKS)
TIMES, WINDOW = 2, 2  # how often members answer alone; rounds at once, as `Runs` keeps two
_OWN = ("opened", "answered", "talked", "paused", "resumed", "ended")
EVENTS = dict.fromkeys((*runs.TYPES, *map("trial.{}".format, _OWN)))
_EDGE = " \t\r\n.,;:!?\"'`*_()[]<>«»“”‘’…"
_MOST = 400  # characters of an answer that are kept


class Question(Record, settled=True):
    """A question and its right answer, see docs/trial.md; with `tolerance` it is a number."""

    id: str
    question: str
    answer: str = ""
    options: list[str] = []
    tolerance: float | None = None
    check: list[str] = []
    facts: list[list[str]] = []


class Said(Record, settled=True):
    """An answer, "" where there is none, and its cost, as far as it was told."""

    text: str = ""
    ms: int = 0
    tokens: int = 0
    usd: float = 0.0
    runs: int = 0  # of a conversation
    minutes: str = ""


class State(Record):
    """A trial; questions are numbered from 1."""

    rev: int = 0
    mark: str = ""
    name: str = ""
    lang: str = "en"
    seed: int = 0
    agents: list[str] = []
    arms: list[str] = []
    questions: list[Question] = []
    backoff: list[int] = []
    max_runs: int = 0
    max_usd: float = 0.0
    created_at: str = ""
    paused: str = ""  # why
    ended_at: str = ""
    singles: dict[str, Said] = {}
    talks: dict[str, Said] = {}  # those that are over
    runs: Runs = Runs()

    def tours(self) -> int:
        """Return how many rounds of single answers there are."""
        return TIMES * len(self.questions) * bool({ALONE, VOTE}.intersection(self.arms))

    def left(self) -> list[str]:
        """Return the keys of the talks that are not over, question by question."""
        arms = [arm for arm in TALKS if arm in self.arms]
        keys = [f"{arm}.{n}" for n in range(1, len(self.questions) + 1) for arm in arms]
        return [key for key in keys if key not in self.talks]

    def talk(self, key: str) -> tuple[str, str]:
        """Return id and name of the conversation of a key: none is ever opened twice."""
        drawn = bytes.fromhex(ids.digest(f"{self.name} {self.created_at} {key}"))
        return ids.uuid4(drawn), f"trial-{self.name}-{key.replace('.', '-')}"

    def key(self, number: int, time: int, agent: str) -> str:
        """Return the key of a member's answer to a question for the first (1) or second time."""
        return f"{(number - 1) * TIMES + time}.{agent}"

    def is_whole(self, number: int) -> bool:
        """Return whether every arm has answered a question."""
        keys = [self.key(number, t, a) for t in (1, 2) for a in self.agents if self.tours()]
        talks = [f"{arm}.{number}" for arm in TALKS if arm in self.arms]
        return all(k in self.singles for k in keys) and all(k in self.talks for k in talks)

    def facts(self, number: int) -> dict[str, list[str]]:
        """Return what each member alone knows of a question; the seats go round the members."""
        seats, many = enumerate(self.questions[number - 1].facts, number), len(self.agents)
        rows = [(at % many, fact) for at, facts in seats for fact in facts]
        return {a: [fact for i, fact in rows if i == at] for at, a in enumerate(self.agents)}

    def may(self) -> bool:
        """Return whether a further run or talk may begin now; those under way are ended."""
        used = self.runs.count + sum(one.runs for one in self.talks.values())
        usd = self.runs.usd + sum(one.usd for one in self.talks.values())
        stopped = self.paused or self.ended_at or 0 < self.max_usd <= usd
        return used < self.max_runs and not stopped


new = State


def evolve(state: State, event: Event) -> None:
    """Fold one event."""
    kind, own = event["type"], {k: v for k, v in event.items() if k not in ("type", "key")}
    if kind in runs.TYPES:
        runs.evolve(state.runs, event)
    elif kind in ("trial.answered", "trial.talked"):
        table = state.singles if kind == "trial.answered" else state.talks
        table.setdefault(event["key"], Said.from_json(own))
    elif kind == "trial.opened":
        state.__dict__.update(State.from_json(own).__dict__)
    elif kind == "trial.resumed":
        state.paused, state.max_runs, state.max_usd = "", own["maxRuns"], own["maxUsd"]
    else:
        state.paused, state.ended_at = own.get("why", ""), own.get("at", "")


def _tries(state: State) -> list[tuple[Work, Try]]:
    """Return the single answers that are missing in the oldest open rounds, and what comes next."""
    tours = range(1, state.tours() + 1)
    missing = [(t, a) for t in tours for a in state.agents if f"{t}.{a}" not in state.singles]
    near = [(t, a) for t, a in missing if t < missing[0][0] + WINDOW]
    tries = [(t, a, runs.next_try(state.runs, a, "single", t, state.backoff)) for t, a in near]
    of = Work(agent="", task="single", tour=0)
    return [(of.copy(agent=a, tour=t, attempt=n.attempt or 1), n) for t, a, n in tries]


def work(state: State, now: datetime) -> list[Work]:
    """Return the runs of members alone that ought to be under way."""
    at, rows = times.text(now), _tries(state) if state.may() else []
    return [one for one, after in rows if after.attempt and (after.at or at) <= at]


def due(state: State, now: datetime) -> list[Event]:
    """Return what follows: an answer that will not come, a ceiling that is reached, the end."""
    tries = _tries(state)
    if lost := [f"{one.tour}.{one.agent}" for one, after in tries if after.gave_up]:
        return [{"type": "trial.answered", "key": lost[0]}]
    if not state.created_at or state.ended_at or any(after.open for _, after in tries):
        return []
    if not (tries or state.left()):
        return [{"type": "trial.ended", "at": times.text(now)}]
    why = f"the ceiling of {state.max_runs} runs or ${state.max_usd:.2f} is reached"
    return [] if state.paused or state.may() else [{"type": "trial.paused", "why": why}]


def wake(state: State, by_hand: frozenset[str] = frozenset()) -> datetime | None:  # noqa: ARG001
    """Return when a run has to be over or may begin; talks wake the heartbeat themselves."""
    rows = _tries(state) if state.may() else []
    moments = [after.at or state.created_at for _, after in rows]
    return min(map(times.instant, moments), default=None)


def plain(text: str) -> str:
    """Return a text as answers are compared: without case, outer punctuation and blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().strip(_EDGE).split())


def number(text: str) -> float | None:
    """Return the number that a text names, None where it names none or several."""
    joined = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text.replace("−", "-")).replace(",", ".")
    values = {float(one) for one in re.findall(r"-?\d+(?:\.\d+)?(?:[eE]-?\d{1,2})?", joined)}
    return values.pop() if len(values) == 1 else None


def meant(one: Question, text: str) -> str:
    """Return what an answer stands for: answers that mean the same are equal, "" is none."""
    if one.tolerance is not None:
        value = number(text)
        return "" if value is None else f"{value:.12g}"
    said, known = plain(text), [plain(option) for option in one.options]
    fits = [o for o in known if said == o or (said.startswith(o) and not said[len(o)].isalnum())]
    return max(fits, key=len, default="") if known else said


def is_right(one: Question, text: str) -> bool:
    """Return whether an answer is the right one; not for those that a command checks."""
    said, value = meant(one, text), number(one.answer)
    if one.tolerance is None or value is None or not said:
        return said != "" and said == plain(one.answer)
    return abs(float(said) - value) <= one.tolerance


def answer_in(text: str, one: Question) -> str:
    """Return the answer in a text: its last line `ANSWER: …`, else its only line."""
    lines = [line for line in text.splitlines() if line.strip(_EDGE)]
    marked = re.findall(r"(?i)\bANSWER\W*:\W*?([^\n]+)", "\n".join(lines))
    said = (marked or (lines if len(lines) == 1 else [""]))[-1].strip(" \t*_`")[:_MOST]
    return said if meant(one, said) else ""


def plurality(one: Question, texts: list[str]) -> str:
    """Return the answer that most members gave, in the words of the first; "" on a tie."""
    said = [meant(one, text) for text in texts]
    counts = {word: said.count(word) for word in said if word}
    best = [word for word, count in counts.items() if count == max(counts.values())]
    return texts[said.index(best[0])] if len(best) == 1 else ""
