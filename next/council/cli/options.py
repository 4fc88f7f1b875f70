"""The table of commands and their options (`texts/commands.txt`), of which both parsers are made.

`quick.py` reads the usual command lines with it, `typer_app.py` makes Typer's functions of it, so
the two cannot drift apart. A command's function takes the `App` and the values of its options.
"""

from __future__ import annotations

import os

from council.kernel.record import Any, Record

TABLE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "texts", "commands.txt")
_EVERYWHERE = " root clock json"


class Option(Record, settled=True):
    """One option or argument of a command, as the table describes them."""

    name: str
    flags: list[str]
    metavar: str
    kind: str
    help: str
    required: bool

    def unset(self) -> Any:
        """Return the value where it is not given."""
        if self.kind == "many":
            return []
        return False if self.kind == "flag" else None if self.kind == "whole" else ""


class Command(Record, settled=True):
    """One command. A second name, which is not shown, has another `function` and `fixed` values."""

    name: str
    function: str
    fixed: dict[str, str]
    panel: str
    module: str
    summary: str
    example: str
    options: list[Option]
    quick: bool
    in_run: bool

    def is_second(self) -> bool:
        """Return whether it is a second name."""
        return self.function != self.name.replace(" ", "_")


def _read() -> tuple[dict[str, str], dict[str, str]]:
    """Return the rows of options and of commands, and what other words mean, by their names."""
    rows: dict[str, str] = {}
    panels: dict[str, str] = {}
    panel = ""
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            name, _, rest = line.rstrip("\n").partition(" | ")
            if line[:3] == "== ":
                panel = name[3:]
            elif rest and name[0] != "#":
                rows[f"{name} " if panel and name[0] not in "+?" else name] = rest
                if panel and name[0] not in "+?":
                    panels[name] = panel
    return rows, panels


_ROWS, PANELS = _read()  # a command's row has a blank behind its name: options may have the same


def command(name: str) -> Command | None:
    """Return a command of the table, None where it has none of that name."""
    if name not in PANELS:
        return None
    module, marks, summary, example, keys = _ROWS[f"{name} "].split(" | ")
    words = marks.split()
    second = next((word[1:] for word in words if word[0] == "="), name)
    options = " ".join(_ROWS[key] if key[0] == "+" else key for key in keys.split())
    return Command(
        name=name,
        function=second.replace(" ", "_"),
        fixed=dict(word.split("=") for word in words if "=" in word[1:]),
        panel=PANELS[name],
        module=module,
        summary=summary,
        example=example,
        options=[
            _option(key)
            for key in (options + _EVERYWHERE).split()
            if key != "clock" or "now_" not in keys  # `stop --now` has a meaning of its own
        ],
        quick="quick" in words,
        in_run="run" in words,
    )


def _option(key: str) -> Option:
    flags, metavar, kind, text = _ROWS[key].split(" | ")
    return Option(
        name=key.partition(":")[0],
        flags=flags.split(),
        metavar=metavar,
        kind=kind.rstrip("!"),
        help=text,
        required=kind.endswith("!"),
    )


def name_of(words: list[str]) -> str:
    """Return the name of the command that a command line begins with, "" where it has none."""
    two = " ".join(words[:2])
    return two if two in PANELS else words[0] if words and words[0] in PANELS else ""


def meant(word: str) -> str:
    """Return what to type in the place of a word that is no command, `--help` where unknown."""
    from difflib import get_close_matches  # slow to import, and only for mistakes

    others = {name[2:]: rest for name, rest in _ROWS.items() if name[0] == "?"}
    near = get_close_matches(word.lower(), [*PANELS, *others], n=1, cutoff=0.75)
    return others.get(near[0], near[0]) if near else "--help"
