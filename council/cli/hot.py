"""The parser of the commands that programs call all day.

It knows the table of options and nothing else; the commands themselves are
those of `hot_commands`, which Typer calls, too. It reads a command line as
Typer does: options may stand anywhere before `--`, an option takes the next
word whatever it looks like, the last value counts. One thing it takes that
Typer refuses: a text that begins with a dash and holds a space, because
agents answer with lists.

Source: `architecture.md` section 4.
"""

from __future__ import annotations

from council.cli.edge import carry_out, refuse
from council.cli.options import HOT, QUOTES, Command, hot_name, named_once
from council.cli.table import module_of
from council.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(argv: list[str]) -> int:
    """Run one hot command; `argv` begins with its name. Return the exit code."""
    command = HOT[hot_name(argv)]
    words = argv[len(command.name.split()) :]
    try:
        values = parse(command, words)
    except UsageError as error:
        as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
        return refuse(error, as_json=as_json)
    module = __import__(f"council.cli.{module_of(command.name)}", fromlist=("RUN",))
    work = module.RUN[command.name]
    return carry_out(command.name, lambda: work(values), as_json=values["json"])


def parse(command: Command, words: list[str]) -> dict[str, Any]:
    """Return the value of every option and argument of a command, by name.

    Raises:
        UsageError: The command cannot be called so.
    """
    values: dict[str, Any] = {
        one.name: False if one.flag else [] if one.many else "" for one in command.options
    }
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
            if word.startswith("-") and word != "-" and " " not in word:
                raise _wrong(command, f"No such option: {flag}")
            texts.append(word)
        elif option.flag:
            if equals:
                raise _wrong(command, f"Option '{flag}' does not take a value.")
            values[option.name] = True
        elif not equals and not left:
            raise _wrong(command, f"Option '{flag}' requires an argument.")
        else:
            value = value if equals else left.pop()
            values[option.name] = [*values[option.name], value] if option.many else value
    _check_choices(command, values)
    return named_once(values | _arguments(command, texts))


def _check_choices(command: Command, values: dict[str, Any]) -> None:
    for one in command.options:
        if one.choices and values[one.name] not in ("", *one.choices):
            known = ", ".join(one.choices)
            raise _wrong(command, f"Invalid value for {one.flags[0]}: choose one of: {known}")


def _arguments(command: Command, texts: list[str]) -> dict[str, str]:
    """Give each word that belongs to no option to an argument of the command."""
    names = [one.name for one in command.options if not one.flags]
    if len(texts) > len(names):
        more = " ".join(texts[len(names) :])
        wrong = _wrong(command, f"Got unexpected extra argument ({more})")
        if "text" in names:
            wrong.hint = f"{QUOTES}; {wrong.hint}"
        raise wrong
    return dict(zip(names, texts, strict=False))


def _wrong(command: Command, message: str) -> UsageError:
    return UsageError(message, f"see: council {command.name} --help")
