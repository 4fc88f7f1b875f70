"""The ways to deliberate, as a table.

A procedure is a row: its phases in order. A phase is six values: order of
speaking, sight, maximum rounds, who speaks, what ends it early, and (from the
conversation) its time limit. The machine reads the row and knows no procedure
by name.

Source: C0-005, C0-006, C0-061, C0-064, C0-075, DL-021, DL-025, XC-104,
`architecture.md` section 1.
"""

from __future__ import annotations

from council.core.errors import UsageError
from council.core.record import Record

MODES = ("debate", "prd", "analysis", "review", "synthesis")
VOTE = "VOTE"
SYNTHESIZE = "SYNTHESIZE"
ORDERS = ("parallel", "fixed", "rotate", "shuffle")


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
