"""An answer in numbered parts, `part=i/n`: held until all are there, then one answer.

Source: PR-548.
"""

from __future__ import annotations

from council.core.protocol.exchange import Attempt, Exchange
from council.core.protocol.messages import DATA_CHARS, Message
from council.core.protocol.payload import flags_and_pairs

MOST_PARTS = 99
_NAME = "result"
_LONGEST_NUMBER = 12


def number_of_part(data: str) -> tuple[int, int] | None:
    """Return which part of how many DATA is, None when it is no part."""
    head, semicolon, _ = data.partition(";")
    number, slash, count = head.removeprefix("part=").partition("/")
    is_part = head.startswith("part=") and semicolon and slash and number and count
    numbers = number + count
    if not is_part or not (numbers.isascii() and numbers.isdigit()):
        return None
    return (int(number), int(count)) if len(numbers) <= _LONGEST_NUMBER else None


def fault_of_part(part: tuple[int, int]) -> str:
    """Return what is wrong with the number of a part, "" for nothing."""
    number, count = part
    if count > MOST_PARTS:
        return f"{MOST_PARTS} parts at most"
    return "" if 1 <= number <= count else f"part {number} of {count}"


def hold(attempt: Attempt, data: str, part: tuple[int, int]) -> str:
    """Keep a part of an answer; return the whole once nothing is missing, else "".

    A part of another number of parts begins the answer anew. Where each part names its text,
    the texts are joined under the name of the first one.
    """
    number, count = part
    if any(not key.endswith(f"/{count}") for key in attempt.parts):
        attempt.parts = {}
    attempt.parts[f"{number}/{count}"] = data
    if len(attempt.parts) < count:
        return ""
    texts = [attempt.parts[f"{one}/{count}"].partition(";")[2] for one in range(1, count + 1)]
    head = f"{_NAME}="
    if all(one.startswith(head) for one in texts):
        texts = [texts[0], *(one.removeprefix(head) for one in texts[1:])]
    attempt.parts = {}
    return "".join(texts)


def whole_message(exchange: Exchange, message: Message, data: str, key: str) -> Message:
    """Return the message that says all of `data`; what is too long lies in the context.

    Args:
        exchange: The context; a value of it holds the text that no DATA can.
        message: The part that came last.
        data: The joined text.
        key: The key of that value.
    """
    flags, pairs = flags_and_pairs(data)
    if len(data) > DATA_CHARS:
        is_one = list(pairs) == [_NAME] and not flags
        exchange.values[key] = pairs[_NAME] if is_one else data
        data = f"{_NAME}=#CTX:{key}"
        flags, pairs = flags_and_pairs(data)
    return message.copy(data=data, pairs=tuple(pairs.items()), flags=tuple(flags))
