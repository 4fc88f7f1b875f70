"""Flips: who changed its mind, towards whom, and whether it said why.

Research on conformity is why this is written down: agents give up right
answers because others said something else. A flip is no fault; one without a
cited reason, and a collapse, in which all move to the majority in one round,
are worth a warning. A new stance to a peer that has moved itself is an answer
to that, and worth none. No verdict depends on any of this.

Source: DL-098, DL-097, `peers.md`.
"""

from __future__ import annotations

from council.core.deliberation.consensus import AGREE, standing
from council.core.deliberation.measures import likeness, same_position, tally
from council.core.deliberation.played import stances_until, stated
from council.core.reading_answers.names import Names
from council.core.reading_answers.structure import own_lines
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from council.core.deliberation.played import Played
    from council.core.reading_answers.turns import Turn

STANCE = "stance"
POSITION = "position"

# Below this two positions of one agent are taken for two different ones.
SAME_POSITION = 0.5

# A shorter name is cited by @name alone: agent `a` is not meant by every article.
_NAME_MIN_CHARS = 3
_JOINTS = frozenset("-_")


class Flip(Record):
    """One change of mind.

    `kind` is `stance` or `position`. `towards` is the peer a stance is about,
    "" for a position. `cites` are the peers named in what the agent said in
    that round, in its own words. `reasoned`: a stance flip has a comment, or
    the position or reasoning names that peer; a position flip names anybody.
    `peer_moved`: the peer a stance is about had itself another position than
    when the stance before was stated.
    """

    tour: int
    agent: str
    kind: str
    towards: str = ""
    before: str
    after: str
    cites: tuple[str, ...] = ()
    reasoned: bool = False
    peer_moved: bool = False

    @property
    def is_suspect(self) -> bool:
        """Tell whether nothing that was said explains the change."""
        return not (self.reasoned or self.peer_moved)


class _Change(Record):
    """One change of mind, before it is known what was said about it."""

    towards: str = ""
    before: str
    after: str
    peer_moved: bool = False


class _Stated(Record):
    """The latest stance to a peer, and the position of that peer it was about."""

    stance: str
    position: str


def flips(
    history: Sequence[Played],
    names: Mapping[str, str],
    *,
    pseudonyms: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Flip]:
    """Return every change of a stance or a position, in the order in which they happened.

    Args:
        history: The rounds played, oldest first.
        names: Every word that stands for somebody (a display name), and the
            agent it stands for. Ids need not be in it.
        pseudonyms: For each author the further words that stand for somebody
            in its texts alone.
    """
    everybody = {agent: agent for played in history for agent in played.turns}
    known = {**everybody, **names}
    citations = {
        author: _Citations({**known, **(pseudonyms or {}).get(author, {})}) for author in everybody
    }
    stances: dict[str, dict[str, _Stated]] = {}
    positions: dict[str, str] = {}
    found: list[Flip] = []
    for played in history:
        now = stated(played)
        is_hidden = played.blind or played.vote
        seen = dict(positions) if is_hidden else positions
        for agent, turn in played.turns.items():
            latest = stances.setdefault(agent, {})
            changes = _position_change(positions, agent, turn.position)
            changes += _stance_changes(latest, now.get(agent, {}), seen)
            if changes:
                found += _told(played.tour, agent, turn, changes, citations[agent])
    return found


def _position_change(positions: dict[str, str], agent: str, after: str) -> list[_Change]:
    """Return the change of the position of `agent`, if it is one. Changes `positions`."""
    before = positions.get(agent, "")
    positions[agent] = after or before
    return [_Change(before=before, after=after)] if _has_moved(before, after) else []


def _has_moved(before: str, after: str) -> bool:
    return bool(before and after) and likeness(before, after) < SAME_POSITION


def _stance_changes(
    latest: dict[str, _Stated], now: Mapping[str, str], seen: Mapping[str, str]
) -> list[_Change]:
    """Return which of the stances stated now are others than the latest. Changes `latest`.

    `seen` are the positions that were to be seen when they were stated.
    """
    changes = [
        _Change(
            towards=other,
            before=latest[other].stance,
            after=stance,
            peer_moved=_has_moved(latest[other].position, seen.get(other, "")),
        )
        for other, stance in now.items()
        if other in latest and latest[other].stance != stance
    ]
    for other, stance in now.items():
        latest[other] = _Stated(stance=stance, position=seen.get(other, ""))
    return changes


