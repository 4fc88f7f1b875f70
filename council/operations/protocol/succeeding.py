"""Going on in a new context when the numbers of one are used up.

Source: PR-644, A-72.
"""

from __future__ import annotations

from council.core.protocol import succession
from council.core.protocol.exchange import Exchange, ExchangeStep
from council.operations.protocol.crew import Crew
from council.operations.protocol.exchanging import change, contexts, open_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.protocol.contexts import Kept


def succeed(crew: Crew, exchange: Exchange) -> Kept:
    """Let a context go on in a new one, whose id it knows before that one is made.

    Killed at any point, it goes on from there: the id stands in the old
    context, and a new one that is there already is not made again.
    """
    told = exchange.extra.get("goesOnIn")
    store = contexts(crew.place)
    name = str(told) if told else store.reserve()
    if not told:

        def announced(standing: Exchange) -> ExchangeStep:
            return ExchangeStep(exchange=standing.copy(extra={**standing.extra, "goesOnIn": name}))

        exchange = change(crew, exchange.context, announced).kept.exchange
    made = succession.succeed(exchange, name, crew.now)
    if not store.exists(name):
        open_new(crew, lambda _: made.new, context=name)
    return change(
        crew, exchange.context, lambda now: succession.succeed(now, name, crew.now).old
    ).kept
