"""How sure each is, what each held before and after, and how much each said.

Source: DL-083, DL-097, DL-102.
"""

from __future__ import annotations

from markupsafe import Markup

from council.core.deliberation.played import dominating
from council.core.reading_answers.structure import word_count
from council.web.charts.drawing import figure
from council.web.charts.facts import Facts

CONFIDENCE_MAX = 5


def confidence(facts: Facts) -> Markup:
    """Return the confidence that each agent stated, round by round, from 1 to 5.

    Source: DL-102.
    """
    stated = {
        agent: [
            (column, min((turn or {}).get("confidence") or 0, CONFIDENCE_MAX))
            for column in facts.columns
            for turn in (facts.turns.get((column.tour, agent)),)
            if turn or column.closed
        ]
        for agent in facts.agents
    }
    return figure("confidence", facts, stated=stated)


def tallies(facts: Facts) -> Markup:
    """Return the positions of the blind first round beside the final ones.

    Where there was no blind round, or it is not over, that is said in its place.

    Source: DL-097.
    """
    found, ended = facts.record["tallies"], any(one.closed for one in facts.columns)
    waits = bool(facts.record["sealed"]) and not ended
    none = "blind.none" if found["blind"] is not None else "sealed" if waits else "no-blind"
    final = "final" if facts.record.get("finishedAt") else "so-far"
    sides = [("blind", found["blind"], none), (final, found["final"], "final.none")]
    return figure("tallies", facts, sides=sides)


def words_said(facts: Facts) -> Markup:
    """Return how many words each agent said, answer by answer, and who said more than its share.

    Source: DL-083.
    """
    said: dict[str, list[tuple[str, int]]] = {
        agent: [
            (column.said, word_count(turn["text"]))
            for column in facts.columns
            if (turn := facts.turns.get((column.tour, agent)))
        ]
        for agent in facts.agents
    }
    counts = {agent: sum(count for _, count in answers) for agent, answers in said.items()}
    factor = (facts.record.get("config") or {}).get("domination")
    return figure(
        "words",
        facts,
        said=said,
        counts=counts,
        most=max(counts.values(), default=0),
        whole=sum(counts.values()),
        above=dominating(counts, **({"factor": factor} if factor else {})),
    )
