"""Whom to ask for a hop: the best worker, the same one again, or another one.

A hop always says what it is owed: an attempt is under way, or `Hop.again` says
who is asked next, from when on and with which words. So a process may die
after any failure; whoever looks next goes on.

Source: PR-553, PR-555, PR-561, PR-564, PR-579, PR-580, XC-105, A-59, A-67.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.conversations.conversation import TaskState
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import Again, Attempt, Hop, Task
from council.core.protocol.hops import give_up
from council.core.protocol.messages import COORDINATOR, DATA_CHARS, Message, compose
from council.core.protocol.payload import flags_and_pairs
from council.core.protocol.questions import workers_of
from council.core.protocol.registry import EntryStatus
from council.core.protocol.retries import OTHER_WORKER, fallback_pairs, pause, retry_pairs, strategy
from council.core.protocol.selection import Selection, candidates_of, select
from council.core.reading import written_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOOK_AGAIN = timedelta(seconds=60)
_CANDIDATES_TOLD = 10
_UNAVAILABLE = "E30"


def assign(desk: Desk, task: Task, hop: Hop) -> None:
    """Ask the worker that is due for a hop, the best one where none is named (PR-553, PR-561)."""
    again = hop.again
    if again is None or again.due_at > desk.now:
        return
    if again.worker and _is_available(desk, again.worker):
        _begin(desk, task, hop, again, again.worker, {})
        return
    if again.worker:
        _replace(again)
    found = _weighed(desk, task, hop)
    if found.order:
        chosen = found.order[0]
        desk.tell(
            "capabilities.matched",
            task,
            hop=hop.number,
            required=list(found.required),
            order=list(found.order),
        )
        best = found.candidates[0]
        desk.tell(
            "worker.chosen",
            task,
            agent=chosen,
            hop=hop.number,
            worker=chosen,
            score=round(best.score, 4),
            matched=list(best.matched),
            missing=list(best.missing),
        )
        _begin(desk, task, hop, again, chosen, _explained(found))
    else:
        _find_nobody(desk, task, hop, again, found)


def _replace(again: Again) -> None:
    """Ask another worker than the one that was to be tried again: it cannot be had now."""
    again.fallback_from = again.worker
    again.pairs = fallback_pairs(again.worker, again.code or _UNAVAILABLE)
    again.worker, again.retry = "", 0


def _weighed(desk: Desk, task: Task, hop: Hop) -> Selection:
    asked = {one.worker for one in hop.attempts}
    beside = {
        one.worker
        for other in task.hops
        if other is not hop and other.source == hop.source
        for one in other.attempts[-1:]
        if other.is_open or (one.state is TaskState.D and other.data == hop.data)
    }
    named = workers_of(task) if hop.source == COORDINATOR else ()
    return select(
        hop.caps,
        [one for one in candidates_of(desk.registry) if not named or one.id in named],
        threshold=desk.rules.threshold,
        depth=hop.depth,
        without=asked | beside | {hop.source},
    )


def _explained(found: Selection) -> dict[str, Any]:
    return {
        "required": list(found.required),
        "threshold": found.threshold,
        "candidates": [one.to_record() for one in found.candidates[:_CANDIDATES_TOLD]],
    }


def _is_available(desk: Desk, worker: str) -> bool:
    entry = desk.registry.get(worker)
    return entry is not None and entry.status is EntryStatus.ACTIVE


def _find_nobody(desk: Desk, task: Task, hop: Hop, again: Again, found: Selection) -> None:
    """Go on where no worker can be asked: wait for one, try the last again, or give up."""
    last = hop.attempt
    if last is None:
        waits = [one for one in found.candidates if one.code == _UNAVAILABLE and one.matched]
        waits += [one for one in found.candidates if one.code == _UNAVAILABLE and not hop.caps]
        if waits and desk.now < again.since + desk.rules.task_timeout:
            told = f"{waits[0].candidate.id} {waits[0].why_not}"
            if again.blocked != told:
                desk.tell("worker.missing", task, hop=hop.number, code=_UNAVAILABLE, reason=told)
            again.blocked, again.due_at = told, desk.now + LOOK_AGAIN
            return
        unfit = next((one for one in found.candidates if one.code != _UNAVAILABLE), None)
        code = unfit.code if unfit is not None and not waits else _UNAVAILABLE
        wanted = ", ".join(hop.caps)
        give_up(desk, task, hop, code, f"no worker for {wanted}" if wanted else "no worker")
        return
    busy = strategy(again.code) == OTHER_WORKER and _is_available(desk, last.worker)
    if busy and last.retry < desk.rules.max_retries:
        retry_same(desk, task, hop, last, again.code)
        return
    give_up(desk, task, hop, again.code, last.reason)


def _begin(
    desk: Desk, task: Task, hop: Hop, again: Again, worker: str, why: dict[str, Any]
) -> None:
    """Open an attempt and send its request."""
    attempt = Attempt(
        number=len(hop.attempts) + 1,
        worker=worker,
        state=TaskState.N,
        at=desk.now,
        why=why,
        retry=again.retry,
        fallback_from=again.fallback_from,
    )
    hop.attempts.append(attempt)
    hop.again = None
    message = _request(desk, task, hop, again, worker)
    attempt.message = attempt.asked = desk.post(message, to=(worker,), hop=hop.number)


def _request(desk: Desk, task: Task, hop: Hop, again: Again, worker: str) -> Message:
    """Return the line that asks for a hop: R of the coordinator, X of who handed it on."""
    added = dict(again.pairs)
    _, known = flags_and_pairs(hop.data)
    if hop.depth > desk.rules.max_depth and "reason" not in {**known, **added}:
        added["reason"] = "exceptional"
    data = ";".join((hop.data, *(f"{name}={value}" for name, value in added.items())))
    if len(data) > DATA_CHARS:
        key = f"{task.id}h{hop.number}".lower()
        desk.exchange.values[key] = hop.data
        pairs: dict[str, str] = {"call": hop.call} if hop.call else {}
        data = ";".join(f"{k}={v}" for k, v in {**pairs, "src": f"#CTX:{key}", **added}.items())
    flags, pairs = flags_and_pairs(data)
    is_root = hop.source == COORDINATOR
    message = compose(
        hop.source,
        worker,
        "R" if is_root else "X",
        flags=flags,
        pairs=pairs,
        task=task.id,
        priority=task.priority,
        state=TaskState.N,
        depth=hop.depth,
        budget=hop.left,
    )
    return message.copy(data=data)


def retry_same(desk: Desk, task: Task, hop: Hop, last: Attempt, code: str) -> None:
    """Owe a hop another attempt by the same worker, after a pause (PR-580)."""
    number = last.retry + 1
    due_at = desk.now + pause(number, desk.rules.backoff)
    following = _weighed(desk, task, hop).order
    pairs = retry_pairs(number, desk.rules.max_retries, following[0] if following else "")
    hop.again = Again(
        since=desk.now, due_at=due_at, worker=last.worker, code=code, pairs=pairs, retry=number
    )
    desk.tell(
        "attempt.retried",
        task,
        agent=last.worker,
        hop=hop.number,
        code=code,
        retry=number,
        dueAt=written_instant(due_at),
    )


def ask_another(desk: Desk, task: Task, hop: Hop, last: Attempt, code: str) -> None:
    """Owe a hop an attempt by another worker, at once (PR-580)."""
    hop.again = Again(
        since=desk.now,
        due_at=desk.now,
        code=code,
        pairs=fallback_pairs(last.worker, code),
        fallback_from=last.worker,
    )
    desk.tell("attempt.replaced", task, agent=last.worker, hop=hop.number, code=code)
