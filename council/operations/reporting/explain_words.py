"""How the sentences of explanations and causes are filled in.

They stand in `texts/explanations.txt` and `texts/causes.txt`.

Source: XC-012, `cli.md` section 2 (`explain`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from council.core.reasons import Reason
from council.core.record import Any
from council.core.reporting.sentences import filled, place_of
from council.core.times import render_duration, render_instant
from council.store.reason_words import reason_words
from council.store.texts import texts

_BRACKETS = {ord("‹"): "[", ord("›"): "]"}


@cache
def sentences() -> dict[str, tuple[str, ...]]:
    """Return all sentences by their names; a way out is called `fix-` and as its cause."""
    causes = texts("causes")
    return texts("explanations") | {
        **{code: words[:2] for code, words in causes.items()},
        **{f"fix-{code}": (words[2], words[-1]) for code, words in causes.items()},
    }


def say(kind: str, lang: str, values: dict[str, Any] | None = None) -> str:
    """Return a sentence with its fields put in."""
    shown = {key: _shown(value, lang) for key, value in (values or {}).items()}
    # What people write in brackets in council.toml is no part that may be left out.
    return filled(sentences()[kind][place_of(lang)], shown).translate(_BRACKETS)


def _shown(value: object, lang: str) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return render_instant(value)
    if isinstance(value, timedelta):
        return render_duration(value)
    if isinstance(value, list | tuple):
        return ", ".join(_shown(one, lang) for one in value)
    if isinstance(value, Reason):
        return reason_words(value, lang)
    return worded(" ".join(str(value).split()), lang)


def worded(text: str, lang: str) -> str:
    """Return a text, or the sentence that it stands for where it is `@` and the name of one."""
    return say(text[1:], lang) if text[:1] == "@" and text[1:] in sentences() else text
