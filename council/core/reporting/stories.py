"""Which events belong to the story of something.

A subject is a conversation, channel or context, one task or turn in it, an
agent, a trace or an artifact. To what has an id of its own belongs also what
it has caused: everything of its trace.

Source: P8-082 to P8-086, `cli.md` section 2 (`events story`).
"""

from __future__ import annotations

from council.core.ids import split_task_id
from council.core.record import Record
from council.core.reporting.trace_context import w3c_trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OWNERS = ("conversation", "channel", "context")


class Subject(Record):
    """What a story is about.

    `id` names it, `also` what else it is called. `owner` is the conversation,
    channel or context of a task or turn, `agent` and `tour` whose and in which
    round or cycle, `trace` the trace of an owner.
    """

    kind: str
    id: str
    name: str = ""
    also: str = ""
    owner: str = ""
    agent: str = ""
    tour: int = 0
    trace: str = ""


def turn_of(text: str) -> Subject | None:
    """Read the id of a task, `OWNER.ROUND.AGENT.ATTEMPT`, or of a turn, which has no attempt."""
    task = split_task_id(text)
    if task is not None:
        return Subject(kind="task", id=text, owner=task[0], tour=task[1], agent=task[2])
    turn = split_task_id(f"{text}.1")
    if turn is not None:
        return Subject(kind="turn", id=text, owner=turn[0], tour=turn[1], agent=turn[2])
    return None


def task_of_context(text: str) -> Subject | None:
    """Read a task of a context, `S1/T1` or `S1.T1`."""
    context, _, task = text.replace("/", ".").partition(".")
    if context[:1] == "S" and task[:1] == "T" and task[1:].isdigit():
        return Subject(kind="task", id=task, owner=context)
    return None


def belongs(event: dict[str, Any], subject: Subject) -> bool:
    """Tell whether an event belongs to the story of `subject`."""
    kind = subject.kind
    if kind in _OWNERS:
        mine = event.get("conversationId") == subject.id
        return mine or bool(subject.trace and event.get("traceId") == subject.trace)
    if kind == "agent":
        named = {event.get(key) for key in ("agentId", "fromAgentId", "toAgentId")}
        return subject.id in named or bool(subject.also and subject.also in named)
    if kind == "trace":
        trace = str(event.get("traceId"))
        names = (trace, w3c_trace(trace))
        return subject.id in names or bool(subject.also and subject.also in names)
    if kind == "artifact":
        return subject.id in (event.get("artifactIds") or ())
    return _of_turn(event, subject)


def _of_turn(event: dict[str, Any], subject: Subject) -> bool:
    """Tell whether an event is of one turn of one agent, or of the attempt that is meant.

    What the agent did in that round without naming a task belongs to all its attempts.
    """
    data = event.get("data") or {}
    task = str(data.get("task") or data.get("runId") or "")
    if not subject.agent:
        return bool(event.get("conversationId") == subject.owner and data.get("tid") == subject.id)
    if task == subject.id:
        return True
    if event.get("conversationId") != subject.owner:
        return False
    if task:
        return subject.kind == "turn" and task.startswith(f"{subject.id}.")
    if event.get("agentId") != subject.agent:
        return False
    return bool(data.get("tour", data.get("cycle", subject.tour)) == subject.tour)
