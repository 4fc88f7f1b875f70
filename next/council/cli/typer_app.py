"""Makes Typer's functions of the table of commands, and turns Typer's complaints into ours."""

from __future__ import annotations

import sys
from inspect import Parameter, Signature
from typing import Any

import typer
from typer.exceptions import Abort, TyperException

from council import __version__
from council.cli.carry import INTERRUPTED, carry_out, refuse
from council.cli.quick import COMMANDS, Command, Option, command, meant, name_of
from council.kernel.errors import Usage

_ABOUT = "Several agents and people decide a question together, in files."
_TYPES = {"flag": bool, "whole": int | None, "many": list[str]}


def run(argv: list[str]) -> int:
    """Read a command line with Typer and carry it out; return the exit code."""
    argv = argv or ["--help"]
    try:
        code = _app(name_of(argv)).main(args=argv, prog_name="council", standalone_mode=False)
    except TyperException as error:
        return refuse(_refusal(error, argv), as_json="--json" in argv)
    except (Abort, KeyboardInterrupt):
        sys.stderr.write("council: interrupted\n")
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _app(only: str) -> Any:
    """Return Typer's `council`, with one command, or with all of them where `only` is ""."""
    settings = {"help_option_names": ["--help", "-h"]}
    made = typer.Typer(help=_ABOUT, context_settings=settings, add_completion=False)
    made.callback()(_root)
    groups = {"": made}
    for name in [only] if only else COMMANDS:
        found = command(name)
        assert found is not None
        group, _, last = name.rpartition(" ")
        if group not in groups:
            groups[group] = typer.Typer(help=f"The {group} commands.")
            made.add_typer(groups[group], name=group, rich_help_panel=found.panel)
        groups[group].command(
            last,
            help=f"{found.summary}\n\nExample: council {found.example}",
            short_help=found.summary,
            hidden=not found.panel,
            rich_help_panel=found.panel,
        )(_function(found))
    return typer.main.get_command(made)


def _function(found: Command) -> Any:
    """Return the function of a command, with the signature that Typer reads."""

    def run_command(**values: Any) -> None:
        for one in found.options:
            value, choices = values[one.name], one.kind.split("/")
            if one.kind == "many":
                values[one.name] = list(value)
            wrong = value and len(choices) > 1 and value not in choices
            if wrong or (one.kind == "whole" and value and not 0 <= value < 10**15):
                error = Usage("usage", f"no {one.flags[-1]}: {str(value)[:40]!r}", one.help)
                raise typer.Exit(refuse(error, as_json=values["json"]))
        raise typer.Exit(carry_out(found, values))

    made: Any = run_command
    made.__signature__ = Signature([_parameter(one) for one in found.options])
    made.__annotations__ = {one.name: _TYPES.get(one.kind, str) for one in found.options}
    return made


def _parameter(one: Option) -> Parameter:
    default: Any = ... if one.required else one.unset()
    told: dict[str, Any] = {"help": one.help, "metavar": one.metavar or None}
    told |= {"show_default": False, "hidden": not one.help}
    made: Any = typer.Option(default, *one.flags, **told)
    if not one.flags:
        made = typer.Argument(default, **told)
    kind = _TYPES.get(one.kind, str)
    return Parameter(one.name, Parameter.KEYWORD_ONLY, default=made, annotation=kind)


def _refusal(error: Any, argv: list[str]) -> Usage:
    """Return Typer's complaint in our words, with the way on."""
    message = " ".join(error.format_message().split())
    name = name_of(argv)
    if not name and argv[0][:1] != "-":
        is_group = any(one.startswith(f"{argv[0]} ") for one in COMMANDS)
        word = " ".join(argv[: 1 + is_group])
        hint = f"see: council {argv[0]} --help" if is_group else f"try: council {meant(word)}"
        return Usage("no-such-command", f"no command is called {word[:80]!r}", hint)
    if "unexpected extra argument" in message and name in ("respond", "say", "ask", "convene"):
        return Usage("usage", message[:200], "put quotes around a text of several words")
    return Usage("usage", message[:200], f"see: council {name or '--help'}{' --help' * bool(name)}")


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"council {__version__}\n")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    del version
