"""The ways to deliberate, as a table.

A procedure is a row: its phases in order. A phase is six values: order of
speaking, sight, maximum rounds, who speaks, what ends it early, and (from the
conversation) its time limit. The machine reads the row and knows no procedure
by name.

Who speaks in which place of a round follows from one of four orders. A shuffle
is derived from its seed and never stored, so the same conversation and round
give the same order on every machine. `Rules` are what may be chosen of a
procedure that is judged by stances.

Source: C0-005, C0-006, C0-061, C0-064, C0-075, DL-021, DL-025, XC-104, `architecture.md` section
1, XC-004, DG-064, DL-022, DL-042, DL-082, DL-083, DL-095, DL-099 to DL-102, A-82, A-88.
"""

from __future__ import annotations

from collections.abc import Sequence

from council.core.errors import UsageError
from council.core.ids import sha256_hex
from council.core.record import Any, Positive, Record

MODES = ("debate", "prd", "analysis", "review", "synthesis")
VOTE = "VOTE"
SYNTHESIZE = "SYNTHESIZE"
ORDERS = PARALLEL, FIXED, ROTATE, SHUFFLE = ("parallel", "fixed", "rotate", "shuffle")
EARLY_STOPS = ("strong", "soft")
MAX_ROUNDS = 1000


class Phase(Record):
    """One phase of a procedure.

    Args:
        order: `parallel` (all at once), or who speaks after whom: `fixed`,
            `rotate`, `shuffle`.
        sight: `secret` (no answer is seen before the round closes: all are sealed),
            `blind` (the same if the conversation is sealed) or `everything` (also
            this round's answers).
        max_rounds: How many rounds it may take, unless the conversation says otherwise.
        speakers: `participants`, or `synthesizer` for the one who sums up.
        ends_early: `agreed` (all who are not DONE have AGREED), `consensus` (a
            verdict over stated stances) or `never`.
        form: What is asked for: `text`, or a structured `turn` or `vote`.
        sealed_rounds: How many of its first rounds are parallel and blind if the
            conversation is sealed.
        skips: Whether who cannot be had is passed over at once; otherwise the
            phase waits for its deadline.
    """

    name: str
    order: str = "parallel"
    sight: str = "everything"
    max_rounds: int = 1
    speakers: str = "participants"
    ends_early: str = "agreed"
    form: str = "text"
    sealed_rounds: int = 0
    skips: bool = False


class Procedure(Record):
    """A named sequence of phases.

    Args:
        early_modes: The modes in which a phase may end early.
        last_word: The phase to which every early end of the talk leads.
        sealed: Whether a conversation is sealed unless its opener says otherwise.
        verdict: What a consensus is read from: `statuses` or `stances`.
    """

    name: str
    phases: tuple[Phase, ...]
    early_modes: tuple[str, ...]
    last_word: str = SYNTHESIZE
    sealed: bool = True
    verdict: str = "statuses"

    def phase(self, name: str) -> Phase:
        """Return the phase of that name.

        Raises:
            UsageError: This procedure has no such phase.
        """
        for phase in self.phases:
            if phase.name == name:
                return phase
        known = ", ".join(phase.name for phase in self.phases)
        raise UsageError(f"no phase {name!r} in procedure {self.name}", f"its phases are: {known}")


PROCEDURES: dict[str, Procedure] = {
    "council": Procedure(
        name="council",
        phases=(
            Phase(name="COLLECT", sight="blind"),
            Phase(name="CHALLENGE"),
            Phase(name="RESOLVE"),
            Phase(name=SYNTHESIZE, speakers="synthesizer", ends_early="never"),
        ),
        early_modes=("debate", "analysis"),
    ),
    "deliberation": Procedure(
        name="deliberation",
        phases=(
            Phase(
                name="DELIBERATE",
                order="rotate",
                max_rounds=5,
                ends_early="consensus",
                form="turn",
                sealed_rounds=1,
                skips=True,
            ),
            Phase(name=VOTE, sight="secret", ends_early="never", form="vote", skips=True),
            Phase(name=SYNTHESIZE, speakers="synthesizer", ends_early="never", skips=True),
        ),
        early_modes=MODES,
        last_word=VOTE,
        sealed=False,
        verdict="stances",
    ),
}


