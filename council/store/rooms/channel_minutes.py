"""The minutes of a completed discussion, in the folder of all minutes.

They name summary, participants and reason and hold the whole talk and the
state. A process that writes them again finds them by what they say of themselves, so
a discussion has minutes once.

Source: DG-124, C0-030, XC-012.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from council.core.errors import ConflictError
from council.core.ids import slug
from council.core.rooms.channels import Channel, Message, MessageKind, agents_of, author_of
from council.core.times import render_duration, render_instant
from council.store import files, shared
from council.store.paths import Workspace
from council.store.texts import words_of

_NUMBERS = 1000
_HEAD_BYTES = 4096


def write_minutes(
    workspace: Workspace,
    channel: Channel,
    messages: Iterable[Message],
    summary: str,
    origins: Mapping[int, str],
) -> str:
    """Write the minutes of a completed discussion, unless they are there; return their path.

    Args:
        workspace: Where.
        channel: The discussion, completed.
        messages: All that was said, oldest first.
        summary: The text of the summary.
        origins: Whether it is verified who said a message, by its number.

    Raises:
        ConflictError: All names are taken.
        CouncilError: The system refuses.
    """
    about = channel.discussion
    assert about is not None
    assert about.completed_at is not None
    stem = f"{workspace.minutes}/{about.completed_at:%Y-%m-%d}-{slug(channel.name)}"
    mark = f"channel: {channel.channel_id}\ncreated: {render_instant(channel.created_at)}\n"
    data = render(channel, messages, summary, origins).encode("utf-8", "replace")
    files.make_folder(workspace.minutes)
    for number in range(1, _NUMBERS):
        path = f"{stem}.md" if number == 1 else f"{stem}-{number}.md"
        shared.bring(path)
        if not os.path.lexists(path) and shared.publish(path, data) and files.write_new(path, data):
            return path
        standing = files.read_stable(path)
        if standing is not None and mark.encode() in standing.data[:_HEAD_BYTES]:
            return path
    raise ConflictError(f"all names like {stem}.md are taken", "move some minutes away")


def render(
    channel: Channel, messages: Iterable[Message], summary: str, origins: Mapping[int, str]
) -> str:
    """Return the minutes of a completed discussion."""
    about = channel.discussion
    assert about is not None
    assert about.completed_at is not None
    participants = list(agents_of(channel.members))
    words = words_of(channel.lang, "discussions")
    title = words["title"].format(name=channel.name)
    head = {
        "title": title,
        "date": f"{about.completed_at:%Y-%m-%d}",
        "channel": channel.channel_id,
        "created": render_instant(channel.created_at),
        "procedure": "discussion",
        "mode": str(channel.mode),
        "initiator": about.initiator,
        "participants": participants,
        "outcome": "completed",
        "rounds": channel.cycle,
        "duration": render_duration(about.completed_at - channel.created_at),
        "closed_reason": about.closed_reason,
        "summary": about.summary,
        "tags": ["council", "discussion"],
    }
    # A scalar of JSON is one of YAML, too; the two lines that find the minutes again are plain.
    plain = ("channel", "created")
    lines = [
        f"{key}: {value if key in plain else json.dumps(value, ensure_ascii=False)}"
        for key, value in head.items()
    ]
    record = json.dumps(channel.to_record(), ensure_ascii=False, indent=1)
    return "\n".join(
        (
            "---",
            *lines,
            "---",
            "",
            f"# {title}",
            "",
            words["completed"].format(
                who=about.initiator, participants=", ".join(participants) or "-"
            ),
            words["closed"].format(reason=_spoken(about.closed_reason, words), path=about.summary),
            "",
            words["summary"],
            "",
            *_quoted(summary),
            "",
            words["said"],
            *(line for one in messages for line in _said(one, origins.get(one.id, ""), words)),
            "",
            words["state"],
            "",
            "```json",
            record.replace("```", "\\u0060\\u0060\\u0060"),
            "```",
            "",
        )
    )


def _said(message: Message, origin: str, words: Mapping[str, str]) -> list[str]:
    kind = str(message.kind) if message.kind is not MessageKind.MESSAGE else origin
    kind = f" ({_spoken(kind, words)})" if kind else ""
    who = " ".join(author_of(message).split())
    head = f"### {message.id}. {who}{kind}, {render_instant(message.at)}"
    return ["", head, "", *_quoted(message.content)]


def _spoken(word: str, words: Mapping[str, str]) -> str:
    """Return what is said for a word of the state; that word, where there is nothing else."""
    return words.get(f"is-{word}", word)


def _quoted(text: str) -> list[str]:
    """Return a text as a quotation, so that no line of it can be taken for one of ours."""
    return [f"> {line}".rstrip() for line in text.rstrip().splitlines()] or [">"]
