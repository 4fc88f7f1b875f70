"""What the pictures of a conversation are drawn from: its JSON, by agent and by round.

Nothing is judged here: verdicts, flips and tallies are those of the record. What is read out
of the turns is which stance each agent had stated to whom by when, as in the rules.

Source: DL-073, DL-074, DL-097, DL-098.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from council.core.conversations.procedures import SYNTHESIZE, VOTE
from council.core.deliberation.consensus import ABSENT, AGREE, DISAGREE, PARTIAL
from council.core.deliberation.likeness import same_position
from council.core.plain_text import plain_line, shortened
from council.core.reasons import read_reason
from council.core.record import Any, Record
from council.core.reporting.sentences import filled
from council.store.reason_words import reason_words
from council.web.markdown import without_towers

Words = Mapping[str, str]
Json = Mapping[str, Any]

LANES = (AGREE, PARTIAL, DISAGREE, ABSENT)
NAME_MAX_CHARS = 24
SAID_MAX_CHARS = 90
_NUMBERED = re.compile(r"(\w).*?(\d{1,2})$")


def line_of(text: object, max_chars: int = SAID_MAX_CHARS) -> str:
    """Return what somebody wrote as one short line that draws over nothing."""
    beginning = str(text)[: 8 * max_chars]  # of a flood of blanks nothing else is seen
    return without_towers(shortened(plain_line(beginning), max_chars))


class Face(Record):
    """An agent as pictures show it: the whole name, the name cut, and a sign of its own."""

    whole: str
    name: str
    sign: str
    is_emoji: bool


class Column(Record):
    """One round: its number in the record, how it is headed, and what kind it is.

    `said` is how a sentence names it. `verdict` is what was found as it closed, {} before.
    """

    tour: int
    head: str
    said: str
    phase: str
    blind: bool
    closed: bool
    collapse: bool
    absent: dict[str, str]
    verdict: dict[str, Any]


class Facts:
    """One conversation, read once for a picture; `words` are those of its reader."""

    def __init__(self, record: Json, words: Words) -> None:
        self.record = record
        self.words = words
        self.agents = _faces(record["participants"])
        self.columns = list(self._columns())
        self.turns: dict[tuple[int, str], Json] = {
            (one["tour"], one["agent"]): one
            for one in record.get("contributions", [])
            if one["kind"] == "contribution" and one["agent"] in self.agents
        }
        self.flips: dict[tuple[int, str], list[Json]] = {}
        for one in record.get("flips", []):
            self.flips.setdefault((one["tour"], one["agent"]), []).append(one)

        self.contested: set[tuple[int, str]] = set()

    def say(self, key: str, **values: object) -> str:
        """Return a sentence of `charts.txt` with its fields; `KEY.one` where `count` is 1."""
        if values.get("count") == 1 and f"{key}.one" in self.words:
            key = f"{key}.one"
        return filled(self.words[key], {name: str(value) for name, value in values.items()})

    def name(self, agent: str) -> str:
        """Return the name of an agent; of one that takes no part, its id."""
        return self.agents[agent].name if agent in self.agents else line_of(agent, NAME_MAX_CHARS)

    def names(self, agents: Any) -> str:
        """Return the names of several agents in one line."""
        return ", ".join(map(self.name, agents))

    def _columns(self) -> Iterator[Column]:
        blind = bool(self.record.get("sealed"))
        number = 0
        for one in self.record.get("rounds", []):
            phase = one["phase"]
            if phase == SYNTHESIZE:
                continue
            number += phase != VOTE
            kind = "vote" if phase == VOTE else "round"
            yield Column(
                tour=one["tour"],
                head=self.say(f"{kind}.head", number=number),
                said=self.say(kind, number=number),
                phase=phase,
                blind=blind and number == 1 and phase != VOTE,
                closed=bool(one.get("endedAt")),
                collapse=one["tour"] in self.record.get("collapses", []),
                absent={
                    agent: reason_words(read_reason(why), str(self.record.get("lang", "en")))
                    for agent, why in one.get("absent", {}).items()
                },
                verdict=one.get("verdict", {}),
            )

    def stated(self, column: Column) -> dict[str, dict[str, str]]:
        """Return the stances stated in one round; in a blind one none counts."""
        return {
            agent: found
            for agent in self.agents
            if (turn := self.turns.get((column.tour, agent)))
            and not column.blind
            and (
                found := {
                    one["agentId"]: one["stance"]
                    for one in turn.get("responses", [])
                    if one["agentId"] in self.agents and one["agentId"] != agent
                }
            )
        }

    def latest(self) -> Iterator[tuple[Column, dict[str, dict[str, str]]]]:
        """Yield each round with the latest stance of each to each by its end."""
        known: dict[str, dict[str, str]] = {agent: {} for agent in self.agents}
        for column in self.columns:
            for agent, found in self.stated(column).items():
                known[agent] = {**known[agent], **found}
            yield column, dict(known)

    def lanes(self) -> list[dict[str, str]]:
        """Return for each round how each agent stood to the reference, by its end.

        Who agreed with a reference that disagreed is partial, and noted as `contested`.

        That is `agree`, `partial`, `disagree` or `absent`, as the verdict of the round counts it
        where that was about the same reference; an agent that may yet speak in the round is not
        there.
        """
        reference = self.reference
        floor = (self.record.get("config") or {}).get("confidenceFloor", 0)
        found: list[dict[str, str]] = []
        sure: dict[str, int] = {}
        for column, known in self.latest():
            judged = column.verdict if column.verdict.get("reference") == reference else {}
            lanes: dict[str, str] = {}
            for agent in self.agents:
                turn = self.turns.get((column.tour, agent))
                if turn is None and not column.closed:
                    continue
                sure[agent] = (turn or {}).get("confidence") or sure.get(agent, 0)
                stance = known[agent].get(reference, ABSENT)
                if turn is None or sure[agent] < floor:
                    stance = ABSENT
                elif agent == reference or self._shares(column, agent):
                    stance = AGREE
                elif stance == AGREE and known.get(reference, {}).get(agent) == DISAGREE:
                    stance = PARTIAL  # contested
                lanes[agent] = judged.get("towards", {}).get(agent, stance)
                if column.blind and self._shares(column, agent):
                    lanes[agent] = AGREE
                if lanes[agent] == PARTIAL and known[agent].get(reference) == AGREE:
                    self.contested.add((column.tour, agent))
            found.append(lanes)
        return found

    @property
    def reference(self) -> str:
        """Return whose position is judged, "" while none is."""
        return str(self.record.get("verdict", {}).get("reference", ""))

    def position(self, column: Column, agent: str) -> str:
        """Return a position in the form in which equal ones are equal, "" for none."""
        turn = self.turns.get((column.tour, agent))
        return same_position(turn.get("position") or "") if turn else ""

    def _shares(self, column: Column, agent: str) -> bool:
        """Return true if an agent held the position of the reference before it had seen it."""
        mine = self.position(column, agent)
        return column.blind and bool(mine) and mine == self.position(column, self.reference)


def _faces(participants: Json) -> dict[str, Face]:
    """Return the agents by id; an emoji that two have is the sign of none of them."""
    emojis = [one.get("emoji") or "" for one in participants.values()]
    faces = {}
    for id, one in participants.items():
        whole = line_of(one.get("name") or id, 200)
        emoji = one.get("emoji") or ""
        is_emoji = bool(emoji) and emojis.count(emoji) == 1
        found = _NUMBERED.match(whole)
        letters = f"{found[1]}{found[2]}" if found else whole[:2]
        faces[id] = Face(
            whole=whole,
            name=shortened(whole, NAME_MAX_CHARS),
            sign=line_of(emoji, 8) if is_emoji else letters,
            is_emoji=is_emoji,
        )
    return faces
