"""How near a verdict is, who stands how to whom, and what blocks: meter, matrix, statuses.

Source: DL-045, DL-073, DL-074, C0-010.
"""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup

from council.core.conversations.conversation import ParticipantStatus
from council.core.conversations.procedures import SYNTHESIZE
from council.core.deliberation.consensus import ABSENT, AGREE, DISAGREE, PARTIAL
from council.core.record import Any, Record
from council.web.charts.drawing import figure
from council.web.charts.facts import Column, Facts, Json, line_of

_ORDER = (AGREE, PARTIAL, DISAGREE, ABSENT)
_STATUS_KINDS: dict[str, str] = {
    ParticipantStatus.AGREED: AGREE,
    ParticipantStatus.RESPONDED: PARTIAL,
}


def meter(facts: Facts) -> Markup:
    """Return how many agree, and how many are needed: the facts of `show --consensus`.

    Source: DL-045, DL-074.
    """
    stands = facts.record["consensus"]
    if "towards" in stands:
        return figure("meter", facts, **_of_stances(facts, stands))
    return figure("meter", facts, **_of_statuses(facts, stands))


def _of_stances(facts: Facts, stands: Json) -> dict[str, Any]:
    towards, contested, judged = stands["towards"], stands["contested"], stands["judged"]
    asides = {PARTIAL: ("contested",), ABSENT: ("silent", "unreadable")}
    on = facts.say(
        "meter.on" if stands["reached"] else "meter.most", who=facts.name(stands["reference"])
    )
    return {
        "kind": stands["type"] if judged else "unjudged",
        "on": on if judged and stands["agree"] else "",
        "cells": _cells(facts, towards, {**towards, **dict.fromkeys(contested, "contested")}),
        "reference": stands["reference"] if judged else "",
        "contested": contested,
        "counts": [
            {
                "kind": kind,
                "count": stands[kind],
                "said": facts.say(f"meter.{kind}", count=stands[kind]),
                "asides": [
                    facts.say(f"meter.{aside}", who=facts.names(stands[aside]))
                    for aside in asides.get(kind, ())
                    if stands[aside]
                ],
            }
            for kind in _ORDER
        ],
        "threshold": stands["threshold"],
    }


def _cells(facts: Facts, kinds: Json, said: Json) -> list[dict[str, str]]:
    """Return the cells of the meter, those that agree first; `said` is the word for each."""
    return [
        {"agent": agent, "kind": kinds[agent], "said": facts.words[f"stance.{said[agent]}"]}
        for agent in sorted(kinds, key=lambda one: _ORDER.index(kinds[one]))
    ]


def _of_statuses(facts: Facts, stands: Json) -> dict[str, Any]:
    """Return the same of a council: all that have not left are to agree, and nothing blocks."""
    statuses = {agent: one["status"] for agent, one in facts.record["participants"].items()}
    if facts.record["currentPhase"] == SYNTHESIZE:  # all wait again, and none is asked for more
        last = {agent: turn["status"] for (_, agent), turn in facts.turns.items()}
        statuses |= {agent: status for agent, status in last.items() if status}
    kinds = {agent: _STATUS_KINDS.get(status, ABSENT) for agent, status in statuses.items()}
    counts = Counter(kinds.values())
    blocking = stands["blockingIssues"]
    said = {AGREE: "meter.agree", PARTIAL: "meter.answered", ABSENT: "meter.out"}
    return {
        "kind": "agreed" if stands["hasConsensus"] else "blocked" if blocking else "none",
        "on": facts.say("meter.blockers", count=len(blocking)) if blocking else "",
        "cells": _cells(facts, kinds, statuses),
        "reference": "",
        "contested": [],
        "counts": [
            {
                "kind": kind,
                "count": counts[kind],
                "said": facts.say(key, count=counts[kind]),
                "asides": [],
            }
            for kind, key in said.items()
        ],
        "threshold": sum(one != ParticipantStatus.DONE for one in statuses.values()),
    }


def matrix(facts: Facts) -> Markup:
    """Return a table of who stands how to whom now, and one for each round.

    Source: DL-073, DL-044.
    """
    latest = [known for _, known in facts.latest()]
    stated = [(column, facts.stated(column)) for column in facts.columns]
    rounds = [(column, given) for column, given in stated if given or column.blind]
    return figure("matrix", facts, now=latest[-1] if latest else {}, rounds=rounds)


def statuses(facts: Facts) -> Markup:
    """Return a table of the status of each agent by the end of each round.

    Source: C0-010, DL-073.
    """
    rows = {
        agent: {column.tour: _status(facts, column, agent) for column in facts.columns}
        for agent in facts.agents
    }
    return figure("statuses", facts, rows=rows)


def _status(facts: Facts, column: Column, agent: str) -> tuple[str, str]:
    """Return how an agent stood by the end of a round, as a mark and in words."""
    turn, now = facts.turns.get((column.tour, agent)), facts.record["participants"][agent]
    if turn is None and agent in column.absent:
        return ABSENT, facts.say("stance.missed", why=line_of(column.absent[agent]))
    if turn is not None:
        status = turn.get("status") or ParticipantStatus.RESPONDED
    elif column.closed:
        has_left = now["status"] == ParticipantStatus.DONE
        status = ParticipantStatus.DONE if has_left else ParticipantStatus.WAITING
    elif now.get("sealed"):
        return str(ParticipantStatus.RESPONDED), facts.words["stance.sealed"]
    else:
        status = now["status"]
    return str(status), facts.words[f"stance.{status}"]


class _Issue(Record):
    """An issue: by whom and when it was raised, who upholds it, when one last withdrew it."""

    issue: str
    raised: list[tuple[str, int]] = []
    upheld: list[str] = []
    withdrawn: int = 0


def blockers(facts: Facts) -> Markup:
    """Return the issues that were raised as blocking: by whom and when, and what became of them.

    One is resolved when each that raised it has agreed since; that is the last word of the
    record, which a person may have changed as well.

    Source: C0-012, C0-018.
    """
    still = facts.record["convergence"]["blockingIssues"]
    found = {issue: _Issue(issue=issue) for issue in still}
    for entry in facts.record["ledger"]:
        agent, tour = entry["agent"], entry["tour"]
        if entry["status"] == ParticipantStatus.AGREED:
            for one in found.values():
                if agent in one.upheld:
                    one.upheld.remove(agent)
                    one.withdrawn = tour
        for issue in entry["blocking"]:
            one = found.setdefault(issue, _Issue(issue=issue))
            one.raised.append((agent, tour))
            one.upheld.append(agent)
    said = {column.tour: column.said for column in facts.columns}
    return figure("blockers", facts, issues=list(found.values()), still=still, said=said)
