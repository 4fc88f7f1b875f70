"""What the page of some minutes shows: the file itself, section by section, and its figures.

The words are those of the file, so a page that is sent on says what the minutes say, also where a
person has added a line to them.

Source: C0-030, DL-097, DL-098, DL-104, DL-093.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files

from council.core.record import Any
from council.operations.conversations.judging import standing
from council.operations.conversations.recalling import Recalled
from council.operations.conversations.sections import text_of
from council.operations.place import Place
from council.operations.reporting.minutes import render_minutes
from council.operations.view import readable, shown
from council.store.conversations.filed import archived_conversation
from council.store.conversations.minutes import facts, ratings_in
from council.store.texts import words_of
from council.web.charts import pictures
from council.web.frame import by_itself
from council.web.markdown import block_of

_STYLES = ("style.css", "charts.css", "council.css")
_FENCES = ("```", "~~~")
_HEADINGS = ("# ", "## ", "### ")


def minutes(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the page of minutes shows; `given` has what they are called as `which`, `lang`.

    Raises:
        NotFoundError: There are no such minutes.
    """
    state, path = archived_conversation(place.paths, given.get("which", ""))
    return page_of(place, Recalled(state=state, path=path, archived=True))


def html_file(place: Place, found: Recalled) -> str:
    """Return the minutes of a conversation as one HTML file: styles inside, and no script.

    It may load nothing and run nothing, wherever it is opened. Of a conversation that is open it
    shows the minutes that it would have now.
    """
    style = "\n".join(files("council.web").joinpath("static", one).read_text() for one in _STYLES)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    facts = {"record": page_of(place, found), "style": style, "digest": digest}
    return by_itself("minutes_file.html", found.state.lang, **facts)


def page_of(place: Place, found: Recalled) -> dict[str, Any]:
    """Return what a page shows of the minutes of a conversation that was read."""
    state = found.state
    known = facts(found.path) if found.archived else {}
    sections = list(_sections(text_of(found) if found.archived else _text_now(place, found)))
    stands = standing(state).to_record()
    glance = words_of(state.lang, "minutes")["glance"]
    return {
        **state.as_json("conversation_id"),
        "file": os.path.basename(found.path),
        "known": {key: known[key] for key in ("date", "outcome", "duration") if key in known},
        "ratings": ratings_in(known),
        "title": sections[0]["title"] or state.topic,
        "sections": [
            {**one, "html": block_of(one["text"], raised=one["level"] < 3)} for one in sections
        ],
        "pictures": pictures(shown(state), stands, state.lang),
        # They stand behind what is said in short, else behind what stands first.
        "picturesAfter": next((one["number"] for one in sections if one["title"] == glance), 0),
    }


def _text_now(place: Place, found: Recalled) -> str:
    text = render_minutes(found.state, now=place.now())
    return readable(text.partition("\n---\n")[2])


def _sections(text: str) -> Iterator[dict[str, Any]]:
    """Yield the parts of a text under its headings of three levels, in order; the top comes first.

    What others wrote is quoted in it, so no heading of theirs begins a part.
    """
    part: dict[str, Any] = {"number": 0, "level": 1, "title": ""}
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        level = 0
        if fence:
            fence = "" if line.startswith(fence) else fence
        elif line.startswith(_FENCES):
            fence = line[:3]
        elif line.startswith(_HEADINGS):
            level = line.index(" ")
        if not level:
            lines.append(line)
            continue
        title = line[level:].strip()
        if level == 1 and not part["number"] and not "".join(lines).strip():
            part["title"] = title
            continue
        yield {**part, "text": "\n".join(lines)}
        part, lines = {"number": part["number"] + 1, "level": max(level, 2), "title": title}, []
    yield {**part, "text": "\n".join(lines)}
