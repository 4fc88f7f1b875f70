"""Reads the table of commands: what they are called, what they take, what a command line means.

From this both the small parser of the commands that programs call all day and
Typer's commands are made, so the two cannot drift apart.

Source: `cli.md` sections 1 and 2, `architecture.md` section 4.
"""

from __future__ import annotations

from council.commands.table import SHARED, TABLE
from council.core.errors import UsageError
from council.core.record import Any, Record

# The modules of commands that programs call all day; the small parser is for all in them.
_HOT = frozenset(("hot_commands", "turns", "delegation"))
# It reads the commands of these, too, where Typer would understand them alike.
_ALIKE = frozenset(("glance",))
_GLOBAL_WITH_VALUE = frozenset(("--root", "--now", "--name", "--as", "--lang"))
_EVERYWHERE = ("ROOT NOW JSON",)
_FURTHER_IN = "\n        "


class Option(Record):
    """One option or argument of a command, as `table` describes them.

    `flags` is empty for an argument, `metavar` for a flag, which takes no value. `least` is the
    least that a whole number may be, `bare` the value of an option that is given without one,
    `of` names what a shell completes it with.
    """

    name: str
    flags: tuple[str, ...]
    metavar: str
    help: str
    many: bool
    required: bool
    choices: tuple[str, ...]
    whole: bool
    least: int | None
    bare: str
    of: str
    default: Any

    @property
    def means_all_without(self) -> bool:
        """Returns true for a list that means everyone where it is left out, nobody where empty."""
        return (self.many or "," in self.metavar) and self.default is None

    @property
    def is_flag(self) -> bool:
        """Returns true if it takes no value."""
        return bool(self.flags) and not self.metavar


class Row(Record):
    """What the table says of one command or group; `same_as` is the command an old name means."""

    heading: str
    module: str
    reads: bool
    hidden: bool
    summary: str
    same_as: str
    lines: list[str]


class Command(Record):
    """One command, ready to be parsed; `fixed` are the values that its old name stands for."""

    name: str
    summary: str
    module: str
    function: str
    reads: bool
    examples: list[str]
    last: str
    options: list[Option]
    fixed: dict[str, Any]


def _rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    name = heading = module = ""
    for line in TABLE.strip().replace(_FURTHER_IN, " ").split("\n"):
        first, _, rest = line.partition(" ")
        if not first:
            rows[name].lines.append(line.strip())
        elif first == "==":
            heading = rest
        elif first == "in":
            module = rest
        else:
            told, _, example = line.partition("  $ ")
            head, _, summary = told.partition("  ")
            head, *marks = head.split(", ")
            name, _, same_as = head.partition(" = ")
            rows[name] = Row(
                heading=heading,
                module=module,
                reads="reads" in marks,
                hidden="hidden" in marks or bool(same_as),
                summary=summary,
                same_as=same_as,
                lines=[f"$ council {name} {example}"] if example else [],
            )
    return rows


ROWS = _rows()
_GROUPS = {name.rpartition(" ")[0] for name in ROWS}


def names(group: str, *, hidden: bool = False) -> list[str]:
    """Return the words that may follow a group, or `council` itself for "".

    Those that are shown nowhere are among them only if `hidden`.
    """
    at = len(group) + 1 if group else 0
    return [
        name[at:]
        for name, row in ROWS.items()
        if name.rpartition(" ")[0] == group and (hidden or not row.hidden)
    ]


def is_group(name: str) -> bool:
    """Return true if a name is that of a group of commands."""
    return name in _GROUPS


def module_path(module: str) -> str:
    """Return what a module of the table is imported by."""
    return f"council.{module}" if "." in module else f"council.commands.{module}"


def words_of_name(argv: list[str]) -> int:
    """Return how many words at the beginning of a command line name the command."""
    if not argv or argv[0] not in _GROUPS:
        return 1
    return 3 if " ".join(argv[:2]) in _GROUPS else 2


