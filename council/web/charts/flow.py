"""Stance flow: a line for each agent through the rounds, those of one mind beside each other.

In each round the agents stand in groups: those that agree with the reference, those that do in
part, those that do not, those without a stance that counts; in a blind round also those that
said the same words. Their order changes only with their group, so lines cross where somebody
turned. What happened at each dot is said in words, on it and in the table below.

Source: DL-073, DL-098.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from council.core.deliberation.consensus import AGREE
from council.core.record import Any, Record
from council.web.charts.drawing import figure
from council.web.charts.facts import LANES, Column, Facts, Json, line_of

# Of the picture, in pixels: a row for an agent, what stands above each group, and a name.
_ROW, _HEAD, _NAME = 26, 20, 18
# With more dots than this only those at which something happened take part in moving by Tab.
_ALL_IN_TAB_ORDER = 60


class Dot(Record):
    """One agent in one round: its place in the picture, and all that is told of it.

    `shape` is `held`, `flip`, `suspect` or `missed`; `x` is in hundredths of the width.
    """

    column: Column
    agent: str
    lane: str
    x: float
    y: float = 0.0
    shape: str = "held"
    told: list[str] = []
    in_tab_order: bool = True


def flow(facts: Facts) -> Markup:
    """Return the lines of all agents through the rounds, and the same as a table.

    Each flip of the record is told at the dot of its round; one that nothing explains is
    hatched.

    Source: DL-098.
    """
    groups, lines, height = _placed(facts)
    dots = [dot for line in lines.values() for dot in line]
    for line in lines.values():
        for dot in line:
            _tell(facts, dot)
            busy = dot.shape != "held" or dot in (line[0], line[-1])
            dot.in_tab_order = busy or len(dots) <= _ALL_IN_TAB_ORDER
    return figure(
        "flow",
        facts,
        groups=groups,
        lines=lines,
        ends=_ends(lines),
        height=height,
        row=_ROW,
        step=100 / max(len(facts.columns), 1),
        table={(dot.agent, dot.column.tour): dot for dot in dots},
        has={dot.shape for dot in dots},
        extent="many" if len(facts.columns) > 12 else "some" if len(facts.columns) > 5 else "few",
    )


def _placed(facts: Facts) -> tuple[list[dict[str, Any]], dict[str, list[Dot]], float]:
    """Return the groups of all rounds, the dots of each agent, and how high the picture is."""
    groups: list[dict[str, Any]] = []
    lines: dict[str, list[Dot]] = {agent: [] for agent in facts.agents}
    before = list(facts.agents)
    height = 0.0
    for number, (column, lanes) in enumerate(zip(facts.columns, facts.lanes(), strict=True)):
        x = round(100 * (number + 0.5) / len(facts.columns), 3)
        y = 0.0
        placed: list[str] = []
        for (lane, _), agents in _grouped(facts, column, lanes, before).items():
            tall = _HEAD + _ROW * len(agents)
            groups.append({"x": x, "y": y, "lane": lane, "height": tall})
            for n, agent in enumerate(agents):
                at = y + _HEAD + _ROW * (n + 0.5) - 2
                lines[agent].append(Dot(column=column, agent=agent, lane=lane, x=x, y=at))
            y += tall + 4
            placed += agents
        before = placed + [one for one in before if one not in placed]
        height = max(height, y)
    return groups, {agent: line for agent, line in lines.items() if line}, height


def _ends(lines: dict[str, list[Dot]]) -> list[tuple[str, float, bool]]:
    """Return each agent with where its name stands at the right, no two on each other.

    Names stand beside the dots of the last round; below them those of agents that were not heard
    in it yet, marked by True.
    """
    last = max((line[-1].x for line in lines.values()), default=0)
    now = {agent: line[-1].y for agent, line in lines.items() if line[-1].x == last}
    below = max(now.values(), default=-_NAME)
    later = [agent for agent in lines if agent not in now]
    return [(agent, y, False) for agent, y in now.items()] + [
        (agent, below + _NAME * (n + 1.5), True) for n, agent in enumerate(later)
    ]


def _grouped(
    facts: Facts, column: Column, lanes: Mapping[str, str], before: list[str]
) -> dict[tuple[str, str], list[str]]:
    """Return the agents of each group of one round, from the top down, in their order before."""
    keys = {}
    for agent in before:
        if agent in lanes:
            own = facts.position(column, agent) if column.blind and lanes[agent] != AGREE else ""
            keys[agent] = (lanes[agent], own)
    order = list(dict.fromkeys(keys.values()))
    order.sort(key=lambda key: LANES.index(key[0]))
    return {key: [one for one, its in keys.items() if its == key] for key in order}


def _tell(facts: Facts, dot: Dot) -> None:
    """Say what an agent did in a round, and give its dot the shape of that."""
    flips = facts.flips.get((dot.column.tour, dot.agent), [])
    dot.told = [_stood(facts, dot), *(", ".join(_turned(facts, one)) for one in flips)]
    if flips:
        cites = flips[0]["cites"]  # those of the whole turn
        key = "flow.cites" if cites else "flow.cites.none"
        dot.told.insert(1, facts.say(key, who=facts.names(cites)))
        dot.shape = "flip" if all(map(_is_explained, flips)) else "suspect"
    elif (dot.column.tour, dot.agent) not in facts.turns:
        dot.shape = "missed"


def _is_explained(flip: Json) -> bool:
    return bool(flip["reasoned"] or flip["peerMoved"])


def _stood(facts: Facts, dot: Dot) -> str:
    column, agent, who = dot.column, dot.agent, facts.name(facts.reference)
    if (column.tour, agent) not in facts.turns:
        return facts.say("flow.missed", why=line_of(column.absent.get(agent, "–")))
    if column.blind:
        mine = facts.position(column, agent)
        others = [
            one for one in facts.agents if one != agent and mine == facts.position(column, one)
        ]
        return facts.say(
            "flow.together" if mine and others else "flow.own", others=facts.names(others)
        )
    if agent == facts.reference:
        return facts.say("flow.self")
    kind = "contested" if (column.tour, agent) in facts.contested else dot.lane
    return facts.say(f"flow.said.{kind}", who=who)


def _turned(facts: Facts, flip: Json) -> Iterator[str]:
    """Yield what a flip was, and what explains it or that nothing does."""
    kind, to = flip["kind"], facts.name(flip["towards"])
    is_stance = kind == "stance"
    before, after = (
        facts.words[f"word.{flip[key]}"] if is_stance else line_of(flip[key], 60)
        for key in ("before", "after")
    )
    yield facts.say(f"flow.flip.{kind}", to=to, before=before, after=after)
    if flip["peerMoved"]:
        yield facts.say(f"flow.moved.{kind}", to=to)
    if not _is_explained(flip):
        yield facts.say("flow.suspect")
