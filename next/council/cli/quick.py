"""Reads the usual command lines without Typer, whose import takes longer than most commands.

It takes options and texts in any order, `--option value` and `--option=value`. Whatever is unusual
(help, an unknown option, a missing or wrong value, a word too many) is left to Typer, which reads
the same table and explains what is wrong. A text that begins with a dash and contains a blank is
a text, since agents answer with lists.
"""

from __future__ import annotations

from council.cli.options import Command, Option, command, name_of
from council.kernel.record import Any

FIRST = ("--root", "--now", "--json", "--as", "--name")  # they may come before the command


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
    texts: list[str] = []
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
