"""The JSON form of a task, both ways.

Source: C0-015, XC-013.
"""

from __future__ import annotations

from council.core.conversations.conversation import Task, TaskState
from council.core.reading import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def task_to_record(task: Task) -> dict[str, Any]:
    """Return the JSON object of a task; its id is the key under which it stands."""
    return {
        **task.as_json("agent tour attempt state at ends_at driver reason final"),
        **task.extra,
    }


def task_from_record(key: str, value: object) -> Task:
    """Read the JSON object of a task that stands under `key`.

    Raises:
        InvalidStateError: A field is missing or has a value it cannot have.
    """
    read = Reader(value, f"state block: tasks.{key}")
    at = read.instant("at")
    if at is None:
        raise read.fail("at", "given")
    one = Task(
        id=key,
        agent=read.text("agent", None),
        tour=read.whole("tour", 1, 1),
        attempt=read.whole("attempt", 1, 1),
        state=read.choice("state", TaskState),
        at=at,
        ends_at=read.instant("endsAt"),
        driver=read.text("driver"),
        reason=read.text("reason"),
        final=read.flag("final", False),
    )
    one.extra = read.left
    return one
