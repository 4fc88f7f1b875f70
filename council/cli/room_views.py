"""How channels are shown: plain lines of at most 80 columns where they are ours.

Source: DG-136, DG-137, `cli.md` section 3.
"""

from __future__ import annotations

from council.cli.edge import Output
from council.core.errors import CouncilError
from council.core.events import Event
from council.core.plain_text import plain_line, plain_text
from council.core.rooms.channel_records import message_to_record, shown
from council.core.rooms.channels import PROOF, TAKES_TURNS, Channel, ChannelStep, Message
from council.core.times import render_instant
from council.operations.rooms.showing import Standing
from council.store.rooms.channel_page import cycle_line, floor_line, role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WIDTH = 80


def channel_output(channel: Channel, said: str) -> Output:
    """Say one thing of a channel, then who has the floor."""
    return Output(record=shown(channel), text=_text([said, f"floor: {floor_line(channel)}"]))


def status_output(channel: Channel, *, outcome: str = "") -> Output:
    """Show who has the floor and why."""
    record = shown(channel)
    lines = [plain_line(f"{channel.name}: {outcome}")] if outcome else []
    if outcome:
        record["outcome"] = outcome
    return Output(record=record, text=_text([*lines, *_facts(channel)]))


def completed_output(step: ChannelStep, troubles: list[CouncilError]) -> Output:
    """Say how far a discussion has come to its end."""
    channel, about = step.channel, step.channel.discussion
    record = {**shown(channel), "outcome": step.outcome}
    lines = [f"{channel.channel_id}: {step.outcome.replace('-', ' ')}"]
    if about is not None and about.minutes:
        lines.append(f"minutes: {about.minutes}")
    notes = [f"council: still owed: {one.message}" for one in troubles]
    return Output(record=record, text=_text(lines), notes=notes)


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
    notes = [f"council: {unnoticed}; the message stands, do not post it again"] if unnoticed else []
    return Output(record=record, text=_text(lines), notes=notes)


def shown_output(found: Standing) -> Output:
    """Show a channel, its members and its newest messages."""
    channel = found.channel
    record = {
        **shown(channel),
        "messages": [_message_record(one, found.origins) for one in found.messages],
        "pendingEdits": [{"type": one.type, **one.data} for one in _wishes(found)],
    }
    head = channel.name if found.is_known else f"{channel.name} (nobody has used it yet)"
    lines = [plain_line(head), *_facts(channel)]
    if channel.topic:
        lines += _wrapped("topic", channel.topic)
    people = ", ".join(f"{one.account} ({role_of(one)})" for one in channel.members.values())
    lines += _wrapped("members", people or "-")
    for edit in _wishes(found):
        lines += _wrapped("edit", _edit(edit))
    for message in found.messages:
        lines += ["", *_message(message, found.origins.get(message.id, ""))]
    return Output(record=record, text=_text(lines))


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
    record = message_to_record(message)
    record.pop(PROOF, None)
    origin = origins.get(message.id, "")
    return {**record, "origin": origin} if origin else record


def _message(message: Message, origin: str) -> list[str]:
    kind = str(message.kind) if message.kind != "message" else origin
    kind = f" ({kind})" if kind else ""
    who = message.agent or message.author
    text = message.content.rstrip().split("\n")
    return [
        plain_line(f"{message.id}  {who}{kind}  {render_instant(message.at)}"),
        *(f"    {plain_line(line)}" for line in text),
    ]


def _text(lines: list[str]) -> str:
    """Return lines as a screen may show them: topics, names and words are those of others."""
    return plain_text("\n".join(lines))


def list_output(found: list[Standing], broken: list[tuple[str, CouncilError]]) -> Output:
    """List channels, two lines each."""
    record = {
        "channels": [shown(one.channel) for one in found],
        "errors": [{"channelId": name, **error.to_record()} for name, error in broken],
    }
    lines: list[str] = []
    for one in found:
        channel = one.channel
        lines.append(f"{channel.channel_id}  {channel.mode}, turns {channel.state}")
        lines += _wrapped("  floor", floor_line(channel))
    notes = [plain_line(f"council: {name}: {error.message}") for name, error in broken]
    text = _text(lines) or "no channels yet; make one: council channel create"
    return Output(record=record, text=text, notes=notes, code=3 if broken else 0)


def members_output(channel: Channel) -> Output:
    """List the members of a channel, one a line."""
    record = {"channelId": channel.channel_id, "members": shown(channel)["members"]}
    lines = [plain_line(f"{one.account}  {role_of(one)}") for one in channel.members.values()]
    return Output(record=record, text=_text(lines) or "nobody")


def _wrapped(label: str, text: str) -> list[str]:
    """Return `label: text` in lines that fit, cut at blanks."""
    lead = f"{label}:".ljust(9)
    lines, line = [], lead
    for word in text.split():
        if len(line) + 1 + len(word) > _WIDTH and line.strip() and line != lead:
            lines.append(line.rstrip())
            line = " " * len(lead)
        line += word + " "
    return [*lines, line.rstrip()]
