"""Tasks and contexts for people: which are open, what becomes of them, how to end them.

Source: PR-309, PR-410, PR-551, PR-552, PR-571, PR-585, `cli.md` section 2, PR-545.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from council.core.conversations.conversation import TaskState
from council.core.errors import (
    ConflictError,
    CouncilError,
    InvalidInputError,
    NotFoundError,
    UsageError,
)
from council.core.events import Event
from council.core.protocol import orchestrator
from council.core.protocol.exchange import ExchangeStep, Task
from council.core.protocol.protocol_ids import is_context
from council.core.protocol.transaction import Transaction
from council.core.record import Record
from council.operations.place import Place
from council.operations.protocol.exchanging import (
    change,
    contexts,
    done_before,
    new_trace,
    open_new,
)
from council.operations.protocol.roster import Roster
from council.store.protocol.contexts import Kept
from council.store.settings import language

# --- What `#CTX:key` means in a context: values that people and orchestrators set

# `prev` names the context before; the coordinator alone says so (PR-644).
RESERVED = frozenset({"prev"})
_KEY_CHARS = 40
_VALUE_CHARS = 2000
_ENDS_REFERENCE = frozenset(' ;,"=|>#')


def _set_value(tx: Transaction, key: str, value: str) -> None:
    """Let `#CTX:key` mean `value` in a context; "" takes the key away.

    Raises:
        InvalidInputError: No reference can name such a key, or the value is too long.
        ConflictError: The context is closed.
    """
    fits = 0 < len(key) <= _KEY_CHARS and key.isprintable() and _ENDS_REFERENCE.isdisjoint(key)
    if not fits or key in RESERVED:
        raise InvalidInputError(
            f"not a key: {key!r}", f"up to {_KEY_CHARS} letters, digits, - and _, and not prev"
        )
    if len(value) > _VALUE_CHARS:
        raise InvalidInputError(
            f"the value of {key} is longer than {_VALUE_CHARS} letters",
            "publish it, and set the key to #REF:<id>",
        )
    exchange = tx.exchange
    if not exchange.is_open:
        raise ConflictError(f"{exchange.context} is closed", "open another: council ctx open")
    if value == exchange.values.get(key, ""):
        return
    exchange.values.pop(key, None)
    if value:
        exchange.values[key] = value
    tx.events.append(Event(type="context.set", data={"key": key, "value": value or None}))


class Row(Record):
    """One task as a list shows it."""

    context: str
    task: Task
    is_closed: bool = False

    @property
    def order(self) -> tuple[str, str, int, str]:
        """P0, P1, P2, then who was there first (PR-309, PR-410)."""
        one = self.task
        return one.priority, one.created_at.isoformat(), len(self.context), self.context

    @property
    def worker(self) -> str:
        """Who works on it, or did last; "" for none yet."""
        last = [hop.attempt for hop in self.task.hops if hop.attempt is not None and hop.is_open]
        every = last or [hop.attempt for hop in self.task.hops[:1] if hop.attempt is not None]
        return every[-1].worker if every else ""

    @property
    def waits_for_user(self) -> bool:
        """Whether the user has to choose."""
        task = self.task
        return not task.is_over and any(not one.answer for one in task.questions)

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON."""
        one = self.task
        return {
            **self.as_json("context"),
            **one.as_json("id:task state priority"),
            **self.as_json("worker?"),
            "waitsFor": "User" if self.waits_for_user else self.worker or None,
            "text": one.text or (one.hops[0].data if one.hops else ""),
            **one.as_json("created_at at ends_at code?"),
            "closed": self.is_closed,
        }


def listed(
    place: Place, *, with_closed: bool = False
) -> tuple[list[Row], list[tuple[str, CouncilError]]]:
    """Return the tasks of the open contexts in the order in which they are served.

    Args:
        place: The workspace.
        with_closed: Whether those of closed contexts are listed, too.

    Returns:
        The tasks, and which contexts cannot be read, with the reason.
    """
    store = contexts(place)
    rows: list[Row] = []
    wrong: list[tuple[str, CouncilError]] = []
    for context in [*store.ids(), *(store.closed_ids() if with_closed else [])]:
        try:
            kept = store.read(context)
        except NotFoundError:
            continue
        except CouncilError as error:
            wrong.append((context, error))
            continue
        rows += [
            Row(context=context, task=task, is_closed=not kept.exchange.is_open)
            for task in kept.exchange.tasks.values()
        ]
    return sorted(rows, key=lambda one: one.order), wrong


