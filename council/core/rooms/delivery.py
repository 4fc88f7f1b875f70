"""What a turn said, and whether it has arrived: final text, fingerprints.

A run tells that it has ended before its text lies in the channel, and a long
text arrives in several messages. The end of the text proves that all of it is
there. Who has the floor after that is decided in `floor`.

Source: DG-076, DG-081 to DG-084, DG-141, DG-144.
"""

from __future__ import annotations

from council.core.errors import InvalidInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from council.core.rooms.channels import Message

TAIL_CHARS = 40
MESSAGES_LOOKED_AT = 20
_GIST_CHARS = 600


def final_text(messages: object) -> str:
    """Return what the last message of the assistant says: its parts of type text, joined.

    A content that is a plain text counts as one part. No message of an
    assistant at all says nothing.

    Raises:
        InvalidInputError: The messages are no list, or none of ours could read one.
    """
    if isinstance(messages, dict):
        messages = messages.get("messages")
    if not isinstance(messages, list):
        raise InvalidInputError(
            "the messages of the run are no list", 'give the JSON of `event.messages`, "[…]"'
        )
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "assistant":
            return _joined(message.get("content"))
    return ""


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if _is_text(part)]
    return "".join(text for text in texts if isinstance(text, str))


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def tail_of(text: str, length: int = TAIL_CHARS) -> str:
    """Return the fingerprint of a text: its last characters, without white space at the end."""
    return text.rstrip()[-length:] if length > 0 else ""


def has_arrived(
    tail: str,
    messages: Sequence[Message],
    *,
    anchor: int,
    author: str,
    agent: str = "",
    last: int = MESSAGES_LOOKED_AT,
) -> bool:
    """Tell whether a text with that fingerprint lies in the channel (DG-083, DG-084).

    Of the `last` newest messages those after the anchor and by that author
    count; the newest of them must end with the fingerprint. A fragment that is
    itself shorter than the fingerprint is read on from the ones before, without
    regard to white space, which is lost where a text is cut.

    Args:
        tail: The fingerprint.
        messages: The newest messages of the channel, oldest first.
        anchor: The newest message when the turn began.
        author: The account of the agent.
        agent: The agent, for messages that name it under another account.
        last: How many of the newest messages are looked at.
    """
    kept = [
        one.content.rstrip()
        for one in messages[-last:]
        if one.id > anchor and (one.author == author or (agent and one.agent == agent))
    ]
    if not kept or not tail:
        return False
    if len(kept[-1]) >= len(tail):
        return kept[-1].endswith(tail)
    return _squeezed("".join(kept)).endswith(_squeezed(tail))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def gist(text: str) -> str:
    """Return so much of a text as is kept to see whether its author repeats it.

    >>> len(gist("word " * 1000)) <= 600
    True
    """
    plain = " ".join(text.split())
    if len(plain) <= _GIST_CHARS:
        return plain
    return plain[: 2 * _GIST_CHARS // 3] + plain[-_GIST_CHARS // 3 :]
