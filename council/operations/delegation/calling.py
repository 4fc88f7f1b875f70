"""Calling: one accepted call, from its wait for a place to the answer.

The agent runs in this process, which waits for it. A call made inside a run
needs no place of its own: the run that waits lends its place, and an agent
that over others waits for the caller is never waited for. Whatever ends this
process, the ledger and the events come to an end as well.

Source: HR-013, P8-023 to P8-028, P8-052, P8-055, P8-060, XC-016.
"""

from __future__ import annotations

import math
import os
import signal
import time
from datetime import timedelta

from council.core.delegation import delegation as rules
from council.core.delegation.artifacts import ids_in
from council.core.delegation.briefs import Brief
from council.core.delegation.delegation import Call, Chain, Refusal, Trace
from council.core.errors import CouncilError
from council.drivers.runs import NO_ANSWER
from council.operations.delegation import unfinished
from council.operations.delegation.chains import call_task, call_token, variables_of
from council.operations.delegation.handing_over import Answered, Request, answered, reject
from council.operations.heartbeat.launching import Launch, run_here
from council.operations.place import Place
from council.store import files
from council.store.delegation import artifacts, briefs
from council.store.delegation.line import Mark, stand_in_line
from council.store.delegation.traces import edit_trace
from council.store.delegation.waits import begin_wait
from council.store.slots import Slot, Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.agents import Agent
    from council.drivers.runs import Answer
    from council.store.delegation.traces import Note

PHASE = "CALL"
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1


def carry_out(
    place: Place, chain: Chain, agent: Agent, call: Call, note: Note, request: Request
) -> Answered:
    """Run the agent of an accepted call and write down what came of it.

    Raises:
        CouncilError: The system refuses; the call has ended as lost.
    """
    try:
        with _ending_in_order():
            done = _in_its_place(place, chain, agent, call, request)
    except BaseException:
        try:
            unfinished.finish(place, note.record)
        except CouncilError:
            note.let_go()  # the next who looks finishes it
        else:
            note.end()
        raise
    note.end()
    return done


class _ending_in_order:  # noqa: N801 - reads as a statement
    """Let a request to end interrupt the call instead of cutting it off.

    The run that calls is ended so when its time is up (SIGTERM), a person's command
    when its terminal is closed (SIGHUP). Whatever the called agent has started is then
    ended as well, and nobody else has to write the end.
    """

    def __enter__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        for number in (signal.SIGTERM, signal.SIGHUP):
            before = signal.getsignal(number)
            if number == signal.SIGHUP and before == signal.SIG_IGN:
                continue  # it was started to outlive its terminal
            try:
                signal.signal(number, signal.default_int_handler)
            except ValueError:  # only the main thread may say what a signal does
                return
            self._before[number] = before

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


def _in_its_place(
    place: Place, chain: Chain, agent: Agent, call: Call, request: Request
) -> Answered:
    wait: Mark | None = None
    slot: Slot | None = None
    try:
        if chain.in_run:
            begun = begin_wait(place.paths.places, call.caller, agent.id)
            if isinstance(begun, list):
                refusal = rules.refuse_cycle(begun)
                assert refusal is not None
                return _withdraw(place, chain, call, request, refusal)
            wait = begun
        slot = _wait_for_place(place, chain, call)
        if slot is None:
            return _withdraw(place, chain, call, request, _busy(place, call))
        return _run(place, chain, agent, call, request, slot)
    finally:
        if slot is not None:
            slot.release()
        if wait is not None:
            wait.end()
        if slot is not None:
            _pass_on(place)


def _wait_for_place(place: Place, chain: Chain, call: Call) -> Slot | None:
    """Wait until the agent can be run, at most as long as the run itself may take."""
    slots = Slots(place.paths.places, place.settings.max_runs)
    lender = call.caller if chain.in_run else ""
    left = _time_left(place, chain, call)
    slot = slots.take(call.target, lender)
    if slot is not None:
        return slot
    since = int(place.now().timestamp())
    until = since + math.ceil(left.total_seconds())
    mark = stand_in_line(
        slots.directory, call.target, since=since, until=until, has_place=bool(lender)
    )
    try:
        slot = _taken_in_time(slots, call.target, lender, left)
    finally:
        mark.end()
        if slot is None:
            _pass_on(place)  # what was left to this call
    return slot


