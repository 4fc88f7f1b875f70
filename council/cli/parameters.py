"""The parameters that many commands share, and Typer's form of the option table.

Source: `cli.md` section 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from council.cli import options
from council.cli.options import Command, Option


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
        kind: Any = bool if option.flag else str
        parameters.append(
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if option.flag else "",
                annotation=Annotated[kind, _parameter(option)],
            )
        )
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    function.__name__ = command.name
    function.__doc__ = help_text(command.summary, command.example)
    return function


def help_text(summary: str, *examples: str) -> str:
    """Return the help of a command: its summary, then one line for each example."""
    shown = "\n".join(f"    $ {example}" for example in examples)
    return f"{summary}\n\n\b\nExample:\n{shown}\n"
