"""A line of any version as the message that the rules work with, and back.

A line of an older version is converted on arrival, and a message goes out in
the version that its receiver speaks; each line that is written passes the
strict check.

Source: PR-501, PR-503, PR-573, PR-598, A-64, A-69.
"""

from __future__ import annotations

from council.core.errors import InvalidMessageError
from council.core.messages import Message
from council.wire.building import NO_SESSION, checked
from council.wire.conversion import convert
from council.wire.identifiers import canonical, number_of
from council.wire.messages import parse
from council.wire.parsed import Parsed
from council.wire.v5 import QUERY


def message_of(line: str | Parsed, version: str | None = None) -> Message:
    """Return what a line says, in the words of V5.

    Args:
        line: A text of any version, or its reading.
        version: The version to force on a text.

    Raises:
        InvalidMessageError: The line has faults.
        ConversionRefusedError: It has no place in V5.
        UsageError: There is no such version.
    """
    found = line if isinstance(line, Parsed) else parse(line, version)
    if found.errors:
        raise InvalidMessageError([fault.to_record() for fault in found.errors])
    if found.version != "V5":
        found = parse(convert(found, "V5").text, "V5")
    fields = found.fields
    return Message(
        number=number_of(fields["msg"]),
        sender=canonical(fields["from"]),
        receiver=canonical(fields["to"]),
        kind=fields["type"],
        task=canonical(fields["tid"] or ""),
        priority=fields["pri"] or "",
        state=fields["state"] or "",
        code=fields["err"] or "",
        depth=fields["depth"],
        context=fields["ctx"] or "",
        budget=fields["budget"],
        data=fields["data"],
        pairs=tuple(fields["pairs"].items()),
        flags=tuple(fields["flags"]),
    )


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
    # The strict check refuses a query because the table of types leaves it out.
    line = _as_query(segments) if message.kind == QUERY else checked(segments, "V5")
    return line if version == "V5" else convert(line, version, lossy=True).text


def _as_query(segments: list[str]) -> str:
    line = "|".join(segments)
    found = parse(line, "V5")
    if found.errors or found.segments != segments or set(found.warnings) - {"W_TYPE_Q"}:
        checked(segments, "V5")
    return line
