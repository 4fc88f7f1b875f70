"""A trial as a kind of document: questions, what was said to them, and whether that is right.

Every question is put twice to every member alone: the rounds of a trial are question by question,
first and second time. Votes are counted from these answers; talks are conversations.

Events: `trial.opened` (fields of `State`), `trial.answered` (tour, agent, fields of `Said`),
`talk.claimed` and `talk.over` (key, fields of `Talk`), `trial.checked` (key, result),
`trial.paused` (why), `trial.resumed` (maxRuns, maxUsd), `trial.ended` (at), those of `work.py`.
"""

from __future__ import annotations

import re
import unicodedata

from council.kernel import ids, times
from council.kernel.record import Record
from council.kernel.times import datetime, timedelta
from council.runs import work as runs
from council.runs.work import Event, Runs, Work

ALONE, VOTE, TALKS = "alone", "vote", ("council", "deliberation")
ARMS = (ALONE, VOTE, *TALKS)
TIMES = 2  # that each member answers alone
OPEN = 2  # conversations at once
WINDOW = 2  # rounds at once: `Runs` keeps as many
TYPES = "opened answered checked paused resumed ended"
EVENTS = dict.fromkeys((*runs.TYPES, *(f"trial.{one}" for one in TYPES.split())))
EVENTS |= {"talk.claimed": None, "talk.over": None}
render = None  # it has no page
_EDGE = " \t\r\n.,;:!?\"'`*_()[]<>«»“”‘’…"
_MOST = 400  # characters of an answer that are kept


class Question(Record, settled=True):
    """A question with its right answer: a text, one of the options, a number, or a command's.

    `tolerance` makes the answer a number. `check` gets an answer on standard input: exit 0 is
    right, 1 wrong. `facts` are what only the first, second, … seat knows.
    """

    id: str
    question: str
    answer: str = ""
    options: list[str] = []
    tolerance: float | None = None
    check: list[str] = []
    facts: list[list[str]] = []


class Said(Record, settled=True):
    """An answer and what it cost: milliseconds, tokens (also estimated), dollars (None: unknown).

    `code` is the failure, or the outcome, for which there is no answer.
    """

    text: str = ""
    code: str = ""
    ms: int = 0
    tokens: int = 0
    usd: float | None = None


class Talk(Said, settled=True):
    """A conversation on a question, and its result once it is `over`."""

    ident: str = ""
    name: str = ""
    over: bool = False
    runs: int = 0
    minutes: str = ""


class State(Record):
    """A trial. Questions are numbered from 1; `singles` are by `TOUR.AGENT`, `talks` by `ARM.N`.

    `most` is how many runs a conversation of each arm may take; `checked` maps `N:answer` to
    `right`, `wrong`, or what is the matter with the check.
    """

    rev: int = 0
    mark: str = ""
    name: str = ""
    lang: str = "en"
    seed: int = 0
    agents: list[str] = []
    arms: list[str] = []
    questions: list[Question] = []
    most: dict[str, int] = {}
    backoff: list[int] = []
    max_runs: int = 0
    max_usd: float = 0.0
    created_at: str = ""
    paused: str = ""  # why
    ended_at: str = ""
    singles: dict[str, Said] = {}
    talks: dict[str, Talk] = {}
    checked: dict[str, str] = {}
    runs: Runs = Runs()

    def tours(self) -> int:
        """Return how many rounds of single answers there are."""
        return TIMES * len(self.questions) * bool({ALONE, VOTE}.intersection(self.arms))

    def wanted(self) -> list[str]:
        """Return the keys of all conversations, question by question."""
        arms = [arm for arm in TALKS if arm in self.arms]
        return [f"{arm}.{n}" for n in range(1, len(self.questions) + 1) for arm in arms]

    def single(self, number: int, time: int, agent: str) -> Said:
        """Return what a member said alone to a question for the first (1) or second time (2)."""
        return self.singles.get(f"{(number - 1) * TIMES + time}.{agent}") or Said(code="none")

    def facts(self, number: int) -> dict[str, list[str]]:
        """Return what each member alone knows of a question; the seats go round the members."""
        made = {agent: list[str]() for agent in self.agents}
        for seat, facts in enumerate(self.questions[number - 1].facts):
            made[self.agents[(seat + number) % len(self.agents)]] += facts
        return made

    def right(self, number: int, text: str) -> bool:
        """Return whether an answer to a question is right."""
        one = self.questions[number - 1]
        done = self.checked.get(f"{number}:{plain(text)}") == "right"
        return done if one.check else is_right(one, text)

    def unchecked(self) -> dict[str, str]:
        """Return the answers that a command has to check yet, by their keys in `checked`."""
        said = [(of_tour(int(key.partition(".")[0])), s.text) for key, s in self.singles.items()]
        said += [(int(key.partition(".")[2]), talk.text) for key, talk in self.talks.items()]
        made = {f"{n}:{plain(t)}": t for n, t in said if t and self.questions[n - 1].check}
        return {key: text for key, text in made.items() if key not in self.checked}

    def may(self, arm: str = "") -> bool:
        """Return whether the ceilings leave room for a run, or for a conversation of an arm."""
        talks, usd = self.talks.items(), self.runs.usd
        used = sum(t.runs if t.over else self.most[key.partition(".")[0]] for key, t in talks)
        usd += sum(talk.usd or 0 for _, talk in talks)
        is_free = used + self.runs.count + self.most.get(arm, 1) <= self.max_runs
        return is_free and not (self.max_usd and usd >= self.max_usd)


