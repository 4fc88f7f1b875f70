"""What exists in a context: what its messages may name and refer to.

Source: PR-545, PR-571, A-56.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from council.core.protocol.exchange import LAST_MESSAGE, Exchange
from council.core.protocol.messages import REGISTRY_CONTEXT
from council.core.protocol.protocol_ids import WORKER, role_of
from council.core.protocol.registry import Registry
from council.wire.meaning import Known


class _Numbers:
    """The ids of the messages that a context has had, without a list of them."""

    def __init__(self, next_message: int) -> None:
        self._next = min(next_message, LAST_MESSAGE + 1)

    def __contains__(self, name: object) -> bool:
        text = str(name)
        return text[:1] == "M" and text[1:].isdecimal() and 0 < int(text[1:]) < self._next


def known_in(
    exchange: Exchange,
    registry: Registry,
    *,
    payloads: Container[str] | None = None,
    fields: Iterable[str] = (),
) -> Known:
    """Return what a message in a context may name.

    Args:
        exchange: The context.
        registry: Those that are registered.
        payloads: The ids of stored payloads; None does not check them.
        fields: Fields of tasks of other contexts, `T1:name`.
    """
    own = {f"{task.id}:{name}" for task in exchange.tasks.values() for name in task.fields}
    return Known(
        agents={one.id for one in registry.here() if role_of(one.id) == WORKER},
        tasks=exchange.tasks,
        contexts={exchange.context, REGISTRY_CONTEXT},
        messages=_Numbers(exchange.next_message),
        fields=own | set(fields),
        keys=exchange.values,
        payloads=payloads,
    )
