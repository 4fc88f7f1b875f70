"""The table of commands and their options (`texts/commands.txt`), of which both parsers are made.

`quick.py` reads the usual command lines with it, `typer_app.py` makes Typer's functions of it, so
the two cannot drift apart. A command's function takes the `App` and the values of its options.
"""

from __future__ import annotations

import os

from council.kernel.record import Any

TABLE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "texts", "commands.txt")
_EVERYWHERE = " root clock json"


class Option:
    """One option or argument of a command, as its row of the table describes it."""

    def __init__(self, key: str) -> None:
        flags, self.metavar, kind, self.help = _OPTIONS[key].split(" | ")
        self.name, self.flags = key.partition(":")[0], flags.split()
        self.kind, self.required = kind.rstrip("!"), kind.endswith("!")

    def unset(self) -> Any:
        """Return the value where it is not given."""
        return {"many": [], "flag": False, "whole": None}.get(self.kind, "")


class Command:
    """One command: its function with `fixed` values. One without a panel is not shown."""

    def __init__(self, name: str) -> None:
        self.panel, self.module, marks, self.summary, self.example, keys = COMMANDS[name].split(
            " | "
        )
        words = marks.split()
        keys = " ".join(_OPTIONS[key] if key[0] == "+" else key for key in keys.split())
        self.name, self.in_run = name, "run" in words
        self.function = next((word[1:] for word in words if word[0] == "="), name).replace(" ", "_")
        self.fixed = dict(word.split("=") for word in words if "=" in word[1:])
        self.options = [Option(key) for key in (keys + _EVERYWHERE).split()]
        if "now_" in keys:  # `stop --now` has a meaning of its own
            self.options[-2].flags.remove("--now")


def _read() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the rows of the table by their names: options, commands, and words for commands."""
    rows: dict[str, str] = {}
    commands: dict[str, str] = {}
    others: dict[str, str] = {}
    panel = None
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            name, _, rest = line.rstrip("\n").partition(" | ")
            if line[:2] == "==":
                panel = line[2:].strip()
            elif name[:2] == "? ":
                others[name[2:]] = rest
            elif rest and name[0] != "#":
                if panel is None or name[0] == "+":
                    rows[name] = rest
                else:
                    commands[name] = f"{panel} | {rest}"
    return rows, commands, others


_OPTIONS, COMMANDS, _OTHERS = _read()


def command(name: str) -> Command | None:
    """Return a command of the table, None where it has none of that name."""
    return Command(name) if name in COMMANDS else None


def name_of(words: list[str]) -> str:
    """Return the name of the command that a command line begins with, "" where it has none."""
    two = " ".join(words[:2])
    return two if two in COMMANDS else words[0] if words and words[0] in COMMANDS else ""


def meant(word: str) -> str:
    """Return what to type in the place of a word that is no command, `--help` where unknown."""
    from difflib import get_close_matches  # slow to import, and only for mistakes

    near = get_close_matches(word.lower(), [*COMMANDS, *_OTHERS], n=1, cutoff=0.75)
    return _OTHERS.get(near[0], near[0]) if near else "--help"
