"""The commands of rooms, and the hooks by which other programs take their turns."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.quick import Given, content, text_of
from council.kernel import codec
from council.kernel.errors import Usage
from council.kernel.record import Any
from council.rooms import decisions, service
from council.rooms.row import member

_MOST = 16 << 20  # bytes of the messages of a run


def _me(app: App, given: Given, is_agent: bool = False) -> str:
    """Return who speaks, an agent or anybody."""
    if given.as_:
        return str(given.as_).strip().casefold()
    from council.councils import service as councils  # late: hooks say who they are

    return councils.who(app, "") if is_agent else councils.person(app, "")


def channel_create(app: App, given: Given) -> Said:
    """Make a room; a discussion has a guide, and is completed by who made it."""
    guide, by = "", _me(app, given, given.mode_ == "discussion")
    if given.mode_ == "discussion":
        if not given.guide:
            raise Usage("no-guide", "a discussion needs a guide", "say --guide FILE")
        guide = text_of(app, "", given.guide)
    people = list(given.participants)
    made = service.create(app, given.mode_, given.room, by, people, guide, given.callback)
    persons = [name for name in people if member(app, name)[1].agent_id is None]
    return Said(data=made, notes=_people(persons), reply="room")


def channel_post(app: App, given: Given) -> Said:
    """Say something in a room."""
    text = text_of(app, given.text, given.file)
    made = service.post(app, given.room, text, _me(app, given), given.key)
    return Said(data=made, reply="room")


def steer(app: App, given: Given) -> Said:
    """Change the mode or the members of a room, or tie it to Discord."""
    name = service.named(app, given.room)
    words: list[Any] = [given.mode_ or given.channel]
    persons: list[str] = []
    if given.who:
        ident, one = member(app, given.who)
        words = [ident, None if given.leaves else one]
        persons = [ident] if one.agent_id is None and not given.leaves else []
    made = service.change(app, name, _me(app, given), getattr(decisions, given.verb), *words)
    return Said(data=made, notes=_people(persons), reply="room")


def _people(names: list[str]) -> list[str]:
    """Return a note on members that are no agents of the workspace: a name may be mistyped."""
    return [f"{', '.join(names)}: no agent has that id; it takes part as a person"] if names else []


def channel_complete(app: App, given: Given) -> Said:
    """Complete a discussion with a summary."""
    made = service.complete(app, given.room, given.summary, _me(app, given, True))
    return Said(data=made, reply="room")


def turn_begin(app: App, given: Given) -> Said:
    """Say whether an agent may speak now."""
    agent = _me(app, given, True)
    made = service.begin(app, given.room, agent, given.run_id)
    why = made.get("words") or made["reason"]
    text = f"{agent}: {'speak' if made['allowed'] else 'stay silent'}"
    return Said(data=made, text=text + (f" ({why})" if why else ""))


def turn_end(app: App, given: Given) -> Said:
    """End an agent's turn with its final text, or with the messages of its run."""
    agent, text = _me(app, given, True), given.text
    if given.messages:
        from council.rooms import hearing  # late: most hooks give the text

        text = hearing.final_text(codec.loads(content(given.messages, _MOST), given.messages))
    elif text == "-":
        text = text_of(app, text, "")
    turn = (given.room, agent, given.run_id, text, given.anchor or 0)
    made = service.end(app, *turn, is_said=not given.post)
    return Said(data=made, reply="room")
