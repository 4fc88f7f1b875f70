"""Who calls, and where in its trace that stands: from ledgers and tokens, not from words.

A run is known by its task id and the token that goes with it, which no one
can make without the key of the workspace. What that run was started for
stands on the disk: the call in the ledger of its trace, or the turn of a
conversation or room. So depth and path are no variables that an agent could
set, and a call of an agent that the ledger says is at work in the trace
continues its line even where the variables are missing.

Source: P8-001, P8-053, XC-015, XC-106, `trust.md`.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.delegation.delegation import (
    CHAIN,
    RUNNING,
    TIMEOUT,
    Call,
    Chain,
    Refusal,
    named_trace,
)
from council.core.errors import CouncilError, NotFoundError, RefusedError
from council.core.events import trace_around, trace_of
from council.core.ids import split_task_id, task_id
from council.core.trust import is_token, run_token
from council.operations.place import CALLS, Place, is_shown_run, speaker, token_fits
from council.store.delegation.traces import read_trace
from council.store.keys import run_key

TRACE_VARIABLE = "COUNCIL_TRACE"
DEPTH_VARIABLE = "COUNCIL_DEPTH"
PATH_VARIABLE = "COUNCIL_CALL_PATH"


def call_task(trace: str, number: int, agent: str) -> str:
    """Return the task id of the run that answers a call."""
    return task_id(CALLS + trace, number, agent, 1)


def call_token(place: Place, trace: str, number: int, agent: str) -> str:
    """Return the token of the run that answers a call."""
    return run_token(run_key(place.paths), CALLS + trace, number, agent, 1)


def variables_of(call: Call, trace: str) -> dict[str, str]:
    """Return what the run of a call learns of its place in the trace; it is not believed later."""
    return {
        TRACE_VARIABLE: trace,
        DEPTH_VARIABLE: str(call.depth),
        PATH_VARIABLE: ",".join([*call.path, call.target]),
    }


def chain_of(place: Place, sender: str, trace: str) -> Chain | Refusal:
    """Return the line that a call or a message of `sender` would continue.

    Args:
        place: The workspace, with the environment of the command.
        sender: Who it is said to come from, "" to find out.
        trace: The trace that was given, "" for that of the run.

    Returns:
        The chain, or why this caller is not believed.

    Raises:
        UsageError: Nothing says who calls, or in which trace.
        RefusedError: A run of one agent speaks as another.
    """
    agent = speaker(place, sender)
    if not place.is_in_run:
        named = named_trace(trace or trace_around(place.environ))
        return _at_work(place, agent, named) or Chain(trace=named, path=[agent])
    chain = _chain_of_run(place, agent)
    if isinstance(chain, Chain) and trace and named_trace(trace) != chain.trace:
        return _refused(
            "E13", f"this run belongs to the trace {chain.trace} and cannot act in {trace}"
        )
    return chain


def _chain_of_run(place: Place, agent: str) -> Chain | Refusal:
    task = place.environ.get("COUNCIL_TASK_ID", "")
    context = place.environ.get("COUNCIL_CONTEXT", "")
    if context:
        return _chain_of_task(place, agent, task, context)
    parts = split_task_id(task)
    if parts is None or not token_fits(place, agent):
        return _unknown_run(task)
    if not is_shown_run(place, agent):
        return _over(task)
    owner, number = parts[:2]
    if not owner.startswith(CALLS):
        return Chain(trace=_trace_of_turn(place, owner), owner=owner, path=[agent], in_run=True)
    trace = owner.removeprefix(CALLS)
    call = read_trace(place.paths, trace).call(number)
    return _over(task) if call is None else _continued(call, trace)


def _chain_of_task(place: Place, agent: str, task: str, context: str) -> Chain | Refusal:
    """Return the line of a run for a task of document 002, whose depth counts on (XC-106)."""
    from council.core.conversations.conversation import TaskState
    from council.store.protocol.contexts import Contexts

    try:
        exchange = Contexts(place.paths).read(context).exchange
    except (NotFoundError, RefusedError):
        return _unknown_run(task)
    run = exchange.runs.get(task)
    if run is None:
        return _unknown_run(task)
    expected = run_token(run_key(place.paths), context, 0, agent, run.number)
    if not is_token(place.environ.get("COUNCIL_TOKEN", ""), expected):
        return _unknown_run(task)
    if run.state is not TaskState.R:
        return _over(task)
    hops = exchange.tasks[run.task].hops if run.task in exchange.tasks else []
    depth = next((one.depth + 1 for one in hops if one.number == run.hop), 0)
    return Chain(trace=exchange.trace_id, owner=context, depth=depth, path=[agent], in_run=True)


def _refused(code: str, message: str) -> Refusal:
    return Refusal(guard=CHAIN, code=code, message=message)


def _over(task: str) -> Refusal:
    said = f"what this run was started for ({task[:80]}) is not under way any more"
    return _refused("E15", said)


def _unknown_run(task: str) -> Refusal:
    said = f"nothing shows that this is the run {task[:80]}: its token does not fit"
    return _refused("E90", said)


def _trace_of_turn(place: Place, owner: str) -> str:
    """Return the trace of a conversation or channel; one may have been convened in another's."""
    try:
        state = place.conversations.read(place.environ.get("COUNCIL_NAME", ""))
    except CouncilError:
        return trace_of(owner)
    return state.trace if state.conversation_id == owner else trace_of(owner)


def _at_work(place: Place, agent: str, trace: str) -> Chain | None:
    """Return the line of an agent that is at work in a trace, None when it is not."""
    calls = read_trace(place.paths, trace).calls
    running = [one for one in calls if one.state == RUNNING and one.target == agent]
    return _continued(max(running, key=lambda one: one.depth), trace) if running else None


def _continued(call: Call, trace: str) -> Chain:
    begun = call.started_at or call.at
    return Chain(
        trace=trace,
        owner=call.owner,
        depth=call.depth + 1,
        path=[*call.path, call.target],
        limits=dict(call.limits),
        in_run=True,
        ends_at=begun + timedelta(milliseconds=call.limits.get(TIMEOUT, 0)),
    )
