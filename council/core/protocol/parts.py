"""What a task is at its start: the parts of it that the coordinator asks workers for.

Source: PR-553, PR-561, PR-566.
"""

from __future__ import annotations

from council.core.protocol.desk import Desk
from council.core.protocol.exchange import Again, Hop, Task
from council.core.protocol.messages import COORDINATOR, inline, is_inline

REQUEST_KEY = "request"
_QUERY_CHARS = 100
_CHOICE_CHARS = 40
_REFERENCES = ("#CTX:", "#REF:", "#MSG:")


def give_parts(desk: Desk, task: Task) -> None:
    """Owe a task its workers: one, or several at once, which share its budget (PR-561)."""
    count = max(1, desk.rules.parallel)
    for share in shares(task.budget, count):
        task.hops.append(
            Hop(
                number=len(task.hops) + 1,
                source=COORDINATOR,
                budget=share,
                left=share,
                call=task.caps[0] if task.caps else "",
                caps=task.caps,
                data=_asked(desk, task),
                again=Again(since=desk.now, due_at=desk.now),
            )
        )


def shares(budget: int | None, count: int) -> list[int | None]:
    """Return a budget in `count` parts; the first takes what is left over."""
    if budget is None:
        return [None] * count
    each = budget // count
    return [budget - each * (count - 1), *[each] * (count - 1)]


def _asked(desk: Desk, task: Task) -> str:
    """Return what a worker is asked, as DATA: the text itself, or where in the context it lies."""
    query = task.text
    if not is_inline(query, _QUERY_CHARS) or any(mark in query for mark in _REFERENCES):
        is_whole = task.text == desk.exchange.request
        key = REQUEST_KEY if is_whole else task.id.lower()
        desk.exchange.values[key] = task.text
        query = f"#CTX:{key}"
    pairs = [f"call={task.caps[0]}"] if task.caps else []
    pairs.append(f"query={query}")
    if len(task.caps) > 1:
        listed = ",".join(task.caps)
        pairs += [f"caps={listed}"] if len(listed) <= _QUERY_CHARS // 2 else []
    if task.choice:
        pairs.append(f"choice={inline(task.choice, _CHOICE_CHARS)}")
    return ";".join(pairs)
