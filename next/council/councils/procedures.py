"""The two procedures: their phases, and who speaks in which order.

Documents 000 (council) and 003 (deliberation). Nothing here looks at a state.
"""

from __future__ import annotations

from council.councils.model import CHALLENGE, COLLECT, DELIBERATE, RESOLVE, SYNTHESIZE, VOTE
from council.kernel.errors import Usage
from council.kernel.ids import digest

PHASES = {
    "council": (COLLECT, CHALLENGE, RESOLVE, SYNTHESIZE),
    "deliberation": (DELIBERATE, VOTE, SYNTHESIZE),
}
FIRST_IS_BLIND = {"council": True, "deliberation": False}
EARLY_MODES = ("debate", "analysis")  # where all AGREED skips the rounds that are left
KINDS = {DELIBERATE: "turn", VOTE: "vote", SYNTHESIZE: "synthesis"}


def kind_of(phase: str) -> str:
    """Return what is asked for in a phase: `contribution`, `turn`, `vote` or `synthesis`."""
    return KINDS.get(phase, "contribution")


def phases(procedure: str, chosen: str = "") -> list[str]:
    """Return the phases that will be taken, SYNTHESIZE the last.

    `chosen` are names with commas, such as `collect,synthesize`; "" is all of the procedure.

    Raises:
        Usage: There is no such procedure or phase, or the order is another.
    """
    known = PHASES.get(procedure)
    if known is None:
        raise Usage("bad-procedure", f"no such procedure: {procedure}", "council or deliberation")
    if not chosen:
        return list(known)
    names = [name.strip().upper() for name in chosen.split(",") if name.strip()]
    picked = [phase for phase in known if phase in names or phase == SYNTHESIZE]
    if picked[: len(names)] != names or len(picked) < 2:
        order = ",".join(known).lower()
        raise Usage("bad-phases", f"not phases in order: {chosen}", f"choose from {order}")
    return picked


def order_of(agents: list[str], how: str, number: int, seed: str = "") -> list[str]:
    """Return who speaks in round `number` of a phase (from 1), in this order.

    `agents` are in list order; with `rotate` each round starts one later, with `shuffle` the last
    speaker of a round never opens the next one.
    """
    if how == "rotate" and agents:
        at = (number - 1) % len(agents)
        return agents[at:] + agents[:at]
    if how != "shuffle":
        return list(agents)
    drawn = sorted(agents, key=lambda agent: digest(f"{seed}:{number}:{agent}"))
    if number > 1 and len(drawn) > 1:
        before = order_of(agents, how, number - 1, seed)
        if drawn[0] == before[-1]:
            drawn = [*drawn[1:], drawn[0]]
    return drawn
