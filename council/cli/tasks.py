"""The commands on tasks: `task list|show|cancel`.

Source: `cli.md` section 2, PR-309, PR-410, PR-412, PR-551.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output
from council.cli.parameters import Json, Now, Root, do, help_text
from council.core.errors import InvalidStateError
from council.operations.place import Place

Target = Annotated[
    str, typer.Argument(metavar="TASK", help="S1/T1, T1 if only one is open, or a context S1.")
]


def list_(
    with_all: Annotated[
        bool, typer.Option("--all", help="Also the tasks of contexts that are closed.")
    ] = False,
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """List the tasks that are open, in the order in which they are served."""

    def command(place: Place) -> Output:
        from council.cli.task_pages import list_page
        from council.operations.protocol.tasks import listed

        rows, wrong = listed(place, with_closed=with_all)
        record = {
            "tasks": [row.to_record() for row in rows],
            "errors": [error.to_record() for error in wrong],
        }
        notes = [f"council: {error.message} ({error.hint})" for error in wrong]
        code = InvalidStateError.exit_code if wrong else 0
        return Output(record=record, text=list_page(rows, place.now()), notes=notes, code=code)

    do("task list", json, root, now, command)


def show(target: Target, root: Root = "", now: Now = "", json: Json = False) -> None:
    """Show how a task goes: who works on it since when, why this worker, what failed."""

    def command(place: Place) -> Output:
        from council.cli.task_pages import task_page
        from council.core.protocol.exchange_records import task_to_record
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
            "tasks": [task_to_record(one) for one in shown],
        }
        told = spelled_out(place, exchange)
        read = [told.tasks[one.id] for one in shown]
        return Output(record=record, text=task_page(told, read, place.now(), answer))

    do("task show", json, root, now, command)


def cancel(
    target: Target,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; its workers are told.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Cancel a task, or all that are open in a context; who works on it is told."""

    def command(place: Place) -> Output:
        from council.operations.conversations.answer import wake_next
        from council.operations.protocol.tasks import cancel as end

        context, done = end(place, target, reason)
        wake_next(place)
        told = ", ".join(f"{context}/{one}" for one in done)
        return Output(record={"context": context, "cancelled": done}, text=f"cancelled {told}")

    do("task cancel", json, root, now, command)


_EXAMPLES: dict[str, tuple[Callable[..., None], str]] = {
    "task list": (list_, "council task list --json"),
    "task show": (show, "council task show S1/T1"),
    "task cancel": (cancel, 'council task cancel S1/T1 --reason "not needed any more"'),
}
COMMANDS: dict[str, Callable[..., None]] = {name: one for name, (one, _) in _EXAMPLES.items()}
for _function, _example in _EXAMPLES.values():
    _function.__doc__ = help_text(_function.__doc__ or "", _example)
