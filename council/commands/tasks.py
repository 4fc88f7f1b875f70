"""The commands on tasks and contexts, and how both are shown: `task …`, `ctx …`.

Source: `cli.md` section 2, PR-309, PR-410, PR-412, PR-545, PR-551, PR-561, PR-571, PR-572.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from council.commands.output import Output
from council.core.errors import InvalidStateError, UsageError
from council.core.plain_text import plain_line, plain_text
from council.core.protocol.exchange import Attempt, Exchange, Hop, Question, Task
from council.core.times import parse_duration, render_duration, render_instant
from council.operations.detach import wake_next
from council.operations.place import Place
from council.operations.protocol.exchanging import contexts
from council.operations.protocol.payloads import spelled_out
from council.operations.protocol.tasks import (
    Row,
    close_context,
    find,
    listed,
    open_context,
    set_values,
)
from council.store.protocol.contexts import Kept


def task_list(place: Place, all: bool) -> Output:
    """List the tasks that are open, in the order in which they are served."""
    rows, wrong = listed(place, with_closed=all)
    record = {"tasks": rows, "errors": [error.to_record() for _, error in wrong]}
    notes = [f"{error.message} ({error.hint})" for _, error in wrong]
    code = InvalidStateError.exit_code if wrong else 0
    return Output(record=record, text=list_page(rows, place.now()), notes=notes, code=code)


def task_show(place: Place, target: str) -> Output:
    """Show how a task goes: who works on it since when, why this worker, what failed."""
    kept, task = find(place, target, or_closed=True)
    exchange = kept.exchange
    answer = contexts(place).answer(exchange.context)
    shown = [one for one in exchange.tasks.values() if not task or one.id == task]
    record = {
        **exchange.as_json("context trace_id status request"),
        "answer": answer or None,
        **exchange.as_json("successor?"),
        "tasks": shown,
    }
    told = spelled_out(place, exchange)
    read = [told.tasks[one.id] for one in shown]
    return Output(record=record, text=task_page(told, read, place.now(), answer))


def task_cancel(place: Place, target: str, reason: str) -> Output:
    """Cancel a task, or all that are open in a context; who works on it is told."""
    from council.operations.protocol.tasks import cancel as end

    context, done = end(place, target, reason)
    wake_next(place)
    told = ", ".join(f"{context}/{one}" for one in done)
    return Output(record={"context": context, "cancelled": done}, text=f"cancelled {told}")


def ctx_open(place: Place, context: str, for_: str, lang: str) -> Output:
    """Open a context for lines of your own; it stays open until you close it."""
    span = parse_duration(for_) if for_ else None
    kept = open_context(place, context=context, longest=span, lang=lang)
    return _shown(kept, f"opened {kept.exchange.context}")


def ctx_close(place: Place, context: str, reason: str) -> Output:
    """Close a context; tasks that are open in it are cancelled."""
    kept = close_context(place, context, reason)
    wake_next(place)
    return _shown(kept, f"closed {context}")


def ctx_set(place: Place, context: str, pairs: list[str]) -> Output:
    """Let #CTX:key mean something in a context."""
    told: dict[str, str] = {}
    for one in pairs:
        key, equals, value = one.partition("=")
        if not equals:
            raise UsageError(f"{one!r} is no value", "write KEY=VALUE, such as style=short")
        told[key] = value
    kept = set_values(place, context, told)
    lines = [plain_line(f"#CTX:{key} = {value}") for key, value in kept.exchange.values.items()]
    return _shown(kept, "\n".join(lines) or f"{context} has no values")


def ctx_show(place: Place, context: str) -> Output:
    """Show a context: its request, its tasks, its values, its last messages."""
    kept = contexts(place).read(context)
    return _shown(kept, context_page(spelled_out(place, kept.exchange), place.now()))


def _shown(kept: Kept, text: str) -> Output:
    return Output(record=kept.exchange, text=text)