def chosen_phases(procedure: Procedure, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the phases a conversation will take, in the procedure's order.

    Empty `wanted` takes them all. The synthesis is always the last, and a vote
    always comes before it where the procedure has one (DL-025).

    Raises:
        UsageError: A name is unknown, or nothing is left before the synthesis.
    """
    names = {procedure.phase(name.strip().upper()).name for name in wanted if name.strip()}
    all_names = tuple(phase.name for phase in procedure.phases)
    if not names:
        return all_names
    always = {procedure.last_word, all_names[-1]}
    chosen = tuple(name for name in all_names if name in names | always)
    if set(chosen) == always:
        raise UsageError(
            "at least one phase must come before the synthesis",
            f"choose among: {', '.join(one for one in all_names if one not in always).lower()}",
        )
    return chosen


def order_of(
    kind: str, agents: Sequence[str], number: int, *, seed: str, last: str = ""
) -> tuple[str, ...]:
    """Return the agents in the order in which they speak in round `number`.

    Args:
        kind: One of `ORDERS`; in `parallel` all speak at once, listed in list order.
        agents: Who speaks, in list order.
        number: The round, from 1.
        seed: What a shuffle is derived from besides the round: the conversation.
        last: Who spoke last in the round before; a shuffle never puts it first.

    Raises:
        UsageError: There is no such order.
    """
    if kind in (PARALLEL, FIXED):
        return tuple(agents)
    if kind == ROTATE:
        return rotated(agents, number)
    if kind == SHUFFLE:
        return shuffled(agents, seed=f"{seed}\n{number}", last=last)
    raise UsageError(f"no order of speaking {kind!r}", f"choose among: {', '.join(ORDERS)}")


def rotated(agents: Sequence[str], number: int) -> tuple[str, ...]:
    """Return list order for round 1, and one place later for each further round (DL-021).

    >>> rotated(["claude", "gpt", "glm"], 2)
    ('gpt', 'glm', 'claude')
    """
    if not agents:
        return ()
    start = (number - 1) % len(agents)
    return (*agents[start:], *agents[:start])


def shuffled(agents: Sequence[str], *, seed: str, last: str = "") -> tuple[str, ...]:
    """Return the agents in an order that follows from `seed` alone.

    Each order is equally likely, among those that do not start with `last`
    when there are two or more agents (DG-064).
    """
    order = sorted(agents, key=lambda agent: sha256_hex(f"{seed}\n{agent}".encode()))
    if len(order) > 1 and order[0] == last:
        # Changing places with any one of the others keeps the allowed orders equally likely.
        other = 1 + int(sha256_hex(f"{seed}\n\n{last}".encode()), 16) % (len(order) - 1)
        order[0], order[other] = order[other], order[0]
    return tuple(order)


class Rules(Record):
    """What may be chosen of a procedure that is judged by stances; part of the state.

    Args:
        max_rounds: Most rounds before the vote, from 1 (DL-022).
        threshold: How many must agree for a soft consensus; 0 means two thirds,
            rounded up (DL-042).
        early_stop: The consensus that ends the rounds early: `strong` or `soft` (A-82).
        stability: Whether the same stances in two rounds running end them (DL-099).
        alike: From 0 to 1, how alike a reasoning is a repetition (DL-082).
        domination: Above this times 1 / N of all words an agent dominates (DL-083).
        confidence_floor: Whose confidence is below counts as absent; 0 for none (DL-102).
        anonymous: Whether peers stand under pseudonyms in prompts (DL-100).
        advocate: Who always contradicts and counts for no consensus, "" for none.
        search: Whether prompts say that agents may search (DL-095).
        verify: Whether prompts ask agents to verify by running code (DL-095).
    """

    _keys = "threshold:consensusThreshold stability:stabilityStop"

    max_rounds: Positive = 5
    threshold: int = 0
    early_stop: str = "strong"
    stability: bool = True
    alike: float = 0.9
    domination: float = 1.5
    confidence_floor: int = 0
    anonymous: bool = False
    advocate: str = ""
    search: bool = False
    verify: bool = False
    extra: dict[str, Any] = {}
