"""The commands on channels, turns and discussions, and how channels are shown.

Lines are plain, and of at most 80 columns where they are ours.

Source: `cli.md` sections 2 and 3 (document 001), DG-136, DG-137.
"""

from __future__ import annotations

from typing import Any

from council.commands.drawing import folded_lines
from council.commands.options import listed
from council.commands.output import Output, read_text
from council.core.errors import UsageError
from council.core.events import Event
from council.core.ids import is_name
from council.core.plain_text import plain_line, plain_text
from council.core.rooms.channels import PROOF, TAKES_TURNS, Channel, Message, author_of, shown
from council.core.times import render_instant
from council.operations.place import Place, speaker
from council.operations.rooms.channels import CREATABLE, change_members, change_mode
from council.operations.rooms.channels import post as say
from council.operations.rooms.discussing import complete as close
from council.operations.rooms.rooms import each
from council.operations.rooms.showing import Standing, answer_to, standing
from council.operations.rooms.turns import wake as rouse
from council.store.rooms.channel_page import cycle_line, floor_line, role_of


def _who(place: Place, as_: str) -> str:
    """Return who acts, "" when nothing says so: a person at the keyboard may."""
    try:
        return speaker(place, as_)
    except UsageError:
        if as_:
            raise
        return ""


def _poster(place: Place, as_: str) -> str:
    """Return who posts; outside of a run any account may, also one that can be no agent's."""
    if not place.is_in_run:
        as_ = as_ or place.environ.get("COUNCIL_PERSON", "")  # who has signed on at a proxy
    is_account = as_ and not is_name(as_) and not place.is_in_run
    return as_ if is_account else speaker(place, as_)


def channel_create(
    place: Place, mode: str, channel: str, participants: str, members: str, topic: str, as_: str
) -> Output:
    """Make a channel; the moderator is always a member."""
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


def channel_mode(place: Place, channel: str, mode: str) -> Output:
    """Show or set the mode of a channel; work and discussion are locked for ever."""
    if not mode:
        found = standing(place, channel).channel
        return channel_output(found, f"{channel}: {found.mode}")
    step = change_mode(place, channel, mode)
    return channel_output(step.channel, f"{channel}: {step.channel.mode}")


def channel_show(place: Place, channel: str, last: int) -> Output:
    """Show a channel: who is in it, who has the floor and why, what was said last."""
    found = standing(place, channel, messages=last)
    made = found.channel
    record = {
        **shown(made),
        "messages": [_message_record(one, found.origins) for one in found.messages],
        "pendingEdits": [{"type": one.type, **one.data} for one in _wishes(found)],
    }
    head = made.name if found.is_known else f"{made.name} (nobody has used it yet)"
    lines = [plain_line(head), *_facts(made)]
    if made.topic:
        lines += _wrapped("topic", made.topic)
    people = ", ".join(f"{one.account} ({role_of(one)})" for one in made.members.values())
    lines += _wrapped("members", people or "-")
    for edit in _wishes(found):
        lines += _wrapped("edit", _edit(edit))
    for message in found.messages:
        lines += ["", *_message(message, found.origins.get(message.id, ""))]
    return Output(record=record, text=_text(lines))


def channel_list(place: Place) -> Output:
    """List the channels with their modes and who has the floor."""
    place.refuse_on_slave()
    found, broken = each(place, standing)
    record = {
        "channels": [shown(one.channel) for one in found],
        "errors": [{"channelId": name, **error.to_record()} for name, error in broken],
    }
    lines: list[str] = []
    for one in found:
        channel = one.channel
        lines.append(f"{channel.channel_id}  {channel.mode}, turns {channel.state}")
        lines += _wrapped("  floor", floor_line(channel))
    notes = [plain_line(f"{name}: {error.message}") for name, error in broken]
    text = _text(lines) or "no channels yet; make one: council channel create"
    return Output(record=record, text=text, notes=notes, code=3 if broken else 0)


def channel_post(
    place: Place, channel: str, text: str, file: str, run_id: str, key: str, as_: str
) -> Output:
    """Post a message; it may wake the room, and never ends a turn."""
    words = read_text(text, file, place.settings.max_text_bytes)
    run = run_id or place.environ.get("COUNCIL_TASK_ID", "")
    said, step = say(place, channel, _poster(place, as_), words, run=run, key=key)
    answer = answer_to(place, step.channel, said.id)
    return posted_output(step.channel, said, step.outcome, answer, step.reason)


def channel_members(place: Place, channel: str, action: str, names: list[str]) -> Output:
    """Show the members of a channel, let some in or take some out."""
    if action:
        who = listed(*(names or ()))
        if action not in ("add", "remove") or not who:
            raise UsageError("say add or remove, and whom", "such as: add owl gecko")
        found = change_members(place, channel, **{action: who}).channel
    else:
        found = standing(place, channel).channel
    record = {"channelId": found.channel_id, "members": shown(found)["members"]}
    lines = [plain_line(f"{one.account}  {role_of(one)}") for one in found.members.values()]
    return Output(record=record, text=_text(lines) or "nobody")


def channel_tie(
    place: Place, channel: str, discord: str, guild: str, token_env: str, remove: bool
) -> Output:
    """Tie a channel to one of Discord, or go on at once with one that is tied."""
    from council.operations.rooms.discord_ties import go_on, tie, untie

    if remove:
        return channel_output(untie(place, channel), f"{channel}: tied to no channel of Discord")
    if discord or guild:
        name = tie(place, channel, discord, guild, token_env)
        said = f"tied to {name} on Discord; the heartbeat carries over what is said"
    else:
        said = f"tied to channel {go_on(place, channel)} of Discord, and alike"
    return channel_output(standing(place, channel).channel, plain_line(f"{channel}: {said}"))


