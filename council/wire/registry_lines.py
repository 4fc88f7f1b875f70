"""The lines that the registry answers with, in the version that each of them needs.

Source: PR-404, PR-405, PR-514, A-39.
"""

from __future__ import annotations

from council.core.protocol.registry import Reply
from council.core.protocol.registry_messages import is_conflict
from council.wire.building import checked
from council.wire.carried import line_of

_V4 = "V4"
_TAKEN = "E11"


def reply_line(reply: Reply) -> str:
    """Return what the registry answers as one line.

    A taken id has a code of its own in V4 alone, which no conversion gives back.

    Raises:
        InvalidMessageError: The values make no message that passes the strict check.
        ConversionRefusedError: The version has no place for it.
    """
    message = reply.message
    if reply.version != _V4 or not is_conflict(message):
        return line_of(message, reply.version)
    route = f"{message.sender}>{message.receiver}"
    said = message.pair("desc")
    segments = [message.id, route, "E", "-", message.priority or "-", "-", _TAKEN, said]
    return checked(segments, _V4)
