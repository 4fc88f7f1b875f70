"""The end of a conversation: its minutes, and the journal that is kept."""

from __future__ import annotations

import os

from council.councils import kind, service_views, sight
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
    from council.runs import heartbeat

    document = app.conversation(name)
    state = document.read()
    if not state.ended_at:
        return ""
    heartbeat.end_runs(app, state.runs.by_id.values())
    front, body = _minutes_of(app, state)
    with Lock(f"{app.state_folder}/minutes.lock", 30):  # one file, whoever comes first
        path = files.write(app.root, front, body, state.ended_at[:10])
    made: Event = {"type": "archived", "path": os.path.relpath(path, app.root)}
    change = document.change(
        lambda s: [] if s.minutes else [{**made, "at": times.text(app.now)}],
        by="council",
        at=app.now,
    )
    app.changed(change)
    document.close(state.conversation_id)
    return path


def _minutes_of(app: App, state: State) -> tuple[dict[str, Any], str]:
    from council.councils import minutes, session  # late: only at the end

    decision = session.decision(state)["decision"]
    return minutes.minutes(state, sight.tally(state), decision, times.text(app.now))


def closed(app: App, ident: str, at: int = 0) -> State | None:
    """Return a conversation that is over, None where its journal is gone."""
    from council.kernel.document import Document  # late: see above

    try:
        found: State = Document(f"{app.state_folder}/closed/{ident}", None, kind).peek(at or None)
    except NotFound:
        return None
    return found


def text(app: App, state: State) -> str:
    """Return a conversation for people: its minutes once they are written, else its page."""
    minutes = ""
    try:
        with open(f"{app.root}/{state.minutes or '-'}", encoding="utf-8") as file:
            minutes = file.read()
    except OSError:
        pass
    return service_views.text(state, minutes)


def rate(app: App, which: str, stars: int, by: str) -> dict[str, Any]:
    """Rate minutes from 1 to 5 stars."""
    from council.archive import minutes  # late: only for this verb

    path = minutes.find(app.root, which)["path"]
    return {"path": path, "ratings": minutes.rate(path, stars, by)}


def rewrite_minutes(app: App, state: State) -> None:
    """Write the minutes of a closed conversation again, after words were taken out of it."""
    from council.archive import minutes as files  # late: only for `forget`

    path = f"{app.root}/{state.minutes}"
    front, body = _minutes_of(app, state)
    if os.path.exists(path):
        os.unlink(path)
    files.write(app.root, front, body, (state.ended_at or "")[:10])
