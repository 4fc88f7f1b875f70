"""One message of document 002, whatever the version it is written in.

The value that the rules of agents, tasks and contexts take and make. How it
is written on the wire is decided in `wire`: `carried` turns a line into it and back.

Source: PR-501, PR-541, PR-544, PR-585.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from council.core.protocol.payload import flags_and_pairs
from council.core.record import Any, Record

USER = "User"
COORDINATOR = "O1"
REGISTRY_CONTEXT = "S0"
REGISTRY_TASK = "T0"
DATA_CHARS = 200
# The most numbered parts that a reader joins (PR-548).
MOST_PARTS = 99

_PARTS_DATA = frozenset('|;"')
_PARTS_ROUTE = frozenset("|>")


class Message(Record):
    """What one message says, in the words and codes of V5.

    Args:
        number: `7` for `M7`; 0 until it is numbered.
        sender: An id, or `User`.
        receiver: An id, a group, `*`, `W*`, or `User`.
        kind: The letter of its type.
        task: `T1`, or "" for none.
        priority: `P0`, `P1` or `P2`; "" where it is left unused.
        state: `N`, `R`, `D`, `F`, `X`, or "".
        code: `E21`, or "".
        depth: From 0 to 5.
        context: `S1`, or "" for none.
        budget: The tokens that are left, None for no limit.
        data: The payload as it is written.
        pairs: The `name=value` pairs of `data` in order.
        flags: The bare words of `data`; a text without any pair has none.
    """

    _keys = (
        "number:msg sender:from receiver:to kind:type task:tid priority:pri code:err context:ctx"
    )

    number: int = 0
    sender: str
    receiver: str
    kind: str
    task: str = ""
    priority: str = "P1"
    state: str = ""
    code: str = ""
    depth: int = 0
    context: str = ""
    budget: int | None = None
    data: str
    pairs: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return the id of the message, `M7`."""
        return f"M{self.number}"

    def pair(self, name: str, default: str = "") -> str:
        """Return the value of a pair; of two with one name the last counts."""
        return dict(self.pairs).get(name, default)

    def saying(self, data: str, **changes: Any) -> Message:
        """Return the message with other DATA, and the flags and pairs that it falls into."""
        flags, pairs = flags_and_pairs(data)
        return self.copy(data=data, pairs=tuple(pairs.items()), flags=tuple(flags), **changes)

    def says(self, word: str) -> bool:
        """Return true if `word` is a flag of DATA, or all that DATA holds."""
        return word in self.flags or self.data == word


def compose(
    sender: str,
    receiver: str,
    kind: str,
    *,
    flags: Iterable[str] = (),
    pairs: Mapping[str, object] | None = None,
    state: str = "",
    **told: Any,
) -> Message:
    """Return a message whose DATA is made of flags and pairs; `ok` where there are none.

    `told` is what else it says, as the fields of `Message` are named. A value is written as it
    is: code that makes it of the text of others asks `is_inline` first, or cuts it with `inline`.
    """
    words = tuple(flags)
    named = tuple((name, str(value)) for name, value in (pairs or {}).items())
    data = ";".join((*words, *(f"{name}={value}" for name, value in named))) or "ok"
    told |= {"data": data, "pairs": named, "flags": words if named else ()}
    return Message(sender=sender, receiver=receiver, kind=kind, state=str(state), **told)


def is_inline(text: str, room_chars: int = DATA_CHARS) -> bool:
    """Return true if `text` can be the value of a pair in DATA as it stands."""
    return (
        0 < len(text) <= room_chars
        and _PARTS_DATA.isdisjoint(text)
        and _PARTS_ROUTE.isdisjoint(text)
        and text.isprintable()
        and text == text.strip()
    )


def inline(text: str, room_chars: int) -> str:
    """Return `text` as the value of a pair: one line of 1 to `room_chars`, without marks."""
    marks = _PARTS_DATA | _PARTS_ROUTE
    plain = "".join(" " if one in marks or not one.isprintable() else one for one in text)
    line = " ".join(plain.split())
    if len(line) > room_chars:
        line = line[: room_chars - 1].rstrip() + "…"
    return line or "-"
