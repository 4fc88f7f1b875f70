"""The words of a reason, for people: why a run failed, was not started, or an agent is absent.

Source: FI-015, XC-012.
"""

from __future__ import annotations

from council.core.reasons import Reason
from council.core.reporting.sentences import filled
from council.store.texts import words_of

_BRACKETS = {ord("‹"): "[", ord("›"): "]"}


def reason_words(reason: Reason, lang: str = "en") -> str:
    """Return what a reason says, in a language; "" for no reason."""
    if not reason:
        return ""
    words = words_of(lang, "reasons")
    values = {name: _shown(one) for name, one in reason.values.items()}
    if "failures" in values:
        often = "once" if reason.values["failures"] == 1 else "often"
        values["often"] = filled(words[often], values)
    more = filled(words["more"], values).translate(_BRACKETS)
    return filled(words.get(reason.code, reason.code), values) + more


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
