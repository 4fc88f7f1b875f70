"""The end of a conversation: its minutes, and the journal that is kept."""

from __future__ import annotations

import os

from council.councils import kind, sight
from council.councils.model import Event, State
from council.kernel import times
from council.kernel.errors import NotFound
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App


def archive(app: App, name: str) -> str:
    """Write the minutes of a conversation that is over and close it; return their path.

    It is safe to repeat after a crash at any point.
    """
    from council.archive import minutes as files  # late: only at the end
    from council.kernel.lock import Lock
    from council.runs import heartbeat  # late: see above

    document = app.conversation(name)
    state = document.read()
    if not state.ended_at:
        return ""
    heartbeat.end_runs(app, state.runs.by_id.values())
    with Lock(f"{app.state_folder}/minutes.lock", 30):  # one file, whoever comes first
        path = files.write(app.root, *_minutes_of(app, state), state.ended_at[:10])
    made: Event = {"type": "archived", "path": os.path.relpath(path, app.root)}
    made["at"] = times.text(app.now)
    change = document.change(lambda s: [] if s.minutes else [made], by="council", at=app.now)
    app.changed(change)
    document.close(state.conversation_id)
    return path


def _minutes_of(app: App, state: State) -> tuple[dict[str, Any], str]:
    from council.councils import minutes, session  # late: only at the end

    decision = session.decision(state)["decision"]
    return minutes.minutes(state, sight.tally(state), decision, times.text(app.now))


def rewrite_minutes(app: App, state: State) -> None:
    """Write the minutes of a closed conversation again, after words were taken out of it."""
    from council.archive import minutes as files  # late: only for `forget`

    front, body = _minutes_of(app, state)
    files.write(app.root, front, body, (state.ended_at or "")[:10], replace=True)


def closed(app: App, ident: str, at: int = 0) -> State | None:
    """Return a conversation that is over, None where its journal is gone."""
    from council.kernel.document import Document  # late: only for what is over

    try:
        found: State = Document(f"{app.state_folder}/closed/{ident}", None, kind).peek(at or None)
    except NotFound:
        return None
    return found
