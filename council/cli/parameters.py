"""How a command is made of a function, and the parameters that many commands share.

Source: `cli.md` section 1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from typing import Any

import typer

from council.cli import options
from council.cli.edge import Output, carry_out
from council.cli.options import Command, Option
from council.core.errors import UsageError
from council.operations.place import Place, open_place

Work = Callable[..., Output | int | None]

COMMANDS: dict[str, Callable[..., None]] = {}  # as Typer calls them, of the modules loaded so far

# --- What stands behind `=` in the signature of a command


def argument(metavar: str, said: str, default: Any = ...) -> Any:
    """Return an argument; without a default it must be given, unless its metavar has brackets."""
    if default is ... and metavar.startswith("["):
        default = ""
    return typer.Argument(default, metavar=metavar, help=said)


def option(
    name: str,
    metavar: str,
    said: str,
    default: Any = "",
    *,
    choices: tuple[str, ...] = (),
    least: int | None = None,
) -> Any:
    """Return an option with a value; `least` is the smallest number it may be."""
    made: Any = typer.Option(default, name, metavar=metavar, help=said, min=least)
    made.choices = choices  # looked at when all else is found well
    return made


def flag(name: str, said: str) -> Any:
    """Return an option without a value."""
    return typer.Option(False, name, help=said)


def _of_table(one: Option) -> Any:
    if not one.flags:
        return argument(one.metavar, one.help, "")
    if one.flag:
        return flag(one.flags[0], one.help)
    default: Any = [] if one.many else ""
    made = option(one.flags[0], one.metavar, one.help, default, choices=one.choices)
    made.param_decls = one.flags
    return made


ROOT, NOW, JSON = map(_of_table, options.EVERYWHERE)
AS, LANG, NAME_OPTION = map(_of_table, (options.AS, options.LANG, options.NAME))
NAME = _of_table(options.NAME)  # as an argument, too; beside a text it is `NAME_OPTION`
CONVERSATION = _of_table(options.CONVERSATION)
VERBOSE: Any = typer.Option(False, "--verbose", "-v", help="Show ids and traces, too.")
REVISION = argument("REV", "A revision; see: council history")


def _parameter(name: str, default: Any, kind: str) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


_EVERYWHERE = {
    "root": _parameter("root", ROOT, "str"),
    "now": _parameter("now", NOW, "str"),
    "json": _parameter("json", JSON, "bool"),
}

# --- How Typer gets to know a command


def command(
    name: str,
    *examples: str,
    takes: Callable[..., Any] | None = None,
    last: str = "",
    reads: bool = False,
) -> Callable[[Work], Work]:
    """Make a function the command `name` of the table.

    Its docstring is the help. The options `--root`, `--now` and `--json` come last in it, by
    themselves: the first two where its first parameter is `place`, which is the open workspace
    (or None, where there is none and None is its default), the third unless it answers None. It
    names those of them whose values it needs among its own parameters.

    Args:
        name: The whole name, such as `agent add`.
        examples: Command lines that help shows.
        takes: A function whose parameters come before the command's own; the command gets
            what it answers behind `place`.
        last: What help says below the examples.
        reads: Whether it writes nothing that lasts, and so works whatever version the
            settings are of.
    """

    def kept(work: Work) -> Work:
        called = signature(work)
        own = dict(called.parameters)
        place = own.pop("place", None)
        shared = ["root", "now"] if place else []
        if "json" in own or called.return_annotation != "None":
            shared.append("json")
        before: dict[str, Parameter] = {}
        if takes:
            before = dict(signature(takes).parameters)
            before.pop("place")
            own.pop(next(iter(own)))
        asked = [one for one in (before | own).values() if one.name not in shared]
        if any(one.default is NAME for one in asked):
            asked.append(_parameter("conversation", CONVERSATION, "str"))
        asked += [_EVERYWHERE[one] for one in shared]

        def done(given: dict[str, Any]) -> Output | int | None:
            given = options.named_once(given)
            values = {one: given[one] for one in own}
            if not place:
                return work(**values)
            here = _opened(given, needed=place.default is not None)
            if here and not reads:
                here.refuse_newer_settings()
            first = [takes(here, **{one: given[one] for one in before})] if takes else []
            output = work(here, *first, **values)
            if here and isinstance(output, Output):
                output.notes += [f"council: {one}" for one in here.warnings]
            return output

        def run(given: dict[str, Any]) -> None:
            as_json = given.get("json", False)
            raise typer.Exit(carry_out(name, lambda: done(given), as_json=as_json))

        shown = help_text(work.__doc__ or "", *examples, last=last)
        COMMANDS[name] = _for_typer(run, asked, shown)
        return work

    return kept


def _opened(given: dict[str, Any], *, needed: bool) -> Place | None:
    if needed:
        return open_place(given["root"], given["now"], os.environ)
    from council.operations.protocol.messages import place_if_any

    return place_if_any(given["root"], given["now"], os.environ)


def _for_typer(
    run: Callable[[dict[str, Any]], None], parameters: Iterable[Parameter], shown: str
) -> Callable[..., None]:
    """Return a function that Typer reads as a command with these parameters and this help."""

    def function(**values: Any) -> None:
        for name, one in with_choices.items():
            if values[name] not in ("", *one.choices):
                known = ", ".join(one.choices)
                raise typer.BadParameter(f"choose one of: {known}", param_hint=one.param_decls[0])
        run(values)

    asked = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters]
    with_choices = {one.name: one.default for one in asked if getattr(one.default, "choices", ())}
    function.__signature__ = Signature(asked)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in asked}
    function.__doc__ = shown
    return function


def typer_function(command: Command, run: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
    """Return a function that Typer reads as a command with the options of the table."""
    parameters = [
        _parameter(
            one.name, _of_table(one), "bool" if one.flag else "list[str]" if one.many else "str"
        )
        for one in command.options
    ]
    shown = help_text(command.summary, command.example, last=command.last)
    return _for_typer(run, parameters, shown)


def hot_function(name: str, work: Callable[[dict[str, Any]], Output]) -> Callable[..., None]:
    """Return the Typer form of a command of the hot table, which does `work`."""

    def run(values: dict[str, Any]) -> None:
        raise typer.Exit(
            carry_out(name, lambda: work(options.named_once(values)), as_json=values["json"])
        )

    return typer_function(options.HOT[name], run)


def help_text(summary: str, *examples: str, last: str = "") -> str:
    """Return the help of a command: its summary, one line for each example, and what is `last`."""
    shown = "\n".join(f"    $ {example}" for example in examples)
    return f"{summary}\n\n\b\nExample:\n{shown}\n" + (f"\n{last}\n" if last else "")


# --- What is written in options


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
