"""What is too long for DATA, replaced by references to where it lies.

A receiver cuts DATA that is too long; a sender must not let it come to that.
Where DATA is made of pairs, the longest values go first, so that the receiver
still sees what is asked of it; any other text goes as a whole.

Source: PR-536, A-56.
"""

from __future__ import annotations

from council.core.errors import InvalidInputError
from council.core.protocol.payload import flags_and_pairs
from council.wire.checklist import DATA_CHARS
from council.wire.data import render_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


def referred(
    data: str, reference_to: Callable[[str], str], room_chars: int = DATA_CHARS
) -> tuple[str, list[str]]:
    """Return DATA that has room, and the texts that its references stand for.

    Args:
        data: DATA of any length.
        reference_to: Returns the reference to a text; called for those that are returned.
        room_chars: How many characters it may have.
    """
    if len(data) <= room_chars:
        return data, []
    flags, pairs = flags_and_pairs(data)
    if pairs and all(word and not set(word) - _WORD for word in (*flags, *pairs)):
        moved: list[str] = []
        for name in sorted(pairs, key=lambda one: -len(pairs[one])):
            moved.append(pairs[name])
            pairs[name] = reference_to(pairs[name])
            try:
                short = render_data(flags, pairs)
            except InvalidInputError:
                break
            if len(short) <= room_chars:
                return short, moved
    return reference_to(data), [data]
