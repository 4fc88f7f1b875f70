"""What many commands share: parameters, Typer's form of the option table, how one is carried out.

Source: `cli.md` section 1.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any

import typer

from council.cli import options
from council.cli.edge import Output, carry_out
from council.cli.options import READING, Command, Option
from council.core.errors import UsageError
from council.operations.place import Place, open_place


def _parameter(option: Option) -> Any:
    if not option.flags:
        return typer.Argument(metavar=option.metavar, help=option.help, show_default=False)
    return typer.Option(
        *option.flags,
        metavar=None if option.flag else option.metavar,
        help=option.help,
        show_default=False,
    )


Root = Annotated[str, _parameter(options.ROOT)]
Now = Annotated[str, _parameter(options.NOW)]
Json = Annotated[bool, _parameter(options.JSON)]
Name = Annotated[str, _parameter(options.NAME)]
As = Annotated[str, _parameter(options.AS)]
Lang = Annotated[str, _parameter(options.LANG)]
Revision = Annotated[int, typer.Argument(metavar="REV", help="A revision; see: council history")]


def typer_function(command: Command, run: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
    """Return a function that Typer reads as a command with the options of the table."""

    def function(**values: Any) -> None:
        for option in command.options:
            if option.choices and values[option.name] not in ("", *option.choices):
                raise typer.BadParameter(
                    f"choose one of: {', '.join(option.choices)}", param_hint=option.flags[0]
                )
        run(values)

    parameters = []
    for option in command.options:
        kind: Any = bool if option.flag else list[str] if option.many else str
        default: Any = False if option.flag else [] if option.many else ""
        if option.required:
            default = inspect.Parameter.empty
        parameters.append(
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[kind, _parameter(option)],
            )
        )
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    function.__name__ = command.name
    last = f"\n{command.last}\n" if command.last else ""
    function.__doc__ = help_text(command.summary, command.example) + last
    return function


def do(
    verb: str,
    as_json: bool,
    root: str,
    now: str,
    command: Callable[[Place], Output | None],
) -> None:
    """Open the workspace, carry out one command, end with its exit code."""

    def opened() -> Output | None:
        place = open_place(root, now, os.environ)
        if verb not in READING:
            place.refuse_newer_settings()
        output = command(place)
        if output is not None:
            output.notes += [f"council: {one}" for one in place.warnings]
        return output

    raise typer.Exit(carry_out(verb, opened, as_json=as_json))


def hot_function(name: str, work: Callable[[dict[str, Any]], Output]) -> Callable[..., None]:
    """Return the Typer form of a command of the hot table, which does `work`."""

    def run(values: dict[str, Any]) -> None:
        raise typer.Exit(carry_out(name, lambda: work(values), as_json=values["json"]))

    return typer_function(options.HOT[name], run)


def listed(*given: str) -> list[str]:
    """Return what was named, apart by commas or by giving it again."""
    return [one.strip() for many in given for one in many.split(",") if one.strip()]


def whole_number(text: str, option: str, most: int = 1000) -> int:
    """Return a number from 1 to `most`, 0 when none was given.

    Raises:
        UsageError: It is none.
    """
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= most:
        raise UsageError(f"{option} {text!r} is not a whole number from 1 to {most}")
    return int(text)


def help_text(summary: str, *examples: str) -> str:
    """Return the help of a command: its summary, then one line for each example."""
    shown = "\n".join(f"    $ {example}" for example in examples)
    return f"{summary}\n\n\b\nExample:\n{shown}\n"
