"""All that is in the way in a workspace, for somebody who runs many councils.

Only what wants an action is a problem, and each says which. That nothing is
found wrong does not mean that agents say anything sensible.

Source: OP-011, `cli.md` section 2 (`status --problems`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.protocol.protocol_ids import is_context
from council.core.record import Record
from council.operations.examining.cause_words import OVERDUE
from council.operations.examining.causes import Cause, of_clock, of_workspace
from council.operations.place import Place
from council.operations.reporting.story import Subject
from council.operations.view import Overview, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from council.operations.reporting.explained import Explained

_RECENT = timedelta(days=1)


class Problems(Record):
    """Everything that is wrong, and among how many open conversations."""

    now: datetime
    open: int
    last_beat: datetime | None
    found: list[Cause]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `status --problems --json`."""
        told = self.as_json("now open last_beat:lastHeartbeat found:problems")
        return {"ok": not self.found, **told}


def find_problems(
    place: Place, overview: Overview | None = None, known_clocks: list[str] | None = None
) -> Problems:
    """Look for everything that is wrong; nothing is changed.

    Args:
        place: The workspace.
        overview: How everything stands, None to look.
        known_clocks: The clocks that are in place, None to look for them.
    """
    seen = overview or status(place)
    local = [one for about in _explained(place, seen) for one in about.hindrances]
    known = {(one.code, one.agent) for one in local}
    found = [one for one in of_workspace(place) if (one.code, one.agent) not in known]
    if seen.anything_open:
        overdue = any(one.code in OVERDUE for one in local)
        found += of_clock(place, overdue=overdue, known_clocks=known_clocks)
    found += [one for one in local if one.is_problem and not _is_old(one, seen.now)]
    rooms = sum(1 for one in seen.rooms if one.is_at_work)
    return Problems(
        now=seen.now,
        open=len(seen.standings) + len(seen.errors) + rooms,
        last_beat=seen.last_beat,
        found=sorted(found, key=lambda one: one.order),
    )


def _explained(place: Place, seen: Overview) -> Iterator[Explained]:
    """Explain everything that is open, in short."""
    from council.operations.reporting.explaining import explain_owner
    from council.operations.reporting.explaining_conversations import explain_conversation

    for one in seen.standings:
        named = _named("conversation", one.state.name)
        yield explain_conversation(place, named, brief=True, state=one.state)
    about = [_named("channel", one.channel.channel_id) for one in seen.rooms]
    about += [_named("context", one) for one in dict.fromkeys(x.context for x in seen.tasks)]
    conversations = place.conversations.names() if seen.errors else []
    for name, _ in seen.errors:
        kind = "context" if is_context(name) else "channel"
        about.append(_named("conversation" if name in conversations else kind, name))
    for other in about:
        yield explain_owner(place, other, brief=True)


def _named(kind: str, name: str) -> Subject:
    return Subject(kind=kind, id=name, name=name)


def _is_old(one: Cause, now: datetime) -> bool:
    """Return true for a room that was calmed long ago: of that people know."""
    since = one.values.get("since")
    return one.code == "calmed" and since is not None and now - since > _RECENT
