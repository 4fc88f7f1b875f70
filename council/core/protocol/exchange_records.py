"""The JSON form of an exchange, read.

Reading is strict about meaning and lenient about what is missing; it says
which field is wrong. Fields it does not know are kept and written back.

Source: XC-013, PR-551, PR-571, PR-585.
"""

from __future__ import annotations

from council.core.errors import InvalidStateError, NewerVersionError
from council.core.protocol.exchange import SCHEMA_VERSION, Exchange, Task
from council.core.reading import Reader


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
    exchange = Reader(record, "context", nulls=True).make(Exchange)
    _check(exchange)
    return exchange


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
    """Return true if a task has that attempt of that hop; 0 of 0 stands for none."""
    if not hop:
        return not attempt
    return hop <= len(task.hops) and 1 <= attempt <= len(task.hop(hop).attempts)


def _broken(where: str) -> InvalidStateError:
    return InvalidStateError(
        f"context: {where} names a part that is not there", "restore the file from a copy"
    )
