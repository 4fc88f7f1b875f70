"""What all pages have in common: their language and words, times, avatars, and the one notice.

Source: XC-012, DL-072.
"""

from __future__ import annotations

import hmac
import re
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from council.core.errors import UsageError
from council.core.plain_text import plain_line
from council.core.reading import LANGUAGES
from council.core.reporting.sentences import filled
from council.core.times import parse_instant, render_instant
from council.store.texts import words_of
from council.web.advice import advised
from council.working.calling import in_fields

# What a page calls an option of which the label has another key than its name.
_LABELS = {
    "agents": "nav-agents",
    "as": "your-name",
    "brief-file": "brief",
    "confidence": "council-how-sure",
    "duration": "council-extend-by",
    "message": "council-message",
    "status": "council-status",
    "members": "members-of",
    "participants": "members-of",
    "position": "council-position",
    "stance": "council-stances",
    "text": "council-reasoning",
    "to": "council-to",
}
LANGUAGE_COOKIE = "council-lang"
_HUES = 12

TEMPLATES = Environment(
    loader=PackageLoader("council.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def hue(name: str) -> int:
    """Return which of the colours of `style.css` somebody has, always the same."""
    return zlib.crc32(name.encode("utf-8", "replace")) % _HUES


_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TEMPLATES.filters["line"] = lambda text: plain_line(str(text))
TEMPLATES.filters["twice"] = lambda one: (one, one)
TEMPLATES.filters["segment"] = lambda one: quote(str(one), "")


_FRENCH_NUMBER = {ord(","): "\u202f", ord("."): ","}


class Words:
    """The words of pages in one language, as templates call them: `t("key", name=…)`."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._words = words_of(lang, "web")
        self._few = 2 if lang == "fr" else 1

    def __call__(self, key: str, /, **values: Any) -> str:
        """Return a sentence with its values put in; `n` chooses the form for one, `KEY-one`."""
        count = values.get("n")
        is_one = isinstance(count, int) and (count == 1 or count < self._few)
        if is_one and f"{key}-one" in self._words:
            key = f"{key}-one"
        return filled(self._words[key], {name: str(one) for name, one in values.items()})

    def named(self, kind: str, word: str | None, other: str = "") -> str:
        """Return what stands for a word of a record, such as a mode; if none, `other` or itself."""
        return self._words.get(f"{kind}-{word}".replace(" ", "-"), other or str(word or ""))

    def number(self, value: float) -> str:
        """Return a number with its thousands apart, and a decimal sign of the language.

        >>> words("en").number(175536), words("fr").number(1.5)
        ('175,536', '1,5')
        """
        said = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")
        return said if self.lang == "en" else said.translate(_FRENCH_NUMBER)

    def money(self, usd: float) -> str:
        """Return an amount of dollars.

        >>> words("en").money(5)
        '$5.00'
        """
        said = f"{usd:,.2f}"
        return f"${said}" if self.lang == "en" else f"{said.translate(_FRENCH_NUMBER)}\u00a0$"

    def day(self, at: datetime) -> str:
        """Return a day as people write it.

        >>> words("en").day(datetime(2026, 11, 26)), words("fr").day(datetime(2026, 7, 1))
        ('26 Nov 2026', '1er juil. 2026')
        """
        month = self("months").split()[at.month - 1]
        return self("day-first" if at.day == 1 else "day", day=at.day, month=month, year=at.year)

    def dated(self, date: object) -> str:
        """Return a day of a file's front matter as people write it; itself where it is none."""
        try:
            return self.day(datetime.fromisoformat(str(date)))
        except ValueError:
            return str(date)

    def label(self, option: str) -> str:
        """Return what pages call an option."""
        option = option.replace("_", "-")
        return self._words.get(_LABELS.get(option, option), option.replace("-", " "))

    def by_labels(self, said: str) -> str:
        """Return a refusal with options by what pages call them: `--agents` is a field there."""
        return in_fields(said, self._label)

    def _label(self, option: str) -> str:
        return self("quoted", label=self.label(option))


@cache
def words(lang: str) -> Words:
    """Return the words of a language."""
    return Words(lang)


def language_of(request: Request) -> str:
    """Return the language of a reader: asked for, chosen before, of the browser, or ours."""
    wanted = [request.query_params.get("lang", ""), request.cookies.get(LANGUAGE_COOKIE, "")]
    return _first_known([*wanted, *_accepted(request.headers), request.app.state.language])


def _accepted(headers: Mapping[str, str]) -> list[str]:
    return [one.strip()[:2].lower() for one in headers.get("accept-language", "").split(",")]


def _first_known(wanted: list[str]) -> str:
    return next(one for one in wanted if one in LANGUAGES)


def bare(template: str, headers: Mapping[str, str], **facts: Any) -> str:
    """Return a template without the frame, as it is shown to one who may see nothing else."""
    return by_itself(template, _first_known([*_accepted(headers), *LANGUAGES]), **facts)


def rendered(template: str, request: Request, **facts: Any) -> str:
    """Return a template with its facts and with what all pages show."""
    lang, now = language_of(request), datetime.now(UTC)
    t = words(lang)
    frame = {
        "lang": lang,
        "t": t,
        "path": quote(request.scope["path"]),
        "query": request.query_params,
        "form_token": request.state.form_token,
        "workspace": request.app.state.workspace,
        "now": render_instant(now),
        "notice": _notice(request),
        "refused": None,
        "given": {},
        "when": (when := _when(now, t)),
        "moment": _when(None, t, seconds=True),
        "timed": lambda said: _timed(said, when),
        "advice": lambda said: _timed(said, when, lambda part: advised(part, t)),
        "hue": hue,
        "named": lambda kind, words: [(one, t.named(kind, one)) for one in words],
        "span": lambda seconds: span(seconds, t("days")),
        "since": lambda instant: _clock(instant, now, "since", t("days")),
        "until": lambda instant: _clock(instant, now, "until", t("days")),
    }
    return TEMPLATES.get_template(template).render(frame | facts)


def by_itself(template: str, lang: str, **facts: Any) -> str:
    """Return a template that is no page of a server: a file, in a language."""
    frame = {"lang": lang, "t": words(lang), "when": _when(None, words(lang))}
    return TEMPLATES.get_template(template).render(frame | facts)


def noticed(request: Request, where: str, said: str) -> str:
    """Return an address that says something once, sealed: only we can have a page say it."""
    mark = "&" if "?" in where else "?"
    path, _, anchor = where.partition("#")
    told = urlencode({"notice": said, "seal": _seal(request, said)})
    return f"{path}{mark}{told}{'#' if anchor else ''}{anchor}"


def _notice(request: Request) -> str:
    said, seal = (request.query_params.get(one, "") for one in ("notice", "seal"))
    is_ours = request.state.form_token and hmac.compare_digest(
        seal.encode("utf-8", "replace"), _seal(request, said).encode()
    )
    return said if is_ours else ""


def _seal(request: Request, said: str) -> str:
    key = request.state.form_token.encode()
    return hmac.new(key, said.encode("utf-8", "replace"), "sha256").hexdigest()[:32]


def _timed(
    said: str, when: Callable[[str], Markup], shown: Callable[[str], Markup] = escape
) -> Markup:
    """Return a sentence with its instants as a page shows them, the rest as `shown` says."""
    parts = _INSTANT.split(said)
    times = [when(one) for one in _INSTANT.findall(said)]
    return Markup("").join(
        one for pair in zip(map(shown, parts), [*times, Markup("")], strict=True) for one in pair
    )


def _when(now: datetime | None, t: Words, *, seconds: bool = False) -> Callable[[str], Markup]:
    """Return what shows instants: without the day where it is today, with `seconds` whole."""

    def when(instant: str | None) -> Markup:
        """Return an instant as a page shows it, with the whole of it for programs."""
        try:
            at = parse_instant(instant or "")
        except UsageError:
            return Markup("–")
        clock = f"{at:%H:%M:%S} UTC" if seconds else f"{at:%H:%M} UTC"
        is_today = now is not None and at.date() == now.date()
        said = clock if is_today else f"{t.day(at)}, {clock}"
        return Markup('<time datetime="{}" data-when{}>{}</time>').format(
            render_instant(at), Markup('="seconds"' if seconds else ""), said
        )

    return when


def _clock(instant: str | None, now: datetime, direction: str, days: str) -> Markup:
    """Return how long ago an instant was, or how far it is; a script lets it run."""
    try:
        at = parse_instant(instant or "")
    except UsageError:
        return Markup("–")
    apart = (now - at if direction == "since" else at - now).total_seconds()
    return Markup('<time datetime="{}" data-{}>{}</time>').format(
        render_instant(at), Markup(direction), span(apart, days)
    )


def span(seconds: float, days: str = "d") -> str:
    """Return a length of time in at most two units, such as `3 min` or `2 h 5 min`.

    >>> span(40), span(185), span(7500), span(200_000), span(200_000, "j")
    ('40 s', '3 min', '2 h 5 min', '2 d 7 h', '2 j 7 h')
    """
    left = max(0, int(seconds))
    if left < 60:
        return f"{left} s"
    if left < 3600:
        return f"{left // 60} min"
    if left < 86400:
        return f"{left // 3600} h {left % 3600 // 60} min"
    return f"{left // 86400} {days} {left % 86400 // 3600} h"
