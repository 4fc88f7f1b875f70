"""About how many tokens a text takes, without the vocabulary of any model.

Source: PR-209, PR-581, PR-582.
"""

from __future__ import annotations

import re
from functools import cache

_LETTERS_OF_A_TOKEN = 5


@cache
def _pieces() -> re.Pattern[str]:
    # As tokenizers cut before they merge: a word with the blank before it, up to three digits,
    # signs of one kind, white space.
    return re.compile(r" ?[^\W\d_]+| ?\d{1,3}| ?(?:([^\w\s]|_)\1*)|\s+")


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text takes: 0 for none, a long word counts several times.

    >>> estimated_tokens("Five of them.")
    4
    """
    count = 0
    for found in _pieces().finditer(text):
        letters = len(found[0].strip())
        is_word = letters > _LETTERS_OF_A_TOKEN and found[0].strip().isalpha()
        count += -(-letters // _LETTERS_OF_A_TOKEN) if is_word else 1
    return count
