"""Calls the function of a command with the values of its options, for both parsers.

Source: `cli.md` section 1.
"""

from __future__ import annotations

import os

from council.cli.edge import Output, carry_out, open_workspace, refuse, with_faults_said
from council.cli.options import Command, command, hot_name, is_refused_by_typer, parse
from council.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.operations.place import Place


def run(argv: list[str]) -> int:
    """Run one command that needs no Typer; `argv` begins with its name."""
    found = command(hot_name(argv))
    words = argv[len(found.name.split()) :]
    try:
        values = parse(found, words)
    except UsageError as error:
        if is_refused_by_typer(found):
            from council.cli.app import run as run_typer

            return run_typer(argv)
        as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
        return refuse(error, as_json=as_json)
    return call(found, values)


def call(command: Command, values: dict[str, Any]) -> int:
    """Carry out a command and return its exit code; its workspace is opened here."""

    def work() -> Output | int | None:
        module = __import__(f"council.cli.{command.module}", fromlist=("",))
        function = getattr(module, command.function)
        code = function.__code__
        asked = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {name: values[name] for name in asked if name in values}
        if "values" in asked:
            given["values"] = values
        if "place" not in asked:
            return function(**given)  # type: ignore[no-any-return]
        place = _opened(values, needed=function.__annotations__["place"] == "Place")
        if place and not command.reads:
            place.refuse_newer_settings()
        output = function(place, **given)
        if place and isinstance(output, Output):
            output.notes += [f"council: {one}" for one in place.warnings]
        return output  # type: ignore[no-any-return]

    return carry_out(command.name, work, as_json=values.get("json", False))


def _opened(values: dict[str, Any], *, needed: bool) -> Place | None:
    if needed:
        return open_workspace(values["root"], values["now"])
    from council.operations.protocol.messages import place_if_any

    place = place_if_any(values["root"], values["now"], os.environ)
    return with_faults_said(place) if place else None
