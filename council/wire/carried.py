"""A line of any version as the message that the rules work with, and back.

A line of an older version is converted on arrival, and a message goes out in
the version that its receiver speaks; each line that is written passes the
strict check. So do the lines that the registry answers with.

Source: PR-404, PR-405, PR-501, PR-503, PR-514, PR-573, PR-598, A-39, A-64, A-69.
"""

from __future__ import annotations

from council.core.protocol.messages import Message
from council.core.protocol.registry import Reply
from council.core.protocol.registry_messages import is_conflict
from council.wire.building import NO_SESSION, checked
from council.wire.conversion import convert
from council.wire.identifiers import canonical, number_of
from council.wire.messages import parse
from council.wire.parsed import Parsed
from council.wire.v5 import QUERY

# What may lead deeper has to say why it does, and what is put to the user.
_SAY_WHY_DEEP = ("R", "X", "D")
# What a message has as a reading names it, "" where it is unused.
_WORDS = {"kind": "type", "priority": "pri", "state": "state", "code": "err", "context": "ctx"}


def message_of(line: str | Parsed) -> Message:
    """Return what a line of any version says, given as text or as its reading, in the words of V5.

    Raises:
        InvalidMessageError: The line has faults.
        ConversionRefusedError: It has no place in V5.
    """
    found = (line if isinstance(line, Parsed) else parse(line)).require_valid()
    if found.version != "V5":
        found = parse(convert(found, "V5").text, "V5")
    fields = found.fields
    told = {name: fields[key] or "" for name, key in _WORDS.items()}
    return Message(
        number=number_of(fields["msg"]), sender=canonical(fields["from"]),
        receiver=canonical(fields["to"]), task=canonical(fields["tid"] or ""),
        depth=fields["depth"], budget=fields["budget"], data=fields["data"],
        pairs=tuple(fields["pairs"].items()), flags=tuple(fields["flags"]), **told,
    )  # fmt: skip


def line_of(message: Message, version: str = "V5") -> str:
    """Return a message as a line of `version`; what that version cannot hold is left out.

    Raises:
        InvalidMessageError: The values make no message that passes the strict check.
        ConversionRefusedError: The version has no place at all for such a message.
        UsageError: There is no such version.
    """
    segments = [
        message.id,
        f"{message.sender}>{message.receiver}",
        message.kind,
        message.task or "-",
        message.priority or "-",
        message.state or "-",
        message.code or "-",
        str(message.depth),
        message.context or NO_SESSION,
        "-" if message.budget is None else f"B{message.budget}",
        message.data,
    ]
    line = checked(segments, "V5", _allowed(message))
    return line if version == "V5" else convert(line, version, lossy=True).text


def _allowed(message: Message) -> set[str]:
    """Return what the strict check would refuse in a message and the document wants all the same.

    A query, which the table of types leaves out (A-51); and an answer at a depth
    that its request gave a reason for: it repeats the depth and not the reason.
    """
    allowed = {"W_TYPE_Q"} if message.kind == QUERY else set()
    return allowed if message.kind in _SAY_WHY_DEEP else {*allowed, "W_DEPTH_EXCEPTIONAL"}


def reply_line(reply: Reply) -> str:
    """Return what the registry answers as one line.

    A taken id has a code of its own in V4 alone, which no conversion gives back.

    Raises:
        InvalidMessageError: The values make no message that passes the strict check.
        ConversionRefusedError: The version has no place for it.
    """
    message = reply.message
    if reply.version != "V4" or not is_conflict(message):
        return line_of(message, reply.version)
    route = f"{message.sender}>{message.receiver}"
    said = message.pair("desc")
    segments = [message.id, route, "E", "-", message.priority or "-", "-", "E11", said]
    return checked(segments, "V4")
