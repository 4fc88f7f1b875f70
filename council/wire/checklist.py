"""The checklist of a version as a table, and what fails of it.

Source: PR-003, PR-316, PR-416, PR-533.
"""

from __future__ import annotations

from council.wire.parsed import Fault, Parsed, Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # The place of the segment counted from 0, the code, the rule, the check.
    Check = tuple[int, str, str, Callable[[str], bool]]

DATA_CHARS = 200
PRIORITIES = frozenset(("P0", "P1", "P2", "-"))
STATES = frozenset(("N", "R", "D", "F", "X", "-"))
DEFAULT_PRIORITY = "P1"
_OF_VALUES = ("W_UNKNOWN_ERR", "W_NONCANONICAL")


def faults_of(segments: list[str], checks: tuple[Check, ...]) -> list[Fault]:
    """Return every check that fails, in the order of the list."""
    return [
        Fault(code=code, rule=rule, segment=place + 1)
        for place, code, rule, fits in checks
        if not fits(segments[place])
    ]


def told_once(notes: list[Warned], errors: list[Fault]) -> list[Warned]:
    """Return the warnings without those about a value that is a fault already."""
    faulty = {fault.segment for fault in errors}
    return [one for one in notes if one.segment not in faulty or one.name not in _OF_VALUES]


def refused(version: str, text: str, fault: Fault) -> Parsed:
    """Return the reading of a text whose segments cannot be told apart."""
    return Parsed(version, text, [], (fault,))


def has_no_arrow(data: str) -> bool:
    """Tell whether DATA holds no `>`; a bar would have changed the count of segments."""
    return ">" not in data


def unless_unused(value: str) -> str | None:
    """Return a segment's value, None for `-`."""
    return None if value == "-" else value
