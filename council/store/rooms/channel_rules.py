"""What `[channels]` of the settings says about taking turns, as values.

Source: DG-074, DG-082, DG-087, `cli.md` section 4.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.errors import CouncilError, InvalidInputError
from council.core.rooms.channels import RULES, FloorRules
from council.core.times import parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_DURATIONS = ("patience", "turn_timeout", "rest")
_COUNTS = ("tail_chars", "max_cycles", "max_repeats")


def floor_rules(table: Mapping[str, Any]) -> FloorRules:
    """Return the rules of the floor; what the table does not say has its default.

    Raises:
        InvalidInputError: A value cannot be what it is, or no setting is called so.
    """
    if not table:
        return RULES
    changes: dict[str, Any] = {}
    for key, value in table.items():
        changes[key] = _value(key, value)
    return RULES.copy(**changes)


def _value(key: str, value: Any) -> str | int | float | timedelta:
    if key == "silent_model" and isinstance(value, str) and value.isprintable() and value:
        return value
    if key in _COUNTS and type(value) is int and 0 <= value < 2**31:
        return value
    if key == "alike" and type(value) in (int, float) and 0 <= value <= 1:
        return float(value)
    if key in _DURATIONS and isinstance(value, str):
        try:
            return parse_duration(value)
        except CouncilError:
            pass
    raise InvalidInputError(
        f"council.toml: channels.{key} cannot be {value!r}",
        f"known are silent_model, alike (0 to 1), {', '.join((*_COUNTS, *_DURATIONS))}",
    )
