"""What a context of document 002 is called.

Source: PR-530, PR-572, A-54.
"""

from __future__ import annotations

_REST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_CHARS = 8


def is_context(text: str) -> bool:
    """Tell whether `text` can name a context: `S` and up to seven letters or digits.

    >>> is_context("S1"), is_context("Sabc12"), is_context("s1"), is_context("S")
    (True, True, False, False)
    """
    return text[:1] == "S" and 1 < len(text) <= _CHARS and not set(text[1:]) - _REST
