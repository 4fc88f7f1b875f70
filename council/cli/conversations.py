"""The commands that show and judge conversations.

Source: `cli.md` section 2 (documents 000 and 003), DL-091 to DL-094, DL-104.
"""

from __future__ import annotations

import os
import shutil

from council.cli.edge import Output
from council.cli.options import listed, whole_number
from council.core.errors import InvalidStateError, UsageError
from council.core.plain_text import plain_line
from council.operations.place import Place, conversation_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WIDEST = 100


def show(
    place: Place, format: str, consensus: bool, open_questions: bool, name: str, json: bool
) -> Output:
    """Print a conversation: for people, or as JSON with all its texts."""
    from council.cli.drawing import markdown_text
    from council.operations.conversations.recalling import recall, text_of
    from council.operations.view import debate_session
    from council.operations.view import shown as whole

    if format not in ("md", "json", "debate-session"):
        raise UsageError(f"no format {format!r}", "choose md, json or debate-session")
    found = recall(place, name)
    if consensus or open_questions:
        from council.operations.conversations import judging

        if consensus:
            stands = judging.standing(found.state)
            return Output(record=stands.to_record(), text=stands.to_text())
        record = judging.questions_record(found.state)
        return Output(record=record, text=judging.questions_text(found.state))
    if json or format != "md":
        session = format == "debate-session"
        record = debate_session(place, found.state) if session else whole(found.state)
        from json import dumps

        return Output(record=record, text=dumps(record, ensure_ascii=False, indent=2))
    return Output(text=markdown_text(text_of(found)))


def list_(place: Place, archived: bool, search: str) -> Output:
    """List open conversations, or with --archived the minutes."""
    from council.cli.drawing import rows_text
    from council.operations import view

    if archived:
        found = view.archived(place, search)
        return Output(record=found, text=_minutes_text(found) if found else "no minutes found")
    overview = view.status(place)
    words = search.lower().split()
    standings = [
        one
        for one in overview.standings
        if all(word in f"{one.state.topic} {one.state.brief}".lower() for word in words)
    ]
    rows = [
        (one.state.name, one.state.phase, one.state.tour, ", ".join(one.owing), one.state.topic)
        for one in standings
    ]
    table = rows_text(("name", "phase", "round", "waiting for", "topic"), rows)
    notes = [f"council: {bad}: {error.message}" for bad, error in overview.errors]
    return Output(
        record=[one.to_record() for one in standings],
        text=table if rows else "nothing is open",
        notes=notes,
    )


def _minutes_text(found: list[dict[str, Any]]) -> str:
    """Return the list of minutes; where a row does not fit, each path has a line of its own."""
    from council.cli.drawing import drawn, page_width, rows_text, text_of, width_of

    rows = [
        [text_of(one.get(key)) for key in ("date", "outcome", "title")]
        + [plain_line(os.path.relpath(one["path"]))]
        for one in found
    ]
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) <= page_width():
        return rows_text(("date", "outcome", "title", "minutes"), rows)
    # A path that is copied is wanted in one piece, wherever the terminal breaks it.
    lines = [(("  ".join(said), ""), (f"  {path}", "path")) for *said, path in rows]
    return drawn(*(line for both in lines for line in both))


def history(place: Place, name: str) -> Output:
    """List the revisions of a conversation: who changed what, when."""
    from council.cli.drawing import rows_text
    from council.operations.conversations.recalling import history_of

    _, revisions = history_of(place, conversation_name(place, name))
    rows = [
        (one.rev, one.at, one.actor, ", ".join(event["type"] for event in one.events) + hole)
        for one in revisions
        for hole in [f" ({one.hole})" if one.hole.startswith("purged") else ""]
    ]
    table = rows_text(("rev", "at", "by", "what"), rows)
    return Output(record=[one.to_record() for one in revisions], text=table)


def check(place: Place, name: str) -> Output:
    """Say whether the file is well formed, was edited, and agents set their status."""
    from council.operations.conversations.editing import check as look

    checked = look(place, conversation_name(place, name))
    said = [f"{checked.name}: well formed", *checked.notices]
    return Output(
        record=checked.to_record(),
        text="" if checked.faults else "\n".join(said),
        notes=[f"council: {fault}" for fault in checked.faults],
        code=InvalidStateError.exit_code if checked.faults else 0,
    )


def what_if(
    place: Place, without: list[str], threshold: str, blind: bool, without_flips: bool, name: str
) -> Output:
    """Judge a deliberation again with something changed; say what its verdict hangs on."""
    from council.operations.conversations.judging import what_if as judge_again

    found = judge_again(
        place,
        name,
        without=listed(*without),
        threshold=whole_number(threshold, "--threshold"),
        blind=blind,
        without_flips=without_flips,
    )
    return Output(record=found.to_record(), text=found.to_text())


def metrics(place: Place) -> Output:
    """Tell how conversations went: over all minutes, and by procedure."""
    from council.operations.conversations.metrics import metrics as gather

    found = gather(place)
    notes = [f"council: {path}: {reason}" for path, reason in found.skipped]
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return Output(record=found.to_record(), text=found.to_text(width), notes=notes)


def rate(place: Place, which: str, stars: str, as_: str) -> Output:
    """Say how useful the synthesis of a conversation was; kept with its minutes."""
    from council.operations.conversations.metrics import rate as add

    if not (stars.isascii() and stars.isdigit()):
        raise UsageError(f"{stars!r} is not a rating", "give whole stars from 1 to 5")
    rated = add(place, which, int(stars), as_ or _login(place))
    many = f"{len(rated.ratings)} ratings" if len(rated.ratings) > 1 else "1 rating"
    said = f"{rated.path}: {rated.stars} of 5; mean {rated.mean:.1f} of {many}"
    return Output(record=rated.to_record(), text=said)


def _login(place: Place) -> str:
    """Return the name of the person at the keyboard."""
    import getpass

    try:
        return place.environ.get("COUNCIL_AGENT") or getpass.getuser()
    except (OSError, KeyError):  # no such user, as in some containers
        return "user"
