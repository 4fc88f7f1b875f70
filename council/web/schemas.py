"""What a route takes, as a model that is checked and described: made from its command's options.

Source: DL-067.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from council.commands.options import Option
from council.web.routes import Route

_MOST_WHOLE = 1_000_000_000
_MOST_ITEMS = 100
_MOST_WORD_CHARS = 10_000
_TEXTS = frozenset(("text", "message", "topic", "brief", "position"))


def model_of(route: Route, most_text_bytes: int) -> type[BaseModel]:
    """Return the model of a route's fields.

    Args:
        route: The route.
        most_text_bytes: How long a text may be.
    """
    fields: dict[str, Any] = {field_name(one): _field(one, most_text_bytes) for one in route.fields}
    return create_model(route.name, __config__=ConfigDict(extra="forbid"), **fields)


def field_name(option: Option) -> str:
    """Return what an option is called in JSON: its own name, without a mark of ours."""
    return option.name.rstrip("_")


def _field(option: Option, most_text_bytes: int) -> tuple[Any, Any]:
    most = most_text_bytes if option.name in _TEXTS else _MOST_WORD_CHARS
    kind: Any = Annotated[str, Field(max_length=most)]
    if option.is_flag:
        kind = bool
    elif option.whole:
        kind = Annotated[int, Field(ge=option.least or 0, le=_MOST_WHOLE)]
    elif option.choices:
        kind = Literal[option.choices]
    if option.many:
        kind = Annotated[list[kind], Field(max_length=_MOST_ITEMS)]
    if option.required:
        return kind, Field(description=option.help)
    return kind | None, Field(default=None, description=option.help)
