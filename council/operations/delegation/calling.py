"""Calling: one accepted call, from its wait for a place to the answer.

The agent runs in this process, which waits for it. A call made inside a run
needs no place of its own: the run that waits lends its place, and an agent
that over others waits for the caller is never waited for. Whatever ends this
process, the ledger and the events come to an end as well.

In what the called agent reads the request stands between marks that were drawn for
this text, so that it cannot pass for a word of ours; after it come the bounds and how
to answer.

Source: HR-013, P8-023 to P8-028, P8-041, P8-052, P8-055, P8-060, XC-012, XC-016, `trust.md`.
"""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from council.core.agents import Agent
from council.core.delegation import delegation as rules
from council.core.delegation.artifacts import Brief, ids_in
from council.core.delegation.delegation import Call, Chain, Refusal, Trace
from council.core.errors import CouncilError
from council.core.reasons import NO_ANSWER
from council.drivers.runs import Answer
from council.operations.conversations.prompts import plain_prompt
from council.operations.delegation import handing_over
from council.operations.delegation.chains import call_task, call_token, variables_of
from council.operations.delegation.expected_results import fitting, judged, mendable_fault
from council.operations.delegation.handing_over import Answered, Request, answered, reject
from council.operations.detach import wake_next
from council.operations.heartbeat.gate import charge
from council.operations.heartbeat.running import Launch, run_here, take_place
from council.operations.place import Place
from council.store import files
from council.store.delegation import artifacts, briefs
from council.store.delegation.line import Mark, begin_wait, stand_in_line
from council.store.delegation.traces import Note, edit_trace
from council.store.reason_words import reason_words
from council.store.slots import Slot, Slots

PHASE = "CALL"
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1


def carry_out(
    place: Place,
    chain: Chain,
    call: Call,
    note: Note,
    request: Request,
    *,
    lender: str = "",
    check: Callable[[Agent], Refusal | None],
) -> Answered:
    """Run the agent of an accepted call and write down what came of it.

    Args:
        place: The workspace.
        chain: Who calls.
        call: The call.
        note: Says that it is under way; it is ended.
        request: What was asked.
        lender: The agent whose run waits on this machine and lends its place, "" for none.
        check: Says what stands against running it now. It is asked before each start, with the
            agent as the settings have it then.

    Raises:
        CouncilError: The system refuses; the call has ended as lost.
    """
    try:
        with _ending_in_order():
            calling = _Calling(place, chain, call, note, request, lender, check)
            done = calling.in_its_place()
            handing_over.tell_other_machine(place, note.record, done)
    except BaseException:
        try:
            handing_over.finish(place, note.record)
        except CouncilError:
            note.let_go()  # the next process that reads it finishes it
        else:
            note.end()
        raise
    note.end()
    return done


