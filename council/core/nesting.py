"""How deep a text is nested, known before any parser sees it.

Parsers go down one level by one call: YAML's ends the process when the stack is
used up, the others fail somewhere on the way, and what they read can break
whoever walks through it. So each text that somebody else may have written is
measured first, in time that grows with its length alone.

Source: SC-004.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_NESTED = 100
# Some front matter says a thing twice by an alias; ten of them can stand for millions.
_MOST_ALIASES = 9
_ALIAS = re.compile(r"[\s\[,{:-]\*[^\s*]")
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class TooDeepError(ValueError):
    """A text is nested deeper than anything that is meant to be read."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {MOST_NESTED} deep")


def read_json(text: str | bytes, **how: Any) -> Any:
    """Return what a JSON text says; `how` are the hooks of `json.loads`.

    Raises:
        TooDeepError: It is nested more than `MOST_NESTED` deep.
        ValueError: It is no JSON.
    """
    if _is_deep(text):
        raise TooDeepError
    return json.loads(text, **how)


def _is_deep(text: str | bytes) -> bool:
    if isinstance(text, str):
        if text.count("[") + text.count("{") <= MOST_NESTED:
            return False
        text = text.encode("utf-8", "surrogatepass")
    elif text.count(b"[") + text.count(b"{") <= MOST_NESTED:
        return False
    # What is left between every second pair of quotes stands in no string.
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    depth = 0
    for sign in b"".join(bare).translate(None, _ALL_BUT_BRACKETS):
        depth += 1 if sign & 2 else -1  # the bit in which what opens differs from what closes
        if depth > MOST_NESTED:
            return True
    return False


def bounded_yaml(text: str) -> str:
    """Return a text of YAML, such as front matter, that may be given to a parser.

    What it says in strings counts, too: front matter has few brackets.

    Raises:
        TooDeepError: It may be nested more than `MOST_NESTED` deep, or grow by its aliases.
    """
    indented = max((len(one) - len(one.lstrip(" \t-?:")) for one in text.splitlines()), default=0)
    opened = text.count("[") + text.count("{")
    if opened + indented > MOST_NESTED or len(_ALIAS.findall(text)) > _MOST_ALIASES:
        raise TooDeepError
    return text


def bounded_toml(text: str) -> str:
    """Return a text of TOML that may be given to a parser, which bounds brackets by itself.

    Raises:
        TooDeepError: A key has more than `MOST_NESTED` parts; each takes what all before it take.
    """
    for line in text.splitlines():
        run = 0
        for part in line.split(".") if line.count(".") > MOST_NESTED else ():
            run = run + 1 if part.strip() else 0
            if run > MOST_NESTED:
                raise TooDeepError
    return text
