"""The table of commands (`texts/commands.txt`), the reader of command lines, and what they give.

Options and texts come in any order, as `--option value` and `--option=value`; what `FIRST` names
may also come before the command. A text that begins with a dash and contains a blank is a text,
since agents answer with lists. Typer, whose import takes longer than most commands, only shows
help, from the same table (`help.py`). A command's function takes the `App` and the values.
"""

from __future__ import annotations

import os
import sys

from council.app import App
from council.cli.printing import err
from council.kernel import files, times
from council.kernel.errors import Invalid, Usage
from council.kernel.ids import checked_text, is_blank
from council.kernel.record import Any
from council.kernel.words import near, template

FIRST = ("--root", "--now", "--json", "--as", "--name")
HELP = ("--help", "-h")
_EVERYWHERE = " root clock json"


class Option:
    """One option or argument of a command, as its row of the table describes it."""

    def __init__(self, key: str) -> None:
        flags, self.metavar, kind, self.help = _OPTIONS[key].split(" | ")
        self.name, self.flags = key.partition(":")[0], flags.split()
        self.kind, self.required = kind.rstrip("!"), kind.endswith("!")

    def unset(self) -> Any:
        """Return the value where it is not given."""
        unset: dict[str, Any] = {"many": [], "pairs": {}, "flag": False}
        return unset.get(self.kind, None if self.kind in ("whole", "count", "time") else "")

    def read(self, value: str, before: Any = None) -> Any:
        """Return a value as its kind has it; those of `many` and `pairs` are added to `before`."""
        called = (self.flags or [self.metavar])[-1]
        if self.metavar not in ("FILE", "DIR") and any("\ud800" <= c <= "\udfff" for c in value):
            raise Invalid("not-utf-8", f"{called} is not UTF-8", "use a UTF-8 locale, or --file")
        if self.kind == "many":
            sign = ";" if ";" in value else ","  # an option to choose may have commas
            many = value.split(sign) if self.metavar == "A,B" else [value]
            if not value.strip(f"{sign} "):
                raise Usage("usage", f"{called} names nothing", "leave it out, or name something")
            return (before or []) + [one.strip() for one in many if one.strip()]
        if self.kind == "pairs":
            key, is_set, text = map(str.strip, value.partition("="))
            if not (key and is_set):
                hint = f"write it like {' '.join([*self.flags[-1:], self.metavar])}"
                raise Usage("usage", f"{called} {value[:80]!r} has no =", hint)
            return {**(before or {}), key: text}
        is_whole = value.isascii() and value.isdigit() and len(value) <= 15
        is_one = "/" not in self.kind or not value or value in self.kind.split("/")
        hint = {"whole": "a whole number", "count": "a whole number from 1"}.get(self.kind, "")
        if not is_one or (hint and not (is_whole and int(value) >= (self.kind == "count"))):
            hint = hint or self.kind.replace("/", " or ")
            raise Usage("usage", f"{called} cannot be {value[:40]!r}", f"use {hint}")
        return int(value) if hint else value


class Command:
    """One command: its function with `fixed` values. One without a panel is not shown."""

    def __init__(self, name: str) -> None:
        self.name = name
        row = COMMANDS[name].split(" | ")
        self.panel, self.module, marks, self.summary, self.example, keys = row
        words = marks.split()
        self.in_run, self.anywhere, self.looks = (w in words for w in ("run", "anywhere", "look"))
        self.fixed = dict(word.split("=") for word in words if "=" in word[1:])
        self.function = next((word[1:] for word in words if word[0] == "="), name).replace(" ", "_")
        self.reply = self.fixed.pop("reply", self.function)
        keys = " ".join(_OPTIONS[key] if key[0] == "+" else key for key in keys.split())
        self.options = [Option(key) for key in (keys + _EVERYWHERE).split()]


def _read() -> tuple[dict[str, str], dict[str, str]]:
    """Return the rows of the table by their names: options (and words), and commands."""
    options, commands, panel = dict[str, str](), dict[str, str](), ""
    for line in template("texts/commands.txt").split("\n"):
        name, _, rest = line.partition(" | ")
        if line[:2] == "==":
            panel = f"{line[2:].strip()} | "
        elif rest and panel and name[0] not in "+?#":
            commands[name] = panel + rest
        elif rest and name[0] != "#":
            options[name] = rest
    return options, commands


_OPTIONS, COMMANDS = _read()


def parted(argv: list[str]) -> tuple[str, list[str], list[str]]:
    """Return a command's name ("" for none), the words that should name it, and the others."""
    at = 0
    while at < len(argv) and argv[at].partition("=")[0] in FIRST:
        at += 1 if "=" in argv[at] or argv[at] == "--json" else 2
    two = " ".join(argv[at : at + 2])
    name = two if two in COMMANDS else two.partition(" ")[0]
    name = name if name in COMMANDS else ""
    return name, argv[at : at + 2], argv[:at] + argv[at + len(name.split()) :]


