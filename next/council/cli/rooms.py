"""The commands of rooms, and the hooks by which other programs take their turns."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given, content, text_of
from council.councils.service import person, who
from council.kernel import codec
from council.kernel.errors import Usage
from council.kernel.record import Any
from council.rooms import decisions, members, service
from council.rooms.row import SUMMARIES

_MOST = 16 << 20  # bytes of the messages of a run


def channel_create(app: App, given: Given) -> Said:
    """Make a room; a discussion has a guide, and is completed by who made it."""
    guide, by = "", who(app, given.as_) if given.mode_ == "discussion" else person(app, given.as_)
    if given.mode_ == "discussion":
        if not given.guide:
            raise Usage("no-guide", "a discussion needs a guide", "say --guide FILE")
        guide = text_of(app, "", given.guide)
    people = list(given.participants)
    made = service.create(app, given.mode_, given.room, by, people, guide, given.callback)
    return Said(data=made, text=f"{made['name']}: {_floor(made)}\n  {made['path']}")


def channel_post(app: App, given: Given) -> Said:
    """Say something in a room."""
    text = text_of(app, given.text, given.file)
    made = service.post(app, given.room, text, person(app, given.as_), given.key)
    reply = f"\n  {made['reply']}" if made["reply"] else ""
    return Said(data=made, text=f"{made['name']}: {made['outcome']}; {_floor(made)}{reply}")


def steer(app: App, given: Given) -> Said:
    """Change the mode or the members of a room, or tie it to Discord."""
    name = service.named(app, given.room)
    words: list[Any] = [given.mode_ or given.channel]
    if given.who:
        ident, one = members.member(app, given.who)
        words = [ident, one] if given.verb == "join" else [ident]
    decide = getattr(decisions, given.verb)
    by = person(app, given.as_)
    made = service.change(app, name, lambda state: decide(state, *words, app.now), by)
    return Said(data=made, text=f"{name}: {made['outcome']}; {_floor(made)}")


def channel_complete(app: App, given: Given) -> Said:
    """Complete a discussion with a summary."""
    if not given.summary:
        raise Usage("no-summary", "which summary?", f"say --summary {SUMMARIES}/FILE")
    made = service.complete(app, given.room, given.summary, who(app, given.as_))
    return Said(data=made, text=f"{made['name']}: completed\n  minutes: {made['minutes']}")


def turn_begin(app: App, given: Given) -> Said:
    """Say whether an agent may speak now."""
    agent = who(app, given.as_)
    made = service.begin(app, given.room, agent, given.run_id)
    why = made.get("words") or made["reason"]
    text = f"{agent}: {'speak' if made['allowed'] else 'stay silent'}"
    return Said(data=made, text=text + (f" ({why})" if why else ""))


def turn_end(app: App, given: Given) -> Said:
    """End an agent's turn with its final text, or with the messages of its run."""
    agent, text = who(app, given.as_), given.text
    if given.messages:
        from council.rooms import hearing  # late: most hooks give the text

        text = hearing.final_text(codec.loads(content(given.messages, _MOST), given.messages))
    elif text == "-":
        text = text_of(app, text, "")
    if given.post and text.strip():
        service.post(app, given.room, text, agent, given.run_id)
    made = service.end(app, given.room, agent, given.run_id, text, given.anchor or 0)
    return Said(data=made, text=f"{agent}: {made['outcome']}; {_floor(made)}")


def _floor(made: dict[str, Any]) -> str:
    floor = f"floor: {made['currentSpeaker'] or 'nobody'}"
    return f"{floor}, asleep until somebody speaks" if made.get("dormant") else floor
