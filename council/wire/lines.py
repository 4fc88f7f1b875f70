"""One line of text: what ends it, and what may not stand in it.

Source: PR-642.
"""

from __future__ import annotations

# Every character that Unicode calls a control, and its two separators of lines.
_FORBIDDEN = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]))


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
    """Tell whether `text` holds no line break and no control character."""
    return _FORBIDDEN.isdisjoint(text)
