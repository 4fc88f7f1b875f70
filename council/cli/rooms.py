"""The commands on channels, turns and discussions, for Typer.

Source: `cli.md` section 2 (document 001).
"""

from __future__ import annotations

from council.cli.edge import Output, read_text
from council.cli.parameters import AS, argument, command, listed, option
from council.core.errors import UsageError
from council.core.ids import is_name
from council.operations.place import Place, speaker

CHANNEL = argument("CHANNEL", "The id of the channel.")
NAMES = option("--participants", "A,B", "Agent ids or accounts, with commas.")
MEMBERS = option("--members", "A,B", "The same as above.")


def _who(place: Place, as_: str) -> str:
    """Return who acts, "" when nothing tells: a person at the keyboard may."""
    try:
        return speaker(place, as_)
    except UsageError:
        if as_:
            raise
        return ""


def _poster(place: Place, as_: str) -> str:
    """Return who posts; outside of a run any account may, also one that can be no agent's."""
    if as_ and not is_name(as_) and not place.is_in_run:
        return as_
    return speaker(place, as_)


@command("channel create", "council channel create chat weather --participants owl,gecko --as owl")
def create(
    place: Place,
    mode: str = argument("chat|report|work", "What it is for."),
    channel: str = argument("NAME", "Its name."),
    participants: str = NAMES,
    members: str = MEMBERS,
    topic: str = option("--topic", "TEXT", "One line."),
    as_: str = AS,
) -> Output:
    """Make a channel; the moderator is always a member."""
    from council.cli.room_views import channel_output
    from council.operations.rooms.channels import CREATABLE
    from council.operations.rooms.channels import create as make

    if mode == "discussion":
        raise UsageError(
            "a discussion is made with its guide",
            "council discussion create NAME --guide FILE --participants A,B",
        )
    if mode not in CREATABLE:
        raise UsageError(f"no channel is made as {mode!r}", "choose chat, report or work")
    names = listed(participants, members)
    made = make(place, mode, channel, names, by=_who(place, as_), topic=topic)
    return channel_output(made, f"{made.channel_id}: made, a {made.mode} channel")


@command("channel mode", "council channel mode weather report")
def mode(
    place: Place,
    channel: str = CHANNEL,
    mode: str = argument("[MODE]", "The mode to set: none, chat or report."),
) -> Output:
    """Show or set the mode of a channel; work and discussion are locked for ever."""
    from council.cli.room_views import channel_output
    from council.operations.rooms.channels import change_mode
    from council.operations.rooms.showing import standing

    if not mode:
        found = standing(place, channel).channel
        return channel_output(found, f"{channel}: {found.mode}")
    step = change_mode(place, channel, mode)
    return channel_output(step.channel, f"{channel}: {step.channel.mode}")


@command("channel show", "council channel show weather", reads=True)
def show(
    place: Place,
    channel: str = CHANNEL,
    count: int = option("--last", "N", "How many of the newest messages.", 10),
) -> Output:
    """Show a channel: who is in it, who has the floor and why, what was said last."""
    from council.cli.room_views import shown_output
    from council.operations.rooms.showing import standing

    return shown_output(standing(place, channel, messages=count))


@command("channel list", "council channel list", reads=True)
def list_(place: Place) -> Output:
    """List the channels with their modes and who has the floor."""
    from council.cli.room_views import list_output
    from council.operations.rooms.showing import all_standing

    return list_output(*all_standing(place))


@command("channel post", 'council channel post weather "It will rain." --as owl')
def post(
    place: Place,
    channel: str = CHANNEL,
    text: str = argument("[TEXT|-]", "The text, or -."),
    file: str = option("--file", "PATH", "Read it from a file."),
    run_id: str = option("--run-id", "ID", "The run that says it; says it once."),
    key: str = option("--key", "KEY", "Stands for this message when retried."),
    as_: str = AS,
) -> Output:
    """Post a message; it may wake the room, and never ends a turn."""
    from council.cli.room_views import posted_output
    from council.operations.rooms.channels import post as say
    from council.operations.rooms.showing import answer_to

    words = read_text(text, file, place.settings.max_text_bytes)
    run = run_id or place.environ.get("COUNCIL_TASK_ID", "")
    said, step = say(place, channel, _poster(place, as_), words, run=run, key=key)
    answer = answer_to(place, step.channel, said.id)
    return posted_output(step.channel, said, step.outcome, answer, step.reason)


@command("channel members", "council channel members weather add gecko")
def members(
    place: Place,
    channel: str = CHANNEL,
    action: str = argument("[add|remove]", "What to do."),
    names: list[str] | None = argument("[WHO]…", "Agent ids or accounts.", None),
) -> Output:
    """Show the members of a channel, let some in or take some out."""
    from council.cli.room_views import members_output
    from council.operations.rooms.channels import change_members
    from council.operations.rooms.showing import standing

    if not action:
        return members_output(standing(place, channel).channel)
    who = listed(*(names or ()))
    if action not in ("add", "remove") or not who:
        raise UsageError("say add or remove, and whom", "such as: add owl gecko")
    if action == "add":
        return members_output(change_members(place, channel, add=who).channel)
    return members_output(change_members(place, channel, remove=who).channel)


@command("turn status", "council turn status weather", reads=True)
def status(place: Place, channel: str = CHANNEL) -> Output:
    """Show who has the floor of a channel and why, without changing anything."""
    from council.cli.room_views import status_output
    from council.operations.rooms.showing import standing

    return status_output(standing(place, channel).channel)


@command("turn wake", "council turn wake weather")
def wake(place: Place, channel: str = CHANNEL, as_: str = AS) -> Output:
    """Wake a room that fell asleep."""
    from council.cli.room_views import status_output
    from council.operations.rooms.turns import wake as rouse

    step = rouse(place, channel, _who(place, as_))
    return status_output(step.channel, outcome=step.outcome)


@command(
    "discussion create", "council discussion create rain --as owl --guide g.md --participants fox"
)
def open_discussion(
    place: Place,
    channel: str = argument("NAME", "Its name."),
    guide: str = option("--guide", "FILE", "A file: topic, goals, completion criteria."),
    participants: str = NAMES,
    callback: str = option("--callback", "CHANNEL", "Where the summary is told."),
    as_: str = AS,
) -> Output:
    """Open a discussion with a guide; its initiator will complete it."""
    from council.cli.room_views import channel_output
    from council.operations.rooms.discussing import create as make

    if not guide:
        raise UsageError("a discussion needs a guide", "give it with --guide FILE")
    text = read_text("", guide, place.settings.max_text_bytes)
    names, initiator = listed(participants), speaker(place, as_)
    made = make(place, channel, initiator, text, names, callback=callback)
    return channel_output(made, f"{made.channel_id}: opened; {initiator} completes it")


@command("discussion complete", "council discussion complete rain --as owl --summary rain.md")
def complete(
    place: Place,
    channel: str = CHANNEL,
    summary: str = option("--summary", "FILE", "A file in discussion-summary/ or below."),
    as_: str = AS,
) -> Output:
    """Complete a discussion with a summary: it is sealed, told and minuted."""
    from council.cli.room_views import completed_output
    from council.operations.rooms.discussing import complete as close

    if not summary:
        raise UsageError("which summary?", "give it with --summary FILE")
    return completed_output(*close(place, channel, speaker(place, as_), summary))
