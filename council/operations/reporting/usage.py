"""What agents have used, in words and as JSON: for `show`, `metrics`, minutes.

What was told and what is estimated are never one number, and a cost that no run told is unknown.

Source: CL-002.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from council.core.bounds import Usage
from council.core.record import Any
from council.store.texts import words_of

_THOUSANDS = {"fr": "\N{NARROW NO-BREAK SPACE}"}
_POINT = {"fr": ","}


def grouped(number: int, lang: str) -> str:
    """Return a number with its thousands set apart as a language does."""
    return f"{number:,}".replace(",", _THOUSANDS.get(lang, ","))


def together(usage: Mapping[str, Usage]) -> Usage:
    """Return what all agents have used."""
    whole = Usage()
    for one in usage.values():
        whole = whole.plus(one)
    return whole


def used_words(one: Usage, lang: str, *, cost: bool = True) -> str:
    """Return what was used in a few words: tokens, those estimated, cost or that it is unknown."""
    said = words_of(lang, "minutes")
    parts = []
    if one.tokens or not one.estimated:
        parts.append(said["used.tokens"].format(count=grouped(one.tokens, lang)))
    if one.estimated:
        parts.append(said["used.estimated"].format(count=grouped(one.estimated, lang)))
    if one.priced:
        amount = f"{one.usd:.2f}" if one.usd >= 0.01 or not one.usd else f"{one.usd:.4f}"
        parts.append(said["used.usd"].format(usd=amount.replace(".", _POINT.get(lang, "."))))
    if cost and one.priced < one.runs:
        key = "used.unknown-some" if one.priced else "used.unknown"
        parts.append(said[key].format(runs=one.runs - one.priced, all=one.runs))
    return ", ".join(parts)


def used_line(usage: Mapping[str, Usage], named: Callable[[str], str], lang: str) -> str:
    """Return what all have used and what each has, in one line; "" where nothing is known."""
    if not usage:
        return ""
    whole = together(usage)
    each = [
        f"{named(agent)} {used_words(one, lang, cost=whole.priced > 0)}"
        for agent, one in usage.items()
    ]
    return " · ".join([used_words(whole, lang), *(each if len(each) > 1 else ())])


def used_record(usage: Mapping[str, Usage]) -> dict[str, Any]:
    """Return the JSON object of what was used, in all and by agent; an unknown cost is null."""
    return {
        **_record(together(usage)),
        "agents": {agent: _record(one) for agent, one in usage.items()},
    }


def _record(one: Usage) -> dict[str, Any]:
    return {
        **one.as_json("runs tokens estimated:estimatedTokens"),
        "usd": round(one.usd, 6) if one.priced else None,
        "runsOfUnknownCost": one.runs - one.priced,
    }
