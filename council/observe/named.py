"""What a name means, whatever kind of document it names: shown, and spoken to."""

from __future__ import annotations

from council.councils import service, views
from council.kernel import codec
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from council.app import App


def show(app: App, which: str, form: str = "", at: int = 0, last: int = 0) -> tuple[Any, str]:
    """Return a conversation, minutes, or another document, as data and as text for people.

    Args:
        app: The workspace.
        which: A name; that of an open conversation is meant before any other.
        form: Of a conversation: `json`, `debate-session` or `consensus`; else its page.
        at: A revision of a conversation, 0 for now.
        last: How many of the newest parts; 0 is all.
    """
    which = which or app.env.get("COUNCIL_NAME", "")
    if which and not app.is_open(which) and (kind := app.other(which)):
        return kind.shown(app, which, kind.document(app, which).read(), last)
    state = service.find(app, which, at)
    if form == "consensus":
        return views.consensus(state)
    data = views.debate_session(state) if form == "debate-session" else views.shown(state, last)
    as_data = form in ("json", "debate-session")
    return data, codec.printed(data) if as_data else views.text(state, app.root)


def say(app: App, name: str, text: str, to: str, by: str, key: str = "") -> dict[str, Any]:
    """Say something to a conversation, or to what `to` names: a participant, room or task."""
    kind = app.other(to) if to and not name else None
    if kind and kind.name == "room":
        from council.rooms import service as rooms  # late: most words are for conversations

        return rooms.post(app, to, text, by, key)
    if to[:1] in ("S", "T") and to[1:2].isdigit():
        from council.tasks import service as tasks  # late: as above

        if made := tasks.say(app, to, text, by):
            return made
    return service.say(app, name, text, to, by, key)
