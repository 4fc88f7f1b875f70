"""One run of an agent, whatever it is for: started, supervised, counted, its place passed on.

A run that no process waits for is supervised by a detached process that holds its
place: it runs the agent, has written down what came of it, frees the place and passes it
on. A run that a process waits for happens in the process that asked.

Source: C0-046, C0-076, XC-014, XC-017, `cli.md` section 5.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta

from council.core.agents import Agent
from council.core.errors import TRANSIENT, CouncilError
from council.core.events import parse_traceparent
from council.core.reasons import NO_REASON, Reason
from council.core.record import Record
from council.core.times import render_instant
from council.core.trust import CLAIM, run_claim
from council.drivers.runs import AT_ONCE_S, PASSING, Answer, EndAsked, Run, Turn, failed
from council.drivers.waking import run_driver
from council.operations.detach import detach, write_down_failure
from council.operations.heartbeat.beat import beat_in_turn
from council.operations.heartbeat.gate import charge, digest_of, note_failure, note_success
from council.operations.place import Place
from council.store.agent_folders import make_run_state
from council.store.files import explaining, is_shared, make_folder, opened, replace
from council.store.keys import run_key
from council.store.slots import Slot, Slots, begin_mark, end_mark

_LONGEST_OUTAGE_S, _TRY_AGAIN_S = 24 * 60 * 60.0, 5.0
_LONGEST_WAIT_FOR_RETRY_S = 60.0


class Launch(Turn):
    """A run that was claimed and has a place.

    `owner` is the id of what it is for, a conversation, a channel, a context or
    a trace, and `name` what people call that. `timeout` is None for the agent's own.
    Reports of tool calls are asked for where `max_tool_calls` bounds them. `mark` is the file
    that names its supervisor, for a run that may be ended by request; "" for any other.
    `is_wanted` is asked once the mark is there: false if it was given up before.
    """

    agent: Agent
    owner: str
    timeout: timedelta | None = None
    reports: bool = False
    mark: str = ""
    is_wanted: Callable[[], bool] = lambda: True
    slot: Slot


class Settled(Record):
    """What was written down of a run: why it failed, no reason if it did not, and what follows.

    `again` if the agent is tried again for the same turn. `retry_s` are the seconds after
    which to scan again, 0 for not at all.
    """

    failure: Reason = NO_REASON
    again: bool = False
    retry_s: float = 0.0


def take_place(place: Place, slots: Slots, agent: str, task: str, lender: str = "") -> Slot | None:
    """Take a place for a run, and its lease where other machines could run the agent, too.

    Args:
        place: The workspace.
        slots: The places of this machine.
        agent: The agent.
        task: The task of the run.
        lender: The agent whose run lends its place, "" for none.

    Returns:
        The place, None where there is none or another machine runs the agent.

    Raises:
        UnreachableError: The engine is not reached.
    """
    slot = slots.take(agent, lender)
    if slot is None or place.engine is None:
        return slot
    from council.operations.engine.leases import Lease

    lease, is_leased = Lease(place.engine, agent, task, slot.descriptors[0]), False
    try:
        is_leased = lease.take()
    finally:
        if not is_leased:
            slot.release()
    return slot.copy(lease=lease) if is_leased else None


def launch(place: Place, wanted: Launch, settle: Callable[[Answer], Settled]) -> bool:
    """Start a claimed run in a process of its own; the place goes over to it.

    Args:
        place: The workspace.
        wanted: The run.
        settle: Writes down what came back; called once, in that process. When the place is
            free again, that process does a heartbeat, which passes it on.

    Returns:
        False when it could not be started: a failed attempt, settled with its reason.
    """

    def not_started(error: OSError) -> None:
        if wanted.slot.lease is not None:
            wanted.slot.lease.end()
        settle(failed(Reason.of("no-process", text=error.strerror or str(error))))

    def not_started_later(error: OSError) -> None:
        not_started(error)
        beat_in_turn(place)

    try:
        detach(
            lambda: _supervise(place, wanted, settle),
            log_file=place.paths.failure_log,
            keep=wanted.slot.descriptors,
            otherwise=not_started_later,
        )
        return True
    except OSError as error:  # the system has no room for another process
        not_started(error)
    return False


def run_here(place: Place, wanted: Launch) -> Answer:
    """Run the agent in this process and wait for the end; the caller frees the place."""
    answer = _run_leased(place, wanted)
    _charge(place, wanted, answer)
    own = place.settings.timeout_of(wanted.agent.settings)
    limited = answer.timed_out and wanted.timeout is not None and wanted.timeout < own
    # A limit of the caller's says nothing about the agent that was called (OP-005).
    counts = not (limited or answer.too_many_tool_calls)
    settled = Settled(failure=NO_REASON if answer.ok else answer.reason)
    _count(place, wanted, answer, settled, counts)
    return answer


def _supervise(place: Place, wanted: Launch, settle: Callable[[Answer], Settled]) -> None:
    """Run the agent, write down what came of it, and pass the place on."""
    settled, give_back = Settled(), wanted.slot.release
    try:
        with _ending_by_signal() as ending:
            answer = _run_marked(place, wanted)
            ending.at_once = False  # what came back is written down first
            # Its supervisor may be held up, and have a copy of the place to this moment.
            give_back = wanted.slot.free
            lease = wanted.slot.lease  # no other run is to begin before the answer stands
            place.renew()
            _charge(place, wanted, answer)  # before the answer stands and lets others begin
            with lease.kept(ends_run=False) if lease is not None else nullcontext():
                settled = _settled(place, settle, answer, ending)
        _count(place, wanted, answer, settled, not settled.again)
    except SystemExit:
        if _nobody_is_left():
            give_back = wanted.slot.free
        raise
    finally:
        give_back()
        beat_in_turn(place)
    if settled.retry_s > 0 and place.fixed_now is None:
        pause_s = min(settled.retry_s, _LONGEST_WAIT_FOR_RETRY_S)

        def try_again() -> None:
            time.sleep(pause_s)
            beat_in_turn(place)

        detach(try_again, log_file=place.paths.failure_log)


def _settled(
    place: Place, settle: Callable[[Answer], Settled], answer: Answer, ending: _Ending
) -> Settled:
    """Write down what came of a run; while a lock or the engine is not to be had, try again."""
    until = time.monotonic() + _LONGEST_OUTAGE_S
    while True:
        try:
            if place.engine is not None:
                from council.operations.engine.outgoing import send

                send(place)  # what the run said by a command came first
            return settle(answer)
        except TRANSIENT:
            if ending.is_asked or time.monotonic() > until:
                raise
        time.sleep(_TRY_AGAIN_S)


def _nobody_is_left() -> bool:
    """Return true if all children of this process are gone: the program, and who keeps it."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _run_marked(place: Place, wanted: Launch) -> Answer:
    """Run the agent, and mark meanwhile which process is to be asked to end the run.

    Raises:
        EndAsked: The run was ended, or was given up before it began; nothing is settled.
    """
    if not wanted.mark:
        return _run_leased(place, wanted)
    mark = begin_mark(wanted.mark, wanted.owner, wanted.task)
    try:
        # Whoever gives a run up says so first and looks for the mark then.
        if not wanted.is_wanted():
            raise EndAsked
        return _run_leased(place, wanted)
    finally:
        end_mark(mark)


