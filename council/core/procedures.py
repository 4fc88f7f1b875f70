"""The ways to deliberate, as a table.

A procedure is a row: its phases in order. A phase is six values: order of
speaking, sight, maximum rounds, who speaks, what ends it early, and (from the
conversation) its time limit. The machine reads the row and knows no procedure
by name.

Source: C0-005, C0-006, C0-061, C0-064, C0-075, `architecture.md` section 1.
"""

from __future__ import annotations

from council.core.errors import UsageError
from council.core.record import Record

MODES = ("debate", "prd", "analysis", "review", "synthesis")
SYNTHESIZE = "SYNTHESIZE"


class Phase(Record):
    """One phase of a procedure.

    Args:
        order: `parallel` (all at once) or a speaking order.
        sight: `blind` (nobody sees this round before it closes), `earlier`
            (the closed rounds) or `everything` (also this round's answers).
        max_rounds: How many rounds it may take.
        speakers: `participants`, or `synthesizer` for the one who sums up.
        ends_early: `agreed` (all who are not DONE have AGREED) or `never`.
    """

    name: str
    order: str = "parallel"
    sight: str = "everything"
    max_rounds: int = 1
    speakers: str = "participants"
    ends_early: str = "agreed"


class Procedure(Record):
    """A named sequence of phases; `early_modes` are those in which a phase may end early."""

    name: str
    phases: tuple[Phase, ...]
    early_modes: tuple[str, ...]

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
}


def chosen_phases(procedure: Procedure, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the phases a conversation will take, in the procedure's order.

    Empty `wanted` takes them all. The synthesis is always the last.

    Raises:
        UsageError: A name is unknown, or nothing is left before the synthesis.
    """
    names = {procedure.phase(name.strip().upper()).name for name in wanted if name.strip()}
    all_names = tuple(phase.name for phase in procedure.phases)
    if not names:
        return all_names
    chosen = tuple(name for name in all_names if name in names | {all_names[-1]})
    if len(chosen) < 2:
        raise UsageError(
            "at least one phase must come before the synthesis",
            f"choose among: {', '.join(all_names[:-1]).lower()}",
        )
    return chosen