def _told(
    tour: int, agent: str, turn: Turn, changes: list[_Change], citations: _Citations
) -> Iterator[Flip]:
    """Yield the changes of one turn with what the turn says about them."""
    reasons = citations.named_in(turn.position, turn.reasoning)
    commented = {one.agent: one.comment for one in turn.responses if one.comment.strip()}
    cites = tuple(
        other
        for other in dict.fromkeys([*reasons, *citations.named_in(*commented.values())])
        if other != agent
    )
    for one in changes:
        towards = one.towards
        yield Flip(
            tour=tour,
            agent=agent,
            kind=STANCE if towards else POSITION,
            towards=towards,
            before=one.before,
            after=one.after,
            cites=cites,
            reasoned=(towards in commented or towards in reasons) if towards else bool(cites),
            peer_moved=one.peer_moved,
        )


class _Citations:
    """Finds who is named in a text, by `@name` or by the name as a word of its own."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._any = Names(names.items())
        self._plain = Names(
            (name, agent) for name, agent in names.items() if len(name) >= _NAME_MIN_CHARS
        )

    def named_in(self, *texts: str) -> list[str]:
        """Return who is named outside quotations, in the order of their first mention."""
        return list(dict.fromkeys(agent for text in texts for agent in self._named(text)))

    def _named(self, text: str) -> Iterator[str]:
        for line, is_own in own_lines(text):
            before = " "
            for at, letter in enumerate(line if is_own else ""):
                if letter.isalnum() and not before.isalnum() and before not in _JOINTS:
                    agent = (self._any if before == "@" else self._plain).at(line, at)
                    if agent:
                        yield agent
                before = letter


def collapses(history: Sequence[Played], agents: Sequence[str], *, floor: int = 0) -> list[int]:
    """Return the rounds in which all who stood apart went over to the others at once.

    By stances: two or more agents that did not agree with the reference of the
    round before now do, and nobody is left who does not. By positions: two or
    more whose position was not that of the largest group of the blind round
    now take it word for word, and nobody is left outside.

    Args:
        history: The rounds played, oldest first.
        agents: Who counts, in list order.
        floor: The confidence below which an agent counts as absent.
    """
    rounds = {
        *_collapses_of_stances(history, agents, floor),
        *_collapses_of_positions(history, agents),
    }
    return sorted(rounds)


def _collapses_of_stances(
    history: Sequence[Played], agents: Sequence[str], floor: int
) -> Iterator[int]:
    for number in range(1, len(history)):
        before = history[:number]
        reference = standing(agents, before, floor=floor).reference
        apart = _apart_from(reference, agents, before)
        if len(apart) >= 2 and not _apart_from(reference, agents, history[: number + 1]):
            yield history[number].tour


def _apart_from(reference: str, agents: Sequence[str], history: Sequence[Played]) -> list[str]:
    """Return the agents whose latest stance to the reference is another than agree."""
    stances = stances_until(history)
    latest = {one: stances.get(one, {}).get(reference, AGREE) for one in agents}
    return [one for one, stance in latest.items() if stance != AGREE]


def _collapses_of_positions(history: Sequence[Played], agents: Sequence[str]) -> Iterator[int]:
    said: dict[str, str] = {}
    majority = ""
    for played in history:
        apart = [agent for agent, position in said.items() if position != majority]
        for agent in agents:
            turn = played.turns.get(agent)
            position = same_position(turn.position) if turn else ""
            if position:
                said[agent] = position
        if not majority:
            majority = _majority(said) if played.blind else ""
        elif len(apart) >= 2 and all(position == majority for position in said.values()):
            yield played.tour


def _majority(positions: Mapping[str, str]) -> str:
    """Return the position of the largest group, "" when two groups are equally large."""
    groups = tally(positions)
    if not groups or [len(group.agents) for group in groups[1:2]] == [len(groups[0].agents)]:
        return ""
    return same_position(groups[0].position)
