"""The commands that look at judgements: `what-if`, `metrics`, `rate`.

Source: DL-091 to DL-094, DL-104, `cli.md` section 2.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output
from council.cli.parameters import Json, Name, Now, Root, do, help_text, listed, whole_number
from council.core.errors import UsageError
from council.operations.place import Place

Which = Annotated[
    str,
    typer.Argument(metavar="[NAME]", help="A conversation, or minutes by name, file or id."),
]
_WIDEST = 100


def what_if(
    which: Which = "",
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="ID", help="As if this agent had not taken part."),
    ] = None,
    threshold: Annotated[
        str, typer.Option("--threshold", metavar="N", help="As if N had to agree.")
    ] = "",
    blind: Annotated[
        bool, typer.Option("--blind", help="Count only each agent's first look at the others.")
    ] = False,
    without_flips: Annotated[
        bool, typer.Option("--without-flips", help="As if nobody had changed a stance.")
    ] = False,
    name: Name = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Judge a deliberation again with something changed; say what its verdict hangs on."""

    def command(place: Place) -> Output:
        from council.operations.conversations.judging import what_if as judge_again

        found = judge_again(
            place,
            which or name,
            without=listed(*(without or ())),
            threshold=whole_number(threshold, "--threshold"),
            blind=blind,
            without_flips=without_flips,
        )
        return Output(record=found.to_record(), text=found.to_text())

    do("what-if", json, root, now, command)


def metrics(root: Root = "", now: Now = "", json: Json = False) -> None:
    """Tell how conversations went: over all minutes, and by procedure."""

    def command(place: Place) -> Output:
        from council.operations.conversations.metrics import metrics as gather

        found = gather(place)
        notes = [f"council: {path}: {reason}" for path, reason in found.skipped]
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        return Output(record=found.to_record(), text=found.to_text(width), notes=notes)

    do("metrics", json, root, now, command)


def rate(
    which: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Minutes by name, file or id; `active`: the newest."),
    ],
    stars: Annotated[str, typer.Argument(metavar="1-5", help="How useful they were.")],
    as_: Annotated[
        str, typer.Option("--as", metavar="ID", help="Who rates; else your login name.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Say how useful the synthesis of a conversation was; kept with its minutes."""

    def command(place: Place) -> Output:
        from council.operations.conversations.rating import rate as add

        if not (stars.isascii() and stars.isdigit()):
            raise UsageError(f"{stars!r} is not a rating", "give whole stars from 1 to 5")
        rated = add(place, which, int(stars), as_ or _login(place))
        many = f"{len(rated.ratings)} ratings" if len(rated.ratings) > 1 else "1 rating"
        said = f"{rated.path}: {rated.stars} of 5; mean {rated.mean:.1f} of {many}"
        return Output(record=rated.to_record(), text=said)

    do("rate", json, root, now, command)


def _login(place: Place) -> str:
    """Return the name of the person at the keyboard."""
    import getpass

    try:
        return place.environ.get("COUNCIL_AGENT") or getpass.getuser()
    except (OSError, KeyError):  # no such user, as in some containers
        return "user"


COMMANDS: dict[str, Callable[..., None]] = {"what-if": what_if, "rate": rate, "metrics": metrics}
_EXAMPLES = {
    "what-if": "council what-if --without gpt",
    "rate": "council rate active 4",
    "metrics": "council metrics --json",
}
for _name, _function in COMMANDS.items():
    _function.__doc__ = help_text(_function.__doc__ or "", _EXAMPLES[_name])
