"""What follows from one revision for other files, and how it gets there.

The outbox stands in the record of a context, or of the registry, and is delivered
from it: events, lines of the log, letters, the answer to the user. Done again, nothing is there
twice: it holds from which offset on a copy can stand that was made before.

Source: XC-001, XC-008, PR-585, PR-586, `store.md` section 2.
"""

from __future__ import annotations

import os

from council.core.ids import is_name
from council.core.protocol.exchange import Exchange
from council.core.record import Any, Record
from council.core.times import render_instant
from council.store import events as event_log
from council.store import files
from council.store.added_lines import size_of
from council.store.protocol import inboxes, protocol_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.core.events import Event
    from council.store.paths import Workspace


class Post(Record):
    """A letter on its way: whose inbox it goes to and what it says."""

    inbox: str
    sender: str
    receiver: str
    text: str
    priority: str = "P1"
    task: str = ""


class Follows(Record):
    """What follows from one revision for other files.

    Args:
        events: What happened.
        log: The lines of the log, in order.
        posts: The letters, in order.
        answer: What is put down for the user to read, "" for nothing.
        taken_back: What need not be read any more of what was handed over, agent and task.
    """

    events: list[Event] = []
    log: list[str] = []
    posts: list[Post] = []
    answer: str = ""
    taken_back: list[tuple[str, str]] = []


class Change(Follows):
    """What one revision of a context is and what follows from it."""

    exchange: Exchange


def outbox_of(
    workspace: Workspace, change: Follows, stamp: str, trace: str, now: datetime, context: str = ""
) -> dict[str, Any]:
    """Return what stands in the record of a revision for others.

    Args:
        workspace: Where it is delivered.
        change: What follows from it.
        stamp: The id of the revision, with which those of events and letters begin.
        trace: The trace that it belongs to.
        now: The present.
        context: The context that it belongs to, "" for none.
    """
    at = render_instant(now)
    about: dict[str, Any] = {"at": at, "context": context, "trace": trace}
    said = [post.as_json("sender receiver text priority task") for post in change.posts]
    letters = [
        inboxes.Letter(id=f"{stamp}:{number}", **about, **one) for number, one in enumerate(said)
    ]
    return {
        "rev": stamp,
        "events": [
            event.to_line(f"{stamp}:{number}", trace, context, at)
            for number, event in enumerate(change.events)
        ],
        "day": at[:10],
        "log": change.log,
        "letters": [
            {"inbox": post.inbox, "letter": letter.to_record()}
            for post, letter in zip(change.posts, letters, strict=True)
        ],
        "answer": change.answer,
        "takenBack": change.taken_back,
        # From where on a copy can stand that a process made before it died.
        "since": {
            "log": size_of(protocol_log.log_path(workspace, at[:10])) if change.log else 0,
            "inbox": {
                one: inboxes.inbox_size(workspace, one)
                for one in sorted({post.inbox for post in change.posts})
            },
        },
    }


def tell(
    workspace: Workspace, outbox: dict[str, Any], *, is_fresh: bool, answer_path: str = ""
) -> None:
    """Copy an outbox to where its parts belong. Repeatable.

    Args:
        workspace: Where that is.
        outbox: The outbox.
        is_fresh: Whether it was written a moment ago by ourselves: no copy can be there.
        answer_path: The file of the answer to the user.

    Raises:
        CouncilError: The system refuses.
    """
    since = outbox["since"]
    event_log.append(workspace, outbox["events"])
    known = None if is_fresh else since["log"]
    protocol_log.log(workspace, outbox["day"], outbox["log"], since=known)
    by_inbox: dict[str, list[inboxes.Letter]] = {}
    for one in outbox["letters"]:
        by_inbox.setdefault(one["inbox"], []).append(inboxes.letter_of(one["letter"]))
    for owner, letters in by_inbox.items():
        known = None if is_fresh else since["inbox"][owner]
        inboxes.deliver(workspace, owner, letters, since=known)
    if outbox.get("answer"):
        files.make_folder(os.path.dirname(answer_path))
        files.replace(answer_path, outbox["answer"].encode("utf-8", "replace"))
    for agent, task in outbox.get("takenBack", ()):
        files.remove(f"{workspace.tasks(agent)}/{task}.md")


def checked_outbox(outbox: Any) -> dict[str, Any]:
    """Return an outbox that can be delivered.

    Raises:
        ValueError: It cannot; also TypeError and LookupError.
    """
    for one in outbox["events"]:
        if not (isinstance(one["eventId"], str) and isinstance(one["at"], str)):
            raise ValueError("an event of its outbox is none")
    for one in outbox["letters"]:
        inboxes.letter_of(one["letter"])
        int(outbox["since"]["inbox"][one["inbox"]])
    lines, since = outbox["log"], outbox["since"]["log"]
    words = (outbox["day"], outbox.get("answer", ""), outbox.get("rev", ""), *lines)
    if not all(isinstance(word, str) for word in words) or not isinstance(since, int):
        raise ValueError("its outbox is none")
    for agent, task in outbox.get("takenBack", ()):
        if not is_name(agent) or "/" in task:
            raise ValueError("what it takes back was never handed over")
    return dict(outbox)