STATES = {"N": "new", "R": "running", "D": "done", "F": "failed", "X": "cancelled"}
_WIDTH = 78
_DEEPER = 3  # how far a branch of a tree is set in


def list_page(rows: Sequence[Row], now: datetime) -> str:
    """Return one line for each task, in columns."""
    if not rows:
        return "no task is open"
    cells = [("", "task", "state", "since", "with", "what")]
    for row in rows:
        one = row.task
        waits = "User (asked)" if row.waits_for_user else row.worker or "-"
        what = one.text or (one.hops[0].data if one.hops else "")
        waits = plain_line(waits)
        cells.append(
            (one.priority, f"{row.context}/{one.id}", _state(one), _span(one.at, now), waits, what)
        )
    widths = [max(len(line[at]) for line in cells) for at in range(5)]
    lines = []
    for line in cells:
        start = "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=False))
        lines.append(f"{start}  {_short(line[5], _WIDTH - len(start) - 2)}".rstrip())
    return "\n".join(lines)


def _state(task: Task) -> str:
    return f"{STATES[str(task.state)]} {task.code}".strip()


def _short(text: str, room: int) -> str:
    line = " ".join(plain_line(text).split())
    return line if len(line) <= room else line[: max(1, room - 1)].rstrip() + "…"


def task_page(exchange: Exchange, tasks: Sequence[Task], now: datetime, answer: str = "") -> str:
    """Return tasks as trees: hops below their tasks, attempts below their hops."""
    lines = [_context_line(exchange)]
    if exchange.request and [one.text for one in tasks] != [exchange.request]:
        lines.append(f"  {_short(exchange.request, _WIDTH - 2)}")
    lines += _branches([_task_lines(one, now) for one in tasks])
    if answer:
        lines += ["", plain_text(answer)]
    return "\n".join(lines)


def _branches(parts: Sequence[list[str]]) -> list[str]:
    """Draw siblings of a tree: the first line of each hangs on the trunk, the others below it."""
    lines: list[str] = []
    for number, (head, *below) in enumerate(parts, start=1):
        is_last = number == len(parts)
        lines.append(f"{'└─' if is_last else '├─'} {head}")
        lines += [f"{'   ' if is_last else '│  '}{one}".rstrip() for one in below]
    return lines


def _context_line(exchange: Exchange) -> str:
    since = f"open since {render_instant(exchange.opened_at)}"
    if exchange.closed_at is not None:
        reason = f" ({plain_line(exchange.closed_reason)})" if exchange.closed_reason else ""
        since = f"closed at {render_instant(exchange.closed_at)}{reason}"
    goes_on = f" · goes on in {exchange.successor}" if exchange.successor else ""
    return f"{exchange.context} · {since}{goes_on}"


def _task_lines(task: Task, now: datetime) -> list[str]:
    room = _WIDTH - _DEEPER
    told = [f"{task.id} {STATES[str(task.state)]}", task.priority]
    if task.caps:
        told.append(f"needs {', '.join(task.caps)}")
    if task.budget is not None:
        told.append(f"budget {task.budget}")
    end = task.ended_at or now
    told.append(f"{_span(task.created_at, end)} since {render_instant(task.created_at)}")
    lines = [" · ".join(told)]
    if task.text:
        lines.append(_short(task.text, room))
    if task.code or task.reason:
        lines.append(_short(f"{task.code} {task.reason}".strip(), room))
    for question in task.questions:
        lines += _question_lines(question)
    roots = [hop for hop in task.hops if not hop.parent]
    return lines + _branches([_hop_lines(task, hop, now, room - _DEEPER) for hop in roots])


def _span(start: datetime, end: datetime) -> str:
    return render_duration(end - start) if end > start else "0s"


