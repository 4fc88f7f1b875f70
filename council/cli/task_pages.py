"""How tasks and contexts are shown to people.

Source: `cli.md` section 2, PR-309, PR-551, PR-561.
"""

from __future__ import annotations

from council.core.plain_text import plain_line, plain_text
from council.core.times import render_duration, render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from council.core.protocol.exchange import Attempt, Exchange, Hop, Question, Task
    from council.operations.protocol.tasks import Row

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
    word = STATES[str(task.state)]
    return f"{word} {task.code}".strip()


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
