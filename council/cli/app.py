"""The command line: one command is read by Typer, everything else from the table.

`table` says which commands there are and how one is added; `front_page` draws
`council --help` from it; `loading` makes of it what Typer knows. Each command
parses, calls one operation and returns an `Output`; this module turns Typer's
own complaints into ours.

Source: `cli.md` sections 1 and 2.
"""

from __future__ import annotations

import os
import sys

from council.cli import front_page
from council.cli.edge import INTERRUPTED, refuse
from council.cli.other_words import meant_by
from council.commands import options
from council.commands.options import is_for_every_command, too_many
from council.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typer.exceptions import TyperException


def run(argv: list[str]) -> int:
    """Run one command line; return its exit code."""
    before_text = argv[: argv.index("--")] if "--" in argv else argv
    as_json = "--json" in before_text
    if argv and is_for_every_command(argv[0]):
        return refuse(UsageError("no command was given", "see: council --help"), as_json=as_json)
    completing = any(name.startswith("_COUNCIL_") for name in os.environ)
    if argv in ([], ["--help"], ["-h"]) and not completing:
        sys.stdout.write(front_page.page())
        return 0 if argv else UsageError.exit_code
    if argv[:1] == ["help"] and not completing:
        shown = front_page.all_page(" ".join(argv[1:]))
        if shown:
            sys.stdout.write(shown)
            return 0
        argv = [*argv[1:], "--help"]
    return _run(argv, as_json=as_json)


def _run(argv: list[str], *, as_json: bool) -> int:
    """Let Typer read a command line and carry it out."""
    from typer.exceptions import Abort, TyperException

    from council.cli.loading import whole

    if argv and argv[0].endswith("-completion") and len(argv) > 1:
        # Typer asks the process tree for the shell unless this says that it cannot.
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    try:
        code = whole().main(args=argv, prog_name="council", standalone_mode=False)
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # Typer gives this class no public name
            sys.stdout.write(f"{error.format_message()}\n" if error.format_message() else "")
            return UsageError.exit_code
        return refuse(_refusal(error, _command_of(argv)), as_json=as_json)
    except UsageError as error:
        return refuse(error, as_json=as_json)
    except (Abort, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _refusal(error: TyperException, command: str) -> UsageError:
    """Return what Typer refuses in our words, with the way on."""
    word = _unknown_word(error)
    if command == "council" and (meant := meant_by(word)):
        return UsageError(f"no command is called {word!r}", f"for that: {meant}")
    return UsageError(error.format_message(), _hint(error, command))


def _hint(error: Exception, command: str) -> str:
    """Say where to read on, and what a word too many may have been meant for."""
    see = f"see: {command} --help"
    context = getattr(error, "ctx", None)
    if context is None or "unexpected extra argument" not in str(error):
        return see
    return too_many([one.name for one in context.command.params]) + see


def _unknown_word(error: Exception) -> str:
    """Return the word that is no command, "" where something else is wrong."""
    before, mark, rest = str(error).partition("No such command '")
    return rest.partition("'")[0] if mark and not before else ""


def _command_of(argv: list[str]) -> str:
    """Return the words of a command line that name its command, such as `council events tail`."""
    name = ""
    for word in argv:
        if word not in options.names(name, hidden=True):
            break
        name = f"{name} {word}".strip()
    return f"council {name}".strip()
