"""Instants and durations as they are written in files and on the command line.

Instants are aware UTC with second precision in files (``2026-02-08T20:00:00Z``);
durations are written ``90s``, ``15m``, ``1h``, ``2h30m``.

Source: XC-003, `cli.md` section 1.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from council.core.errors import UsageError

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_instant(text: str) -> datetime:
    """Read an ISO 8601 instant; one without an offset is taken as UTC.

    Raises:
        UsageError: The text is not an instant.
    """
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"not a time: {text!r}", "write it like 2026-02-08T20:00:00Z") from None
    if instant.tzinfo is UTC:
        return instant
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"not a time we can keep: {text!r}", "use a year from 2 to 9998") from None


def render_instant(instant: datetime) -> str:
    """Write an instant as ISO 8601 UTC with `Z`, whole seconds."""
    known = _rendered.get(instant)
    if known is None:
        if len(_rendered) >= _MOST_RENDERED:
            _rendered.clear()
        # Not strftime: its %Y writes years before 1000 with too few digits to be read again.
        in_utc = instant if instant.tzinfo is UTC else instant.astimezone(UTC)
        known = in_utc.isoformat(timespec="seconds")[: -len("+00:00")] + "Z"
        _rendered[instant] = known
    return known


# A state is written again and again, and nearly all of its times are the same.
_MOST_RENDERED = 4096
_rendered: dict[datetime, str] = {}


def parse_duration(text: str) -> timedelta:
    """Read a duration such as `90s`, `15m`, `1h`, `2h30m`, `1d`.

    Raises:
        UsageError: The text is not a duration, is zero, or is over 3650 days.
    """
    total, digits, rest = 0, "", text.strip().lower()
    for letter in rest:
        if letter.isascii() and letter.isdigit() and len(digits) < 10:
            digits += letter
        elif letter in _UNITS and digits:
            total, digits = total + int(digits) * _UNITS[letter], ""
        else:
            total = -1
            break
    if digits or not 0 < total <= 3650 * 86400:
        raise UsageError(f"not a duration: {text!r}", "write it like 90s, 15m, 1h or 2h30m")
    return timedelta(seconds=total)


def render_duration(duration: timedelta) -> str:
    """Write a duration with its largest units first, such as `2h30m`; under a second is `0s`."""
    seconds, parts = int(duration.total_seconds()), []
    for letter, size in _UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0s"
