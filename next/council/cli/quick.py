"""The table of commands and their options (`texts/commands.txt`), and its reader without Typer.

Typer's import takes longer than most commands, so usual lines are read here: options and texts in
any order, `--option value` and `--option=value`. Whatever is unusual (help, an unknown option, a
missing or wrong value, a word too many) is left to `typer_app.py`, which is made of the same table
and explains what is wrong. A text that begins with a dash and contains a blank is a text, since
agents answer with lists. A command's function takes the `App` and the values of its options.
"""

from __future__ import annotations

import os

from council.kernel.record import Any

TABLE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "texts", "commands.txt")
FIRST = ("--root", "--now", "--json", "--as", "--name")  # they may come before the command
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


def moved(argv: list[str]) -> list[str]:
    """Return the command line with options that came before the command moved behind it.

    `--now` with an instant becomes `--clock`, which no command has for anything else.
    """
    at = 0
    while at < len(argv) and argv[at].partition("=")[0] in FIRST:
        at += 1 if "=" in argv[at] or argv[at] == "--json" else 2
    name = name_of(argv[at:])
    if not name:
        return argv
    words = at + name.count(" ") + 1
    argv = argv[at:words] + argv[:at] + argv[words:]
    end = argv.index("--") if "--" in argv else len(argv)
    made = []
    for word, after in zip(argv[:end], [*argv[1:end], ""], strict=True):
        is_clock = word == "--now" and after[:4].isdigit() and after[4:5] == "-"
        is_clock = is_clock or word[:6] == "--now="
        made.append(word.replace("--now", "--clock", 1) if is_clock else word)
    return made + argv[end:]


def read(argv: list[str]) -> tuple[Command, dict[str, Any]] | None:
    """Return a command and the values of its options; None is for Typer to read, or to refuse."""
    name = name_of(argv)
    found = command(name)
    values = parse(found, argv[name.count(" ") + 1 :]) if found else None
    return (found, values) if found and values is not None else None


def parse(found: Command, words: list[str]) -> dict[str, Any] | None:
    """Return the value of each option and argument, None where the line is not a usual one."""
    values = {one.name: one.unset() for one in found.options}
    by_flag = {flag: one for one in found.options for flag in one.flags}
    texts: list[Any] = []
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "--":
            texts += words[at:]
            break
        flag, is_set, value = word.partition("=")
        option = by_flag.get(flag)
        if option is None:
            if word[:1] == "-" and word != "-" and not (" " in flag or "\n" in word[:80]):
                return None
            texts.append(word)
            continue
        if option.kind == "flag":
            if is_set:
                return None
            values[option.name] = True
            continue
        if not is_set:
            if option.kind[:5] == "bare=" and (at == len(words) or words[at][:1] == "-"):
                value = option.kind[5:]
            elif at == len(words):
                return None
            else:
                value, at = words[at], at + 1
        if not _put(values, option, value):
            return None
    places = [one for one in found.options if not one.flags]
    if texts and places and places[-1].kind == "many":
        texts[len(places) - 1 :] = [texts[len(places) - 1 :]]
    if len(texts) > len(places):
        return None
    values.update(zip((one.name for one in places), texts, strict=False))
    return None if any(one.required for one in places[len(texts) :]) else values


def _put(values: dict[str, Any], option: Option, value: str) -> bool:
    """Put one value in its place; False where it is not of the option's kind."""
    if option.kind == "whole":
        if not value.isascii() or not value.isdigit() or len(value) > 15:
            return False
        values[option.name] = int(value)
    elif option.kind == "many":
        values[option.name].append(value)
    elif value and "/" in option.kind and value not in option.kind.split("/"):
        return False
    else:
        values[option.name] = value
    return True
