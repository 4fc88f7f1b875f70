"""The two procedures of documents 000 (council) and 003 (deliberation), as data."""

from __future__ import annotations

from council.councils.model import CHALLENGE, COLLECT, DELIBERATE, RESOLVE, SYNTHESIZE, VOTE
from council.kernel.errors import Usage
from council.kernel.ids import digest

PHASES = {
    "council": [COLLECT, CHALLENGE, RESOLVE, SYNTHESIZE],
    "deliberation": [DELIBERATE, VOTE, SYNTHESIZE],
}
FIRST_IS_BLIND = {"council": True, "deliberation": False}
EARLY_MODES = ("debate", "analysis")  # where all AGREED skips the rounds that are left
_KINDS = {DELIBERATE: "turn", VOTE: "vote", SYNTHESIZE: "synthesis"}


def kind_of(phase: str) -> str:
    """Return what is asked for in a phase: `contribution`, `turn`, `vote` or `synthesis`."""
    return _KINDS.get(phase, "contribution")


def phases(procedure: str, chosen: list[str]) -> list[str]:
    """Return the phases that will be taken, SYNTHESIZE the last; [] chooses all."""
    known = PHASES.get(procedure)
    if known is None:
        raise Usage("bad-procedure", f"no such procedure: {procedure}", "council or deliberation")
    names = [name.strip().upper() for name in chosen]
    picked = [phase for phase in known if phase in names or not names or phase == SYNTHESIZE]
    if (picked[: len(names)] != names and names) or len(picked) < 2:
        what, order = f"not phases in order: {','.join(chosen)}", ",".join(known).lower()
        raise Usage("bad-phases", what, f"choose from {order}")
    return picked


def order_of(agents: list[str], how: str, number: int, seed: str = "") -> list[str]:
    """Return who speaks in round `number` (from 1) of a phase, in this order."""
    if how == "rotate" and agents:
        at = (number - 1) % len(agents)
        return agents[at:] + agents[:at]
    if how != "shuffle":
        return agents
    # The last speaker of a round never opens the next one.
    drawn = sorted(agents, key=lambda agent: digest(f"{seed}:{number}:{agent}"))
    if number > 1 and len(drawn) > 1 and drawn[0] == order_of(agents, how, number - 1, seed)[-1]:
        drawn.append(drawn.pop(0))
    return drawn
