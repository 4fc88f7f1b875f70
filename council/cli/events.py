"""The commands on events: `events tail|schema`.

Source: `cli.md` section 2, P8-081 to P8-086.
"""

from __future__ import annotations

from typing import Annotated

import typer

from council.cli.edge import Output, carry_out
from council.cli.parameters import Json, Now, Root, do, help_text
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


def schema(json: Json = False) -> None:
    """Print the JSON Schema that every line of the event log keeps to."""

    def command() -> Output:
        from council.core.event_types import event_schema, schema_text

        return Output(record=event_schema(), text=schema_text())

    raise typer.Exit(carry_out("events schema", command, as_json=json))


COMMANDS = {"events tail": events_tail, "events schema": schema}
_EXAMPLES = {
    "events tail": "council events tail --follow",
    "events schema": "council events schema > event.json",
}
for _name, _function in COMMANDS.items():
    _function.__doc__ = help_text(_function.__doc__ or "", _EXAMPLES[_name])