def read(argv: list[str]) -> tuple[Command, dict[str, Any]] | None:
    """Return a command and the values of its options; None where help is asked for."""
    name, words, rest = parted(argv)
    if name:
        found = Command(name)
        values = parse(found, rest)
        return (found, values) if values is not None else None
    if not words or words[0] in HELP or words[-1] in HELP:
        return None
    group = any(one.startswith(f"{words[0]} ") for one in COMMANDS)
    what = f"no command is called {' '.join(words[: 1 + group])[:80]!r}"
    others = {name[2:]: one for name, one in _OPTIONS.items() if name[:2] == "? "}
    like = near(words[0].lower(), [*COMMANDS, *others])
    hint = f"try: council {others.get(like, like) or '--help'}"
    raise Usage("no-such-command", what, f"see: council {words[0]} --help" if group else hint)


def parse(found: Command, words: list[str]) -> dict[str, Any] | None:
    """Return the value of each option and argument of a command; None for help."""
    values = {one.name: one.unset() for one in found.options}
    by_flag = {flag: one for one in found.options for flag in one.flags}
    places = [one for one in found.options if not one.flags]
    texts, at, more = list[str](), 0, f"see: council {found.name} --help"
    while at < len(words):
        word, at = words[at], at + 1
        if word == "--":
            texts += words[at:]
            break
        flag, is_set, value = word.partition("=")
        if flag not in by_flag and word[:2] in by_flag and word[1:2] != "-":  # -n5
            flag, is_set, value = word[:2], "=", word[2:]
        following = value if is_set else words[at] if at < len(words) else None
        option = by_flag.get(flag)
        if flag == "--now" and "now_" in values and not (following or "")[:4].isdigit():
            option = next(one for one in found.options if one.name == "now_")
        if option is None:
            if word[:1] != "-" or word == "-" or " " in flag or "\n" in word[:80]:
                texts.append(word)
                continue
            if word in HELP:
                return None
            like = near(flag, list(by_flag))
            hint = f"did you mean {like}?" if like else more
            raise Usage("usage", f"no option {flag[:40]}", hint)
        if option.kind == "flag":
            if is_set:
                raise Usage("usage", f"{flag} takes no value", option.help)
            values[option.name] = True
            continue
        is_bare = option.kind[:5] == "bare=" and not is_set
        if is_bare and (following is None or following[:1] == "-"):
            values[option.name] = option.kind[5:]
            continue
        if following is None:
            raise Usage("usage", f"{flag} needs a value: {option.metavar}", more)
        at += not is_set
        values[option.name] = option.read(following, values[option.name])
    for nth, text in enumerate(texts):
        if nth >= len(places) and (not places or places[-1].kind not in ("many", "pairs")):
            hint = "put quotes around a text of several words"
            raise Usage("usage", f"too many words: {text[:40]!r}", hint)
        one = places[min(nth, len(places) - 1)]
        values[one.name] = one.read(text, values[one.name])
    for one in found.options:
        if one.required and not values[one.name]:
            hint = f"for example: council {found.example}"
            raise Usage("usage", f"{[*one.flags, one.metavar][0]} is missing", hint)
    return values


class Given:
    """The values of the options of a command, by the names of the table; "" where it has none.

    `which` is the conversation that an argument or `--name` means.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        if "which" in values and (name := self.__dict__.pop("name", "")):
            if values["which"] not in ("", name):
                raise Usage("usage", "two conversations are named", "give NAME or --name, not both")
            self.__dict__["which"] = name

    def __getattr__(self, name: str) -> Any:
        return ""


def resolve(app: App, found: Command, values: dict[str, Any]) -> None:
    """Put what kinds of options mean in their place: who speaks, texts, seconds."""
    for name, kind in [(one.name, one.kind) for one in found.options]:
        if kind == "said":
            values[name] = text_of(app, values[name], values.pop("file", ""))
        elif kind == "file" and values[name]:
            values[name] = text_of(app, "", values[name])
        elif kind == "agent":
            values[name] = app.who(values[name])
        elif kind == "person":
            values[name] = app.person(values[name])
        elif kind == "time" and values[name]:
            values[name] = times.duration(values[name], 0).total_seconds()


def text_of(app: App, argument: str, file: str) -> str:
    """Return the text of a command: its argument, `--file`, or `-` for standard input."""
    if argument and file:
        raise Usage("usage", "the text is given twice", "give it as an argument or with --file")
    most, path = app.settings.max_text_bytes, "-" if argument == "-" else file
    text = checked_text(content(path, most) if path else os.fsencode(argument), most)
    if is_blank(text):
        hint = "give it as an argument, with --file, or - for standard input"
        raise Usage("no-text", "there is no text", hint)
    return text


def content(path: str, most: int) -> bytes:
    """Return the bytes of a regular file or of standard input, up to one more than `most`."""
    if path == "-":
        if sys.stdin.isatty():
            err("council: type the text; Ctrl-D on a line of its own ends it")
        return sys.stdin.buffer.read(most + 1)
    if (found := files.content(os.path.realpath(path), most)) is None:
        raise Invalid("unreadable", f"no file {path}", "name a file that can be read")
    return found
