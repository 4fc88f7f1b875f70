"""The commands on events: `events tail|story|export|schema`.

Source: `cli.md` section 2, P8-081 to P8-086, XC-005.
"""

from __future__ import annotations

import json as json_format
import sys
import time
from collections import deque
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

from council.cli.edge import Output
from council.core.errors import UsageError
from council.core.plain_text import json_text, plain_line
from council.core.times import parse_instant, render_instant
from council.operations.place import Place
from council.store.events import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.reporting.story import Story, Told

# --- Events on a terminal or in a pipe: one a line, or as a story

_ENGLISH = ("of", ": nothing has happened yet")
_FRENCH = ("de", " : rien ne s'est encore passé")
_WIDEST_NAME = 16
_LOOK_AGAIN_S = 0.2


def _print_tail(place: Place, newest: int, *, follow: bool, as_json: bool) -> None:
    """Print the `newest` events, then with `follow` each new one as it comes."""
    last: deque[dict[str, Any]] = deque(maxlen=newest)
    caught_up = False

    def more() -> bool:
        nonlocal caught_up
        if not caught_up:
            caught_up = True
            for record in last:
                _print(record, as_json)
        sys.stdout.flush()
        if follow:
            time.sleep(_LOOK_AGAIN_S)
        return follow

    for record in tail(place.paths, more=more):
        if caught_up:
            _print(record, as_json)
        else:
            last.append(record)


def _as_lines(story: Story, width: int, lang: str) -> str:
    """Return a story as people read it: a line for each event, wrapped below itself."""
    from council.operations.reporting.event_words import kind_word

    about = story.subject
    of, nothing = _FRENCH if lang == "fr" else _ENGLISH
    head = f"{kind_word(about.kind, lang)} {about.name or about.id}"
    head += f" {of} {about.owner}" if about.owner else ""
    if about.name and about.name != about.id:
        head += f" ({about.id})"
    head = plain_line(head)
    lines = [head]
    if not story.told:
        return f"{head}{nothing}"
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
        body = wrap(_said(one), room, break_on_hyphens=False, break_long_words=False) or [""]
        lines.append(start + body[0])
        lines += [" " * len(start) + rest for rest in body[1:]]
    return "\n".join(lines)


def _said(one: Told) -> str:
    return plain_line(f"[{one.where}] {one.said}" if one.where else one.said)


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
    """Print the newest events, one a line."""
    _print_tail(place, lines, follow=follow, as_json=json)


def events_story(place: Place, wanted: str, lines: int, lang: str) -> Output:
    """Tell everything that happened to something, in order: when, who, what and why."""
    from council.operations.reporting.story import story as tell
    from council.store.settings import language

    spoken = language(place.settings, lang, place.environ)
    found = tell(place, wanted, spoken, newest=lines)
    width = get_terminal_size((80, 24)).columns
    return Output(record=found.to_record(), text=_as_lines(found, min(width, 120), spoken))


def events_export(place: Place, format: str, since: str, about: str) -> Output | None:
    """Print the events for other tools: as CloudEvents, or as spans of OpenTelemetry."""
    from council.operations.reporting import story as exporting

    if format not in exporting.FORMATS:
        known = ", ".join(exporting.FORMATS)
        raise UsageError(f"no format {format!r}", f"choose one of: {known}")
    day = render_instant(parse_instant(since))[:10] if since else ""
    if format == exporting.OTLP:
        made = exporting.otlp(place, since=day, about=about)
        return Output(record=made, text=as_json(made))
    for one in exporting.cloud_events(place, since=day, about=about):
        sys.stdout.buffer.write(as_json(one).encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()
    return None


def as_json(record: object) -> str:
    """Return a record as one line of JSON."""
    return json_text(record)


def events_schema() -> Output:
    """Print the JSON Schema that every line of the event log keeps to."""
    from council.core.event_types import event_schema, schema_text

    return Output(record=event_schema(), text=schema_text())
