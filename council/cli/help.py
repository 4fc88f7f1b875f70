"""Shows help with Typer, whose commands are made of the table of commands."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

import typer

from council.cli.quick import COMMANDS, Command, Option, parted

_ABOUT = "Several agents and people decide a question together, in files."
_TYPES = {"flag": bool, "whole": int | None, "many": list[str]}


def show(argv: list[str]) -> int:
    """Show the help of the command or group that a line begins with, else of all commands."""
    name, words, _ = parted(argv)
    group = words[:1] if any(one.startswith(f"{(words or ['?'])[0]} ") for one in COMMANDS) else []
    _app(name).main([*(name.split() or group), "--help"], "council", standalone_mode=False)
    return 0


def _app(only: str) -> Any:
    """Return Typer's `council`, with one command, or with all of them where `only` is ""."""
    settings = {"help_option_names": ["--help", "-h"]}
    made = typer.Typer(help=_ABOUT, context_settings=settings, add_completion=False)
    made.callback()(_root)
    groups = {"": made}
    for found in map(Command, [only] if only else COMMANDS):
        group, _, last = found.name.rpartition(" ")
        if group not in groups:
            names = [name for name in COMMANDS if name.startswith(f"{group} ")]
            words = [name.partition(" ")[2] for name in names if Command(name).panel]
            groups[group] = typer.Typer(help=f"Commands: {', '.join(words)}.")
            made.add_typer(groups[group], name=group, rich_help_panel=found.panel)
        groups[group].command(
            last,
            help=f"{found.summary}\n\nExample: council {found.example}",
            short_help=found.summary,
            hidden=not found.panel,
            rich_help_panel=found.panel,
        )(_function(found))
    return typer.main.get_command(made)


def _root(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    del version


def _function(found: Command) -> Any:
    """Return a function with the signature from which Typer makes a command's help."""

    def made(**_values: Any) -> None: ...

    shown: Any = made
    shown.__signature__ = Signature([_parameter(one) for one in found.options])
    shown.__annotations__ = {one.name: _TYPES.get(one.kind, str) for one in found.options}
    return shown


def _parameter(one: Option) -> Parameter:
    default: Any = ... if one.required else one.unset()
    told: dict[str, Any] = {"help": one.help, "metavar": one.metavar or None}
    told |= {"show_default": False, "hidden": not one.help}
    kind: Any = typer.Option(default, *one.flags, **told)
    if not one.flags:
        kind = typer.Argument(default, **told)
    annotation = _TYPES.get(one.kind, str)
    return Parameter(one.name, Parameter.KEYWORD_ONLY, default=kind, annotation=annotation)