new = State


def of_tour(tour: int) -> int:
    """Return the number of the question of a round."""
    return (tour - 1) // TIMES + 1


def evolve(state: State, event: Event) -> None:
    """Fold one event."""
    kind, own = event["type"], {k: v for k, v in event.items() if k != "type"}
    if kind in runs.TYPES:
        runs.evolve(state.runs, event)
    elif kind == "trial.answered":
        key = f"{own.pop('tour')}.{own.pop('agent')}"
        state.singles.setdefault(key, Said.from_json(own, key))
    elif kind in ("talk.claimed", "talk.over"):
        key = own.pop("key")
        state.talks[key] = Talk.from_json(own, key)
    elif kind == "trial.checked":
        state.checked[own["key"]] = own["result"]
    elif kind == "trial.opened":
        state.__dict__.update(State.from_json(own, "trial").__dict__)
    elif kind == "trial.resumed":
        state.paused, state.max_runs, state.max_usd = "", own["maxRuns"], own["maxUsd"]
    else:
        state.paused, state.ended_at = own.get("why", state.paused), own.get("at", "")


def _tries(state: State) -> list[tuple[Work, runs.Try]]:
    """Return the single answers that are missing in the oldest open rounds, and what comes next."""
    made, most = list[tuple[Work, runs.Try]](), state.tours()
    backoff = [timedelta(seconds=one) for one in state.backoff]
    for tour in range(1, most + 1):
        for agent in [a for a in state.agents if f"{tour}.{a}" not in state.singles]:
            most = min(most, tour + WINDOW - 1)
            after = runs.next_try(state.runs, agent, "single", tour, backoff)
            one = Work(agent=agent, task="single", tour=tour, attempt=after.attempt or 1)
            made += [(one, after)] if tour <= most else []
        if tour > most:
            break
    return made


def work(state: State, now: datetime) -> list[Work]:
    """Return the runs of members alone that ought to be under way."""
    at = times.text(now)
    rows = [] if state.paused or state.ended_at or not state.may() else _tries(state)
    return [one for one, after in rows if after.attempt and (after.at or at) <= at]


def due(state: State, now: datetime) -> list[Event]:
    """Return what follows: an answer that will not come, a ceiling that is reached, the end."""
    tries = [] if state.ended_at or not state.created_at else _tries(state)
    for one, after in tries:
        if after.gave_up:
            said = Said(code=after.gave_up.code or "no-answer").to_json()
            return [{"type": "trial.answered", "tour": one.tour, "agent": one.agent, **said}]
    left = [key for key in state.wanted() if key not in state.talks]
    is_busy = not all(t.over for t in state.talks.values()) or any(t.open for _, t in tries)
    if not state.created_at or state.ended_at or is_busy:
        return []
    if not (tries or left or state.unchecked()):
        return [{"type": "trial.ended", "at": times.text(now)}]
    if state.paused or (tries and state.may()) or (left and state.may(left[0].partition(".")[0])):
        return []
    why = f"the ceiling of {state.max_runs} runs or ${state.max_usd:.2f} is reached"
    return [{"type": "trial.paused", "why": why}] if tries or left else []


def wake(state: State, by_hand: frozenset[str] = frozenset()) -> datetime | None:  # noqa: ARG001
    """Return when a run ought to begin or has to be over; what goes on elsewhere wakes nobody."""
    rows = [] if state.ended_at else _tries(state)
    moments = [state.runs.by_id[after.open].lease for _, after in rows if after.open]
    is_free = not state.paused and state.may()
    moments += [t.at or state.created_at for w, t in rows if t.attempt and is_free]
    return min(map(times.instant, moments), default=None)


def claimed(state: State, key: str) -> Event:
    """Return the event that claims a conversation; its id follows from the trial and the key."""
    drawn = ids.digest(f"{state.name} {state.created_at} {key}")
    name = f"trial-{state.name[-20:].lstrip('-_')}-{key.replace('.', '-')}"
    ident = ids.uuid4(bytes.fromhex(drawn))
    return {"type": "talk.claimed", "key": key, "ident": ident, "name": name}


# --- answers ---


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
    said, known = plain(text), {plain(option): option for option in one.options}
    fits = [o for o in known if said == o or (said.startswith(o) and not said[len(o)].isalnum())]
    return plain(known[max(fits, key=len)]) if fits else "" if known else said


def is_right(one: Question, text: str) -> bool:
    """Return whether an answer is the right one; not for those that a command checks."""
    said, value = meant(one, text), number(one.answer)
    if one.tolerance is None or value is None or not said:
        return said != "" and said == plain(one.answer)
    return abs(float(said) - value) <= one.tolerance


def answer_in(text: str, one: Question) -> str:
    """Return the answer in a text: its last line `ANSWER: …`, else its only line."""
    lines = [line.strip(" \t\r*_`>#") for line in text.splitlines()]
    lines = [line for line in lines if line]
    marked = re.findall(r"(?im)\bANSWER\W*:\W*?([^\n]+)", "\n".join(lines))
    said = (marked or (lines if len(lines) == 1 else [""]))[-1].strip(" \t*_`")[:_MOST]
    return said if meant(one, said) else ""


def plurality(one: Question, texts: list[str]) -> str:
    """Return the answer that most members gave, in the words of the first; "" on a tie."""
    said = [meant(one, text) for text in texts]
    counts = {word: said.count(word) for word in said if word}
    best = [word for word, count in counts.items() if count == max(counts.values())]
    return texts[said.index(best[0])] if len(best) == 1 else ""
