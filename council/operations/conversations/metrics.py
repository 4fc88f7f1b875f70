"""Metrics over all minutes of a workspace, and rating them: `council metrics` and `rate`.

Every file is read anew; what is no minutes, or broken, is named and passed
over. What only the texts show (diversity, flips) stands in the front matter of
newer minutes, and is worked out for others.

Source: DL-091 to DL-094, `cli.md` section 2, DL-092, DL-093.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from council.core.agents import is_rehearser
from council.core.bounds import Usage
from council.core.conversations.procedures import PROCEDURES
from council.core.deliberation.figures import (
    VERDICTS,
    Figures,
    Outcome,
    figures,
    mean,
    outcome_in,
)
from council.core.deliberation.judgement import CANCELLED, judge
from council.core.errors import CouncilError, InvalidInputError, InvalidStateError, UsageError
from council.core.ids import folded, is_conversation_name
from council.core.record import Record
from council.core.times import render_duration
from council.operations.conversations.finding import find_minutes_of
from council.operations.place import Place
from council.operations.reporting.usage import together, used_record, used_words
from council.store.conversations.minutes import (
    STARS,
    add_rating,
    archived_at,
    facts,
    is_rating,
    minutes_files,
    ratings_in,
)

# --- Bars of plain characters: a small plot for terminals of any width

_FULL = "█"
_PARTS = " ▏▎▍▌▋▊▉"
_MIN_CHARS = 1
_MAX_CHARS = 60


def plotted(bars: Sequence[tuple[str, int]], width: int) -> list[str]:
    """Return one line for each (label, value), with a bar; none is longer than `width` allows.

    The longest bar takes what labels and values leave, at least one column;
    a value above 0 always shows.

    >>> plotted([("soft", 4), ("none", 1)], 11)
    ['soft ████ 4', 'none █ 1']
    """
    if not bars:
        return []
    labels = max(len(label) for label, _ in bars)
    values = max(len(str(value)) for _, value in bars)
    room = min(max(width - labels - values - 2, _MIN_CHARS), _MAX_CHARS)
    most = max(value for _, value in bars)
    return [f"{label:<{labels}} {_bar(value, most, room)}{value}" for label, value in bars]


def _bar(value: int, most: int, room: int) -> str:
    if not value:
        return ""
    eighths = max(8 * room * value // most, 1)
    return f"{_FULL * (eighths // 8)}{_PARTS[eighths % 8].strip()} "


_AGREED = "agreed"


class Metrics(Record):
    """The figures over all minutes, by procedure too, and the files that were passed over.

    `usage` is what each agent has used in them, as far as it is known (CL-002).
    """

    whole: Figures
    procedures: dict[str, Figures]
    skipped: list[tuple[str, str]]
    usage: dict[str, Usage] = {}

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `metrics --json`."""
        return {
            **self.whole.to_record(),
            "procedures": {name: one.to_record() for name, one in self.procedures.items()},
            "used": used_record(self.usage),
            "skipped": [{"path": path, "reason": reason} for path, reason in self.skipped],
        }

    def to_text(self, width: int = 80) -> str:
        """Return the figures for people, with plots of outcomes and of rounds to consensus.

        Args:
            width: How many columns there are.
        """
        parts = [_told(name, one, width) for name, one in self.procedures.items()]
        if not parts:
            parts.append("no minutes yet; they come with the first finished conversation")
        if self.usage:
            longest = max(map(len, self.usage))
            lines = [f"used: {used_words(together(self.usage), 'en')}"]
            lines += [
                f"  {who:<{longest}}  {used_words(one, 'en')}" for who, one in self.usage.items()
            ]
            parts.append("\n".join(lines))
        if self.skipped:
            lines = [f"passed over: {len(self.skipped)}"]
            lines += [f"  {path}: {reason}" for path, reason in self.skipped]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)


def metrics(place: Place) -> Metrics:
    """Gather the figures over all minutes of a workspace."""
    outcomes: list[Outcome] = []
    skipped: list[tuple[str, str]] = []
    usage: dict[str, Usage] = {}
    for path in minutes_files(place.paths):
        try:
            outcomes.append(_outcome(path))
        except CouncilError as error:
            reason = error.message.removeprefix(f"{path} ")
            skipped.append((os.path.relpath(path, place.root), reason))
    for agent, used in (pair for one in outcomes for pair in one.usage.items()):
        usage[agent] = usage.get(agent, Usage()).plus(used)
    return Metrics(
        usage=dict(sorted(usage.items())),
        whole=figures(outcomes),
        procedures={
            name: figures(one for one in outcomes if one.procedure == name)
            for name in PROCEDURES
            if any(one.procedure == name for one in outcomes)
        },
        skipped=skipped,
    )


