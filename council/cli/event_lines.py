"""Events on a terminal or in a pipe: one a line, or as a story.

Source: XC-005, `cli.md` section 2 (`events tail`, `events story`).
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from textwrap import wrap
from typing import Any

from council.core.plain_text import plain_line
from council.operations.place import Place
from council.store.events import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.telling.story import Story, Told

_ENGLISH = ("of", ": nothing has happened yet")
_FRENCH = ("de", " : rien ne s'est encore passé")
_WIDEST_NAME = 16
_LOOK_AGAIN_S = 0.2


def print_tail(place: Place, newest: int, *, follow: bool, as_json: bool) -> None:
    """Print the `newest` events, then with `follow` each new one as it comes."""
    last: deque[dict[str, Any]] = deque(maxlen=newest)
    caught_up = False

    def more() -> bool:
        nonlocal caught_up
        if not caught_up:
            caught_up = True
            for record in last:
                _print(record, as_json)
        sys.stdout.flush()
        if follow:
            time.sleep(_LOOK_AGAIN_S)
        return follow

    for record in tail(place.paths, more=more):
        if caught_up:
            _print(record, as_json)
        else:
            last.append(record)


def told(story: Story, width: int, lang: str) -> str:
    """Return a story as people read it: a line for each event, wrapped below itself."""
    from council.operations.telling.event_values import kind_word

    about = story.subject
    of, nothing = _FRENCH if lang == "fr" else _ENGLISH
    head = f"{kind_word(about.kind, lang)} {about.name or about.id}"
    head += f" {of} {about.owner}" if about.owner else ""
    if about.name and about.name != about.id:
        head += f" ({about.id})"
    head = plain_line(head)
    lines = [head]
    if not story.told:
        return f"{head}{nothing}"
    column = max(len(_who(one)) for one in story.told)
    column = min(max(column, 4), _WIDEST_NAME)
    day = ""
    for one in story.told:
        at = plain_line(str(one.event.get("at")))
        if at[:10] != day:
            day = at[:10]
            lines += ["", day]
        start = f"{at[11:19]}  {_who(one):<{column}}  "
        room = max(20, width - len(start))
        # A path that is broken in two can neither be copied nor looked for.
        body = wrap(_said(one), room, break_on_hyphens=False, break_long_words=False) or [""]
        lines.append(start + body[0])
        lines += [" " * len(start) + rest for rest in body[1:]]
    return "\n".join(lines)


def _said(one: Told) -> str:
    return plain_line(f"[{one.where}] {one.said}" if one.where else one.said)


def _who(one: Told) -> str:
    return plain_line(one.who) or "-"


def _print(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        line = json.dumps(record, ensure_ascii=False)
    else:
        about = " ".join(
            f"{key}={_short(value)}"
            for key, value in record.get("data", {}).items()
            if value not in (None, "", [])
        )
        line = f"{record['at']}  {record['type']:<24} {record.get('agentId') or '-':<10} {about}"
        line = plain_line(line)
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59] + "…"