def find(place: Place, target: str, *, or_closed: bool = False) -> tuple[Kept, str]:
    """Return the context and the task that `S1/T1`, `T1` or `S1` means; "" for no task.

    With `or_closed`, `T1` means that of the newest closed context when none is open.

    Raises:
        NotFoundError: There is none.
        UsageError: Several are meant.
    """
    context, _, task = target.partition("/")
    if is_context(context):
        kept = contexts(place).read(context)
        if task and task not in kept.exchange.tasks:
            raise NotFoundError(f"no task {task} in {context}", "see: council task list --all")
        return kept, task
    found = [row for row in listed(place)[0] if row.task.id == target]
    if len(found) > 1:
        told = ", ".join(f"{row.context}/{target}" for row in found[:5])
        raise UsageError(f"{target} is open in several contexts: {told}", "say which")
    closed = _newest_closed(place, target) if or_closed and not found else None
    if closed is not None:
        return closed, target
    if not found:
        raise NotFoundError(f"no open task {target!r}", "see: council task list --all")
    return contexts(place).read(found[0].context), target


def _newest_closed(place: Place, task: str) -> Kept | None:
    """Return the context that was closed last of those that had a task, None if none had it."""
    store = contexts(place)
    # Their numbers go up: of those that count, the first that fits is the newest.
    counted = [one for one in store.closed_ids() if one[1:].isdecimal()]
    counted.sort(key=lambda one: int(one[1:]))
    others = [one for one in store.closed_ids() if not one[1:].isdecimal()]
    found: list[Kept] = []
    for name in [*others, *reversed(counted)]:
        try:
            kept = store.read(name)
        except CouncilError:  # `doctor` reports it
            continue
        if task in kept.exchange.tasks:
            found.append(kept)
            if name not in others:
                break
    return max(found, key=lambda one: one.exchange.updated_at, default=None)


def cancel(place: Place, target: str, reason: str = "") -> tuple[str, list[str]]:
    """Cancel a task, or all that are open in a context.

    Returns:
        The context, and the tasks that were cancelled.

    Raises:
        NotFoundError: There is no such task.
        ConflictError: It is over.
    """
    roster = Roster(place, place.now(), place.operation(target))
    before = done_before(roster)
    if before is not None:
        named = target.rpartition("/")[2]
        tasks = before.kept.exchange.tasks.values()
        over = [one.id for one in tasks if one.state is TaskState.X]
        return before.kept.exchange.context, [named] if named in over else over
    kept, task = find(place, target)
    cancelled: list[str] = []

    def rule(tx: Transaction) -> ExchangeStep:
        cancelled[:] = [one.id for one in tx.exchange.open_tasks if not task or one.id == task]
        for one in cancelled:
            orchestrator.cancel(tx, one, reason=reason)
        return tx.step()

    change(roster, kept.exchange.context, rule)
    if not cancelled:
        raise ConflictError(f"{target} is over already", "see: council task show " + target)
    return kept.exchange.context, cancelled


def open_context(
    place: Place, *, context: str = "", longest: timedelta | None = None, lang: str = ""
) -> Kept:
    """Open a context that stays open until it is closed, or its time is over.

    Raises:
        InvalidStateError: There is one with that id.
        NotFoundError: No context can be called so.
    """
    roster = Roster(place, place.now(), place.operation(context))
    before = done_before(roster)
    if before is not None:
        return before.kept
    spoken = language(place.settings, lang, place.environ)
    ends_at = roster.now + longest if longest is not None else None
    trace = new_trace(place)

    def first(chosen: str) -> ExchangeStep:
        return orchestrator.open_context(
            chosen, roster.now, trace_id=trace, lang=spoken, kept_open=True, ends_at=ends_at
        )

    return open_new(roster, first, context=context).kept


def close_context(place: Place, context: str, reason: str = "") -> Kept:
    """Close a context; what is still open in it is cancelled.

    Raises:
        NotFoundError: There is no such context.
        ConflictError: It is closed already.
    """
    roster = Roster(place, place.now(), place.operation(context))
    before = done_before(roster)
    if before is not None:
        return before.kept

    def rule(tx: Transaction) -> ExchangeStep:
        if not tx.exchange.is_open:
            raise ConflictError(f"{context} is closed already", f"see: council ctx show {context}")
        return orchestrator.close(tx, reason=reason or "closed")

    return change(roster, context, rule).kept


def set_values(place: Place, context: str, values: dict[str, str]) -> Kept:
    """Let keys of a context mean something; an empty value takes a key away.

    Raises:
        NotFoundError: There is no such context.
        InvalidInputError: A key or value cannot be so.
        ConflictError: The context is closed.
    """
    roster = Roster(place, place.now())

    def rule(tx: Transaction) -> ExchangeStep:
        for key, value in values.items():
            _set_value(tx, key, value)
        return tx.step()

    return change(roster, context, rule).kept
