"""What an agent is shown that has the floor of a room: the prompt, and the file that hands it over.

Source: DG-117, OP-014, XC-010, XC-012, `cli.md` section 5, `trust.md` (Text of others is data).
"""

from __future__ import annotations

from council.core.conversations.due import Wake
from council.core.events import Event
from council.core.rooms.channels import Channel
from council.core.rooms.room_sight import MOST_MESSAGES, parts
from council.operations.conversations.prompts import boundary, render_prompt
from council.operations.place import Place
from council.operations.rooms import rooms
from council.operations.rooms.authorship import origins_of
from council.store.agents import persona_of, prints_answer
from council.store.events import append, loose_records
from council.store.files import make_folder, remove, replace
from council.store.keys import run_key
from council.store.settings import language


def turn_prompt(place: Place, channel: Channel, wake: Wake) -> str:
    """Return the prompt of a turn in a room, or of the summary of an idle discussion.

    Raises:
        InvalidInputError: A template of the workspace is broken.
        CouncilError: The log cannot be read.
    """
    newest = rooms.channels(place).newest(channel, MOST_MESSAGES)
    origins = origins_of(place, channel.channel_id, newest)
    seen = parts(channel, newest, wake.agent, wake.task, origins)
    if seen["leftOut"]:
        data = {"task": wake.task, "leftOut": seen["leftOut"]}
        event = Event(type="prompt.shortened", agent=wake.agent, data=data)
        append(place.paths, loose_records([event], channel.channel_id, place.now()))
    persona = persona_of(place.root, place.settings, wake.agent)
    return render_prompt(
        "turn" if channel.speaker else "summary",
        seen,
        lang=language(place.settings, "", place.environ),
        root=place.root,
        checklist="",
        persona=persona,
        boundary=boundary(run_key(place.paths), seen, avoid=persona),
        file=f"{place.paths.channels}/{channel.channel_id}.jsonl",
        prints=prints_answer(place.root, place.settings, wake.agent),
    )


def hand_over(place: Place, channel: Channel, wake: Wake) -> None:
    """Put the prompt of a turn where an agent that answers by itself finds it.

    Raises:
        CouncilError: The prompt cannot be made or written.
    """
    folder = place.paths.tasks(wake.agent)
    make_folder(folder)
    text = turn_prompt(place, channel, wake)
    replace(f"{folder}/{wake.task}.md", text.encode("utf-8", "replace"))


def withdraw(place: Place, wake: Wake) -> None:
    """Take away a prompt that was handed over for a turn that was not claimed after all."""
    remove(f"{place.paths.tasks(wake.agent)}/{wake.task}.md")
