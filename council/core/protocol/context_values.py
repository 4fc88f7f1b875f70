"""What `#CTX:key` means in a context: values that people and orchestrators set.

Source: PR-545, PR-571.
"""

from __future__ import annotations

from council.core.errors import ConflictError, InvalidInputError
from council.core.events import Event
from council.core.protocol.exchange import Exchange, ExchangeStep

# `prev` names the context before; the coordinator alone says so (PR-644).
RESERVED = frozenset({"prev"})
_KEY_CHARS = 40
_VALUE_CHARS = 2000
_ENDS_REFERENCE = frozenset(' ;,"=|>#')


def with_value(exchange: Exchange, key: str, value: str) -> ExchangeStep:
    """Let `#CTX:key` mean `value` in a context; "" takes the key away.

    Raises:
        InvalidInputError: No reference can name such a key, or the value is too long.
        ConflictError: The context is closed.
    """
    fits = 0 < len(key) <= _KEY_CHARS and key.isprintable() and _ENDS_REFERENCE.isdisjoint(key)
    if not fits or key in RESERVED:
        raise InvalidInputError(
            f"not a key: {key!r}", f"up to {_KEY_CHARS} letters, digits, - and _, and not prev"
        )
    if len(value) > _VALUE_CHARS:
        raise InvalidInputError(
            f"the value of {key} is longer than {_VALUE_CHARS} letters",
            "publish it, and set the key to #REF:<id>",
        )
    if not exchange.is_open:
        raise ConflictError(f"{exchange.context} is closed", "open another: council ctx open")
    values = {name: text for name, text in exchange.values.items() if name != key}
    if value:
        values[key] = value
    if values == exchange.values:
        return ExchangeStep(exchange=exchange)
    event = Event(type="context.set", data={"key": key, "value": value or None})
    return ExchangeStep(exchange=exchange.copy(values=values), events=[event])
