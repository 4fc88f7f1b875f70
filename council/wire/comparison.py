"""What differs between two messages, field by field.

Messages of two versions are compared in the version of the second, so that
only what they say counts and not how their versions write it.

Source: PR-009.
"""

from __future__ import annotations

from council.core.errors import ConversionRefusedError, InvalidMessageError, UsageError
from council.core.record import Record
from council.wire.conversion import convert
from council.wire.messages import parse
from council.wire.parsed import Parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A reading adds these to what was written.
_ADDED = frozenset(("pri_effective", "flags", "pairs", "params", "desc"))


class Comparison(Record):
    """Two messages: their versions, the one they were compared in, what differs.

    `compared_in` is None where the first cannot be converted; then each field is taken as it
    stands. A difference is the name of a field and both values, None where there is none.
    """

    versions: tuple[str, str]
    compared_in: str | None
    differences: list[tuple[str, Any, Any]]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `msg diff` for two messages."""
        return {
            "versions": list(self.versions),
            "comparedIn": self.compared_in,
            "same": not self.differences,
            "differences": [
                {"field": name, "before": before, "after": after}
                for name, before, after in self.differences
            ],
        }


def compare(before: Parsed, after: Parsed) -> Comparison:
    """Return what differs between two valid messages.

    Raises:
        InvalidMessageError: One of them has faults.
    """
    for one in (before, after):
        if one.errors:
            raise InvalidMessageError([fault.to_record() for fault in one.errors])
    versions = (before.version, after.version)
    compared_in: str | None = after.version
    if before.version != after.version:
        try:
            before = parse(convert(before, after.version, lossy=True).text, after.version)
        except (ConversionRefusedError, UsageError):  # the draft is never written
            compared_in = None
    told = [{k: v for k, v in one.fields.items() if k not in _ADDED} for one in (before, after)]
    return Comparison(
        versions=versions,
        compared_in=compared_in,
        differences=[
            (name, told[0].get(name), told[1].get(name))
            for name in dict.fromkeys((*told[0], *told[1]))
            if told[0].get(name) != told[1].get(name)
        ],
    )
