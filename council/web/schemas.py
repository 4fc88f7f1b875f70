"""What a route takes, as a model that is checked and described: made from its command's options.

What a value looks like is read from the word that stands for it in the table of commands: `N` is
a whole number, `a,b` a list, `KEY=VALUE` a pair. In JSON a list is an array and pairs are an
object; both may be written as on the command line, too.

Source: DL-067.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from council.commands.options import Option
from council.web.routes import Route

_MOST_WHOLE = 1_000_000_000
_MOST_ITEMS = 100
_MOST_WORD_CHARS = 1000
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


def model_of(route: Route, most_text_bytes: int) -> type[BaseModel]:
    """Return the model of a route's fields.

    Args:
        route: The route.
        most_text_bytes: How long a text may be.
    """
    fields: dict[str, Any] = {}
    for one in route.fields:
        kind, name = _kind(one, route, most_text_bytes), field_name(one)
        about = Field(alias=name, description=one.help)
        if one.required or name in route.required:
            fields[f"{name}_"] = Annotated[kind, about], ...
        else:
            fields[f"{name}_"] = Annotated[kind | None, about], None
    return create_model(route.name, __config__=ConfigDict(extra="forbid"), **fields)


def field_name(option: Option) -> str:
    """Return what an option is called in JSON: its own name, without a mark of ours."""
    return option.name.rstrip("_")


def word(most_chars: int, pattern: str = WORD) -> Any:
    """Return what a text of one line must be."""
    return Annotated[str, Field(max_length=most_chars, pattern=pattern)]


def _kind(option: Option, route: Route, most_text_bytes: int) -> Any:
    metavar = option.metavar.strip("[].")
    if option.is_flag:
        return bool
    if option.name == "schema":
        return dict[str, Any]
    if bounds := _bounds(option, metavar):
        kind, least, most = bounds
        return Annotated[kind, Field(ge=least, le=most)]
    one: Any = word(_MOST_WORD_CHARS)
    if option.name in _TEXTS:
        one = word(most_text_bytes, TEXT)
    if option.choices:
        one = Literal[option.choices]
    items: Any = Annotated[list[one], Field(max_length=_MOST_ITEMS)]
    pairs: Any = Annotated[dict[str, one], Field(max_length=_MOST_ITEMS)]
    if option.many:
        return items | pairs if "=" in metavar and route.has_fields_in_body else items
    return one | items if "," in metavar and route.has_fields_in_body else one


def _bounds(option: Option, metavar: str) -> tuple[Any, float, float] | None:
    """Return kind, least and most of a number, None for what is none."""
    if option.whole:
        return int, option.least or 0, _MOST_WHOLE
    if metavar in _NUMBERS:
        return _NUMBERS[metavar]
    found = re.fullmatch(r"([0-9])-([0-9])", metavar)
    return (int, int(found[1]), int(found[2])) if found else None


def given(option: Option, value: Any) -> Any:
    """Return a value of the model as the command takes it."""
    if isinstance(value, dict) and option.metavar != "FILE":
        value = [f"{key}={one}" for key, one in value.items()]
    if isinstance(value, list) and not option.many:
        return ",".join(value)
    if isinstance(value, int | float) and not (option.is_flag or option.whole):
        return str(value)
    return value


def answer_schema(route: Route) -> dict[str, Any]:
    """Return what a route answers, as far as its command promises it."""
    if route.lists:
        return {"type": "array", "items": {"type": "object"}}
    return {"type": "object"}
