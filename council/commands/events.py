"""The commands on what happened and why: `events tail|story|export|schema`, `explain`.

Source: `cli.md` section 2, P8-081 to P8-086, XC-005.
"""

from __future__ import annotations

import json as json_format
import sys
import time
from collections import deque
from datetime import datetime, timedelta
from shutil import get_terminal_size
from typing import Any

from council.commands.drawing import folded_lines
from council.commands.output import Output
from council.core.errors import UsageError
from council.core.plain_text import json_text, plain_line, plain_text
from council.core.times import parse_instant, render_duration, render_instant
from council.operations.place import Place
from council.operations.reporting.event_words import kind_word
from council.operations.reporting.explain_words import say
from council.operations.reporting.explained import Explained, Tried, Wait, came_back
from council.operations.reporting.story import Story, Told
from council.store.events import tail
from council.store.settings import language
from council.store.texts import words_of

# --- Events on a terminal or in a pipe: one a line, or as a story

_WIDEST_NAME = 16
_CHECK_EVERY_S = 0.2


def _as_lines(story: Story, width: int, lang: str) -> str:
    """Return a story as people read it: a line for each event, wrapped below itself."""
    about = story.subject
    words = words_of(lang, "explanations")
    head = f"{kind_word(about.kind, lang)} {about.name or about.id}"
    head += f" {words['of']} {about.owner}" if about.owner else ""
    if about.name and about.name != about.id:
        head += f" ({about.id})"
    head = plain_line(head)
    lines = [head]
    if not story.told:
        return f"{head}{words['colon']}{words['nothing-yet']}"
    column = max(len(_who(one)) for one in story.told)
    column = min(max(column, 4), _WIDEST_NAME)
    day = ""
    for one in story.told:
        at = plain_line(str(one.event.get("at")))
        if at[:10] != day:
            day = at[:10]
            lines += ["", day]
        start = f"{at[11:19]}  {_who(one):<{column}}  "
        room = max(20, width - len(start))
        # A path that is broken in two can neither be copied nor looked for.
        said = plain_line(f"[{one.where}] {one.said}" if one.where else one.said)
        body = folded_lines(said, room) or [""]
        lines.append(start + body[0])
        lines += [" " * len(start) + rest for rest in body[1:]]
    return "\n".join(lines)


def _who(one: Told) -> str:
    return plain_line(one.who) or "-"


def _print(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        line = json_text(record)
    else:
        about = " ".join(
            f"{key}={_short(value)}"
            for key, value in record.get("data", {}).items()
            if value not in (None, "", [])
        )
        line = f"{record['at']}  {record['type']:<24} {record.get('agentId') or '-':<10} {about}"
        line = plain_line(line)
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json_format.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59] + "…"


def events_tail(place: Place, follow: bool, lines: int, json: bool) -> None:
    """Print the newest events, one a line, then with `follow` each new one as it comes."""
    last: deque[dict[str, Any]] = deque(maxlen=lines)
    caught_up = False

    def more() -> bool:
        nonlocal caught_up
        if not caught_up:
            caught_up = True
            for record in last:
                _print(record, json)
        sys.stdout.flush()
        if follow:
            time.sleep(_CHECK_EVERY_S)
        return follow

    for record in tail(place.paths, more=more):
        if caught_up:
            _print(record, json)
        else:
            last.append(record)


def events_story(place: Place, wanted: str, lines: int, lang: str) -> Output:
    """List everything that happened to something, in order: when, who, what and why."""
    from council.operations.reporting.story import story as tell

    spoken = language(place.settings, lang, place.environ)
    found = tell(place, wanted, spoken, newest=lines)
    width = get_terminal_size((80, 24)).columns
    return Output(record=found, text=_as_lines(found, min(width, 120), spoken))


def events_export(place: Place, format: str, since: str, about: str) -> Output | None:
    """Print the events for other tools: as CloudEvents, or as spans of OpenTelemetry."""
    from council.operations.reporting import story as exporting

    if format not in exporting.FORMATS:
        known = ", ".join(exporting.FORMATS)
        raise UsageError(f"no format {format!r}", f"choose one of: {known}")
    day = render_instant(parse_instant(since))[:10] if since else ""
    if format == exporting.OTLP:
        made = exporting.otlp(place, since=day, about=about)
        return Output(record=made, text=json_text(made))
    for one in exporting.cloud_events(place, since=day, about=about):
        sys.stdout.buffer.write(json_text(one).encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()
    return None


def events_schema() -> Output:
    """Print the JSON Schema that every line of the event log keeps to."""
    from council.core.event_types import event_schema, schema_text

    return Output(record=event_schema(), text=schema_text())


_WIDEST = 100
_LEAST = timedelta(seconds=1)


def explain(place: Place, wanted: str, verbose: bool, lang: str) -> Output:
    """Say what something waits for, why, what was tried, and what happens next and when."""
    from council.operations.reporting.explaining import explain as explained

    spoken = language(place.settings, lang, place.environ)
    found = explained(place, wanted)
    width = min(get_terminal_size((80, 24)).columns, _WIDEST)
    return Output(record=found.to_record(spoken), text=page(found, spoken, width, verbose=verbose))


def page(found: Explained, lang: str, width: int, *, verbose: bool = False) -> str:
    """Return an explanation as people read it."""
    lines = _wrapped(_head(found, lang), "", width)
    ids = _ids(found) if verbose else []
    whole = "  ".join(ids)  # an id that is broken cannot be copied
    for line in (*([whole] if len(whole) <= width else ids), found.path):
        lines += _wrapped(line, "", width) if line else []

    def part(title: str, body: list[str]) -> None:
        lines.extend(["", say(title, lang), *(body or [f"  {say('nothing', lang)}"])])

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
    who = f"{one.caller} → {one.agent}" if one.caller else one.agent
    head = f"{render_instant(one.at)[11:19]} {who}"
    head += f", {say('attempt', lang, {'attempt': one.attempt})}" if one.attempt else ""
    came = came_back(one, lang)
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
    if at is None:
        return ""
    left = say("in", lang, {"left": _span(at - now)}) if at > now else say("now", lang)
    return f"{render_instant(at)} ({left}): "


def _span(span: timedelta) -> str:
    return render_duration(max(span, timedelta(0)) if span >= _LEAST else timedelta(0))


def _wrapped(text: str, start: str, width: int) -> list[str]:
    return folded_lines(plain_text(text), width, start, " " * len(start))
