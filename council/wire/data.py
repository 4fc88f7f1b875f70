"""The forms of DATA: flags, pairs, calls, references, numbered parts.

`=` makes a pair, `;` parts pairs, `,` parts the items of a list, `:` a
parameter from its value. Double quotes protect `;` and `,` and stay part of
the value; a quote that is never closed protects nothing. A last `;` is ignored.

A receiver cuts DATA that is too long; a sender must not let it come to that, and refers to what
lies elsewhere. Where DATA is made of pairs, the longest values go first, so that the receiver
still sees what is asked of it; any other text goes as a whole.

Source: PR-536, PR-542 to PR-545, PR-547, PR-548, A-56, A-58.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.errors import InvalidInputError
from council.core.protocol.payload import flags_and_pairs, split_outside_quotes
from council.core.record import Record
from council.wire.forms import DATA_CHARS
from council.wire.identifiers import is_clean, is_task_id

_KINDS = ("#CTX:", "#REF:", "#MSG:")
_INSTEAD = "publish it as an artifact and send #REF:<id>"
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_ENDS_REFERENCE = frozenset(' ;,"=')


class Reference(Record):
    """A pointer in DATA.

    `kind` is `CTX` (`name` is a key of the context), `MSG` (`name` is a message), `REF` (`name`
    is a stored payload) or `FIELD` (`name` is the field of task `task`). `text` is as written.
    """

    kind: str
    name: str
    text: str
    task: str = ""


def params_of(value: str) -> dict[str, str]:
    """Return the parameters in the value of `params`: `name:value` parted by commas."""
    params: dict[str, str] = {}
    for item in split_outside_quotes(value, ","):
        name, _, given = item.partition(":")
        if name:
            params[name] = given
    return params


def call_of(data: str) -> tuple[str, dict[str, str]] | None:
    """Return the capability that DATA calls and its arguments, None if it calls none.

    The long form `call=c;params=name:value` and the short one `call=c;name=value` mean the same.

    Source: PR-543.
    """
    _, pairs = flags_and_pairs(data)
    if not pairs.get("call"):
        return None
    arguments = {name: value for name, value in pairs.items() if name not in ("call", "params")}
    return pairs["call"], {**params_of(pairs.get("params", "")), **arguments}


def references_in(data: str) -> list[Reference]:
    """Return every reference in DATA, in order; one that names nothing has an empty name."""
    found = []
    at = data.find("#")
    while at >= 0:
        start, at = at, data.find("#", at + 1)
        if data[start : start + 5] not in _KINDS:
            continue
        end = start + 5
        while end < len(data) and data[end] not in _ENDS_REFERENCE:
            end += 1
        found.append(_reference(data[start:end]))
        at = data.find("#", end)
    return found


def _reference(text: str) -> Reference:
    kind, name = text[1:4], text[5:]
    task, colon, field = name.partition(":")
    if kind == "REF" and colon and task != "-" and is_task_id(task):
        return Reference(kind="FIELD", task=task, name=field, text=text)
    return Reference(kind=kind, name=name, text=text)


def cut_in_parts(text: str, room_chars: int = DATA_CHARS) -> list[str]:
    """Return DATA texts that carry `text` in numbered parts `part=i/n;…`.

    Raises:
        InvalidInputError: No DATA may hold this text, or it takes more parts than a reader joins;
            it belongs into an artifact.

    Source: PR-548.
    """
    from council.core.protocol.messages import MOST_PARTS

    if not text or "|" in text or ">" in text or not is_clean(text):
        raise InvalidInputError(
            "an empty text, or one with |, > or a line break, cannot be cut into DATA",
            _INSTEAD,
        )
    count = 1
    while count <= MOST_PARTS:
        heads = [f"part={number}/{count};" for number in range(1, count + 1)]
        parts, at = [], 0
        for head in heads:
            room = max(1, room_chars - len(head))
            parts.append(head + text[at : at + room])
            at += room
        if at >= len(text):
            return parts
        count = max(count + 1, -(-len(text) * count // at))
    raise InvalidInputError(
        f"a text of {len(text)} characters takes over {MOST_PARTS} parts", _INSTEAD
    )


def with_parent(data: str, parent: str) -> str:
    """Return DATA with the pair that names the message it follows from, and no other (PR-547)."""
    kept = [item for item in split_outside_quotes(data, ";") if not item.startswith("pid=")]
    return ";".join([f"pid={parent}", *kept]) if data else f"pid={parent}"


def render_data(flags: list[str], pairs: dict[str, str]) -> str:
    """Return the DATA text of these flags and pairs; a value with `;` is put in quotes.

    Raises:
        InvalidInputError: No text reads back as these values.
    """
    written = [*flags]
    for name, value in pairs.items():
        protected = ";" in value and '"' not in value
        written.append(f'{name}="{value}"' if protected else f"{name}={value}")
    data = ";".join(written)
    found = flags_and_pairs(data)
    if pairs and (found[0] != flags or found[1].keys() != pairs.keys()):
        raise InvalidInputError(
            "these flags and pairs cannot be written as DATA",
            "names hold no = and no ;, values no lone quote",
        )
    return data


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