def command(name: str) -> Command:
    """Return a command of the table."""
    row = ROWS[name]
    words = row.same_as.split()
    same = words_of_name(words)
    meant = " ".join(words[:same]) or name
    lines = row.lines or ROWS[meant].lines
    options = _options([one for one in lines if one[0] not in "$>"])
    if not {"root", "json"} & {one.name for one in options}:
        options += _options(_EVERYWHERE)
    found = Command(
        name=name,
        summary=row.summary,
        module=ROWS[meant].module,
        function="list_" if meant == "list" else meant.replace(" ", "_").replace("-", "_"),
        reads=ROWS[meant].reads,
        examples=[one[2:] for one in row.lines if one[0] == "$"] or [f"council {name}"],
        last=" ".join(one[2:] for one in lines if one[0] == ">"),
        options=options,
        fixed={},
    )
    if words:
        found.options = [one for one in options if not set(one.flags) & set(words)]
        left = {one.name for one in found.options}
        values = parse(command(meant), words[same:])
        found.fixed = {name: value for name, value in values.items() if name not in left}
    return found


def _options(lines: list[str] | tuple[str, ...]) -> list[Option]:
    found: list[Option] = []
    for line in lines:
        if line.isupper():
            for shared in line.split():
                text = SHARED[shared].strip().replace(_FURTHER_IN, " ")
                found += _options([one.strip() for one in text.split("\n")])
        else:
            found.append(_option(_with_statuses(line) if "{words}" in line else line))
    return found


def _with_statuses(line: str) -> str:
    """Return an option with the statuses that an answer may have."""
    from council.core.conversations.conversation import ANSWERED  # only for who answers

    meanings = ", ".join(f"{one.lower()} ({one.help})" for one in ANSWERED)
    return line.format(words="|".join(ANSWERED).lower(), meanings=meanings)


def _option(line: str) -> Option:
    spec, _, said = line.partition("  ")
    words = spec.split()
    flags = tuple(one for one in words if one[0] == "-")
    rest = words[len(flags) :]
    name = flags[0][2:].replace("-", "_") if flags else rest.pop(0)
    metavar = rest.pop(0) if rest else ""
    marks = dict(one.partition("=")[::2] for one in rest)
    is_flag = bool(flags) and not metavar
    default: Any = False if is_flag else [] if "many" in marks else marks.get("else", "")
    if "or-none" in marks or "whole" in marks:
        default = int(default) if default else None
    return Option(
        name=f"{name}_" if name in ("as", "for") else name,
        flags=flags,
        metavar=metavar,
        help=said,
        many="many" in marks,
        required="required" in marks
        or not (flags or metavar[0] == "[" or marks.keys() & {"else", "or-none"}),
        choices=tuple((marks["one-of"] or metavar).split("|")) if "one-of" in marks else (),
        whole="whole" in marks,
        least=int(marks["whole"]) if marks.get("whole") else None,
        bare=marks.get("bare", ""),
        of=marks.get("of", ""),
        default=default,
    )


# --- What a command line means


def hot_name(argv: list[str]) -> str:
    """Return the name of the command for the small parser that a line begins with, "" for none."""
    name = " ".join(argv[: words_of_name(argv)])
    row = ROWS.get(name)
    return name if row and row.module in _HOT | _ALIKE and not row.same_as else ""


def is_refused_by_typer(command: Command) -> bool:
    """Return true if what the small parser refuses is for Typer to refuse, or to understand."""
    return command.module in _ALIKE


def hoisted(argv: list[str]) -> list[str]:
    """Move options that every command has from before the command to behind it.

    So `council --root X status` means what users of git expect. A bare
    `--wait` gets its default value here, as no value may follow it.
    """
    moved: list[str] = []
    rest = list(argv)
    while rest and rest[0].startswith("--"):
        word, _, value = rest[0].partition("=")
        if word == "--json":
            moved.append(rest.pop(0))
        elif word in _GLOBAL_WITH_VALUE and (value or len(rest) > 1):
            moved += [rest.pop(0)] if value else [rest.pop(0), rest.pop(0)]
        else:
            break
    verb, name = words_of_name(rest), hot_name(rest)
    if name:
        rest = rest[:verb] + _with_bare_values(command(name), rest[verb:])
    return rest[:verb] + moved + rest[verb:] if rest else moved


