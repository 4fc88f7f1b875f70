"""How tasks and contexts are shown to people.

Source: `cli.md` section 2, PR-309, PR-551, PR-561.
"""

from __future__ import annotations

from council.core.times import render_duration, render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from council.core.protocol.exchange import Attempt, Exchange, Hop, Question, Task
    from council.operations.protocol.tasks import Row

STATES = {"N": "new", "R": "running", "D": "done", "F": "failed", "X": "cancelled"}
_WIDTH = 78


def list_page(rows: Sequence[Row], now: datetime) -> str:
    """Return one line for each task, in columns."""
    if not rows:
        return "no task is open"
    cells = [("", "task", "state", "since", "with", "what")]
    for row in rows:
        one = row.task
        waits = "User (asked)" if row.waits_for_user else row.worker or "-"
        what = one.text or (one.hops[0].data if one.hops else "")
        cells.append(
            (one.priority, f"{row.context}/{one.id}", _state(one), _ago(one.at, now), waits, what)
        )
    widths = [max(len(line[at]) for line in cells) for at in range(5)]
    lines = []
    for line in cells:
        start = "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=False))
        lines.append(f"{start}  {_short(line[5], _WIDTH - len(start) - 2)}".rstrip())
    return "\n".join(lines)


def _state(task: Task) -> str:
    word = STATES[str(task.state)]
    return f"{word} {task.code}".strip()


def _ago(at: datetime, now: datetime) -> str:
    return render_duration(now - at) if now > at else "0s"


def _short(text: str, room: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= room else line[: max(1, room - 1)].rstrip() + "…"


def task_page(exchange: Exchange, tasks: Sequence[Task], now: datetime, answer: str = "") -> str:
    """Return tasks as trees: hops below their tasks, attempts below their hops."""
    lines = [_context_line(exchange)]
    if exchange.request and [one.text for one in tasks] != [exchange.request]:
        lines.append(f"  {_short(exchange.request, _WIDTH - 2)}")
    for task in tasks:
        lines += _task_lines(task, now)
    if answer:
        lines += ["", answer]
    return "\n".join(lines)


def _context_line(exchange: Exchange) -> str:
    since = f"open since {render_instant(exchange.opened_at)}"
    if exchange.closed_at is not None:
        reason = f" ({exchange.closed_reason})" if exchange.closed_reason else ""
        since = f"closed at {render_instant(exchange.closed_at)}{reason}"
    goes_on = f" · goes on in {exchange.successor}" if exchange.successor else ""
    return f"{exchange.context} · {since}{goes_on}"


def _task_lines(task: Task, now: datetime) -> list[str]:
    told = [f"{task.id} {STATES[str(task.state)]}", task.priority]
    if task.caps:
        told.append(f"needs {', '.join(task.caps)}")
    if task.budget is not None:
        told.append(f"budget {task.budget}")
    end = task.ended_at or now
    told.append(f"{_span(task.created_at, end)} since {render_instant(task.created_at)}")
    lines = [f"└─ {' · '.join(told)}"]
    if task.text:
        lines.append(f"   {_short(task.text, _WIDTH - 3)}")
    if task.code or task.reason:
        lines.append(f"   {_short(f'{task.code} {task.reason}'.strip(), _WIDTH - 3)}")
    for question in task.questions:
        lines += _question_lines(question)
    for hop in task.hops:
        lines += _hop_lines(hop, now)
    return lines


def _span(start: datetime, end: datetime) -> str:
    return render_duration(end - start) if end > start else "0s"


def _question_lines(question: Question) -> list[str]:
    words = "".join(f" · {at} {word}" for at, word in enumerate(question.options, start=1))
    said = f"answered: {question.answer}" if question.answer else "waits for you"
    if question.ends_at is not None and not question.answer:
        said += f" until {render_instant(question.ends_at)}"
    return [f"   ? {_short(question.text, 60)}{words}", f"     {said}"]


def _hop_lines(hop: Hop, now: datetime) -> list[str]:
    indent = "   " * (1 + hop.depth)
    told = [f"hop {hop.number} of {hop.source}", f"depth {hop.depth}"]
    if hop.call:
        told.append(f"call {hop.call}")
    if hop.budget is not None:
        left = hop.budget if hop.left is None else hop.left
        told.append(f"{left} of {hop.budget} tokens left")
    lines = [f"{indent}└─ {' · '.join(told)}"]
    for attempt in hop.attempts:
        lines += _attempt_lines(attempt, indent + "   ", now)
    if hop.again is not None:
        who = hop.again.worker or "another worker"
        lines.append(f"{indent}   └─ next: {who} at {render_instant(hop.again.due_at)}")
    if hop.result:
        lines.append(f"{indent}   = {_short(hop.result, _WIDTH - len(indent) - 5)}")
    return lines


def _attempt_lines(attempt: Attempt, indent: str, now: datetime) -> list[str]:
    told = [f"attempt {attempt.number}: {attempt.worker} {STATES[str(attempt.state)]}"]
    if attempt.started_at is not None:
        is_over = str(attempt.state) not in ("N", "R")
        end = attempt.at if is_over else now
        told.append(f"{_span(attempt.started_at, end)} from {render_instant(attempt.started_at)}")
    if attempt.retry:
        told.append(f"retry {attempt.retry}")
    if attempt.fallback_from:
        told.append(f"instead of {attempt.fallback_from}")
    lines = [f"{indent}└─ {' · '.join(told)}"]
    if attempt.progress:
        lines.append(f"{indent}   {_short(attempt.progress, _WIDTH - len(indent) - 3)}")
    if attempt.code or attempt.reason:
        why = f"{attempt.code} {attempt.reason}".strip()
        lines.append(f"{indent}   {_short(why, _WIDTH - len(indent) - 3)}")
    if attempt.why:
        chosen = f"chosen: {_why(attempt)}"
        lines.append(f"{indent}   {_short(chosen, _WIDTH - len(indent) - 3)}")
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
        lines.append(f"{head} {_short(one.data, max(10, _WIDTH - len(head) - 1))}")
    return "\n".join(lines)
