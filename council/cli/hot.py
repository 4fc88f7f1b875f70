"""The parser of the commands that programs call all day.

It knows the table of options and `argparse`, nothing else; the commands
themselves are those of `hot_commands`, which Typer calls, too.

Source: `architecture.md` section 4.
"""

from __future__ import annotations

import argparse

from council.cli.edge import carry_out, refuse
from council.cli.options import HOT, Command
from council.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"see: {self.prog} --help")


def run(argv: list[str]) -> int:
    """Run one hot command; `argv` begins with its name. Return the exit code."""
    command = HOT[argv[0]]
    words = argv[1:]
    as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
    try:
        values = vars(_parser(command).parse_args(words))
    except UsageError as error:
        return refuse(error, as_json=as_json)
    from council.cli.hot_commands import RUN

    return carry_out(command.name, lambda: RUN[command.name](values), as_json=as_json)


def _formatter(prog: str) -> argparse.HelpFormatter:
    # A formatter that is told its width does not load `shutil` to find it out.
    return argparse.HelpFormatter(prog, width=80)


def _parser(command: Command) -> _Parser:
    parser = _Parser(
        prog=f"council {command.name}",
        add_help=False,
        allow_abbrev=False,
        formatter_class=_formatter,
    )
    for option in command.options:
        given: dict[str, Any] = {"metavar": option.metavar}
        if option.flag:
            given = {"action": "store_true", "default": False}
        else:
            given["default"] = ""
            if option.choices:
                given["choices"] = option.choices
        if option.many:
            given |= {"action": "append", "default": []}
        if option.flags:
            parser.add_argument(*option.flags, dest=option.name, **given)
        else:
            parser.add_argument(option.name, nargs="?", **given)
    return parser