class _Ending:
    """Whether this process was asked to end; while `at_once`, that ends the run under way."""

    def __init__(self) -> None:
        self.is_asked = False
        self.at_once = True

    def __call__(self, *_: object) -> None:
        import signal

        self.is_asked = True
        if self.at_once:
            # Asked twice, it still ends all that the agent has started.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            raise EndAsked


@contextmanager
def _ending_by_signal() -> Iterator[_Ending]:
    """Let a signal to end this process end all that the agent has started, too."""
    import signal

    ending, before = _Ending(), signal.getsignal(signal.SIGTERM)
    if callable(before):  # a call that is asked to end says so itself
        yield ending
        return
    signal.signal(signal.SIGTERM, ending)
    try:
        yield ending
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_leased(place: Place, wanted: Launch) -> Answer:
    """Run the agent for as long as no other machine may run it."""
    if wanted.slot.lease is None:
        return _run_whatever_happens(place, wanted)
    with _ending_by_signal(), wanted.slot.lease.kept():
        return _run_whatever_happens(place, wanted)


def _charge(place: Place, wanted: Launch, answer: Answer) -> None:
    """Count what a run has used up."""
    if answer.tokens or answer.usd:
        charge(place, [wanted.owner], tokens=answer.tokens or 0, usd=answer.usd or 0.0)


