"""The brief of a hand-off: what one agent gives another to work with.

It is short by rule: a goal, what there is to begin with, what must hold, and
references to artifacts. Whatever is longer is an artifact.

Source: P8-036, P8-041, A-94.
"""

from __future__ import annotations

from datetime import datetime

from council.core.delegation.artifacts import OVERSIZE_CHARS, checked_id
from council.core.errors import InvalidInputError, RefusedError
from council.core.ids import checked_name
from council.core.reading import Reader
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1
MAX_ITEMS = 50
_TRACE_CHARS = 64
_TRACE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Brief(Record):
    """What is handed over: `refs` are ids of artifacts, all else is short text."""

    _keys = "trace:traceId from_agent:fromAgentId to_agent:toAgentId"

    trace: str
    from_agent: str
    to_agent: str
    created_at: datetime
    goal: str
    inputs: list[str] = []
    constraints: list[str] = []
    refs: list[str] = []
    extra: dict[str, Any] = {}

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of the brief; unknown fields are kept."""
        return {"schemaVersion": SCHEMA_VERSION, **super().to_record()}


def checked_brief(brief: Brief) -> Brief:
    """Return a brief as it may be written: its references as bare ids, each once.

    Raises:
        InvalidInputError: It has no goal, is too long to be brief, or names what is no artifact.
        RefusedError: Its trace or a reference is a path.
    """
    checked_trace(brief.trace)
    checked_name(brief.from_agent, "agent id")
    checked_name(brief.to_agent, "agent id")
    if not brief.goal.strip():
        raise InvalidInputError("a brief needs a goal", "say what is to be done")
    for what, texts in (("inputs", brief.inputs), ("constraints", brief.constraints)):
        if len(texts) > MAX_ITEMS:
            raise InvalidInputError(f"{len(texts)} {what} are too many", f"up to {MAX_ITEMS}")
    for text in (brief.goal, *brief.inputs, *brief.constraints):
        if len(text) > OVERSIZE_CHARS:
            raise InvalidInputError(
                f"{text[:40]!r}… is {len(text)} characters long, in a brief at most"
                f" {OVERSIZE_CHARS}",
                "publish it as an artifact and refer to it",
            )
    return brief.copy(refs=list(dict.fromkeys(checked_id(one) for one in brief.refs)))


def checked_trace(trace: str) -> str:
    """Return a trace id that may be part of the name of a file.

    Raises:
        RefusedError: It is a path.
        InvalidInputError: It is no trace id.
    """
    if "/" in trace or "\\" in trace or trace.startswith("."):
        raise RefusedError(f"{trace[:80]!r} is a path and no trace id", "give a bare id")
    if not 0 < len(trace) <= _TRACE_CHARS or set(trace) - _TRACE or trace[0] in "-_":
        raise InvalidInputError(
            f"not a trace id: {trace[:80]!r}",
            f"use letters, digits, - and _, up to {_TRACE_CHARS}",
        )
    return trace


def file_name(brief: Brief, number: int = 1) -> str:
    """Return the name of the file of a brief: the first of its kind, or the `number`th (A-94)."""
    more = f"-{number}" if number > 1 else ""
    return f"{brief.trace}-{brief.from_agent}-to-{brief.to_agent}{more}.json"


def brief_of(record: object) -> Brief:
    """Return the brief that a file holds.

    Raises:
        CouncilError: It does not have that form.
    """
    read = Reader(record, "brief", nulls=True)
    read.left.pop("schemaVersion", None)
    return checked_brief(read.make(Brief))