def _taken_in_time(slots: Slots, agent: str, lender: str, left: timedelta) -> Slot | None:
    """Try again and again to take a place, until there is no time left."""
    ends_at = time.monotonic() + left.total_seconds()
    pause = _FIRST_PAUSE_S
    while True:
        slot = slots.take(agent, lender)
        if slot is not None or time.monotonic() >= ends_at:
            return slot
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)


def _time_left(place: Place, chain: Chain, call: Call) -> timedelta:
    """Return how long the call may take: no longer than the call that it is made in."""
    limit = timedelta(milliseconds=call.limits[rules.TIMEOUT])
    if chain.ends_at is None:
        return limit
    return max(timedelta(0), min(limit, chain.ends_at - place.now()))


def _busy(place: Place, call: Call) -> Refusal:
    slots = Slots(place.paths.places, place.settings.max_runs)
    runs = call.target in slots.running_agents()
    why = f"{call.target} is at work" if runs else f"all {slots.max_runs} places are taken"
    return Refusal(
        guard=rules.BUSY,
        code="E31",
        message=f"{why}; waited {call.limits[rules.TIMEOUT] / 1000:g} s in vain",
    )


def _withdraw(
    place: Place, chain: Chain, call: Call, request: Request, refusal: Refusal
) -> Answered:
    """Take a call that found no place out of the ledger again: it does not count."""

    def change(ledger: Trace) -> None:
        ledger.calls = [one for one in ledger.calls if one.number != call.number]

    edit_trace(place.paths, chain.trace, change)
    return reject(place, chain, request, refusal, limits=call.limits, task_hash=call.task_hash)


def _run(
    place: Place, chain: Chain, agent: Agent, call: Call, request: Request, slot: Slot
) -> Answered:
    from council.operations.delegation.call_prompts import call_prompt
    from council.operations.heartbeat.gate import charge

    task = call_task(chain.trace, call.number, call.target)
    call.brief = _hand_over(place, chain.trace, call)
    prompt = call_prompt(place, agent, call, request.schema, chain.trace)
    charge(place, [chain.counted_for])
    call.state, call.started_at = rules.RUNNING, place.now()
    _write(place, chain.trace, call)
    unfinished.tell_of_start(place, chain.trace, call)
    own = place.settings.timeout_of(agent.settings)
    wanted = Launch(
        # What the program prints is the answer, whatever it does in a conversation.
        agent=agent.copy(settings=agent.settings.copy(answer="stdout")),
        owner=chain.counted_for,
        name=chain.trace,
        task=task,
        phase=PHASE,
        tour=call.number,
        prompt=prompt,
        token=call_token(place, chain.trace, call.number, call.target),
        timeout=min(own, max(_time_left(place, chain, call), timedelta(milliseconds=1))),
        variables=variables_of(call, chain.trace),
        max_tool_calls=call.limits[rules.TOOL_CALLS],
        slot=slot,
    )
    answer = _asked(place, wanted)
    wrong = _wrong_form(answer, request.schema)
    ends_at = call.started_at + timedelta(milliseconds=call.limits[rules.TIMEOUT])
    left = min(_time_left(place, chain, call), ends_at - place.now())
    if wrong and left > timedelta(0):
        charge(place, [chain.counted_for])
        wanted = wanted.copy(
            prompt=call_prompt(place, agent, call, request.schema, chain.trace, wrong=wrong),
            timeout=min(own, left),
            max_tool_calls=max(0, call.limits[rules.TOOL_CALLS] - answer.tool_calls),
        )
        answer = _mended(answer, _asked(place, wanted))
    result = _result(place, chain.trace, call, answer, request.schema)
    call.tool_calls, call.ended_at = answer.tool_calls, place.now()
    call.state, call.result = result["status"], result
    _write(place, chain.trace, call)
    if answer.too_many_tool_calls:
        _tell_of_tool_calls(place, chain, call, request)
    unfinished.tell_of_end(place, chain.trace, call)
    done = answered(result)
    done.trace = chain.trace
    return done