def _question_lines(question: Question) -> list[str]:
    options = enumerate(map(plain_line, question.options), start=1)
    words = "".join(f" · {at} {word}" for at, word in options)
    said = f"answered: {_short(question.answer, 60)}" if question.answer else "waits for you"
    if question.ends_at is not None and not question.answer:
        said += f" until {render_instant(question.ends_at)}"
    return [f"? {_short(question.text, 60)}{words}", f"  {said}"]


def _hop_lines(task: Task, hop: Hop, now: datetime, room: int) -> list[str]:
    """Return a hop, its attempts, what comes next, and what its workers handed on."""
    told = [f"hop {hop.number} of {hop.source}", f"depth {hop.depth}"]
    if hop.call:
        told.append(f"call {hop.call}")
    if hop.budget is not None:
        left = hop.budget if hop.left is None else hop.left
        told.append(f"{left} of {hop.budget} tokens left")
    parts = [_attempt_lines(one, now, room - _DEEPER) for one in hop.attempts]
    if hop.again is not None:
        who = hop.again.worker or "another worker"
        parts.append([f"next: {who} at {render_instant(hop.again.due_at)}"])
    handed_on = [one for one in task.hops if one.parent == hop.number]
    parts += [_hop_lines(task, one, now, room - _DEEPER) for one in handed_on]
    lines = [" · ".join(told), *_branches(parts)]
    if hop.result:
        lines.append(f"= {_short(hop.result, room - 2)}")
    return lines


def _attempt_lines(attempt: Attempt, now: datetime, room: int) -> list[str]:
    told = [f"attempt {attempt.number}: {attempt.worker} {STATES[str(attempt.state)]}"]
    if attempt.started_at is not None:
        is_over = str(attempt.state) not in ("N", "R")
        end = attempt.at if is_over else now
        told.append(f"{_span(attempt.started_at, end)} from {render_instant(attempt.started_at)}")
    if attempt.retry:
        told.append(f"retry {attempt.retry}")
    if attempt.fallback_from:
        told.append(f"instead of {attempt.fallback_from}")
    lines = [" · ".join(told)]
    if attempt.progress:
        lines.append(_short(attempt.progress, room))
    if attempt.code or attempt.reason:
        lines.append(_short(f"{attempt.code} {attempt.reason}".strip(), room))
    if attempt.why:
        lines.append(_short(f"chosen: {_why(attempt)}", room))
    return lines


def _why(attempt: Attempt) -> str:
    """Return why a worker was chosen: what fits, how busy it is, who came after it."""
    found = attempt.why
    if "handedOnBy" in found:
        reason = f": {found['reason']}" if found.get("reason") else ""
        return f"handed on by {found['handedOnBy']}{reason}"
    weighed = [one for one in found.get("candidates", []) if isinstance(one, dict)]
    mine = next((one for one in weighed if one.get("id") == attempt.worker), None)
    if mine is None:
        return "named in the line"
    told = [f"score {mine['score']:g}"]
    for name, word in (("matched", "has"), ("missing", "lacks")):
        if mine.get(name):
            told.append(f"{word} {', '.join(map(str, mine[name]))}")
    told.append(f"load {mine['load']}%")
    others = [one for one in weighed if one is not mine]
    told += [f"{one['id']} {one['whyNot'] or 'came after it'}" for one in others[:3]]
    return "; ".join(told)


def context_page(exchange: Exchange, now: datetime) -> str:
    """Return a context: its tasks, its values, its last messages."""
    lines = [task_page(exchange, tuple(exchange.tasks.values()), now)]
    lines += [f"#CTX:{key} = {_short(value, 60)}" for key, value in exchange.values.items()]
    if exchange.posted:
        lines.append("")
    for posted in exchange.posted[-20:]:
        one = posted.message
        head = f"{render_instant(posted.at)} {one.id} {one.sender}>{one.receiver} {one.kind}"
        if one.code:
            head += f" {one.code}"
        head = plain_line(head)
        lines.append(f"{head} {_short(one.data, max(10, _WIDTH - len(head) - 1))}")
    return "\n".join(lines)
