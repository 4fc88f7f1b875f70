"""Shows help as Typer draws it, of the table of commands."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from council.cli.quick import COMMANDS, Command, Option, parted

_ABOUT = "Several agents and people decide a question together, in files."
_TYPES = {"flag": bool, "whole": int, "count": int}
_HOW = {"help_option_names": ["--help", "-h"]}


def show(argv: list[str]) -> int:
    """Show the help of the command or group that a line begins with, else of all commands."""
    name, words, _ = parted(argv)
    group = words[:1] if any(one.startswith(f"{(words or ['?'])[0]} ") for one in COMMANDS) else []
    _all(name).main([*(name.split() or group), "--help"], "council", standalone_mode=False)
    return 0


def _all(only: str) -> TyperGroup:
    """Return Typer's `council`, with one command, or with all of them where `only` is ""."""
    version = TyperOption(param_decls=["--version"], is_flag=True, help="Print the version.")
    made = TyperGroup(help=_ABOUT, params=[version], context_settings=_HOW)
    groups = {"": made}
    for found in map(Command, [only] if only else COMMANDS):
        group, _, last = found.name.rpartition(" ")
        panel: Any = {"rich_help_panel": found.panel, "hidden": not found.panel}
        if group not in groups:
            names = [one for one in COMMANDS if one.startswith(f"{group} ") and Command(one).panel]
            about = f"Commands: {', '.join(one.partition(' ')[2] for one in names)}."
            groups[group] = TyperGroup(name=group, help=about, rich_help_panel=found.panel)
            made.add_command(groups[group])
        told: Any = {"short_help": found.summary, **panel}
        told["help"] = f"{found.summary}\n\nExample: council {found.example}"
        params: Any = list(map(_parameter, found.options))
        groups[group].add_command(TyperCommand(last, params=params, **told))
    return made


def _parameter(one: Option) -> Any:
    told: dict[str, Any] = {"help": one.help, "metavar": one.metavar or None}
    told |= {"show_default": False, "hidden": not one.help, "required": one.required}
    told |= {"type": _TYPES.get(one.kind, str), "default": one.unset() or None}
    is_many = one.kind in ("many", "pairs")
    if not one.flags:
        return TyperArgument(param_decls=[one.name], nargs=-1 if is_many else 1, **told)
    told |= {"multiple": is_many, "is_flag": one.kind == "flag"}
    return TyperOption(param_decls=[one.name, *one.flags], **told)
