"""Convert a message from one version to another, step by step along V1 to V5.

`semantic` maps codes by their meaning, `structural` keeps their digits. What
has no place in the target is a loss and is listed; what cannot be left out is
refused, or with `lossy` replaced by the nearest thing. A side-car remembers
the original, so that the way back restores it.

Source: PR-601 to PR-610, PR-451, PR-502, A-70, A-71.
"""

from __future__ import annotations

from council.core.errors import ConversionRefusedError, InvalidMessageError, UsageError
from council.core.record import Record
from council.wire.building import RENDER, SEGMENTS
from council.wire.lines import one_line
from council.wire.messages import VERSIONS, parse
from council.wire.parsed import Parsed
from council.wire.steps import STEPS, Passage, RefusedStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# What the messages of one conversation share; the rest each says for itself.
_IN_COMMON = frozenset(("task", "tid", "pri", "depth", "ctx", "budget"))


class Converted(Record):
    """A converted message: its text, the segments that lost something, what the way back needs."""

    _keys = "version:- sidecar:-"

    text: str
    version: str
    losses: list[str]
    sidecar: dict[str, Any]


def convert(
    message: str | Parsed,
    to: str,
    *,
    lossy: bool = False,
    structural: bool = False,
    sidecar: dict[str, Any] | None = None,
) -> Converted:
    """Return a message as another version writes it.

    Args:
        message: A text of any version, or its reading.
        to: `V1` to `V5`.
        lossy: Replace what the target has no place for, where the document offers something.
        structural: Keep the digits of codes although their meaning changes.
        sidecar: What an earlier conversion away from `to` gave, of this message or of one that
            it answers; its lost values come back wherever the message was not changed since.

    Raises:
        UsageError: Nothing can be written in that version.
        InvalidMessageError: The message has faults.
        ConversionRefusedError: The message holds what the target has no place for.
    """
    if to not in VERSIONS:
        raise UsageError(f"nothing can be converted to {to!r}", f"choose {', '.join(VERSIONS)}")
    found = message if isinstance(message, Parsed) else parse(message)
    if found.errors:
        raise InvalidMessageError([fault.to_record() for fault in found.errors])
    passage = Passage(lossy=lossy, structural=structural)
    if "W_DATA_TRUNCATED" in found.warnings:
        passage.lose("DATA")
    segments = _walk(found, to, passage)
    if sidecar and sidecar.get("version") == to:
        segments = _restored(segments, found, sidecar, passage)
    text = RENDER[to](segments)
    check = parse(text, to)
    if check.errors:
        raise ConversionRefusedError(f"rule {check.errors[0].rule}", found.version, to)
    kept = {
        "version": found.version,
        "text": one_line(found.text) if found.version != "V1" else found.text,
        "convertedVersion": to,
        "converted": text,
    }
    return Converted(text=text, version=to, losses=passage.in_order(), sidecar=kept)


def _walk(found: Parsed, to: str, passage: Passage) -> list[str]:
    segments = list(found.segments)
    for source, target in _path(found.version, to):
        try:
            segments = STEPS[source, target](segments, passage)
        except RefusedStep as refused:
            raise ConversionRefusedError(
                refused.reason, source, target, is_final=refused.is_final
            ) from None
    return segments


def _path(source: str, target: str) -> Iterator[tuple[str, str]]:
    if source == "V5D":
        yield "V5D", "V4"
        source = "V4"
    at, end = VERSIONS.index(source), VERSIONS.index(target)
    step = 1 if end > at else -1
    for place in range(at, end, step):
        yield VERSIONS[place], VERSIONS[place + step]


def _restored(
    segments: list[str], found: Parsed, sidecar: dict[str, Any], passage: Passage
) -> list[str]:
    """Return `segments` with the original's value wherever nobody changed the converted one.

    Another message than the converted one, such as its answer, gets only what a conversation
    has in common.
    """
    original = parse(str(sidecar.get("text", "")), sidecar["version"])
    converted = parse(str(sidecar.get("converted", "")), sidecar.get("convertedVersion"))
    if original.errors or converted.errors or converted.version != found.version:
        return segments
    unchanged = Passage(lossy=True, structural=passage.structural)
    plain = _walk(converted, original.version, unchanged)
    is_same = found.segments[:2] == converted.segments[:2]
    restored = []
    for name, now, then, first in zip(
        SEGMENTS[original.version], segments, plain, original.segments, strict=True
    ):
        is_kept = now == then and (is_same or name in _IN_COMMON)
        restored.append(first if is_kept else now)
        if is_kept:
            passage.losses.discard(name.upper())
    return restored
