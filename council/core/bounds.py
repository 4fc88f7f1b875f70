"""What bounds the runs of a workspace: caps on their number, and rest for agents that fail.

Values and rules only. A cap that is reached and an agent that rests keep a
run from being started; the phase then goes on by its deadline. What was
counted is kept by the store. Beside them stands what may be chosen of the message
protocol: every command reads it with the settings.

Source: `trust.md` (bounds).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from council.core.reasons import NO_REASON, Reason
from council.core.record import Record
from council.core.times import render_instant

FAILURES_BEFORE_REST = 3
REST_MINUTES = 15
LONGEST_REST = timedelta(days=1)
MONEY = ("max_usd_per_council", "max_usd_per_day")
CAPS = (
    *("max_runs_per_council", "max_runs_per_day"),
    *("max_tokens_per_council", "max_tokens_per_day"),
    *MONEY,
)
# Tokens and dollars of a run, as long as none has ended: so many that four begin at once
# under the usual ceiling of `ask`, and one alone where there is less room.
_FIRST = (250_000, 1.25)
LIMITS = (*CAPS, "failures_before_rest", "rest_minutes")


class Spent(Record):
    """What was used up: runs that were started, tokens and dollars that drivers reported."""

    _keys = "usd~"

    runs: int = 0
    tokens: int = 0
    usd: float = 0.0


class Usage(Record):
    """What the runs of one agent have used; what is estimated stands apart from what was told.

    Args:
        runs: Runs that have ended.
        tokens: Tokens that they told.
        estimated: Tokens of those that told none, worked out from what they read and said.
        usd: Dollars that they told.
        priced: How many told them; of the others the cost is unknown.

    Source: CL-002.
    """

    runs: int = 0
    tokens: int = 0
    estimated: int = 0
    usd: float = 0.0
    priced: int = 0

    @classmethod
    def of_run(cls, tokens: int | None, usd: float | None, estimated: int = 0) -> Usage:
        """Return what one run has used; None for what it did not tell."""
        guess = estimated if tokens is None else 0
        known = int(usd is not None)
        return cls(runs=1, tokens=tokens or 0, estimated=guess, usd=usd or 0.0, priced=known)

    def plus(self, other: Usage) -> Usage:
        """Return both together."""
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self._fields})


class Ceiling(Record):
    """What one conversation may use up, and what its runs have used; a bound of 0 bounds nothing.

    `largest_tokens` and `largest_usd` are the most that one run has used.

    Source: OP-018.
    """

    runs: int = 0
    tokens: int = 0
    usd: float = 0.0
    spent_runs: int = 0
    spent_tokens: int = 0
    spent_usd: float = 0.0
    largest_tokens: int = 0
    largest_usd: float = 0.0

    def used(self, tokens: int, usd: float) -> Ceiling:
        """Return the ceiling after a run that used this much."""
        return self.copy(
            spent_tokens=self.spent_tokens + tokens,
            spent_usd=self.spent_usd + usd,
            largest_tokens=max(self.largest_tokens, tokens),
            largest_usd=max(self.largest_usd, usd),
        )

    def reached(self, running: int = 0) -> str:
        """Return the bound that leaves no room for a run beside `running` others, "" for room.

        One that is under way is taken to use as much as the largest until now, or as `_FIRST`
        where none has ended. So a bound is passed by no more than what the last run uses,
        unless several that run at once all use more than any before them.
        """
        known = self.spent_tokens > 0
        for name, most, spent, each in (
            ("runs", self.runs, self.spent_runs, 0),
            ("tokens", self.tokens, self.spent_tokens, self.largest_tokens if known else _FIRST[0]),
            ("usd", self.usd, self.spent_usd, self.largest_usd if known else _FIRST[1]),
        ):
            if most and (spent >= most or (running and spent + (running + 1) * each > most)):
                return name
        return ""


class Lapse(Record):
    """How often an agent has failed in a row, and until when it rests.

    `rests` counts the rests since its last success: each is twice as long as
    the one before. `at` is when it last failed, `owner` the conversation, room or context in
    which it did, `reason` why; `at_once` if it did so within seconds. `made_of` identifies
    with what it was started then (program, settings, keys), "" if that is not known.
    """

    _keys = "failures:failuresInARow rests:- at:- until:restsUntil owner:- at_once:- made_of:-"

    failures: int = 0
    rests: int = 0
    at: datetime | None = None
    until: datetime | None = None
    reason: Reason = NO_REASON
    owner: str = ""
    at_once: bool = False
    made_of: str = ""

    def is_mended(self, made_of: str) -> bool:
        """Return true if the agent is started with something else now than when it failed."""
        return bool(self.made_of and made_of) and self.made_of != made_of


class Tally(Record):
    """Everything that is counted in a workspace; `day` is the date that `today` is of."""

    day: str = ""
    today: Spent
    councils: dict[str, Spent] = {}
    lapses: dict[str, Lapse] = {}


def spend(
    tally: Tally,
    conversation_id: str,
    now: datetime,
    *,
    runs: int = 0,
    tokens: int = 0,
    usd: float = 0.0,
) -> None:
    """Count what a conversation used up. Changes `tally`."""
    day = render_instant(now)[:10]
    if tally.day != day:
        tally.day, tally.today = day, Spent()
    council = tally.councils.setdefault(conversation_id, Spent())
    for spent in (tally.today, council):
        spent.runs += runs
        spent.tokens += tokens
        spent.usd += usd


def reached(
    tally: Tally, limits: Mapping[str, float], conversation_id: str, now: datetime
) -> tuple[str, float] | None:
    """Return the cap that leaves no room for another run, and its value; None when there is room.

    A cap that is missing or 0 bounds nothing.
    """
    today = tally.today if tally.day == render_instant(now)[:10] else Spent()
    council = tally.councils.get(conversation_id) or Spent()
    used = [getattr(spent, of) for of in ("runs", "tokens", "usd") for spent in (council, today)]
    for name, amount in zip(CAPS, used, strict=True):
        cap = limits.get(name, 0)
        if 0 < cap <= amount:
            return name, cap
    return None


def may_pass(
    tally: Tally,
    limits: Mapping[str, float],
    conversation_id: str,
    now: datetime,
    usage: Mapping[str, Usage],
    running: int,
) -> bool:
    """Return true if a run beside `running` others of a conversation may lead past a cap.

    Each is taken to use what the most expensive agent of `usage` did on average, or `_FIRST`
    where none has ended. Nothing waits where nothing runs: the cap itself decides then.
    """
    if not running or reached(tally, limits, conversation_id, now) is not None:
        return False
    each = [one for one in usage.values() if one.runs]
    tokens = max((one.tokens / one.runs for one in each), default=_FIRST[0])
    usd = max((one.usd / one.runs for one in each), default=_FIRST[1])
    more = tally.copy()
    for _ in range(running + 1):
        spend(more, conversation_id, now, tokens=int(tokens), usd=usd)
    return reached(more, limits, conversation_id, now) is not None


def resting(
    tally: Tally, agent: str, now: datetime, heard_at: datetime | None = None
) -> Lapse | None:
    """Return why an agent rests at `now`, None when it does not.

    One that was heard since it last failed, even if another typed for it, does not.
    """
    lapse = tally.lapses.get(agent)
    if lapse is None or lapse.until is None or now >= lapse.until:
        return None
    return None if heard_at and lapse.at and heard_at > lapse.at else lapse


def failure(
    tally: Tally,
    agent: str,
    reason: Reason,
    now: datetime,
    limits: Mapping[str, int],
    owner: str = "",
    *,
    at_once: bool = False,
    made_of: str = "",
) -> Lapse | None:
    """Count a failed run; return the lapse if the agent rests from now on. Changes `tally`.

    After a rest one more failure is enough for the next, which is twice as long.
    """
    lapse = tally.lapses.setdefault(agent, Lapse())
    rests = resting(tally, agent, now) is not None and not lapse.is_mended(made_of)
    lapse.failures += 1
    lapse.reason, lapse.at, lapse.owner = reason, now, owner
    lapse.at_once, lapse.made_of = at_once, made_of
    enough = limits.get("failures_before_rest", FAILURES_BEFORE_REST)
    first = timedelta(minutes=limits.get("rest_minutes", REST_MINUTES))
    if not enough or not first or lapse.failures < enough or rests:
        return None
    lapse.until = now + min(first * 2 ** min(lapse.rests, 10), max(LONGEST_REST, first))
    lapse.rests += 1
    return lapse


def success(tally: Tally, agent: str) -> Lapse | None:
    """Forget the failures of an agent that has answered; return them. Changes `tally`."""
    return tally.lapses.pop(agent, None)


# --- What may be chosen of the message protocol: the table `[protocol]` of the settings

V4, V5 = "V4", "V5"
VERSIONS = (V5, V4)


class ProtocolRules(Record):
    """What may be chosen of the message protocol.

    Args:
        threshold: From 0 to 1, the least share of the required capabilities that a worker
            must have to be chosen (PR-561).
        liveness_cycle: Of the liveness messages of one agent within this time only the
            first counts (PR-414).
        liveness_timeout: Who must show signs of life and showed none for that long is
            unavailable (PR-422).
        versions: The versions that the orchestrator speaks, the one it prefers first.
        signed: Whether lines that are not sent from a run must be signed (PR-590).

    Source: PR-414, PR-422, PR-561, PR-590, PR-591.
    """

    threshold: float = 0.5
    liveness_cycle: timedelta = timedelta(seconds=60)
    liveness_timeout: timedelta = timedelta(minutes=15)
    versions: tuple[str, ...] = VERSIONS
    signed: bool = False
