"""Identifiers of messages, tasks and agents, and routes, as each version writes them; one line.

A digit is an ASCII digit. Nothing is trimmed, and letters keep their case.

Source: PR-302, PR-402, PR-403, PR-406, PR-407, PR-504 to PR-506, PR-641 to PR-643.
"""

from __future__ import annotations

from functools import lru_cache

from council.core.protocol import protocol_ids

USER = "User"
ROLES, is_agent = protocol_ids.ROLES, protocol_ids.is_protocol_id
# Every character that Unicode calls a control, and its two separators of lines.
_FORBIDDEN = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]))


def is_digits(text: str) -> bool:
    """Return true if `text` is one or more ASCII digits."""
    return text.isdigit() and text.isascii()


def is_long_message_id(text: str) -> bool:
    """Return true if `text` is `MSG_` and digits (V1 to V3)."""
    return text[:4] == "MSG_" and is_digits(text[4:])


def is_long_task_id(text: str) -> bool:
    """Return true if `text` is `TASK_` and digits (V1 to V3)."""
    return text[:5] == "TASK_" and is_digits(text[5:])


def is_message_id(text: str) -> bool:
    """Return true if `text` is `M` and up to four digits (V4, V5)."""
    return text[:1] == "M" and len(text) < 6 and text[1:].isdigit() and text.isascii()


def is_task_id(text: str) -> bool:
    """Return true if `text` is `T` and up to three digits, or `-` (V4, V5)."""
    return text == "-" or (
        text[:1] == "T" and len(text) < 5 and text[1:].isdigit() and text.isascii()
    )


def is_code(text: str) -> bool:
    """Return true if `text` is `E` and two digits."""
    return len(text) == 3 and text[0] == "E" and is_digits(text[1:])


def is_padded(text: str) -> bool:
    """Return true if a letter and its number carry a leading zero that a writer leaves out."""
    return text[1:2] == "0" and len(text) > 2


def number_of(text: str) -> int:
    """Return the number at the end of an identifier, -1 if it is too long to matter."""
    digits = text[len(text.rstrip("0123456789")) :].lstrip("0")
    return int(digits or "0") if len(digits) < 10 else -1


def canonical(identifier: str) -> str:
    """Return an id as a writer writes it, so that equal numbers are equal texts.

    `M007` is `M7`, `MSG_7` is `MSG_07`; `-` and what ends in no number stay.
    """
    name = identifier.rstrip("0123456789")
    if len(name) == len(identifier):
        return identifier
    digits = identifier[len(name) :].lstrip("0") or "0"
    return f"{name}{digits:0>2}" if name in ("MSG_", "TASK_") else name + digits


def ends_of(route: str, version: str) -> tuple[str, str] | None:
    """Return sender and target of a route that `version` allows, else None."""
    if version == "V3":
        return _ends_v3(route)
    # The length comes first, so that only short texts are ever remembered.
    if version == "V4":
        return _ends_of_agents(route) if len(route) <= 10 else None
    return ends_with_user(route) if len(route) <= 12 else None


def _ends_v3(route: str) -> tuple[str, str] | None:
    sender, _, target = route.partition(">")
    if _is_v3_agent(sender) and (target == "*" or _is_v3_agent(target)):
        return sender, target
    return None


def _is_v3_agent(text: str) -> bool:
    return text[:1] in ("O", "W") and is_digits(text[1:])


@lru_cache(maxsize=4096)
def ends_with_user(route: str) -> tuple[str, str] | None:
    """Return the ends of a V5 route; only for texts of a dozen characters: all are remembered."""
    sender, _, target = route.partition(">")
    if USER in (sender, target):
        other = target if sender == USER else sender
        is_orchestrator = other[:1] == "O" and "." not in other and is_agent(other)
        return (sender, target) if is_orchestrator else None
    return _ends_of_agents(route)


@lru_cache(maxsize=4096)
def _ends_of_agents(route: str) -> tuple[str, str] | None:
    sender, _, target = route.partition(">")
    if not is_agent(sender) or sender[0] == "G":
        return None
    return (sender, target) if target in ("*", "W*") or is_agent(target) else None


def without_final_break(text: str) -> str:
    """Return `text` without the one line break that may end it."""
    if text.endswith("\n"):
        return text[:-2] if text.endswith("\r\n") else text[:-1]
    return text


def one_line(text: str) -> str | None:
    """Return `text` without its final line break, None if another break or a control is in it."""
    if text.isprintable():
        return text
    line = without_final_break(text)
    return line if line.isprintable() or is_clean(line) else None


def is_clean(text: str) -> bool:
    """Return true if `text` holds no line break and no control character."""
    return _FORBIDDEN.isdisjoint(text)
