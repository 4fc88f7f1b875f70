"""Makes Typer's commands of the table, each when it is asked for.

Typer reads the signatures of all commands before it reads the command
line. Here a group makes a command when that command is looked up, and the
module of a command is loaded when the command is run.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import typer
from typer import _click
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from council import __version__
from council.cli import front_page
from council.cli.edge import call
from council.commands import options
from council.commands.options import Command, Option
from council.core.errors import CouncilError
from council.operations.place import is_inside, open_place

# --- The help of a group where no colours are seen, and of `council` itself


class PanelGroup(TyperGroup):
    """A group of commands, named by `words`; it lists them with whole summaries in plain help."""

    words = ""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one command, made now; old names are found, and not listed."""
        del ctx
        is_known = cmd_name in options.names(self.words, hidden=True)
        return _made(f"{self.words} {cmd_name}".strip()) if is_known else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list of all commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(limit=120)) for name, one in found if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class FrontGroup(PanelGroup):
    """`council` itself: its help is drawn from the table."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the front page."""
        del ctx
        formatter.write(front_page.page())


def whole() -> FrontGroup:
    """Return the command `council`, with its commands made as they are looked up."""
    made = typer.Typer(
        name="council",
        cls=FrontGroup,
        help=front_page.ABOUT,
        no_args_is_help=True,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    made.callback()(_root)
    group: Any = typer.main.get_command(made)
    group.rich_markup_mode = _markup()
    group.commands = dict.fromkeys(options.names(""))
    return group  # type: ignore[no-any-return]


def _made(name: str) -> Any:
    """Return one command or group as Typer knows it."""
    if not options.is_group(name):
        found = options.command(name)
        return typer_command(found, lambda values: call(found, values))
    group = PanelGroup(
        name=name.rpartition(" ")[2],
        commands=dict.fromkeys(options.names(name)),  # type: ignore[arg-type]
        help=options.ROWS[name].summary,
        no_args_is_help=True,
        rich_markup_mode=_markup(),
    )
    group.words = name
    return group


def typer_command(command: Command, run: Callable[[dict[str, Any]], int]) -> TyperCommand:
    """Return a command with the options of the table as Typer knows it."""

    def called(**values: Any) -> None:
        given = {
            one.name: list(values[one.name]) or one.default if one.many else values[one.name]
            for one in command.options
        }
        raise typer.Exit(run(options.settled(command, given)))

    shown = "\n".join(f"    $ {example}" for example in command.examples)
    last = f"\n{command.last}\n" if command.last else ""
    return TyperCommand(
        name=command.name.rpartition(" ")[2],
        callback=called,
        params=[_parameter(one) for one in command.options],
        help=f"{command.summary}\n\n\b\nExample:\n{shown}\n{last}",
        rich_markup_mode=_markup(),
    )


def _parameter(one: Option) -> Any:
    """Return an option or an argument as Typer knows it."""
    types = _click.types
    number = types.INT if one.least is None else types.IntRange(min=one.least)
    told: dict[str, Any] = {
        "param_decls": [*one.flags, one.name],
        "type": types.BOOL if one.is_flag else number if one.whole else types.STRING,
        "default": None if one.required else one.default,
        "required": one.required,
        "metavar": one.metavar or None,
        "help": one.help,
        "autocompletion": _names_of(one.of) if one.of else None,
    }
    if not one.flags:
        return TyperArgument(**told, nargs=-1 if one.many else 1)
    return TyperOption(**told, is_flag=one.is_flag, multiple=one.many, show_default=True)


def _names_of(kinds: str) -> Any:
    """Return what completes a word with the names of what there is in the workspace."""

    def complete(ctx: Any, args: Any, incomplete: Any) -> list[str]:
        from council.operations.rooms.rooms import open_channels
        from council.store.agents import known_agents

        del args, incomplete  # Typer leaves out what does not begin so
        found: list[str] = []
        if is_inside(os.environ):  # an agent may know the others by pseudonyms alone
            return found
        try:
            place = open_place(ctx.params.get("root") or "", "", os.environ)
            found += place.conversations.names() if "conversations" in kinds else []
            found += open_channels(place) if "rooms" in kinds else []
            found += known_agents(place.root, place.settings) if "agents" in kinds else []
        except CouncilError:
            return []
        return found

    return complete


def _markup() -> Any:
    """Return how Typer shall draw help: with rich for those who see colours only."""
    return None if front_page.is_plain() else "rich"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"council {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    del version