def turn_status(place: Place, channel: str) -> Output:
    """Show who has the floor of a channel and why, without changing anything."""
    return status_output(standing(place, channel).channel)


def turn_wake(place: Place, channel: str, as_: str) -> Output:
    """Wake a room that fell asleep."""
    step = rouse(place, channel, _who(place, as_))
    return status_output(step.channel, outcome=step.outcome)


def discussion_create(
    place: Place, channel: str, guide: str, participants: str, callback: str, as_: str
) -> Output:
    """Open a discussion with a guide; its initiator will complete it."""
    from council.operations.rooms.discussing import create as make

    if not guide:
        raise UsageError("a discussion needs a guide", "give it with --guide FILE")
    text = read_text("", guide, place.settings.max_text_bytes)
    names, initiator = listed(participants), speaker(place, as_)
    made = make(place, channel, initiator, text, names, callback=callback)
    return channel_output(made, f"{made.channel_id}: opened; {initiator} completes it")


def discussion_complete(place: Place, channel: str, summary: str, as_: str) -> Output:
    """Complete a discussion with a summary: it is sealed, told and minuted."""
    if not summary:
        raise UsageError("which summary?", "give it with --summary FILE")
    step, troubles = close(place, channel, speaker(place, as_), summary)
    made, about = step.channel, step.channel.discussion
    record = {**shown(made), "outcome": step.outcome}
    lines = [f"{made.channel_id}: {step.outcome.replace('-', ' ')}"]
    if about is not None and about.minutes:
        lines.append(f"minutes: {about.minutes}")
    notes = [f"still owed: {one.message}" for one in troubles]
    return Output(record=record, text=_text(lines), notes=notes)


_WIDTH = 80


def channel_output(channel: Channel, said: str) -> Output:
    """Say one thing of a channel, then who has the floor."""
    return Output(record=shown(channel), text=_text([said, f"floor: {floor_line(channel)}"]))


def status_output(channel: Channel, *, outcome: str = "") -> Output:
    """Show who has the floor and why."""
    record = shown(channel)
    lines = _facts(channel)
    if outcome:
        record["outcome"] = outcome
        lines.insert(0, plain_line(f"{channel.name}: {outcome}"))
    return Output(record=record, text=_text(lines))


def posted_output(
    channel: Channel, said: Message, outcome: str, answer: str, unnoticed: str = ""
) -> Output:
    """Say what became of a message, what the moderator answered at once, and who has the floor.

    `unnoticed` is why the room could take no notice of it yet, "" where it did.
    """
    record = {
        "outcome": outcome,
        "channelId": channel.channel_id,
        "message": _message_record(said, {}),
        "currentSpeaker": channel.speaker or None,
        "answer": answer or None,
    }
    lines = [f"{channel.channel_id}: message {said.id} {outcome.replace('-', ' ')}"]
    lines += [f"moderator: {answer}"] if answer else []
    lines.append(f"floor: {floor_line(channel)}")
    notes = [f"{unnoticed}; the message stands, do not post it again"] if unnoticed else []
    return Output(record=record, text=_text(lines), notes=notes)


def _wishes(found: Standing) -> list[Event]:
    return [one for one in found.edits if one.type.startswith("edit.")]


def _edit(event: Event) -> str:
    """Say what the next command will make of one change of the document."""
    data = event.data
    if event.type == "edit.accepted":
        field, _, account = data["field"].partition(".")
        what = f"{field} becomes {data['to'] or '-'}"
        if account:
            what = f"{account} goes" if data["to"] is None else f"{account} comes in"
        return f"{what}, with the next command"
    if event.type == "edit.conflict":
        return f"{data['field']}: block and line differ, the block counts"
    return f"{data['field']} will be put back: {data['reason']}"


def _facts(channel: Channel) -> list[str]:
    lines = [
        *_wrapped("floor", floor_line(channel)),
        *_wrapped("mode", f"{channel.mode}, turns {channel.state}"),
    ]
    if channel.state in TAKES_TURNS:
        lines += _wrapped("order", " > ".join(channel.speakers) or "-")
        lines += _wrapped("cycle", f"{channel.cycle}: {cycle_line(channel)}")
    return lines


def _message_record(message: Message, origins: dict[int, str]) -> dict[str, Any]:
    """Return a message for programs; a word of an agent says whether it is verified (XC-014)."""
    record = message.to_record()
    record.pop(PROOF, None)
    origin = origins.get(message.id, "")
    return {**record, "origin": origin} if origin else record


def _message(message: Message, origin: str) -> list[str]:
    kind = str(message.kind) if message.kind != "message" else origin
    kind = f" ({kind})" if kind else ""
    who = author_of(message)
    text = message.content.rstrip().split("\n")
    return [
        plain_line(f"{message.id}  {who}{kind}  {render_instant(message.at)}"),
        *(f"    {plain_line(line)}" for line in text),
    ]


def _text(lines: list[str]) -> str:
    """Return lines as a screen may show them: topics, names and words are those of others."""
    return plain_text("\n".join(lines))


def _wrapped(label: str, text: str) -> list[str]:
    """Return `label: text` in lines that fit, cut at blanks."""
    lead = f"{label}:".ljust(9)
    line = " ".join(text.split())
    return folded_lines(line, _WIDTH - 1, lead, " " * len(lead)) or [lead.rstrip()]
