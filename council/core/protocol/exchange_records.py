"""The JSON form of an exchange, both ways.

One literal table for each kind of value says which field stands under which
key and of what kind it is. Reading is strict about meaning and lenient about
what is missing; it says which field is wrong. Fields it does not know are
kept and written back.

Source: XC-013, PR-551, PR-571, PR-585.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.errors import InvalidStateError, NewerVersionError
from council.core.protocol.exchange import (
    SCHEMA_VERSION,
    Again,
    Attempt,
    ContextStatus,
    Exchange,
    Hop,
    Posted,
    Question,
    Run,
    Task,
)
from council.core.protocol.messages import Message
from council.core.reading import Reader, written_instant
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Key in JSON, field of the value, kind.
    Form = tuple[tuple[str, str, str], ...]

# A kind with `?` may be null; `[Name]` is a list of values, `{Name}` values by id.
_ATTEMPT: Form = (
    ("number", "number", "whole"),
    ("worker", "worker", "name"),
    ("state", "state", "state"),
    ("at", "at", "instant"),
    ("msg", "message", "whole"),
    ("startedAt", "started_at", "instant?"),
    ("endsAt", "ends_at", "instant?"),
    ("asked", "asked", "whole"),
    ("progress", "progress", "text"),
    ("code", "code", "text"),
    ("reason", "reason", "text"),
    ("ownWords", "own_words", "flag"),
    ("parts", "parts", "text-table"),
    ("why", "why", "object"),
    ("retry", "retry", "whole"),
    ("fallbackFrom", "fallback_from", "text"),
    ("refused", "refused", "whole"),
)
_AGAIN: Form = (
    ("since", "since", "instant"),
    ("dueAt", "due_at", "instant"),
    ("worker", "worker", "text"),
    ("code", "code", "text"),
    ("pairs", "pairs", "text-table"),
    ("retry", "retry", "whole"),
    ("fallbackFrom", "fallback_from", "text"),
    ("blocked", "blocked", "text"),
)
_HOP: Form = (
    ("number", "number", "whole"),
    ("source", "source", "name"),
    ("parent", "parent", "whole"),
    ("parentAttempt", "parent_attempt", "whole"),
    ("depth", "depth", "whole"),
    ("budget", "budget", "whole?"),
    ("left", "left", "whole?"),
    ("call", "call", "text"),
    ("data", "data", "text"),
    ("caps", "caps", "texts"),
    ("attempts", "attempts", "[attempt]"),
    ("again", "again", "again?"),
    ("raised", "raised", "flag"),
    ("result", "result", "text"),
    ("returned", "returned", "flag"),
)
_QUESTION: Form = (
    ("msg", "message", "whole"),
    ("text", "text", "text"),
    ("options", "options", "texts"),
    ("workers", "workers", "texts"),
    ("hop", "hop", "whole"),
    ("attempt", "attempt", "whole"),
    ("askedAt", "asked_at", "instant"),
    ("endsAt", "ends_at", "instant?"),
    ("lateAt", "late_at", "instant?"),
    ("answer", "answer", "text"),
    ("answeredAt", "answered_at", "instant?"),
    ("by", "by", "text"),
)
_TASK: Form = (
    ("id", "id", "name"),
    ("text", "text", "text"),
    ("caps", "caps", "texts"),
    ("priority", "priority", "text"),
    ("budget", "budget", "whole?"),
    ("atomic", "atomic", "flag"),
    ("divided", "divided", "flag"),
    ("state", "state", "state"),
    ("at", "at", "instant"),
    ("createdAt", "created_at", "instant"),
    ("startedAt", "started_at", "instant?"),
    ("endsAt", "ends_at", "instant?"),
    ("endedAt", "ended_at", "instant?"),
    ("hops", "hops", "[hop]"),
    ("questions", "questions", "[question]"),
    ("clarifications", "clarifications", "whole"),
    ("choice", "choice", "text"),
    ("fields", "fields", "text-table"),
    ("result", "result", "text"),
    ("code", "code", "text"),
    ("reason", "reason", "text"),
    ("told", "told", "flag"),
)
_MESSAGE: Form = (
    ("msg", "number", "whole"),
    ("from", "sender", "name"),
    ("to", "receiver", "name"),
    ("type", "kind", "name"),
    ("tid", "task", "text"),
    ("pri", "priority", "text"),
    ("state", "state", "text"),
    ("err", "code", "text"),
    ("depth", "depth", "whole"),
    ("ctx", "context", "text"),
    ("budget", "budget", "whole?"),
    ("data", "data", "text"),
    ("pairs", "pairs", "pairs"),
    ("flags", "flags", "texts"),
)
_POSTED: Form = (
    ("message", "message", "message"),
    ("at", "at", "instant"),
    ("to", "to", "texts"),
    ("deliveredAt", "delivered_at", "instant?"),
    ("pid", "parent", "whole"),
    ("said", "said", "whole"),
    ("hop", "hop", "whole"),
)
_RUN: Form = (
    ("id", "id", "name"),
    ("purpose", "purpose", "text"),
    ("worker", "worker", "text"),
    ("task", "task", "text"),
    ("hop", "hop", "whole"),
    ("attempt", "attempt", "whole"),
    ("msg", "message", "whole"),
    ("number", "number", "whole"),
    ("state", "state", "state"),
    ("at", "at", "instant"),
    ("endsAt", "ends_at", "instant?"),
    ("driver", "driver", "text"),
    ("reason", "reason", "text"),
)
_EXCHANGE: Form = (
    ("schemaVersion", "schema_version", "whole"),
    ("rev", "rev", "whole"),
    ("ctx", "context", "name"),
    ("traceId", "trace_id", "text"),
    ("request", "request", "text"),
    ("lang", "lang", "text"),
    ("complexity", "complexity", "text"),
    ("keptOpen", "kept_open", "flag"),
    ("status", "status", "status"),
    ("openedAt", "opened_at", "instant"),
    ("updatedAt", "updated_at", "instant"),
    ("endsAt", "ends_at", "instant?"),
    ("closedAt", "closed_at", "instant?"),
    ("closedReason", "closed_reason", "text"),
    ("orchestrator", "orchestrator", "text"),
    ("values", "values", "text-table"),
    ("tasks", "tasks", "{task}"),
    ("posted", "posted", "[posted]"),
    ("runs", "runs", "{run}"),
    ("nextMessage", "next_message", "whole"),
    ("nextTask", "next_task", "whole"),
    ("composed", "composed", "flag"),
    ("answer", "answer", "text"),
    ("answeredAt", "answered_at", "instant?"),
    ("successor", "successor", "text"),
    ("moved", "moved", "text-table"),
)
_FORMS: dict[str, tuple[type[Record], Form]] = {
    "attempt": (Attempt, _ATTEMPT),
    "again": (Again, _AGAIN),
    "hop": (Hop, _HOP),
    "question": (Question, _QUESTION),
    "task": (Task, _TASK),
    "message": (Message, _MESSAGE),
    "posted": (Posted, _POSTED),
    "run": (Run, _RUN),
    "exchange": (Exchange, _EXCHANGE),
}


def exchange_to_record(exchange: Exchange) -> dict[str, Any]:
    """Return the JSON object of an exchange, in the order in which it is written."""
    return _to_record(exchange, "exchange")


def task_to_record(task: Task) -> dict[str, Any]:
    """Return the JSON object of one task."""
    return _to_record(task, "task")


def exchange_from_record(record: object) -> Exchange:
    """Read the JSON object of an exchange.

    Only its id and the time of opening are required; the rest has defaults.

    Raises:
        NewerVersionError: It is of a newer major version.
        InvalidStateError: A field is missing or has a value it cannot have.
    """
    version = record.get("schemaVersion") if isinstance(record, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerVersionError("context", version, SCHEMA_VERSION)
    found = _from_record(record, "exchange", "context")
    assert isinstance(found, Exchange)
    _check(found)
    return found


def _check(exchange: Exchange) -> None:
    """See that whatever names a part of a task names one that is there.

    Raises:
        InvalidStateError: It does not.
    """
    for key, task in exchange.tasks.items():
        sound = key == task.id and all(
            hop.number == place
            and [one.number for one in hop.attempts] == list(range(1, len(hop.attempts) + 1))
            and 0 <= hop.parent < place
            and _is_there(task, hop.parent, hop.parent_attempt)
            for place, hop in enumerate(task.hops, 1)
        )
        asked = all(_is_there(task, one.hop, one.attempt) for one in task.questions)
        if not sound or not asked:
            raise _broken(f"tasks.{key}")
    for key, run in exchange.runs.items():
        of = exchange.tasks.get(run.task)
        if key != run.id or (of is not None and not _is_there(of, run.hop, run.attempt)):
            raise _broken(f"runs.{key}")


def _is_there(task: Task, hop: int, attempt: int) -> bool:
    """Tell whether a task has that attempt of that hop; 0 of 0 stands for none."""
    if not hop:
        return not attempt
    return hop <= len(task.hops) and 1 <= attempt <= len(task.hop(hop).attempts)


def _broken(where: str) -> InvalidStateError:
    return InvalidStateError(
        f"context: {where} names a part that is not there", "restore the file from a copy"
    )


def _to_record(value: Record, form: str) -> dict[str, Any]:
    written = {key: _written(getattr(value, name), kind) for key, name, kind in _FORMS[form][1]}
    return {**written, **getattr(value, "extra", {})}


def _written(value: Any, kind: str) -> Any:
    """Return a field as JSON; texts, numbers and flags are that already."""
    plain = kind.rstrip("?")
    if value is None or plain in _AS_THEY_ARE:
        return value
    if plain in _WRITERS:
        return _WRITERS[plain](value)
    if plain[0] == "[":
        return [_to_record(one, plain[1:-1]) for one in value]
    if plain[0] == "{":
        return {key: _to_record(one, plain[1:-1]) for key, one in value.items()}
    return _to_record(value, plain)


def _from_record(record: object, form: str, where: str) -> Record:
    read = Reader(record, where)
    kind_of_value, fields = _FORMS[form]
    values: dict[str, Any] = {}
    for key, name, kind in fields:
        if read.left.get(key) is None and name not in kind_of_value._required:
            if read.left.pop(key, None) is None and kind.endswith("?"):
                values[name] = None
            continue
        values[name] = _read(read, key, kind.rstrip("?"), f"{where}: {key}")
    if "extra" in kind_of_value._fields:
        values["extra"] = read.left
    return kind_of_value(**values)


def _read(read: Reader, key: str, kind: str, where: str) -> Any:
    if kind in _READERS:
        return _READERS[kind](read, key)
    if kind[0] == "[":
        return [_from_record(one, kind[1:-1], where) for one in read.items(key)]
    if kind[0] == "{":
        found = read.table(key)
        return {
            name: _from_record(one, kind[1:-1], f"{where}.{name}") for name, one in found.items()
        }
    return _from_record(read.table(key), kind, where)


def _pairs(read: Reader, key: str) -> tuple[tuple[str, str], ...]:
    found = []
    for one in read.items(key):
        if not (isinstance(one, list) and len(one) == 2 and all(isinstance(t, str) for t in one)):
            raise read.fail(key, "a list of pairs of texts")
        found.append((one[0], one[1]))
    return tuple(found)


_AS_THEY_ARE = frozenset(("name", "text", "whole", "flag", "text-table", "object"))
_WRITERS: dict[str, Callable[[Any], Any]] = {
    "instant": written_instant,
    "state": str,
    "status": str,
    "texts": list,
    "pairs": lambda pairs: [list(pair) for pair in pairs],
}
_READERS: dict[str, Callable[[Reader, str], Any]] = {
    "name": lambda read, key: read.text(key, None),
    "text": Reader.text,
    "whole": lambda read, key: read.whole(key, 0),
    "flag": lambda read, key: read.flag(key, False),
    "instant": Reader.given_instant,
    "state": lambda read, key: read.choice(key, TaskState),
    "status": lambda read, key: read.choice(key, ContextStatus),
    "texts": lambda read, key: tuple(read.texts(key)),
    "text-table": Reader.text_table,
    "object": Reader.table,
    "pairs": _pairs,
}
