"""Makes Typer's functions of the table of commands, and turns Typer's complaints into ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import typer
from typer.core import TyperGroup

from council import __version__
from council.cli.carry import carry_out, refuse
from council.cli.options import PANELS, Command, Option, command, meant, name_of
from council.kernel.errors import Usage

_ABOUT = "Several agents and people decide a question together, in files."
_TYPES = {"flag": bool, "whole": int | None, "many": list[str]}


class Panels(TyperGroup):
    """A group whose plain help has one list of commands for each panel."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the lists; hidden commands are left out."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            one: Any = self.get_command(ctx, name)
            if one is not None and not one.hidden:
                panel = getattr(one, "rich_help_panel", None) or "Commands"
                rows = panels.setdefault(str(panel), [])
                rows.append((name, one.get_short_help_str(limit=70)))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def run(argv: list[str]) -> int:
    """Read a command line with Typer and carry it out; return the exit code."""
    from typer.exceptions import Abort, TyperException  # late: not for help alone

    if not argv:
        argv = ["--help"]
    try:
        code = _app(name_of(argv)).main(args=argv, prog_name="council", standalone_mode=False)
    except TyperException as error:
        return refuse(_refusal(error, argv), as_json="--json" in argv)
    except (Abort, KeyboardInterrupt):
        sys.stderr.write("council: interrupted\n")
        return 130
    return code if isinstance(code, int) else 0


def _app(only: str) -> Any:
    """Return Typer's `council`, with one command, or with all of them where `only` is ""."""
    made = typer.Typer(
        help=_ABOUT,
        cls=Panels,
        no_args_is_help=True,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        context_settings={"help_option_names": ["--help", "-h"]},
        add_completion=False,
    )
    made.callback()(_root)
    groups: dict[str, typer.Typer] = {}
    for name in [only] if only else PANELS:
        found = command(name)
        assert found is not None
        group, _, last = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer(help="Agents and what they may do.", no_args_is_help=True)
            made.add_typer(groups[group], name=group, rich_help_panel=found.panel)
        into = groups[group] if group else made
        into.command(
            last,
            help=f"{found.summary}\n\nExample: council {found.example}",
            short_help=found.summary,
            hidden=found.is_second(),
            rich_help_panel=found.panel,
        )(_function(found))
    return typer.main.get_command(made)


def _function(found: Command) -> Callable[..., None]:
    """Return the function of a command, with the signature that Typer reads."""

    def run_command(**values: Any) -> None:
        for one in found.options:
            if one.kind == "many":
                values[one.name] = list(values[one.name] or [])
        raise typer.Exit(carry_out(found, values))

    made: Any = run_command
    made.__signature__ = Signature([_parameter(one) for one in found.options])
    made.__annotations__ = {one.name: _TYPES.get(one.kind, str) for one in found.options}
    return run_command


def _parameter(one: Option) -> Parameter:
    default: Any = ... if one.required else one.unset()
    told: dict[str, Any] = {
        **{"help": one.help, "metavar": one.metavar or None, "show_default": False}
    }
    if one.kind == "whole":
        told["min"] = 0
    made: Any
    if not one.flags:
        made = typer.Argument(default, **told)
    else:
        made = typer.Option(default, *one.flags, hidden=not one.help, **told)
    kind = _TYPES.get(one.kind, str)
    return Parameter(one.name, Parameter.KEYWORD_ONLY, default=made, annotation=kind)


def _refusal(error: Any, argv: list[str]) -> Usage:
    """Return Typer's complaint in our words, with the way on."""
    message = " ".join(error.format_message().split())
    name = name_of(argv)
    if not name and argv and argv[0][:1] != "-":
        what = f"no command is called {argv[0]!r}"
        return Usage("no-such-command", what, f"try: council {meant(argv[0])}")
    if "unexpected extra argument" in message and name in ("respond", "say", "ask", "convene"):
        return Usage("usage", message, "put quotes around a text of several words")
    return Usage("usage", message, f"see: council {name or '--help'}{' --help' if name else ''}")


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
