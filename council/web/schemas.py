"""What a route takes, as a model that is checked and described: made from its command's options.

What a value looks like is read from the word that stands for it in the table of commands: `N` is
a whole number, `a,b` a list, `KEY=VALUE` a pair. In JSON a list is an array and pairs are an
object; both may be written as on the command line, too.

Source: DL-067.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.json_schema import SkipJsonSchema

from council.commands.options import Option
from council.web.routes import Route

_MOST_WHOLE = 1_000_000_000
_MOST_ITEMS = 100
_MOST_WORD_CHARS = 1000
_MOST_PATH_CHARS = 200
_TEXTS = frozenset(("text", "message", "topic", "brief", "position", "guide", "user", "fields"))
_NUMBERS = {
    "N": (int, 0, _MOST_WHOLE),
    "PERCENT": (int, 0, 100),
    "USD": (float, 0, 10_000),
    "0-1": (float, 0, 1),
}
# A text may have lines; a word stands in one, without signs that terminals obey.
TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
WORD = r"^[^\x00-\x1f\x7f]*$"
SOME_WORD = r"^[^\x00-\x1f\x7f]+$"
_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
# What a word must be, by the one that stands for it, or by the name of its option.
_PATTERNS = {
    "CHANNEL": _NAME,
    "DURATION": r"^([0-9]{1,6}[dhms]){1,4}$",
    "GROUP": r"^G[1-9]$",
    "agent": _NAME,
    "artifact": r"^(#REF:)?art_[0-9a-f]{6,64}$",
}
_ABSENT: Any = Annotated[None, SkipJsonSchema()]  # type: ignore[type-arg]
_LITERALS = re.compile(r"([a-z]+(-[a-z]+)*|[A-Z][0-9])(\|([a-z]+(-[a-z]+)*|[A-Z][0-9]))+")


def model_of(route: Route, most_text_bytes: int) -> type[BaseModel]:
    """Return the model of a route's fields.

    Args:
        route: The route.
        most_text_bytes: How long a text may be.
    """
    fields: dict[str, Any] = {}
    for one in route.fields:
        name = field_name(one)
        about = Field(alias=name, description=one.help)
        if one.required or name in route.required:
            kind = _kind(one, route, most_text_bytes, least=1)
            fields[f"{name}_"] = Annotated[kind, about], ...
        else:
            kind = _kind(one, route, most_text_bytes, least=0)
            nothing = None if route.has_fields_in_body else _ABSENT
            fields[f"{name}_"] = Annotated[kind | nothing, about], None
    return create_model(route.name, __config__=ConfigDict(extra="forbid"), **fields)


def field_name(option: Option) -> str:
    """Return what an option is called in JSON: its own name, without a mark of ours."""
    return option.name.rstrip("_")


def place_of(option: Option) -> Any:
    """Return what a part of a path must be that stands for an option."""
    return Path(
        alias=field_name(option),
        description=option.help,
        max_length=_MOST_PATH_CHARS,
        pattern=_pattern(option) or SOME_WORD,
    )


def _pattern(option: Option) -> str:
    return _PATTERNS.get(option.metavar.strip("[]"), "") or _PATTERNS.get(option.name, "")


def _kind(option: Option, route: Route, most_text_bytes: int, *, least: int) -> Any:
    """Return the type of a field; what must be given has `least` so many signs or items."""
    metavar, in_body = option.metavar.strip("[]."), route.has_fields_in_body
    if option.is_flag:
        return bool
    if option.name == "schema":
        return dict[str, Any]
    if bounds := _bounds(option, metavar):
        kind, lowest, highest = bounds
        return Annotated[kind, Field(ge=lowest, le=highest)]
    is_text = option.name in _TEXTS
    most = most_text_bytes if is_text else _MOST_WORD_CHARS
    pattern = _pattern(option) or (TEXT if is_text else WORD)
    one: Any = Annotated[str, Field(min_length=least, max_length=most, pattern=pattern)]
    if choices := option.choices or _choices(metavar):
        one = Literal[choices]
    items: Any = Annotated[list[one], Field(min_length=least, max_length=_MOST_ITEMS)]
    pairs: Any = Annotated[dict[str, one], Field(min_length=least, max_length=_MOST_ITEMS)]
    if option.many:
        return items | pairs if "=" in metavar and in_body else items
    return one | items if "," in metavar and in_body else one


def _choices(metavar: str) -> tuple[str, ...]:
    """Return the words of which one must be given, where all that stand there are such."""
    if metavar == "V1..V5":
        return ("V1", "V2", "V3", "V4", "V5")
    return tuple(metavar.split("|")) if _LITERALS.fullmatch(metavar) else ()


def _bounds(option: Option, metavar: str) -> tuple[Any, float, float] | None:
    """Return kind, least and most of a number, None for what is none."""
    if option.whole:
        return int, option.least or 0, _MOST_WHOLE
    if metavar in _NUMBERS:
        return _NUMBERS[metavar]
    found = re.fullmatch(r"([0-9])-([0-9])", metavar)
    return (int, int(found[1]), int(found[2])) if found else None


def arguments_of(route: Route, fields: BaseModel | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of a route's command, and what else goes with its request.

    Args:
        route: The route.
        fields: What was given, checked by the model of the route; None where it has no fields.
    """
    options = {field_name(one): one for one in route.fields}
    values = fields.model_dump(by_alias=True, exclude_none=True) if fields is not None else {}
    arguments = {options[name].name: _given(options[name], one) for name, one in values.items()}
    more: dict[str, Any] = {"lists": True} if route.lists else {}
    if typed := arguments.get(route.typed_in):
        more["typed"] = typed if isinstance(typed, str) else json.dumps(typed)
        arguments[route.typed_in] = "-"
    return arguments | route.fixed, more


def _given(option: Option, value: Any) -> Any:
    """Return a value of the model as the command takes it."""
    if isinstance(value, dict) and option.metavar != "FILE":
        value = [f"{key}={one}" for key, one in value.items()]
    if isinstance(value, list) and not option.many:
        return ",".join(value)
    if isinstance(value, int | float) and not (option.is_flag or option.whole):
        return str(value)
    return value


def answer_schema(route: Route) -> dict[str, Any]:
    """Return what a route answers, as far as its command promises it.

    A session is described by document 003; what a section or another reading has is an object.
    """
    if route.fixed.get("format") == "debate-session":
        return {"$ref": "#/components/schemas/DebateSession"}
    fixed = [one for one in route.command.options if route.fixed.get(one.name) is True]
    flags = [one.flags[0] for one in fixed if one.name in _TELLING]
    is_part = {"section", "kind"} & {field_name(one) for one in route.fields}
    name, known = route.command.name, _answers()
    promised = "" if is_part else known.get(" ".join([name, *flags])) or known.get(name, "")
    keys = [one.partition(":") for one in promised.split()]
    schema = {
        "type": "object",
        "required": [key for key, _, _ in keys],
        "properties": {key: {"type": _TYPES[kind]} if kind else {} for key, _, kind in keys},
    }
    return {"type": "array", "items": schema} if route.lists else schema


# Options by which a command answers something else.
_TELLING = ("all", "archived", "consensus", "open_questions", "problems")
_TYPES = {"s": "string", "i": "integer", "b": "boolean", "a": "array", "o": "object"}


@cache
def _answers() -> dict[str, str]:
    """Return the keys of the answers of commands, with their types where those never differ."""
    path = f"{os.path.dirname(os.path.dirname(__file__))}/schemas/answers.json"
    with open(path, encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]
