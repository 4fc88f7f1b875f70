"""The command `explain`: why something stands where it stands.

Source: `cli.md` section 2 (`explain`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from shutil import get_terminal_size
from textwrap import wrap

from council.cli.edge import Output
from council.core.plain_text import plain_line, plain_text
from council.core.times import render_duration, render_instant
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.reporting.explained import Explained, Tried, Wait

_WIDEST = 100
_LEAST = timedelta(seconds=1)


def explain(place: Place, wanted: str, verbose: bool, lang: str) -> Output:
    """Say what something waits for, why, what was tried, and what happens next and when."""
    from council.operations.reporting.explaining import explain as explained
    from council.store.settings import language

    spoken = language(place.settings, lang, place.environ)
    found = explained(place, wanted)
    width = min(get_terminal_size((80, 24)).columns, _WIDEST)
    return Output(record=found.to_record(spoken), text=page(found, spoken, width, verbose=verbose))


def page(found: Explained, lang: str, width: int, *, verbose: bool = False) -> str:
    """Return an explanation as people read it."""
    from council.operations.reporting.explain_words import say

    lines = _wrapped(_head(found, lang), "", width)
    ids = _ids(found) if verbose else []
    whole = "  ".join(ids)  # an id that is broken cannot be copied
    for line in (*([whole] if len(whole) <= width else ids), found.path):
        lines += _wrapped(line, "", width) if line else []

    def part(title: str, body: list[str]) -> None:
        lines.extend(["", say(title, lang)])
        lines.extend(body or [f"  {say('nothing', lang)}"])

    part("waits", [line for one in found.waits for line in _wait(one, found.now, lang, width)])
    if found.hindrances:
        body: list[str] = []
        for one in found.hindrances:
            body += _wrapped(one.line(lang, found.name), "  ! ", width)
            body += _wrapped(one.fix(lang), "    -> ", width)
        part("hindrances", body)
    if found.tried:
        newest = {one.agent: one.task for one in found.tried}
        part(
            "tried",
            [
                line
                for one in found.tried
                for line in _tried(one, lang, width, newest[one.agent] == one.task)
            ],
        )
    nexts = []
    for coming in found.nexts:
        when = _when(coming.at, found.now, lang)
        nexts += _wrapped(f"{when}{coming.said.text(lang)}", "  ", width)
    part("next", nexts)
    return "\n".join(lines)


def _head(found: Explained, lang: str) -> str:
    from council.operations.reporting.event_words import kind_word
    from council.operations.reporting.explain_words import say

    name = found.name if found.kind != "task" else found.id
    head = f"{kind_word(found.kind, lang)} {name}"
    if found.status:
        meaning = say(found.meaning, lang) if found.meaning else ""
        head += f": {found.status}" + (f" ({meaning})" if meaning else "")
    return head + (f"; {found.where.text(lang)}" if found.where else "")


def _ids(found: Explained) -> list[str]:
    shown = [] if found.id in (found.name, found.ctx) else [f"id {found.id}"]
    shown += [f"ctx {found.ctx}"] if found.ctx and found.ctx != found.name else []
    shown += [f"trace {found.trace}"] if found.trace and found.trace != found.name else []
    return shown


def _wait(one: Wait, now: datetime, lang: str, width: int) -> list[str]:
    from council.operations.reporting.explain_words import say

    times = []
    if one.since is not None:
        times.append(say("since", lang, {"at": one.since, "age": _span(now - one.since)}))
    if one.until is not None:
        over = one.until <= now
        values = {"at": one.until, "left": _span(one.until - now)}
        times.append(say("until-over" if over else "until", lang, values))
    lines = _wrapped(one.said.text(lang), "  ", width)
    return lines + (_wrapped(", ".join(times), "    ", width) if times else [])


def _tried(one: Tried, lang: str, width: int, newest: bool) -> list[str]:
    from council.operations.reporting.explain_words import say, worded

    who = f"{one.caller} → {one.agent}" if one.caller else one.agent
    head = f"{render_instant(one.at)[11:19]} {who}"
    head += f", {say('attempt', lang, {'attempt': one.attempt})}" if one.attempt else ""
    came = worded(one.came_back, lang)
    head += f": {came}" if came else f": {one.state}"
    head += f" ({one.run.seconds})" if one.run.seconds else ""
    lines = _wrapped(head, "  ", width)
    if one.run.argv:
        lines += _wrapped(f"$ {one.run.argv}", "    ", width)
    for line in one.run.output:
        lines += [f"    | {plain_line(line)}"[:width]]
    if one.run.path and newest:
        lines += _wrapped(say("log", lang, {"path": one.run.path}), "    ", width)
    return lines


def _when(at: datetime | None, now: datetime, lang: str) -> str:
    from council.operations.reporting.explain_words import say

    if at is None:
        return ""
    left = say("in", lang, {"left": _span(at - now)}) if at > now else say("now", lang)
    return f"{render_instant(at)} ({left}): "


def _span(span: timedelta) -> str:
    return render_duration(max(span, timedelta(0)) if span >= _LEAST else timedelta(0))


def _wrapped(text: str, start: str, width: int) -> list[str]:
    return wrap(
        plain_text(text),
        width,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
        break_long_words=False,
    )
