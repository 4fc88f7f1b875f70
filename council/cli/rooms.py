"""The commands on channels, turns and discussions, for Typer.

Source: `cli.md` section 2 (document 001).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output, read_text
from council.cli.parameters import As, Json, Now, Root, do, help_text, listed
from council.core.errors import UsageError
from council.core.ids import is_name
from council.operations.place import Place, speaker

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="The id of the channel.")]
Names = Annotated[
    str, typer.Option("--participants", metavar="A,B", help="Agent ids or accounts, with commas.")
]
Members = Annotated[str, typer.Option("--members", metavar="A,B", help="The same as above.")]


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


def create(
    mode: Annotated[str, typer.Argument(metavar="chat|report|work", help="What it is for.")],
    channel: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    participants: Names = "",
    members: Members = "",
    topic: Annotated[str, typer.Option("--topic", metavar="TEXT", help="One line.")] = "",
    as_: As = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Make a channel; the moderator is always a member."""

    def command(place: Place) -> Output:
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

    do("channel create", json, root, now, command)


def mode(
    channel: Channel,
    mode: Annotated[
        str, typer.Argument(metavar="[MODE]", help="The mode to set: none, chat or report.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Show or set the mode of a channel; work and discussion are locked for ever."""

    def command(place: Place) -> Output:
        from council.cli.room_views import channel_output
        from council.operations.rooms.channels import change_mode
        from council.operations.rooms.showing import standing

        if not mode:
            found = standing(place, channel).channel
            return channel_output(found, f"{channel}: {found.mode}")
        step = change_mode(place, channel, mode)
        return channel_output(step.channel, f"{channel}: {step.channel.mode}")

    do("channel mode", json, root, now, command)


def show(
    channel: Channel,
    count: Annotated[
        int, typer.Option("--last", metavar="N", help="How many of the newest messages.")
    ] = 10,
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Show a channel: who is in it, who has the floor and why, what was said last."""

    def command(place: Place) -> Output:
        from council.cli.room_views import shown_output
        from council.operations.rooms.showing import standing

        return shown_output(standing(place, channel, messages=count))

    do("channel show", json, root, now, command)


def list_(root: Root = "", now: Now = "", json: Json = False) -> None:
    """List the channels with their modes and who has the floor."""

    def command(place: Place) -> Output:
        from council.cli.room_views import list_output
        from council.operations.rooms.showing import all_standing

        return list_output(*all_standing(place))

    do("channel list", json, root, now, command)


def post(
    channel: Channel,
    text: Annotated[str, typer.Argument(metavar="[TEXT|-]", help="The text, or -.")] = "",
    file: Annotated[str, typer.Option("--file", metavar="PATH", help="Read it from a file.")] = "",
    run_id: Annotated[
        str, typer.Option("--run-id", metavar="ID", help="The run that says it; says it once.")
    ] = "",
    key: Annotated[
        str, typer.Option("--key", metavar="KEY", help="Stands for this message when retried.")
    ] = "",
    as_: As = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Post a message; it may wake the room, and never ends a turn."""

    def command(place: Place) -> Output:
        from council.cli.room_views import posted_output
        from council.operations.rooms.channels import post as say
        from council.operations.rooms.showing import answer_to

        words = read_text(text, file, place.settings.max_text_bytes)
        run = run_id or place.environ.get("COUNCIL_TASK_ID", "")
        said, step = say(place, channel, _poster(place, as_), words, run=run, key=key)
        answer = answer_to(place, step.channel, said.id)
        return posted_output(step.channel, said, step.outcome, answer, step.reason)

    do("channel post", json, root, now, command)


def members(
    channel: Channel,
    action: Annotated[str, typer.Argument(metavar="[add|remove]", help="What to do.")] = "",
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[WHO]…", help="Agent ids or accounts.")
    ] = None,
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Show the members of a channel, let some in or take some out."""

    def command(place: Place) -> Output:
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

    do("channel members", json, root, now, command)


def status(channel: Channel, root: Root = "", now: Now = "", json: Json = False) -> None:
    """Show who has the floor of a channel and why, without changing anything."""

    def command(place: Place) -> Output:
        from council.cli.room_views import status_output
        from council.operations.rooms.showing import standing

        return status_output(standing(place, channel).channel)

    do("turn status", json, root, now, command)


def wake(
    channel: Channel, as_: As = "", root: Root = "", now: Now = "", json: Json = False
) -> None:
    """Wake a room that fell asleep."""

    def command(place: Place) -> Output:
        from council.cli.room_views import status_output
        from council.operations.rooms.turns import wake as rouse

        step = rouse(place, channel, _who(place, as_))
        return status_output(step.channel, outcome=step.outcome)

    do("turn wake", json, root, now, command)


def open_discussion(
    channel: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    guide: Annotated[
        str,
        typer.Option(
            "--guide",
            metavar="FILE",
            help="A file: topic, goals, completion criteria.",
        ),
    ] = "",
    participants: Names = "",
    callback: Annotated[
        str, typer.Option("--callback", metavar="CHANNEL", help="Where the summary is told.")
    ] = "",
    as_: As = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Open a discussion with a guide; its initiator will complete it."""

    def command(place: Place) -> Output:
        from council.cli.room_views import channel_output
        from council.operations.rooms.discussing import create as make

        if not guide:
            raise UsageError("a discussion needs a guide", "give it with --guide FILE")
        text = read_text("", guide, place.settings.max_text_bytes)
        names, initiator = listed(participants), speaker(place, as_)
        made = make(place, channel, initiator, text, names, callback=callback)
        return channel_output(made, f"{made.channel_id}: opened; {initiator} completes it")

    do("discussion create", json, root, now, command)


def complete(
    channel: Channel,
    summary: Annotated[
        str,
        typer.Option(
            "--summary",
            metavar="FILE",
            help="A file in discussion-summary/ or below.",
        ),
    ] = "",
    as_: As = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Complete a discussion with a summary: it is sealed, told and minuted."""

    def command(place: Place) -> Output:
        from council.cli.room_views import completed_output
        from council.operations.rooms.discussing import complete as close

        if not summary:
            raise UsageError("which summary?", "give it with --summary FILE")
        return completed_output(*close(place, channel, speaker(place, as_), summary))

    do("discussion complete", json, root, now, command)


_EXAMPLES = {
    create: ("council channel create chat weather --participants owl,gecko --as owl",),
    mode: ("council channel mode weather report",),
    show: ("council channel show weather",),
    list_: ("council channel list",),
    post: ('council channel post weather "It will rain." --as owl',),
    members: ("council channel members weather add gecko",),
    status: ("council turn status weather",),
    wake: ("council turn wake weather",),
    open_discussion: ("council discussion create rain --as owl --guide g.md --participants fox",),
    complete: ("council discussion complete rain --as owl --summary rain.md",),
}
for _function, _examples in _EXAMPLES.items():
    _function.__doc__ = help_text(_function.__doc__ or "", *_examples)
COMMANDS: dict[str, Callable[..., None]] = {
    "channel create": create,
    "channel mode": mode,
    "channel show": show,
    "channel list": list_,
    "channel post": post,
    "channel members": members,
    "turn status": status,
    "turn wake": wake,
    "discussion create": open_discussion,
    "discussion complete": complete,
}
