"""Makes Typer's commands of the table, each when it is asked for.

Typer reads the signatures of all commands before it looks at the command
line. Here a group is given a mapping that loads the module of a command when
that command is looked up, so what nobody named costs nothing.

Source: `cli.md` section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo

from council import __version__
from council.cli import front_page, table
from council.cli.options import HOT
from council.cli.parameters import COMMANDS, hot_function

# --- The help of a group where nobody sees colours, and of `council` itself


class PanelGroup(TyperGroup):
    """A group of commands that lists them with whole summaries in plain help."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names alone; Typer would load every command for them."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list of all commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(limit=120)) for name, one in found if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class FrontGroup(PanelGroup):
    """`council` itself: its help is drawn from the table, with nothing loaded."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the front page."""
        del ctx
        formatter.write(front_page.page())


def whole() -> FrontGroup:
    """Return the command `council`, with its commands loaded as they are looked up."""
    made = typer.Typer(
        name="council",
        cls=FrontGroup,
        help=table.ABOUT,
        no_args_is_help=True,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    made.callback()(_root)
    group: Any = typer.main.get_command(made)
    group.rich_markup_mode = _markup()
    group.commands = Commands("")
    return group  # type: ignore[no-any-return]


class Commands(MutableMapping[str, Any]):
    """The commands of one group, by their last words; "" is `council` itself."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._made: dict[str, Any] = {}

    def __getitem__(self, word: str) -> Any:
        if word not in self._made:
            if word not in table.names(self._group):
                raise KeyError(word)
            self._made[word] = _made(f"{self._group} {word}".strip())
        return self._made[word]

    def __iter__(self) -> Iterator[str]:
        return iter(table.names(self._group))

    def __len__(self) -> int:
        return len(table.names(self._group))

    def __contains__(self, word: object) -> bool:
        return word in table.names(self._group)

    def __setitem__(self, word: str, command: Any) -> None:
        self._made[word] = command

    def __delitem__(self, word: str) -> None:
        del self._made[word]


def _made(name: str) -> Any:
    """Return one command or group as Typer knows it."""
    word = name.rpartition(" ")[2]
    if name in table.GROUPS:
        return PanelGroup(
            name=word,
            commands=Commands(name),  # type: ignore[arg-type]
            help=table.summary(name),
            no_args_is_help=True,
            rich_markup_mode=_markup(),
            rich_help_panel=table.panel(name),
        )
    module = import_module(f"council.cli.{table.module_of(name)}")
    function = hot_function(name, module.RUN[name]) if name in HOT else COMMANDS[name]
    return typer.main.get_command_from_info(
        CommandInfo(name=word, callback=function, rich_help_panel=table.panel(name)),
        pretty_exceptions_short=True,
        rich_markup_mode=_markup(),
    )


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
