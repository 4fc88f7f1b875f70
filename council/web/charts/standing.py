"""How near a verdict is, who stands how to whom, and what blocks: meter, matrix, statuses.

Source: DL-045, DL-073, DL-074, C0-010.
"""

from __future__ import annotations

from markupsafe import Markup

from council.core.conversations.conversation import ParticipantStatus
from council.core.deliberation.consensus import ABSENT
from council.core.record import Record
from council.web.charts.drawing import figure
from council.web.charts.facts import LANES, Column, Facts, line_of


def meter(facts: Facts) -> Markup:
    """Return how many agree, and how many are needed: the facts of `show --consensus`.

    Source: DL-045, DL-074.
    """
    stands = facts.record["consensus"]
    is_judged = stands["judged"]
    on = "meter.on" if stands["reached"] else "meter.most"
    has_reference = is_judged and stands["agree"]
    return figure(
        "meter",
        facts,
        kind=stands["type"] if is_judged else "unjudged",
        on=facts.say(on, who=facts.name(stands["reference"])) if has_reference else "",
        stands=stands,
        agents=sorted(stands["towards"], key=lambda one: LANES.index(stands["towards"][one])),
    )


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
