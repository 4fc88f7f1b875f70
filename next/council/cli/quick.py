"""Reads the usual command lines without Typer, whose import takes longer than those commands.

It takes options and texts in any order, `--option value` and `--option=value`. Whatever is unusual
(help, an unknown option, a missing or wrong value, a word too many) is left to Typer, which reads
the same table and explains what is wrong. A text that begins with a dash and contains a blank is
a text, since agents answer with lists.
"""

from __future__ import annotations

from council.cli.options import Command, Option, command, name_of
from council.kernel.record import Any

_FIRST = ("--root", "--now", "--json", "--as", "--name")  # they may come before the command


def moved(argv: list[str]) -> list[str]:
    """Return the command line with options that came before the command moved behind it."""
    at = 0
    while at < len(argv) and argv[at].partition("=")[0] in _FIRST:
        at += 1 if "=" in argv[at] or argv[at] == "--json" else 2
    name = name_of(argv[at:])
    if not at or not name:
        return argv
    words = name.count(" ") + 1
    return argv[at : at + words] + argv[:at] + argv[at + words :]


def read(argv: list[str]) -> tuple[Command, dict[str, Any]] | None:
    """Return a command and the values of its options; None is for Typer to read, or to refuse."""
    name = name_of(argv)
    found = command(name) if name else None
    if found is None or not found.quick:
        return None
    values = parse(found, argv[name.count(" ") + 1 :])
    return None if values is None else (found, values)


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
        if word[:1] != "-" or word == "-" or " " in word.partition("=")[0] or "\n" in word[:80]:
            texts.append(word)
            continue
        flag, is_set, value = word.partition("=")
        option = by_flag.get(flag)
        if option is None:
            return None
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
    for one, text in zip(places, texts, strict=False):
        values[one.name] = text
    if any(one.required and not values[one.name] for one in found.options):
        return None
    return values


def _put(values: dict[str, Any], option: Option, value: str) -> bool:
    """Put one value in its place; False where it is not of the option's kind."""
    if option.kind == "whole":
        if not value.isascii() or not value.isdigit() or len(value) > 15:
            return False
        values[option.name] = int(value)
    elif option.kind == "many":
        values[option.name].append(value)
    elif "/" in option.kind and value not in option.kind.split("/"):
        return False
    else:
        values[option.name] = value
    return True
