"""What to do about something, as a page says it: links to pages instead of commands.

Sentences come from commands, which name other commands. A command that no page can do stays.

Source: FW-011.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from urllib.parse import quote

from markupsafe import Markup, escape

# A command as sentences name it, the page that does it, and the key of what the link says.
# NAME stands for the word that the address ends with; … for a text in quotes.
_PAGES = """
council list --archived              /minutes            nav-minutes
council list                         /                   open-councils
council status                       /                   open-councils
council agent list                   /agents             nav-agents
council channel list                 /rooms              nav-rooms
council metrics                      /metrics            nav-metrics
council resume --all                 /                   resume-all
council heartbeat                    /                   heartbeat-now
council events story NAME            /events?about=NAME  its-story
council extend 30m --name NAME       /councils/NAME      council-extend
council extend 30m                   /                   council-extend
council say "…" --to NAME            /rooms/NAME         post
council respond --as X --name NAME "…"  /councils/NAME   advice-answer
council turn end NAME --as X --run-id X --post --text "…"  /rooms/NAME  advice-answer
council turn end NAME --as X --post --text "…"  /rooms/NAME  advice-answer
council say OPTION --to NAME         /tasks/NAME         choose
council msg inbox --as X             /tasks              nav-tasks
council agent edit NAME --model MODEL  /agents?edit=NAME  edit
council convene "…"                  /new                nav-new
council ask "…"                      /new                nav-new
"""
_WORD = r"[^\s,;:()\]]+"


@cache
def _rows() -> tuple[re.Pattern[str], list[tuple[str, str]]]:
    patterns, pages = [], []
    for number, line in enumerate(_PAGES.strip().split("\n")):
        said, address, key = re.split(r"\s{2,}", line)
        pattern = re.escape(said).replace("NAME", f"(?P<n{number}>{_WORD})", 1)
        for part, any_of in (("X", _WORD), ("OPTION", "OPTION"), ("…", '[^"]*')):
            pattern = any_of.join(re.split(rf"(?<![A-Za-z]){part}(?![A-Za-z])", pattern))
        patterns.append(f"(?P<c{number}>{pattern}(?![\\w-]))")
        pages.append((address, key))
    return re.compile("|".join(patterns)), pages


def advised(said: str, word: Callable[[str], str]) -> Markup:
    """Return a sentence with links in the place of the commands that pages can do.

    >>> advised("it waits: council heartbeat", {"heartbeat-now": "Run heartbeat now"}.__getitem__)
    Markup('it waits: <a href="/">Run heartbeat now</a>')
    """
    pattern, pages = _rows()
    parts, at = [Markup()], 0
    for found in pattern.finditer(said):
        number = int(str(found.lastgroup)[1:]) if found.lastgroup else 0
        address, key = pages[number]
        name = found.groupdict().get(f"n{number}") or ""
        where = address.replace("NAME", quote(name, "/"))
        parts += [escape(said[at : found.start()])]
        parts += [Markup('<a href="{}">{}</a>').format(where, word(key))]
        at = found.end()
    return Markup().join([*parts, escape(said[at:])])
