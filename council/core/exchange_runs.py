"""The runs of an exchange: queued, started, refused, failed, lost, set aside.

Source: XC-016, PR-309, PR-410.
"""

from __future__ import annotations

from datetime import datetime

from council.core.exchange import RULES, Exchange, ExchangeStep, Run, TaskRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.exchange_owed import Compose, Split, Work


def run_queued(
    exchange: Exchange, due: Work | Split | Compose, *, driver: str, now: datetime
) -> ExchangeStep:
    """Write down that a run is due and waits for a place; no deadline begins."""
    raise NotImplementedError


def run_started(
    exchange: Exchange,
    due: Work | Split | Compose,
    *,
    driver: str,
    now: datetime,
    ends_at: datetime | None,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Claim a run; its deadline begins. `outcome` is `claimed`, "" if it is not due any more.

    `ends_at` is the end of its lease, None for who answers by itself: then `worker_timeout` holds.
    """
    raise NotImplementedError


def run_refused(
    exchange: Exchange,
    due: Work | Split | Compose,
    reason: str,
    *,
    driver: str,
    now: datetime,
    elsewhere: bool = False,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Write down, once for each reason, that a due run may not be started.

    It stays owed; with `elsewhere` the attempt fails (E30), and another worker is asked.
    """
    raise NotImplementedError


def run_failed(
    exchange: Exchange,
    run: str,
    reason: str,
    *,
    now: datetime,
    timed_out: bool = False,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Write down that a run brought no answer: its attempt fails with E30, or E21 out of time.

    A request that could not be split goes whole, an answer that could not be composed is made
    of the results. `advance` goes on from there.
    """
    raise NotImplementedError


def run_ended(exchange: Exchange, run: str, *, now: datetime) -> ExchangeStep:
    """Note that a run is over whose messages were taken one by one with `receive`."""
    raise NotImplementedError


def set_aside(exchange: Exchange, run: str, *, now: datetime, reason: str = "") -> ExchangeStep:
    """Interrupt a run for one of P0: it is owed again, and no attempt is lost (PR-309, PR-410).

    `outcome` is `set-aside`, "" for a run that is over or atomic.
    """
    raise NotImplementedError


def in_the_way(exchange: Exchange, worker: str) -> tuple[Run, ...]:
    """Return the runs of a worker that one of P0 may interrupt: under way, P1 or P2, not atomic."""
    raise NotImplementedError
