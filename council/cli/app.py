"""The command line: all commands, in panels, on Typer.

Each command parses, calls one operation and returns an `Output`; this module
puts them together and turns Typer's own complaints into ours.

Source: `cli.md` sections 1 and 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from copy import copy

import typer
from typer.exceptions import Abort, TyperException

from council import __version__
from council.cli import (
    agents,
    conversations,
    editing,
    forgetting,
    judging,
    messages,
    plain_help,
    rooms,
    workspace,
)
from council.cli.edge import INTERRUPTED, refuse
from council.cli.hot_commands import RUN
from council.cli.options import is_for_every_command
from council.cli.parameters import hot_function
from council.cli.plain_help import PanelGroup
from council.core.errors import UsageError

WORKSPACE = "Workspace"
CONVERSATIONS = "Conversations"
AGENTS_AND_CHANNELS = "Agents and channels"
MESSAGES = "Messages and tasks"

app = typer.Typer(
    name="council",
    cls=PanelGroup,
    help="Let agents and people deliberate through files. Start with: council init",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"council {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    del version


def _add_commands() -> None:
    order: list[tuple[str, Mapping[str, Callable[..., None] | None]]] = [
        (WORKSPACE, workspace.COMMANDS),
        (WORKSPACE, forgetting.COMMANDS),
        (CONVERSATIONS, conversations.COMMANDS),
        (CONVERSATIONS, editing.COMMANDS),
        (CONVERSATIONS, judging.COMMANDS),
    ]
    for panel, commands in order:
        for name, function in commands.items():
            made = hot_function(name, RUN[name]) if function is None else function
            app.command(name, rich_help_panel=panel)(made)
    app.add_typer(agents.agent_app, name="agent", rich_help_panel=AGENTS_AND_CHANNELS)
    app.add_typer(rooms.channel_app, name="channel", rich_help_panel=AGENTS_AND_CHANNELS)
    app.add_typer(rooms.turn_app, name="turn", rich_help_panel=AGENTS_AND_CHANNELS)
    app.add_typer(rooms.discussion_app, name="discussion", rich_help_panel=AGENTS_AND_CHANNELS)
    app.add_typer(messages.app, name="msg", rich_help_panel=MESSAGES)
    app.add_typer(workspace.events_app, name="events", rich_help_panel="Delegation")


_add_commands()


def _only(word: str) -> typer.Typer:
    """Return the same application with the parameters of one command; of the others the names.

    Typer reads the signature of every command before it looks at the command
    line, and that takes longer than all the rest of a help.
    """
    slim = typer.Typer(
        name="council",
        cls=PanelGroup,
        help=app.info.help,
        no_args_is_help=True,
        rich_markup_mode=None if plain_help.is_wanted() else "rich",
        pretty_exceptions_enable=False,
        context_settings=app.info.context_settings,
    )
    slim.registered_callback = app.registered_callback
    for command in app.registered_commands:
        shown = command if command.name == word else copy(command)
        if shown is not command and command.callback is not None:
            shown.callback = _named(command.callback.__doc__ or "")
        slim.registered_commands.append(shown)
    for group in app.registered_groups:
        if group.name == word:
            slim.registered_groups.append(group)
        elif group.typer_instance is not None:
            said = str(group.typer_instance.info.help or "")
            panel = group.rich_help_panel
            slim.command(group.name, rich_help_panel=panel)(_named(said))
    return slim


def _named(said: str) -> Callable[[], None]:
    """Return what stands for a command where only its name and its summary are shown."""

    def stands_for_it() -> None: ...

    stands_for_it.__doc__ = said
    return stands_for_it


def run(argv: list[str]) -> int:
    """Run one command line; return its exit code."""
    before_text = argv[: argv.index("--")] if "--" in argv else argv
    as_json = "--json" in before_text
    if argv and is_for_every_command(argv[0]):
        return refuse(UsageError("no command was given", "see: council --help"), as_json=as_json)
    if argv and argv[0].endswith("-completion") and len(argv) > 1:
        # Typer asks the process tree for the shell unless told that it cannot.
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    words = [word for word in argv if not word.startswith("-")]
    completing = any(name.startswith("_COUNCIL_") for name in os.environ)
    chosen = app if completing else _only(words[0] if words else "")
    if plain_help.is_wanted():
        app.rich_markup_mode = None
    try:
        code = chosen(args=argv, prog_name="council", standalone_mode=False)
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # Typer gives this class no public name
            sys.stdout.write(f"{error.format_message()}\n" if error.format_message() else "")
            return UsageError.exit_code
        hint = f"see: {_command_of(argv)} --help"
        return refuse(UsageError(error.format_message(), hint), as_json=as_json)
    except (Abort, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _command_of(argv: list[str]) -> str:
    """Return the words of a command line that name its command, such as `council events tail`."""
    words, found = ["council"], typer.main.get_command(app)
    for word in argv:
        inner = getattr(found, "commands", {}).get(word)
        if inner is None:
            break
        words.append(word)
        found = inner
    return " ".join(words)
