"""What the commands about messages share: options, and how one is carried out anywhere.

Source: `cli.md` sections 1 and 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output, carry_out
from council.cli.options import READING
from council.core.errors import NotFoundError, UsageError
from council.operations.place import Place

Message = Annotated[
    str | None,
    typer.Argument(
        metavar="[MESSAGE|-]", help="One message; without it, or with -, standard input."
    ),
]
Version = Annotated[
    str,
    typer.Option(
        "--version", metavar="V1..V5", help="Read in this version; else each tells its own."
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Take each warning for a fault, with its code.")
]
KeyFile = Annotated[
    str,
    typer.Option("--key-file", metavar="PATH", help="The shared key; else .council/message-key."),
]


def forced_version(option: str) -> str | None:
    """Return the version that `--version` forces, None for none.

    Raises:
        UsageError: There is no such version.
    """
    from council.wire.messages import VERSIONS

    if not option:
        return None
    if option.upper() not in (*VERSIONS, "V5D"):
        raise UsageError(f"no protocol version {option!r}", f"it is one of {', '.join(VERSIONS)}")
    return option.upper()


def needed(place: Place | None) -> Place:
    """Return the workspace of a command that cannot do without one.

    Raises:
        NotFoundError: There is none.
    """
    if place is None:
        raise NotFoundError("no council workspace here or above; run: council init")
    return place


def do_anywhere(
    verb: str,
    as_json: bool,
    root: str,
    now: str,
    command: Callable[[Place | None], Output | int],
) -> None:
    """Carry out a command that takes a workspace or none; end with its exit code.

    A command that has printed everything itself answers its exit code alone.
    """
    printed = 0

    def found() -> Output | None:
        from council.operations.protocol.messages import place_if_any

        nonlocal printed
        place = place_if_any(root, now, os.environ)
        if place and verb not in READING:
            place.refuse_newer_settings()
        answer = command(place)
        if isinstance(answer, Output):
            return answer
        printed = answer
        return None

    raise typer.Exit(carry_out(verb, found, as_json=as_json) or printed)
