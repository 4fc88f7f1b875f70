"""What a reading of a message finds: segments, faults, warnings, fields.

The values only. Each version's module decides what is a fault; `messages`
picks the version.

Source: PR-001, PR-003, PR-592, PR-628.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from council.core.errors import InvalidMessageError
from council.core.record import Any, Record
from council.wire.word_texts import STANDINGS

STANDING = {version: told.partition(":")[0] for version, (told, _) in STANDINGS.items()}


class Fault(Record):
    """One failed check: the code of the version, the rule, the segment counted from 1.

    `segment` is None where the message as a whole is at fault; `named` is what it names that
    does not exist, and `what` says what that is: agent, task, context or reference; both are ""
    where that is not the fault.
    """

    _keys = "named:- what:-"

    code: str
    rule: str
    segment: int | None = None
    named: str = ""
    what: str = ""


class Warned(Record):
    """One warning: its name, the segment it is about, and the code it becomes in strict mode.

    An empty `code` stays a warning in strict mode too.
    """

    name: str
    segment: int
    code: str = ""


class Parsed:
    """A message as one version reads it.

    Args:
        version: `V1` to `V5`, or `V5D` for the draft.
        text: The text as it was given.
        segments: Its parts, each as written; empty when they could not be separated.
        errors: The faults in checklist order; the first is the code for the wire.
        notes: The warnings in the order of the segments.
        read: Makes the fields of a valid message.
    """

    # A plain class with slots: thousands of these are made in a second.
    __slots__ = ("_fields", "_read", "errors", "notes", "segments", "text", "version")

    def __init__(
        self,
        version: str,
        text: str,
        segments: list[str],
        errors: Sequence[Fault],
        notes: Sequence[Warned] = (),
        read: Callable[[list[str]], dict[str, Any]] | None = None,
    ) -> None:
        self.version = version
        self.text = text
        self.segments = segments
        self.errors = errors
        self.notes = notes
        self._read = read
        self._fields: dict[str, Any] | None = None

    @property
    def valid(self) -> bool:
        """Return true if no check failed."""
        return not self.errors

    def require_valid(self) -> Parsed:
        """Return the reading itself.

        Raises:
            InvalidMessageError: It has faults.
        """
        if self.errors:
            raise InvalidMessageError([fault.to_record() for fault in self.errors])
        return self

    @property
    def standing(self) -> str:
        """Return how the version stands: legacy, deprecated, stable, recommended or draft."""
        return STANDING[self.version]

    @property
    def fields(self) -> dict[str, Any]:
        """Return the values by name, `-` as None; nothing for a message with faults."""
        if self._fields is None:
            self._fields = self._read(self.segments) if self._read and not self.errors else {}
        return self._fields

    @property
    def warnings(self) -> list[str]:
        """Return the name of each warning once; a message with faults is refused and has none."""
        return [] if self.errors else list(dict.fromkeys(note.name for note in self.notes))

    def strict(self) -> Parsed:
        """Return the same reading with every warning that has a code turned into a fault.

        `W_SENDER` has none: who usually sends a type is a habit and no rule (PR-541).

        Source: PR-006, PR-628.
        """
        turned = [
            Fault(code=note.code, rule=note.name, segment=note.segment)
            for note in self.notes
            if note.code
        ]
        if not turned:
            return self
        errors = sorted([*self.errors, *turned], key=lambda fault: fault.segment or 0)
        left = [note for note in self.notes if not note.code]
        return Parsed(self.version, self.text, self.segments, errors, left, self._read)

    def to_record(self) -> dict[str, Any]:
        """Return the reading as the JSON object of `msg parse` and `msg validate`."""
        return {
            "version": self.version,
            "standing": self.standing,
            "valid": self.valid,
            "fields": self.fields,
            "errors": [fault.to_record() for fault in self.errors],
            "warnings": self.warnings,
        }

    def __repr__(self) -> str:
        return f"Parsed({self.version}, {self.text!r}, errors={list(self.errors)!r})"