class _ending_in_order:  # noqa: N801 - reads as a statement
    """Let a request to end interrupt the call instead of cutting it off.

    The run that calls is ended so when its time is up (SIGTERM), a person's command
    when its terminal is closed (SIGHUP). Whatever the called agent has started is then
    ended as well, and no other process has to write the end.
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


class _Calling:
    """One call under way."""

    def __init__(
        self,
        place: Place,
        chain: Chain,
        call: Call,
        note: Note,
        request: Request,
        lender: str,
        check: Callable[[Agent], Refusal | None],
    ) -> None:
        self._place = place
        self._check = check
        self._chain = chain
        self._agent = place.agent(call.target)
        self._call = call
        self._note = note
        self._request = request
        self._lender = lender
        self._slots = Slots(place.paths.places, place.settings.max_runs)

    def in_its_place(self) -> Answered:
        """Wait for a place, and run the agent in it."""
        call = self._call
        wait: Mark | None = None
        slot: Slot | None = None
        try:
            if refusal := self._refused():
                return self.withdraw(refusal)
            if self._chain.in_run:
                begun = begin_wait(self._slots.directory, call.caller, call.target)
                if isinstance(begun, list):
                    refusal = rules.refuse_cycle(begun)
                    assert refusal is not None
                    return self.withdraw(refusal)
                wait = begun
            if not self._place.has(call.target):
                return self._elsewhere()
            slot = self._wait_for_place()
            if slot is None:
                return self.withdraw(self._busy())
            if refusal := self._refused():
                return self.withdraw(refusal)
            return self._run(slot)
        finally:
            if slot is not None:
                slot.end()
            if wait is not None:
                wait.end()
            if slot is not None:
                _pass_on(self._place)

    def _elsewhere(self) -> Answered:
        """Have a machine run the agent on which it lives."""
        from council.operations.delegation.elsewhere import ask

        done = ask(self._place, self._chain, self._call, self._note, self._time_left())
        return self.withdraw(done) if isinstance(done, Refusal) else done

    def _refused(self) -> Refusal | None:
        """Return what stands against running the agent by the settings of now (FW-002)."""
        self._place.renew()
        self._slots.max_runs = self._place.settings.max_runs
        self._agent = self._place.agent(self._call.target)
        return self._check(self._agent)

    def _wait_for_place(self) -> Slot | None:
        """Wait until the agent can be run, at most as long as the run itself may take."""
        call, slots = self._call, self._slots
        lender = self._lender
        left = self._time_left()
        task = call_task(self._chain.trace, call.number, call.target)
        slot = take_place(self._place, slots, call.target, task, lender)
        if slot is not None:
            return slot
        since = int(self._place.now().timestamp())
        until = since + math.ceil(left.total_seconds())
        mark = stand_in_line(
            slots.directory, call.target, since=since, until=until, has_place=bool(lender)
        )
        try:
            ends_at = time.monotonic() + left.total_seconds()
            pause = _FIRST_PAUSE_S
            while True:
                self._place.renew()
                slots.max_runs = self._place.settings.max_runs
                slot = take_place(self._place, slots, call.target, task, lender)
                if slot is not None or time.monotonic() >= ends_at:
                    return slot
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
        finally:
            mark.end()
            if slot is None:
                _pass_on(self._place)  # what was left to this call

    def _time_left(self) -> timedelta:
        """Return how long the call may take: no longer than the call that it is made in."""
        limit = timedelta(milliseconds=self._call.limits[rules.TIMEOUT])
        if self._chain.ends_at is None:
            return limit
        return max(timedelta(0), min(limit, self._chain.ends_at - self._place.now()))

    def _busy(self) -> Refusal:
        call, slots = self._call, self._slots
        runs = call.target in slots.running_agents()
        why = f"{call.target} is at work" if runs else f"all {slots.max_runs} places are taken"
        waited = f"waited {call.limits[rules.TIMEOUT] / 1000:g} s in vain"
        return Refusal(guard=rules.BUSY, code="E31", message=f"{why}; {waited}")

    def withdraw(self, refusal: Refusal) -> Answered:
        """Take a call that found no place out of the ledger again: it does not count."""
        self._write(None)
        return self._reject(refusal)

    def _reject(self, refusal: Refusal) -> Answered:
        limits, task_hash = self._call.limits, self._call.task_hash
        return reject(
            self._place, self._chain, self._request, refusal, limits=limits, task_hash=task_hash
        )

    def _run(self, slot: Slot) -> Answered:
        place, call, agent, trace = self._place, self._call, self._agent, self._chain.trace
        counted_for, schema = self._chain.counted_for, self._request.schema
        call.brief = self._hand_over()
        prompt = self._prompt()
        charge(place, [counted_for])
        call.state, call.started_at = rules.RUNNING, place.now()
        if not self._write(call):
            return _given_up(call)
        handing_over.tell_of_start(place, trace, call)
        own = place.settings.timeout_of(agent.settings)
        wanted = Launch(
            agent=_printing(agent),
            owner=counted_for,
            name=trace,
            task=call_task(trace, call.number, call.target),
            phase=PHASE,
            tour=call.number,
            prompt=prompt,
            token=call_token(place, trace, call.number, call.target),
            timeout=min(own, max(self._time_left(), timedelta(milliseconds=1))),
            variables=variables_of(call, trace),
            max_tool_calls=call.limits[rules.TOOL_CALLS],
            slot=slot,
        )
        answer = _asked(place, wanted)
        wrong = mendable_fault(answer.text, schema) if answer.ok else ""
        ends_at = call.started_at + timedelta(milliseconds=call.limits[rules.TIMEOUT])
        left = min(self._time_left(), ends_at - place.now())
        if wrong and left > timedelta(0) and self._refused() is None:
            charge(place, [counted_for])
            wanted = wanted.copy(
                agent=_printing(self._agent),
                prompt=self._prompt(wrong),
                timeout=min(place.settings.timeout_of(self._agent.settings), left),
                max_tool_calls=max(0, call.limits[rules.TOOL_CALLS] - answer.tool_calls),
            )
            second = _asked(place, wanted)
            # The first answer counts where the second failed.
            counts = second if second.ok or second.too_many_tool_calls else answer
            answer = counts.copy(tool_calls=answer.tool_calls + second.tool_calls)
        result = self._result(answer)
        call.tool_calls, call.ended_at = answer.tool_calls, place.now()
        call.state, call.result = result["status"], result
        if not self._write(call):
            return _given_up(call)
        if answer.too_many_tool_calls:
            most = call.limits[rules.TOOL_CALLS]
            said = f"{call.target} was ended at tool call {call.tool_calls} of at most {most}"
            self._reject(Refusal(guard=rules.TOOL_CALLS, code="E17", message=said))
        handing_over.tell_of_end(place, trace, call)
        done = answered(result)
        done.trace = trace
        return done

    def _prompt(self, wrong: str = "") -> str:
        """Return what the called agent reads.

        `wrong` says how its first answer broke the schema, "" where it is the first.

        Raises:
            InvalidInputError: A template of the workspace is broken.
        """
        place, call, agent, schema = self._place, self._call, self._agent, self._request.schema

        def within(path: str) -> str:
            return os.path.relpath(path, place.root)

        shown = "" if schema is None else json.dumps(schema, ensure_ascii=False, indent=2)
        parts: dict[str, Any] = {
            "procedure": "delegation",
            "name": self._chain.trace,
            "agent": agent.id,
            "label": agent.label,
            "role": agent.role,
            "caller": call.caller,
            "message": call.message,
            "refs": [
                {"id": one, "path": within(artifacts.local_path(place.paths, one))}
                for one in call.refs
            ],
            "brief": within(f"{place.paths.briefs}/{call.brief}.json"),
            "path": [*call.path, call.target],
            "depth": call.depth,
            "max_depth": call.limits[rules.DEPTH],
            "max_calls": call.limits[rules.CALLS],
            "max_tools": call.limits[rules.TOOL_CALLS],
            "seconds": f"{call.limits[rules.TIMEOUT] / 1000:g}",
            "summary_chars": rules.SUMMARY_CHARS,
            "schema": shown,
            "wrong": wrong,
            "number": call.number,
        }
        return plain_prompt(place, "call", parts, agent.persona)

    def _hand_over(self) -> str:
        """Write the brief of the hand-off; return its name (P8-041)."""
        call, limits = self._call, self._call.limits
        path = rules.shown_path([*call.path, call.target])
        brief = Brief(
            trace=self._chain.trace,
            from_agent=call.caller,
            to_agent=call.target,
            goal=call.message,
            inputs=[f"who asked whom: {path}"[: rules.SUMMARY_CHARS]],
            constraints=[
                f"{rules.TIMEOUT} {limits[rules.TIMEOUT]}",
                f"{rules.TOOL_CALLS} {limits[rules.TOOL_CALLS]}",
                f"depth {call.depth} of {rules.DEPTH} {limits[rules.DEPTH]}",
            ],
            refs=list(call.refs),
            created_at=self._place.now(),
        )
        return briefs.write(self._place.paths, brief).name

    def _write(self, call: Call | None) -> bool:
        """Let the ledger say how it stands with the call, or hold it no more.

        It returns false where the call has ended, as its caller waits no more.
        """
        number = self._call.number

        def change(ledger: Trace) -> bool:
            here = ledger.call(number)
            if here is None or not here.is_under_way:
                return False
            standing = [one if one.number != number else call for one in ledger.calls]
            ledger.calls = [one.copy() for one in standing if one is not None]
            return True

        return edit_trace(self._place.paths, self._chain.trace, change)

    def _result(self, answer: Answer) -> dict[str, Any]:
        """Return what the caller learns of a run."""
        place, call, schema = self._place, self._call, self._request.schema
        said = fitting(answer.text, schema)[0] if answer.ok else ""
        if not said:
            return _failed(call, answer)
        summary, whole = artifacts.published_if_long(
            place.paths, said, publisher=call.target, trace=self._chain.trace, now=place.now()
        )
        named = [whole] if whole else []
        for one in ids_in(said):
            with suppress(CouncilError):
                artifacts.find(place.paths, one)
                named.append(one)
        result: dict[str, Any] = {
            "status": rules.OK,
            "summary": summary,
            "artifacts": list(dict.fromkeys(named)),
        }
        return judged(result, said, schema)


def _printing(agent: Agent) -> Agent:
    """Return an agent whose answer is what its program prints, whatever it does in a council."""
    return agent.copy(settings=agent.settings.copy(answer="stdout"))


def _asked(place: Place, wanted: Launch) -> Answer:
    try:
        return run_here(place, wanted)
    finally:
        for kind in ("prompt.md", "report"):
            files.remove(place.paths.run_file(wanted.task, kind))


def _given_up(call: Call) -> Answered:
    """Return the answer that no caller waits for any more; it stands nowhere."""
    error = {"code": "E99", "message": f"the call to {call.target} was given up"}
    return Answered(status=rules.ERROR, error=error)


def _failed(call: Call, answer: Answer) -> dict[str, Any]:
    reason = answer.reason or NO_ANSWER
    error: dict[str, Any] = {
        "code": "E99",
        "message": f"{call.target}: {reason_words(reason)}",
        "reason": reason.to_record(),
    }
    status = rules.ERROR
    if answer.too_many_tool_calls:
        error["code"], error["guard"] = "E17", rules.TOOL_CALLS
    elif answer.timed_out:
        status = rules.TIMED_OUT
        error["code"], error["guard"] = "E20", rules.TIMEOUT
    elif reason.code in ("no-program", "no-right", "no-command"):
        error["code"] = "E30"
    return {"status": status, "summary": "", "artifacts": [], "error": error}


def _pass_on(place: Place) -> None:
    """Let one that waits for the place that is free now be served at once."""
    kinds = (place.paths.channels, f"{place.paths.protocol}/contexts")
    if place.conversations.names() or any(os.path.lexists(one) for one in kinds):
        wake_next(place)
