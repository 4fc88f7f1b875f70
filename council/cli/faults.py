"""What people are told when the form of an answer lacks something.

Source: DL-013, DL-015.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = {
    "no-form": "nothing of the form was found: position, responses, reasoning, confidence",
    "no-position": "no position is stated",
    "no-confidence": "no confidence is stated; it is a whole number from 1 to 5",
    "bad-confidence": "the confidence {found!r} is no whole number from 1 to 5",
    "bad-stance": "the stance {found!r} towards {agent} is none of agree, partial, disagree",
    "two-stances": "two different stances are stated towards {agent}",
    "unknown-agent": "nobody here is called {found!r}",
    "missing-response": "no response to {agent}",
}


def said_of(fault: Mapping[str, str]) -> str:
    """Return a fault of the form in words."""
    code = fault["code"]
    words = _WORDS.get(code, code.replace("-", " "))
    return words.format(agent=fault.get("agent", ""), found=fault.get("found", ""))
