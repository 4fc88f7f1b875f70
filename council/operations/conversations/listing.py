"""Lists of minutes: what was decided, when, by whom; the newest end first.

The decision is the first paragraph that the minutes have under that heading, so a person's
correction counts; where they have none, none is shown. A list reads the record and the page of
those minutes alone that it shows.

Source: FW-010, DL-104, `cli.md` section 2 (`list`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from council.core.errors import UsageError
from council.core.ids import folded
from council.core.plain_text import first_paragraph, shortened
from council.core.record import Any, Record
from council.core.times import parse_instant, render_instant
from council.operations.place import Place
from council.operations.view import readable
from council.store.conversations.filed import RECORD, Filed, find_minutes, newest_first
from council.store.conversations.minutes import facts
from council.store.files import content_of
from council.store.statefile.quoting import read_quote_below
from council.store.texts import texts

DECISION_MAX_CHARS = 160
_SNIPPET_CHARS = 50
_DAY_CHARS = len("2026-02-08")
OUTCOMES = (
    *("consensus", "declared", "no-consensus", "disagreement"),
    *("timeout", "nobody-left", "cancelled", "open"),
)


class Wanted(Record):
    """Which minutes a list is to hold; what is empty sets no condition.

    `search` are words that must all be somewhere in the minutes, `since` and `until` instants or
    days, of which the last one counts to its end.
    """

    search: str = ""
    outcome: str = ""
    agent: str = ""
    since: str = ""
    until: str = ""


def archived(
    place: Place, wanted: Wanted | None = None, *, after: str = "", most: int | None = None
) -> list[dict[str, Any]]:
    """Return what is known of minutes, the newest end first.

    Each has `path`, `endedAt` and `decision` beside its facts. `endedFrom` says what gave the
    instant where that is not the record of the conversation. With a search there are `hits`, how
    often the words occur, and a `snippet` around the first of them.

    Args:
        place: The workspace.
        wanted: Which minutes, None for all.
        after: The file or the id of minutes; only those that follow it are returned.
        most: How many at most, None for all.

    Raises:
        NotFoundError: There are no minutes `after`.
        UsageError: An outcome that there is not, or something that is no instant.
    """
    wanted = wanted or Wanted()
    if wanted.outcome and wanted.outcome not in OUTCOMES:
        raise UsageError(f"no outcome {wanted.outcome!r}", f"one of: {', '.join(OUTCOMES)}")
    is_in_time = _span(wanted.since, wanted.until)
    filed = newest_first(place.paths)
    if after:
        last = find_minutes(place.paths, after)
        filed = filed[1 + [one.path for one in filed].index(last) :]
    rows: list[dict[str, Any]] = []
    for one in filed:
        if most is not None and len(rows) == most:
            break
        if is_in_time(one.ended_at) and (row := _row(one, wanted)):
            rows.append(row)
    return rows


def count(place: Place) -> int:
    """Return how many minutes there are."""
    return len(newest_first(place.paths))


def _row(one: Filed, wanted: Wanted) -> dict[str, Any] | None:
    """Return what a list shows of one file, None where it is not wanted."""
    known = facts(one.path)
    participants = known.get("participants")
    people = [folded(str(who)) for who in participants] if isinstance(participants, list) else []
    if wanted.outcome and known.get("outcome") != wanted.outcome:
        return None
    if wanted.agent and folded(wanted.agent) not in people:
        return None
    text = content_of(one.path).decode("utf-8", "replace")
    body = text.partition("\n---\n")[2] if text.startswith("---") else text
    found = _found(one.title, readable(body), wanted.search)
    if found is None or not known:
        return None
    ids = {"id": one.conversation} if one.conversation and "id" not in known else {}
    return {
        **known,
        **ids,
        "path": one.path,
        "endedAt": render_instant(one.ended_at),
        **({"endedFrom": one.ended_by} if one.ended_by != RECORD else {}),
        "decision": decision_in(body),
        **found,
    }


def _found(title: str, body: str, search: str) -> dict[str, Any] | None:
    """Return how often words are in some minutes and where, None if one of them is not."""
    words = search.lower().split()
    if not words:
        return {}
    low = body.lower()
    if not all(word in low or word in title.lower() for word in words):
        return None
    hits = sum(low.count(word) for word in words)
    best = max(low.splitlines(), key=lambda line: sum(word in line for word in words), default="")
    if not hits:
        return {"hits": 0, "snippet": title}
    line = body.splitlines()[low.splitlines().index(best)]
    return {"hits": hits, "snippet": _around(line, min(_places(best, words)))}


def _places(line: str, words: list[str]) -> list[int]:
    return [line.find(word) for word in words if word in line]


def _around(line: str, at: int) -> str:
    """Return a line without its marks, cut to some signs on both sides of a place in it."""
    first = max(0, at - _SNIPPET_CHARS)
    last = at + 2 * _SNIPPET_CHARS
    before, after = "…" if first else "", "…" if last < len(line) else ""
    shown = " ".join(line[first:last].replace("**", "").lstrip(">#-* ").split())
    return f"{before}{shown}{after}"


def decision_in(text: str) -> str:
    """Return the decision that minutes state, in one line; "" where they state none."""
    for heading in texts("minutes")["decision"]:
        if said := read_quote_below(f"\n{text}", f"## {heading}"):
            line = first_paragraph(said).strip().lstrip("#>-*+ ").replace("**", "")
            return shortened(line, DECISION_MAX_CHARS)
    return ""


def _span(since: str, until: str) -> Callable[[datetime], bool]:
    """Return the question whether an instant is between two others, which may be days.

    Raises:
        UsageError: One of them is neither.
    """
    first = parse_instant(since) if since else datetime.min.replace(tzinfo=UTC)
    last = parse_instant(until) if until else datetime.max.replace(tzinfo=UTC)
    if until and len(until.strip()) <= _DAY_CHARS:
        last += timedelta(days=1, microseconds=-1)
    if since and until and first > last:
        raise UsageError(f"{since} is after {until}", "give the earlier one with --since")
    return lambda at: first <= at <= last
