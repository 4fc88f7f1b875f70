"""Instants and durations as text.

An instant is an aware `datetime` in UTC; as text it is `2026-11-28T09:00:00Z`, without fractions.
Texts in that form compare like the instants that they name.
"""

from __future__ import annotations

from council.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import UTC as UTC
    from datetime import datetime as datetime
    from datetime import timedelta as timedelta
else:  # other modules import them from here: before 3.12 `datetime` first runs its twin in Python
    try:
        from _datetime import datetime, timedelta, timezone

        UTC = timezone.utc
    except ImportError:
        from datetime import UTC, datetime, timedelta

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def text(at: datetime) -> str:
    """Return an instant as text, cut to the second."""
    return at.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def instant(value: str) -> datetime:
    """Return the instant that a text names (else Usage); a text without a zone is in UTC."""
    try:
        at = datetime.fromisoformat(value.strip())
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        what, hint = f"not an instant: {value[:60]!r}", "write it like 2026-11-28T09:00:00Z"
        raise Usage("bad-instant", what, hint) from None
    return at


def later(value: str, by: timedelta) -> str:
    """Return the instant `by` after the one that `value` names, as text; at most the last one."""
    at = instant(value)
    return text(at + min(by, datetime.max.replace(tzinfo=UTC) - at))


def until(at: datetime, by: timedelta) -> str:
    """Return the instant `by` after another as text, rounded up: no time is shorter than said."""
    return text(at + by + timedelta(microseconds=999_999))


def duration(value: str, least: int = 1) -> timedelta:
    """Return a duration such as `90s` or `2h30m`; Usage if under `least` s or over 3650 days."""
    total, digits = 0, ""
    for letter in value.strip().lower():
        if letter in _UNITS and digits.isascii() and digits.isdigit() and len(digits) < 11:
            total, digits = total + int(digits) * _UNITS[letter], ""
        else:
            digits += letter
    if digits or not value.strip() or not least <= total <= 3650 * 86400:
        what, hint = f"not a duration: {value[:60]!r}", "write it like 90s, 15m or 2h30m"
        raise Usage("bad-duration", what, hint)
    return timedelta(seconds=total)


def spoken(length: timedelta) -> str:
    """Return a duration with its largest units first, such as `2h30m`; under a second is `0s`."""
    seconds, parts = max(0, int(length.total_seconds())), []
    for letter, size in _UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0s"
