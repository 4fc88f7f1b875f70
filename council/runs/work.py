"""Runs: what ought to be started, what is under way, and what came of it.

A run is one start of an agent's program. It is in the state before it starts (`run.claimed`, with
a lease) and its outcome is an event (`run.answered`, `run.failed`), so any process may die: the
next one reads from the state what is to be done. This module is pure; every kind of document whose
agents are run holds one `Runs` and hands the events whose type begins with `run.` to `evolve`.
"""

from __future__ import annotations

from council.kernel import times
from council.kernel.record import Any, Record
from council.kernel.times import datetime, timedelta

Event = dict[str, Any]

# Codes of failures. Final: trying again cannot cure them, so it is tried no more.
FINAL = frozenset(("missing-program", "refused-key", "bad-model", "bad-settings"))
FINAL |= {"refused-by-model", "context-full", "no-credit"}
TYPES = ("run.claimed", "run.answered", "run.failed")
ATTEMPTS = 3


class Work(Record, settled=True):
    """A run that ought to be under way: who, in which round, and for the how-manieth time."""

    agent: str
    task: str  # `turn`, `vote`, `synthesis`, `contribution`, `question` (asked again), …
    tour: int
    attempt: int = 1  # a question counts its own

    def ident(self, document: str) -> str:
        """Return the run's id, which is also the task id that the agent sees."""
        suffix = "q" if self.task == "question" else ""
        return f"{document}.{self.tour}.{self.agent}.{suffix}{self.attempt}"


class Use(Record, settled=True):
    """What a run used, as far as its program said; None is unknown."""

    tokens: int | None = None
    input: int | None = None  # those of `tokens` that the model read, also from a cache
    estimated: int | None = None  # by the lengths of prompt and answer, where none are reported
    ms: int | None = None  # how long it took
    usd: float | None = None


class Run(Work):
    """One run, under way or ended: the work, and what became of it.

    The code of a failure is one of `FINAL`, or `crashed`, `timed-out`, `quota`, `no-answer`,
    `cut-off`, `unreachable`, `lost`, `unwilling`, `ended`.
    """

    id: str  # see `Work.ident`
    at: str
    lease: str  # until when its supervisor has the word; after that the work is due again
    place: int = -1  # the number of the lock file that its supervisor holds
    token: str = ""  # the digest of the secret that makes what it says *verified*
    ended: str | None = None
    outcome: str = ""  # "" while under way, `answered` or `failed`
    code: str = ""
    words: str = ""  # about the failure, in one line
    cut: str = ""  # the program's own word for an answer that it calls cut, "" otherwise
    use: Use = Use()

    def is_open(self) -> bool:
        """Return whether it is under way as far as the journal knows."""
        return not self.outcome


class Runs(Record):
    """The runs of a document, and what all used together."""

    by_id: dict[str, Run] = {}  # of this round and the last
    count: int = 0  # how many were ever claimed
    tokens: int = 0
    estimated: int = 0  # a part of `tokens`
    usd: float = 0.0
    unpriced: int = 0  # how many told no cost
    by_agent: dict[str, int] = {}  # how many were ever claimed

    def open(self) -> list[Run]:
        """Return those under way as far as the journal knows."""
        return [run for run in self.by_id.values() if run.is_open()]


def claimed(work: Work, document: str, now: datetime, lease: timedelta, **more: Any) -> Event:
    """Return the event that claims a run; `more` holds `place` and `token`."""
    made: Event = {"type": "run.claimed", "id": work.ident(document), **work.to_json()}
    return {**made, "at": times.text(now), "lease": times.until(now, lease), **more}


def answered(run: str, at: str, use: Use, cut: str = "") -> Event:
    """Return the event that ends a run with an answer."""
    return {"type": "run.answered", "id": run, "at": at, "cut": cut, "use": use.to_json()}


def failed(run: str, at: str, code: str, words: str, use: Use | None = None) -> Event:
    """Return the event that ends a run without an answer."""
    made: Event = {"type": "run.failed", "id": run, "at": at, "code": code, "words": words}
    return {**made, "use": (use or Use()).to_json()}


def evolve(runs: Runs, event: Event) -> None:
    """Fold one `run.` event; the end of an unknown run only counts what it used."""
    ident = event["id"]
    if event["type"] == "run.claimed":
        runs.by_id[ident] = Run.from_json({k: v for k, v in event.items() if k != "type"})
        runs.count += 1
        runs.by_agent[event["agent"]] = runs.by_agent.get(event["agent"], 0) + 1
        for old in [k for k, r in runs.by_id.items() if r.tour < event["tour"] - 1 and r.outcome]:
            del runs.by_id[old]
        return
    use = Use.from_json(event.get("use") or {})
    runs.tokens += use.tokens or use.estimated or 0
    runs.estimated += 0 if use.tokens else use.estimated or 0
    runs.usd += use.usd or 0.0
    runs.unpriced += use.usd is None
    if (run := runs.by_id.get(ident)) is None or run.outcome:
        return
    run.ended, run.use, run.cut = event["at"], use, event.get("cut", "")
    run.outcome = event["type"].removeprefix("run.")
    run.code, run.words = event.get("code", ""), event.get("words", "")


class Try(Record, settled=True):
    """What comes next: the number of a further `attempt`, or 0 for none."""

    attempt: int
    at: str | None = None  # when it may begin (None is at once), or the lease of what is `open`
    open: str = ""  # the id of the run that is under way, "" where none is
    gave_up: Run | None = None  # after it nothing is tried: it failed for good, or answered


def next_try(runs: Runs, agent: str, task: str, tour: int, backoff: list[int]) -> Try:
    """Return what comes next for one task of one agent in one round.

    Runs that somebody ended do not count: their agent did not fail. `backoff` has the seconds to
    wait before the second and the third attempt; its last value holds for further ones.
    """
    of_task = (agent, task, tour)
    own = [run for run in runs.by_id.values() if (run.agent, run.task, run.tour) == of_task]
    last = max(own, key=lambda run: run.attempt, default=None)
    if last is None or last.code == "ended":
        return Try(attempt=last.attempt + 1 if last else 1)
    if last.is_open():
        return Try(attempt=0, open=last.id, at=last.lease)
    count = sum(run.code != "ended" for run in own)
    if last.outcome == "answered" or last.code in FINAL or count >= ATTEMPTS:
        return Try(attempt=0, gave_up=last)
    earliest = last.ended or last.at
    if backoff and last.code != "no-answer":
        wait = timedelta(seconds=backoff[min(count, len(backoff)) - 1])
        earliest = times.later(earliest, wait)
    return Try(attempt=last.attempt + 1, at=earliest)