def _outcome(path: str) -> Outcome:
    """Return what one file of minutes says.

    Raises:
        InvalidStateError: It is no minutes, or what it keeps cannot be read.
        CouncilError: It cannot be read at all.
    """
    state = archived_at(path)
    front = facts(path)
    if state.finished_at is None:
        raise InvalidStateError("the conversation in it is not finished", "name other minutes")
    if any(map(is_rehearser, state.participants)):
        raise InvalidStateError("it was a rehearsal", "name other minutes")
    outcome = outcome_in(state)
    outcome.ratings = ratings_in(front)
    if PROCEDURES[state.procedure].verdict == "stances":
        diversity, flips = front.get("diversity"), front.get("flips")
        if not isinstance(diversity, int | float) or not isinstance(flips, int):
            judged = judge(state)
            diversity, flips = judged.diversity, len(judged.flips)
        outcome.diversity, outcome.flips = float(diversity), flips
    return outcome


def _told(name: str, one: Figures, width: int) -> str:
    """Return the figures of one procedure, with its plots."""
    facts = [
        ("convergence rate", _share(one.convergence_rate)),
        ("mean rounds to consensus", _number(one.mean_rounds)),
        ("diversity of final positions", _number(one.diversity)),
        ("rating", f"{_number(one.rating)} ({len(one.ratings)} given)" if one.ratings else "–"),
        ("changes of mind", str(one.flips) if one.diversities else "–"),
        ("turns missed", str(one.absences)),
    ]
    facts += [
        (f"mean time in {phase}", _span(mean(spans))) for phase, spans in one.phase_seconds.items()
    ]
    longest = max(len(label) for label, _ in facts)
    lines = [f"{name}: {one.complete} complete, {one.cancelled} cancelled"]
    lines += [f"  {label:<{longest}}  {value}" for label, value in facts]
    kinds = [kind for kind in (_AGREED, *VERDICTS, CANCELLED) if kind in one.consensus]
    outcomes = [(kind, one.consensus[kind]) for kind in kinds]
    rounds = [(str(number), times) for number, times in one.rounds.items()]
    for title, bars in (("outcomes", outcomes), ("rounds to consensus", rounds)):
        if bars:
            lines += ["", f"  {title}", *(f"  {line}" for line in plotted(bars, width - 2))]
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _span(seconds: float | None) -> str:
    return "–" if seconds is None else render_duration(timedelta(seconds=seconds))


class Rated(Record):
    """The minutes that were rated and all ratings they have now."""

    path: str
    stars: int
    ratings: list[int]

    @property
    def mean(self) -> float:
        """Return the mean of all ratings."""
        return sum(self.ratings) / len(self.ratings)

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `rate --json`."""
        return {**self.as_json("path stars ratings"), "mean": round(self.mean, 4)}


def rate(place: Place, name: str, stars: int, rater: str) -> Rated:
    """Add the rating of a person, 1 to 5, to minutes: by name, slug, path, id or part of a title.

    `active` are the newest. The case of a name does not matter (OP-017). An earlier rating
    of the same person gives way.

    Raises:
        UsageError: Not a whole number from 1 to 5.
        NotFoundError: There are no such minutes.
        RefusedError: A path leads out of the folder of the minutes.
        InvalidInputError: The name of the person holds signs that front matter cannot hold.
        InvalidStateError: The file has no front matter that could hold it.
    """
    if not rater.isprintable():
        raise InvalidInputError(f"nobody can be called {rater!r}", "give --as a name of one line")
    if not is_rating(stars):
        raise UsageError(
            f"{stars} is not a rating", f"give whole stars from {STARS[0]} to {STARS[-1]}"
        )
    place.begin_writing()
    named = folded(name)
    found = find_minutes_of(place, named if is_conversation_name(named) else name)
    ratings = add_rating(place.paths, found.path, stars, rater)
    return Rated(path=found.path, stars=stars, ratings=ratings)
