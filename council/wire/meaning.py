"""Whether what a message names exists: agents, tasks, contexts, references.

It needs no history. What depends on the course of a task (its state, depth,
budget, questions) is decided where tasks are kept.

Source: PR-313, PR-418, PR-545, PR-571, A-37.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from council.core.record import Record
from council.wire.data import Reference, references_in
from council.wire.identifiers import canonical, number_of
from council.wire.parsed import Fault, Parsed

# Such a message brings its sender or its task into being.
_INTRODUCES_AGENT = ("J", "A")
_INTRODUCES_TASK = ("R", "D")
_CODES = {
    "agent": {"V3": "E08", "V4": "E08", "V5": "E41"},
    "task": {"V3": "E09", "V4": "E09", "V5": "E40"},
    "context": {"V5": "E42"},
    "reference": {"V5": "E43"},
}


class Known(Record):
    """What exists at this moment; None means that nothing is checked.

    `agents` are ids of workers; `fields` are `T1:name`; `keys` are those of the
    current context; `payloads` are ids of artifacts. Ids are given as V5 writes them, without
    leading zeros (`canonical`): those of every version compare by number.
    """

    agents: Container[str] | None = None
    tasks: Container[str] | None = None
    contexts: Container[str] | None = None
    messages: Container[str] | None = None
    fields: Container[str] | None = None
    keys: Container[str] | None = None
    payloads: Container[str] | None = None


def missing(parsed: Parsed, known: Known) -> list[Fault]:
    """Return a fault for each thing that a valid message names and that does not exist."""
    return [
        Fault(code=_CODES[what][parsed.version], rule="state", named=name, what=what)
        for what, name in _unknown(parsed, known)
        if parsed.version in _CODES[what]
    ]


def _unknown(parsed: Parsed, known: Known) -> Iterator[tuple[str, str]]:
    fields = parsed.fields
    kind = fields["type"]
    task = fields.get("tid", fields.get("task"))
    task = f"T{number_of(task)}" if task else None  # `TASK_01` is T1
    if kind not in _INTRODUCES_AGENT and known.agents is not None:
        for end in map(canonical, (fields.get("from", ""), fields.get("to", ""))):
            if end[:1] == "W" and end != "W*" and end not in known.agents:
                yield "agent", end
    if _is_missing(task, known.tasks, "T0") and kind not in _INTRODUCES_TASK:
        yield "task", task or ""
    if _is_missing(fields.get("ctx"), known.contexts, "S0"):
        yield "context", str(fields["ctx"])
    for reference in unknown_references(fields["data"], known):
        yield "reference", reference.text


def unknown_references(data: str, known: Known) -> list[Reference]:
    """Return the references in DATA that name nothing (PR-545)."""
    return [one for one in references_in(data) if not _exists(one, known)]


def _is_missing(name: str | None, where: Container[str] | None, reserved: str) -> bool:
    return where is not None and name not in (None, reserved) and name not in where


def _exists(reference: Reference, known: Known) -> bool:
    if not reference.name:
        return False
    where, name = {
        "CTX": (known.keys, reference.name),
        "MSG": (known.messages, canonical(reference.name)),
        "FIELD": (known.fields, f"{canonical(reference.task)}:{reference.name}"),
        "REF": (known.payloads, reference.name),
    }[reference.kind]
    return where is None or name in where