def is_for_every_command(word: str) -> bool:
    """Return true if a word is an option that belongs to commands, not to `council` itself."""
    return word == "--json" or word.partition("=")[0] in _GLOBAL_WITH_VALUE


def _with_bare_values(command: Command, words: list[str]) -> list[str]:
    bare = {flag: one.bare for one in command.options if one.bare for flag in one.flags}
    return [
        f"{word}={bare[word]}" if word in bare and following.startswith("-") else word
        for word, following in zip(words, [*words[1:], "-"], strict=False)
    ]


def unset(command: Command) -> dict[str, Any]:
    """Return the value of every option of a command where it is left out."""
    return {
        one.name: list(one.default) if isinstance(one.default, list) else one.default
        for one in command.options
    }


def parse(command: Command, words: list[str]) -> dict[str, Any]:
    """Return the value of every option and argument of a command, by name.

    It reads a command line as Typer does: options may stand anywhere before `--`, an option
    takes the next word whatever its form, the last value counts. One thing it takes that
    Typer refuses: a text that begins with a dash and holds a space, because agents answer with
    lists. Neither lists of arguments nor numbers are read here: no hot command has any.

    Raises:
        UsageError: The command cannot be called so.
    """
    values = unset(command)
    by_flag = {flag: one for one in command.options for flag in one.flags}
    texts: list[str] = []
    left = words[::-1]
    while left:
        word = left.pop()
        flag, equals, value = word.partition("=")
        option = by_flag.get(flag)
        if word == "--":
            texts += reversed(left)
            break
        if option is None:
            is_text = " " in word and command.module in _HOT
            if word.startswith("-") and word != "-" and not is_text:
                raise _wrong(command, f"No such option: {flag}")
            texts.append(word)
        elif option.is_flag:
            if equals:
                raise _wrong(command, f"Option '{flag}' does not take a value.")
            values[option.name] = True
        elif not equals and not left:
            raise _wrong(command, f"Option '{flag}' requires an argument.")
        else:
            value = value if equals else left.pop()
            values[option.name] = [*values[option.name], value] if option.many else value
    arguments = [one.name for one in command.options if not one.flags]
    if len(texts) > len(arguments):
        more = " ".join(texts[len(arguments) :])
        raise _wrong(command, f"Got unexpected extra argument ({more})", too_many(arguments))
    return settled(command, values | dict(zip(arguments, texts, strict=False)))


def listed(*given: str) -> list[str]:
    """Return what was named, apart by commas or by giving it again."""
    return [one.strip() for many in given for one in many.split(",") if one.strip()]


def whole_number(text: str, option: str, most: int = 1000) -> int:
    """Return a number from 1 to `most`, 0 when none was given.

    Raises:
        UsageError: It is none.
    """
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= most:
        raise UsageError(f"{option} {text!r} is not a whole number from 1 to {most}")
    return int(text)


def too_many(taken: list[str]) -> str:
    """Say what a word too many may have been meant for, by the names of what is taken."""
    if {"text", "message", "topic"} & set(taken):
        return "a text of several words needs quotes; "
    return "a conversation is named by --name; " if "name" in taken else ""


def settled(command: Command, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a command: choices checked, the conversation named in one way.

    Raises:
        UsageError: A value is none of its choices, or an argument and --name name two.
    """
    for one in command.options:
        if one.choices and values[one.name] not in ("", *one.choices):
            known = ", ".join(one.choices)
            raise _wrong(command, f"Invalid value for {one.flags[0]}: choose one of: {known}")
    named = values.pop("conversation", "")
    if named and values["name"] not in ("", named):
        raise UsageError("two conversations are named", "give NAME or --name, not both")
    return values | command.fixed | ({"name": named} if named else {})


def _wrong(command: Command, message: str, hint: str = "") -> UsageError:
    return UsageError(message, f"{hint}see: council {command.name} --help")
