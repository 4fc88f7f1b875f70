"""The commands on tasks: `task list|show|cancel`.

Source: `cli.md` section 2, PR-309, PR-410, PR-412, PR-551.
"""

from __future__ import annotations

from council.cli.edge import Output
from council.cli.parameters import argument, command, flag, option
from council.core.errors import InvalidStateError
from council.operations.place import Place

TARGET = argument("TASK", "S1/T1, T1 if only one is open, or a context S1.")


@command("task list", "council task list --json", reads=True)
def list_(
    place: Place, with_all: bool = flag("--all", "Also the tasks of contexts that are closed.")
) -> Output:
    """List the tasks that are open, in the order in which they are served."""
    from council.cli.task_pages import list_page
    from council.operations.protocol.tasks import listed

    rows, wrong = listed(place, with_closed=with_all)
    record = {
        "tasks": [row.to_record() for row in rows],
        "errors": [error.to_record() for _, error in wrong],
    }
    notes = [f"council: {error.message} ({error.hint})" for _, error in wrong]
    code = InvalidStateError.exit_code if wrong else 0
    return Output(record=record, text=list_page(rows, place.now()), notes=notes, code=code)


@command("task show", "council task show S1/T1", reads=True)
def show(place: Place, target: str = TARGET) -> Output:
    """Show how a task goes: who works on it since when, why this worker, what failed."""
    from council.cli.task_pages import task_page
    from council.operations.protocol.exchanging import contexts
    from council.operations.protocol.payloads import spelled_out
    from council.operations.protocol.tasks import find

    kept, task = find(place, target, or_closed=True)
    exchange = kept.exchange
    answer = contexts(place).answer(exchange.context)
    shown = [one for one in exchange.tasks.values() if not task or one.id == task]
    record = {
        **exchange.as_json("context trace_id status request"),
        "answer": answer or None,
        **exchange.as_json("successor?"),
        "tasks": [one.to_record() for one in shown],
    }
    told = spelled_out(place, exchange)
    read = [told.tasks[one.id] for one in shown]
    return Output(record=record, text=task_page(told, read, place.now(), answer))


@command("task cancel", 'council task cancel S1/T1 --reason "not needed any more"')
def cancel(
    place: Place,
    target: str = TARGET,
    reason: str = option("--reason", "TEXT", "Why; its workers are told."),
) -> Output:
    """Cancel a task, or all that are open in a context; who works on it is told."""
    from council.operations.conversations.answer import wake_next
    from council.operations.protocol.tasks import cancel as end

    context, done = end(place, target, reason)
    wake_next(place)
    told = ", ".join(f"{context}/{one}" for one in done)
    return Output(record={"context": context, "cancelled": done}, text=f"cancelled {told}")