def _count(place: Place, wanted: Launch, answer: Answer, settled: Settled, counts: bool) -> None:
    """Count how the agent fares; a failure if it `counts`."""
    around = parse_traceparent(wanted.traceparent)
    trace = around.trace if around else ""
    if settled.failure and counts:
        from council.operations.reporting.run_logs import reason_with_output

        why = reason_with_output(place, wanted.task, settled.failure)
        made_of = ""
        with suppress(CouncilError):
            made_of = digest_of(place, wanted.agent)
        agent, at_once = wanted.agent.id, answer.at_once
        note_failure(place, agent, why, wanted.owner, trace, at_once=at_once, made_of=made_of)
    elif not settled.failure:
        note_success(place, wanted.agent.id, wanted.owner, trace)


def _run_whatever_happens(place: Place, wanted: Launch) -> Answer:
    began = time.monotonic()
    try:
        answer = _run(place, wanted)
        is_soon = time.monotonic() - began < AT_ONCE_S
        return answer.copy(at_once=not answer.ok and is_soon and answer.reason.code not in PASSING)
    except Exception as error:  # a fault of ours is a failed attempt, not a lease to wait for
        write_down_failure(place.paths.failure_log)
        return failed(Reason.of("broke", text=f"{type(error).__name__}: {error}"))


def _run(place: Place, wanted: Launch) -> Answer:
    agent = wanted.agent
    prompt_file = place.paths.run_file(wanted.task, "prompt.md")
    cwd = os.path.join(place.root, wanted.cwd) if wanted.cwd else place.root
    environ = dict(place.environ)
    if place.fixed_now is not None:
        environ["COUNCIL_NOW"] = render_instant(place.fixed_now)
    claimed = {**environ, "COUNCIL_AGENT": agent.id}
    claimed.update(COUNCIL_TASK_ID=wanted.task, COUNCIL_CWD=cwd)
    try:
        claim = run_claim(run_key(place.paths), claimed)
        make_folder(place.paths.runs, mode=0o700)
        # What runs no program leaves nothing behind.
        state = "" if agent.driver == "scripted" else make_run_state(place.paths, agent.id)
        replace(prompt_file, wanted.prompt.encode("utf-8"), mode=0o600)
        if is_shared(place.paths.runs):
            log = place.paths.run_file(wanted.task, "log")
            with explaining("write", log):  # drivers know of no groups
                os.close(opened(log, os.O_WRONLY, 0o600))
    except CouncilError as error:
        return failed(Reason.of("not-ready", text=error.message))
    reports = wanted.max_tool_calls is not None or wanted.reports
    given = {name: getattr(wanted, name) for name in Turn._fields}
    given.update(cwd=cwd, variables={"COUNCIL_AGENT_DIR": state, CLAIM: claim, **wanted.variables})
    run = Run(
        agent=agent.id,
        conversation=wanted.owner,
        prompt_file=prompt_file,
        root=place.root,
        workspace=agent.workspace,
        timeout=wanted.timeout or place.settings.timeout_of(agent.settings),
        max_text_bytes=place.settings.max_text_bytes,
        model=agent.model,
        report_file=place.paths.run_file(wanted.task, "report") if reports else "",
        log_file=place.paths.run_file(wanted.task, "log"),
        keep=wanted.slot.descriptors,
        **given,
    )
    return run_driver(agent.driver, run, agent.settings, environ)
