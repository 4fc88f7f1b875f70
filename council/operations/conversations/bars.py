"""Bars of plain characters: a small plot for terminals of any width.

Source: DL-091, DL-092.
"""

from __future__ import annotations

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FULL = "█"
_PARTS = " ▏▎▍▌▋▊▉"
_MIN_CHARS = 1
_MAX_CHARS = 60


class Bar(Record):
    """One row of a plot: what it is, and how much."""

    label: str
    value: int


def plotted(bars: Sequence[Bar], width: int) -> list[str]:
    """Return one line for each bar: label, bar, value; none is longer than `width` allows.

    The longest bar takes what labels and values leave, at least one column;
    a value above 0 always shows.

    >>> plotted([Bar(label="soft", value=4), Bar(label="none", value=1)], 11)
    ['soft ████ 4', 'none █ 1']
    """
    if not bars:
        return []
    labels = max(len(bar.label) for bar in bars)
    values = max(len(str(bar.value)) for bar in bars)
    room = min(max(width - labels - values - 2, _MIN_CHARS), _MAX_CHARS)
    most = max(bar.value for bar in bars)
    return [f"{bar.label:<{labels}} {_bar(bar.value, most, room)}{bar.value}" for bar in bars]


def _bar(value: int, most: int, room: int) -> str:
    if not value:
        return ""
    eighths = max(8 * room * value // most, 1)
    return f"{_FULL * (eighths // 8)}{_PARTS[eighths % 8].strip()} "