def _asked(place: Place, wanted: Launch) -> Answer:
    try:
        return run_here(place, wanted)
    finally:
        for kind in ("prompt.md", "report"):
            files.remove(place.paths.run_file(wanted.task, kind))


def _wrong_form(answer: Answer, schema: Any) -> str:
    """Return what is wrong with the form of an answer that its agent may mend, "" for nothing."""
    if not answer.ok or schema is None:
        return ""
    from council.operations.delegation.expected_results import fitting, may_be_mended

    wrong = fitting(answer.text, schema)[1]
    return wrong if may_be_mended(wrong) else ""


def _mended(first: Answer, second: Answer) -> Answer:
    """Return what counts after the repair question: the first answer where the second failed."""
    counts = second if second.ok or second.too_many_tool_calls else first
    return counts.copy(tool_calls=first.tool_calls + second.tool_calls)


def _hand_over(place: Place, trace: str, call: Call) -> str:
    """Write the brief of the hand-off; return its name (P8-041)."""
    limits = call.limits
    brief = Brief(
        trace=trace,
        from_agent=call.caller,
        to_agent=call.target,
        goal=call.message,
        inputs=[
            f"who asked whom: {rules.shown_path([*call.path, call.target])}"[: rules.SUMMARY_CHARS]
        ],
        constraints=[
            f"{rules.TIMEOUT} {limits[rules.TIMEOUT]}",
            f"{rules.TOOL_CALLS} {limits[rules.TOOL_CALLS]}",
            f"depth {call.depth} of {rules.DEPTH} {limits[rules.DEPTH]}",
        ],
        refs=list(call.refs),
        created_at=place.now(),
    )
    return briefs.write(place.paths, brief).name


def _write(place: Place, trace: str, call: Call) -> None:
    """Let the ledger say how it stands with a call."""

    def change(ledger: Trace) -> None:
        ledger.calls = [call.copy() if one.number == call.number else one for one in ledger.calls]

    edit_trace(place.paths, trace, change)


def _result(place: Place, trace: str, call: Call, answer: Answer, schema: Any) -> dict[str, Any]:
    """Return what the caller is told of a run."""
    from council.operations.delegation.expected_results import fitting, judged

    said = fitting(answer.text, schema)[0] if answer.ok else ""
    if not said:
        return _failed(call, answer)
    summary, whole = artifacts.published_if_long(
        place.paths, said, publisher=call.target, trace=trace, now=place.now()
    )
    named = [one for one in ids_in(said) if _is_there(place, one)]
    result: dict[str, Any] = {
        "status": rules.OK,
        "summary": summary,
        "artifacts": list(dict.fromkeys([*([whole] if whole else []), *named])),
    }
    return judged(result, said, schema)


def _is_there(place: Place, artifact: str) -> bool:
    try:
        artifacts.find(place.paths, artifact)
    except CouncilError:
        return False
    return True


def _failed(call: Call, answer: Answer) -> dict[str, Any]:
    error: dict[str, Any] = {
        "code": "E99",
        "message": f"{call.target}: {answer.reason or NO_ANSWER}",
    }
    status = rules.ERROR
    if answer.too_many_tool_calls:
        error["code"], error["guard"] = "E17", rules.TOOL_CALLS
    elif answer.timed_out:
        status = rules.TIMED_OUT
        error["code"], error["guard"] = "E20", rules.TIMEOUT
    elif answer.reason.startswith(("not found: ", "not executable: ", "no command: ")):
        error["code"] = "E30"
    return {"status": status, "summary": "", "artifacts": [], "error": error}


def _tell_of_tool_calls(place: Place, chain: Chain, call: Call, request: Request) -> None:
    most = call.limits[rules.TOOL_CALLS]
    refusal = Refusal(
        guard=rules.TOOL_CALLS,
        code="E17",
        message=f"{call.target} was ended at tool call {call.tool_calls} of at most {most}",
    )
    reject(place, chain, request, refusal, limits=call.limits, task_hash=call.task_hash)


def _pass_on(place: Place) -> None:
    """Let whoever waits for the place that is free now be served at once."""
    from council.operations.conversations.answer import wake_next

    kinds = (place.paths.channels, f"{place.paths.protocol}/contexts")
    if place.conversations.names() or any(os.path.lexists(one) for one in kinds):
        wake_next(place)
