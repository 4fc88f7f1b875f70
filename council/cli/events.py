"""The commands on events: `events tail|story|export|schema`.

Source: `cli.md` section 2, P8-081 to P8-086.
"""

from __future__ import annotations

import json as json_format
import sys
from shutil import get_terminal_size
from typing import Annotated

import typer

from council.cli.edge import Output, carry_out
from council.cli.parameters import Json, Lang, Now, Root, do, help_text
from council.core.errors import UsageError
from council.core.times import parse_instant, render_instant
from council.operations.place import Place


def events_tail(
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on and print events as they happen.")
    ] = False,
    lines: Annotated[
        int, typer.Option("--lines", metavar="N", min=0, help="How many of the newest events.")
    ] = 20,
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Print the newest events, one a line."""

    def command(place: Place) -> None:
        from council.cli.event_lines import print_tail

        print_tail(place, lines, follow=follow, as_json=json)

    do("events tail", json, root, now, command)


def story(
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A conversation, channel, context, task, turn, agent, trace or artifact.",
            show_default=False,
        ),
    ],
    lines: Annotated[
        int, typer.Option("--lines", metavar="N", min=0, help="Only the newest; 0 for all.")
    ] = 0,
    lang: Lang = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Tell everything that happened to something, in order: when, who, what and why."""

    def command(place: Place) -> Output:
        from council.cli.event_lines import told
        from council.operations.telling.story import story as tell
        from council.store.settings import language

        spoken = language(place.settings, lang, place.environ)
        found = tell(place, wanted, spoken, newest=lines)
        width = get_terminal_size((80, 24)).columns
        return Output(record=found.to_record(), text=told(found, min(width, 120), spoken))

    do("events story", json, root, now, command)


def export(
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="Which: cloudevents, one a line, or otlp-json."
        ),
    ],
    since: Annotated[
        str, typer.Option("--since", metavar="DAY", help="The first day wanted, as 2026-02-08.")
    ] = "",
    about: Annotated[
        str, typer.Option("--about", metavar="ID", help="Only the story of this; see events story.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Print the events for other tools: as CloudEvents, or as spans of OpenTelemetry."""

    def command(place: Place) -> Output | None:
        from council.operations.telling import exporting

        if form not in exporting.FORMATS:
            known = ", ".join(exporting.FORMATS)
            raise UsageError(f"no format {form!r}", f"choose one of: {known}")
        day = render_instant(parse_instant(since))[:10] if since else ""
        if form == exporting.OTLP:
            made = exporting.otlp(place, since=day, about=about)
            return Output(record=made, text=as_json(made))
        for one in exporting.cloud_events(place, since=day, about=about):
            sys.stdout.buffer.write(as_json(one).encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
        return None

    do("events export", json, root, now, command)


def as_json(record: object) -> str:
    """Return a record as one line of JSON."""
    return json_format.dumps(record, ensure_ascii=False)


def schema(json: Json = False) -> None:
    """Print the JSON Schema that every line of the event log keeps to."""

    def command() -> Output:
        from council.core.event_types import event_schema, schema_text

        return Output(record=event_schema(), text=schema_text())

    raise typer.Exit(carry_out("events schema", command, as_json=json))


COMMANDS = {
    "events tail": events_tail,
    "events story": story,
    "events export": export,
    "events schema": schema,
}
_EXAMPLES = {
    "events export": "council events export --format cloudevents --since 2026-02-08",
    "events story": "council events story active",
    "events tail": "council events tail --follow",
    "events schema": "council events schema > event.json",
}
for _name, _function in COMMANDS.items():
    _function.__doc__ = help_text(_function.__doc__ or "", _EXAMPLES[_name])
