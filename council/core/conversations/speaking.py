"""Orders of speaking: who speaks in which place of a round.

Four orders by name. A shuffle is derived from its seed and never stored, so
the same conversation and round give the same order on every machine.

Source: XC-104, XC-004, DL-021, DG-064.
"""

from __future__ import annotations

from council.core.digests import sha256_hex
from council.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PARALLEL = "parallel"
FIXED = "fixed"
ROTATE = "rotate"
SHUFFLE = "shuffle"
ORDERS = (PARALLEL, FIXED, ROTATE, SHUFFLE)


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
