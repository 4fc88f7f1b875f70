"""Whether it can be shown who said a word in a room.

A line of the log names its agent, and whoever can add lines can name anybody.
So a message that a run of that agent wrote bears a proof, made with the key of
the workspace from all that the message says of itself and from its number. What
an agent says without one is claimed. People and the moderator have no marks.

Source: XC-014, `trust.md`.
"""

from __future__ import annotations

import json

from council.core.conversations.conversation import Origin
from council.core.rooms.channels import Message

PROOF = "proof"
_PROOF_CHARS = 32


def proof_of(key: bytes, channel_id: str, message: Message) -> str:
    """Return the proof that a message of a channel bears."""
    import hmac  # only words of runs need it, and it loads a library

    said = [channel_id, message.id, message.author, message.agent, message.run, message.content]
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:_PROOF_CHARS]


def proved(key: bytes, channel_id: str, message: Message) -> Message:
    """Return a message, which has its number, with its proof."""
    proof = proof_of(key, channel_id, message)
    return message.copy(extra={**message.extra, PROOF: proof})


def origin_of(key: bytes | None, channel_id: str, message: Message) -> str:
    """Return `verified` or `claimed`, "" for a word of a person or of the moderator.

    Args:
        key: The key of the workspace, None where there is none.
        channel_id: The channel in whose log the message stands.
        message: The message.
    """
    if not message.agent:
        return ""
    given = message.extra.get(PROOF)
    if key is not None and isinstance(given, str):
        from council.core.trust import is_token

        if is_token(given, proof_of(key, channel_id, message)):
            return str(Origin.VERIFIED)
    return str(Origin.CLAIMED)
