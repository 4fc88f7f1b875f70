"""The commands of rooms, and the hooks by which other programs take their turns."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.quick import Given, content, text_of
from council.kernel import codec
from council.kernel.record import Any
from council.rooms import decisions, service
from council.rooms.row import member

_MOST = 16 << 20  # bytes of the messages of a run


def steer(app: App, given: Given) -> Said:
    """Change the mode or the members of a room, or tie it to Discord."""
    name = service.named(app, given.room)
    words, persons = list[Any]([given.mode_ or given.channel]), list[str]()
    if given.who:
        ident, one = member(app, given.who)
        words = [ident, None if given.leaves else one]
        persons = [ident] if one.agent_id is None and not given.leaves else []
    made = service.change(app, name, given.by, getattr(decisions, given.verb), *words)
    return Said(data=made, more={"persons": persons})


def turn_end(app: App, given: Given) -> Said:
    """End an agent's turn with its final text, or with the messages of its run."""
    text = given.text
    if given.messages:
        from council.rooms import hearing  # late: most hooks give the text

        text = hearing.final_text(codec.loads(content(given.messages, _MOST), given.messages))
    elif text == "-":
        text = text_of(app, text, "")
    turn = (given.room, given.agent, given.run_id, text, given.anchor or 0)
    return Said(data=service.end(app, *turn, is_said=not given.post))
