"""Reasons that earlier versions wrote as English sentences, read once where a file is read.

A row is a form of sentence and the code that it stood for; the named groups are its values.
A sentence of no form, and a value that is malformed, is no reason of ours.

Source: FI-015.
"""

from __future__ import annotations

import re

from council.core.reading import rows
from council.core.reasons import _WHOLE, Reason, is_reason

_FORMS = r"""
rests || not started: rests until (?P<until>\S+), failed (?P<failures>once|\d+ times in a row)
cap || not started: (?P<limit>max_\w+) = (?P<most>[\d.]+) is reached
ceiling || not started: its ceiling of (?P<limit>\w+) is reached
lost || lost: no word from the run
round-closed || the round was closed
ended || the conversation ended
answered || answered before it was started
turn-over || the turn is over
set-aside || set aside for (?P<context>.+)
exit || exit (?P<status>\d+)(: (?P<output>.+))?
signal || ended by (?P<signal>\S+?)(: (?P<output>.+))?
timed-out || timed out after (?P<after>[\d.]+)s
no-sign || no sign of its model (within|for) (?P<for>[\d.]+)s
too-long || answer longer than (?P<most>\d+) bytes
no-answer || no answer
no-program || not found: (?P<program>.+)
no-right || not executable: (?P<program>.+)
no-folder || no such folder: (?P<folder>.+)
no-model || no model
no-library || no package: (?P<package>.+)
no-key || no key: (?P<variable>.+)
key-refused || key refused: (?P<text>.+)
quota-spent || quota spent: (?P<text>.+)
long-prompt || prompt too long: (?P<text>.+)
limit-reached || limit reached: (?P<text>.+)
provider-failed || provider failed: (?P<text>.+)
error || it says: (?P<text>.+)
"""
_NUMBERED = (*_WHOLE, "most", "after", "for")


def translated(sentence: str) -> Reason | None:
    """Return the reason that a sentence of an earlier version gave, None if it gave none."""
    for code, (form, *_) in rows(_FORMS).items():
        if match := re.fullmatch(form, sentence):
            known = {name: one for name, one in match.groupdict().items() if one is not None}
            values = {
                name: _number(one) if name in _NUMBERED else one for name, one in known.items()
            }
            return Reason(code=code, values=values) if is_reason(code, values) else None
    return None


def _number(text: str) -> float | None:
    """Return the number in a text such as `3 times in a row`, None if there is none."""
    words = "1" if text == "once" else text.partition(" ")[0]
    try:
        return float(words) if "." in words else int(words)
    except ValueError:
        return None
