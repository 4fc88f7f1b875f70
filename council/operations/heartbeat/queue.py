"""The queue: what is due anywhere is advanced, and runs are claimed, oldest first over all.

This is the part of a heartbeat that writes. It is called under the
heartbeat's own lock, and only when there is something to do: an idle
heartbeat does not even load it. Conversations, rooms and contexts of tasks
share the halt, the caps, the rests, the places, one queue, and how a claimed
run is started (`Served`).

A run that no process waits for is supervised by a detached process that holds its
place: it runs the agent, has written down what came of it, frees the place and passes it
on. A run that a process waits for happens in the process that asked.

Source: C0-026 to C0-037, C0-046, C0-076, PR-309, PR-410, XC-014, XC-016, XC-017, XC-109,
`architecture.md` section 3, `cli.md` section 5.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from council.core.agents import Agent
from council.core.bounds import RESTS
from council.core.conversations.conversation import Task
from council.core.conversations.due import Wake, pause
from council.core.errors import CouncilError, NotFoundError
from council.core.events import parse_traceparent
from council.core.record import Any, Record
from council.core.times import render_instant
from council.core.trust import CLAIM, run_claim, run_token
from council.drivers.runs import Answer, Run, Turn, failed
from council.drivers.waking import run_driver
from council.operations.detach import detach, write_down_failure
from council.operations.heartbeat.beat import beat_in_turn
from council.operations.heartbeat.gate import Gate, charge, note_failure, note_success
from council.operations.place import Place
from council.operations.report import Report
from council.store.agent_folders import make_run_state
from council.store.delegation.line import Standing, in_line
from council.store.files import explaining, is_shared, make_folder, opened, replace
from council.store.keys import run_key
from council.store.slots import Slot, Slots, begin_mark, end_mark

_URGENT, _USUAL = "P0", "P1"
LEASE_MARGIN = timedelta(seconds=30)
_LONGEST_WAIT_FOR_RETRY_S = 60.0


class Launch(Turn):
    """A run that was claimed and has a place.

    `owner` is the id of what it is for, a conversation, a channel, a context or
    a trace, and `name` what people call that. `timeout` is None for the agent's own.
    Reports of tool calls are asked for where `max_tool_calls` bounds them. `mark` is the file
    that names its supervisor, for a run that a more urgent one may end; "" for any other.
    """

    agent: Agent
    owner: str
    timeout: timedelta | None = None
    reports: bool = False
    mark: str = ""
    slot: Slot


class Settled(Record):
    """What was written down of a run: why it failed, "" if it did not, and what follows.

    `again` if the agent is tried again for the same turn. `retry_s` are the seconds after
    which to scan again, 0 for not at all.
    """

    failure: str = ""
    again: bool = False
    retry_s: float = 0.0


class DueRun(Record):
    """A wake that is due in something served.

    `priority` is that of a task, "" of anything else. `halted` lets it wait, `refusal` is why
    no run may be started for it; `final` if nothing waits for it then.
    """

    of: Served
    wake: Wake
    agent: Agent
    priority: str = ""
    halted: bool = False
    refusal: str = ""
    final: bool = False

    @property
    def by_hand(self) -> bool:
        """Whether nothing is run: the prompt is handed over."""
        return self.agent.driver == "manual"

    def waits_on(self, tasks: Mapping[str, object], places: Mapping[str, Slot]) -> bool:
        """Return true if it waits for a place as before: nothing is to be written down."""
        waits = self.wake.task in tasks and self.wake.task not in places
        return waits and not (self.by_hand or self.refusal)


class Served:
    """What a heartbeat found something to do in: a conversation, a room, a context.

    Args:
        place: The workspace.
        name: Its name, or the id of a channel or context.
        now: The time of the heartbeat.

    Attributes:
        owner: The id under which its runs are counted.
        tour: The round, or the cycle, of which a run proves that it belongs to it.
    """

    def __init__(self, place: Place, name: str, now: datetime) -> None:
        self.name = self.owner = name
        self.place = place
        self.now = now
        self.tour = 0

    # Whether an agent may hand in by `council mcp` what it says; elsewhere it prints that.
    by_mcp = False

    # What each of them says for itself.

    def advance(self, report: Report) -> None:
        """Take the steps that are due; what is done is written down in the report.

        Raises:
            CouncilError: It cannot be read or written.
        """
        raise NotImplementedError

    def withdraw(self, report: Report) -> None:
        """Take it out of the report: it could not be served."""
        raise NotImplementedError

    def due_runs(self) -> list[DueRun]:
        """Return the runs that are due now.

        Raises:
            CouncilError: An agent's file cannot be read.
        """
        raise NotImplementedError

    def heard_at(self, agent: str) -> datetime | None:  # noqa: ARG002
        """Return when an agent was last heard there, None where no account is kept of that."""
        return None

    def goes_on_without_an_agent(self) -> bool:
        """Return true if nothing waits there for an agent that rests."""
        return False

    def hand_over(self, wake: Wake) -> None:
        """Put the prompt where an agent that answers by itself finds it.

        Raises:
            CouncilError: The prompt cannot be made or written.
        """

    def claim(self, mine: list[DueRun], places: Mapping[str, Slot]) -> list[DueRun]:
        """Write down which of its wakes are started, wait for a place or are refused.

        Returns:
            Those that were claimed and have a place.

        Raises:
            CouncilError: It cannot be written.
        """
        raise NotImplementedError

    def details(self, one: DueRun) -> dict[str, Any]:
        """Return the fields of a launch in which the kinds differ, the prompt among them.

        Raises:
            CouncilError: A template of the workspace is broken, or the system refuses.
        """
        raise NotImplementedError

    def settle(self, one: DueRun, prompt: str, answer: Answer) -> Settled:
        """Write down what came back of a run; called in the process that supervised it."""
        raise NotImplementedError

    # What they have in common.

    def due_for(self, wakes: list[Wake]) -> list[DueRun]:
        """Return wakes with what has to be known of their agents.

        Raises:
            CouncilError: An agent's file cannot be read.
        """
        return [DueRun(of=self, wake=one, agent=self.place.agent(one.agent)) for one in wakes]

    def taken(
        self, life: Any, state: Any, one: DueRun, places: Mapping[str, Slot], **more: Any
    ) -> Any:
        """Return the step that starts a wake, queues it or refuses it.

        Args:
            life: The module that knows the life of a task there.
            state: The conversation or the channel.
            one: The wake.
            places: The places that were taken, by task.
            more: What `task_started` is given besides.
        """
        now, said = self.place.now(), {"driver": one.agent.driver}
        if one.refusal and not one.halted:
            return life.task_refused(state, one.wake, one.refusal, now=now, final=one.final, **said)
        if one.halted or not (one.by_hand or one.wake.task in places):
            return life.task_queued(state, one.wake, now=now, **said)
        ends_at = None if one.by_hand else self.lease(one.agent)
        return life.task_started(state, one.wake, now=now, ends_at=ends_at, **said, **more)

    def lease(self, agent: Agent) -> datetime:
        """Return when the lease of a run that is started now ends."""
        return self.place.now() + self.place.settings.timeout_of(agent.settings) + LEASE_MARGIN

    def token(self, one: DueRun) -> str:
        """Return what proves that an answer comes from a run."""
        key = run_key(self.place.paths)
        return run_token(key, self.owner, self.tour, one.agent.id, one.wake.attempt)

    def start(self, one: DueRun, slot: Slot) -> bool:
        """Start a claimed run in a process of its own; the place goes over to it.

        Returns:
            False when it could not be started: a failed attempt with its reason.
        """
        details: dict[str, Any] = {"prompt": ""}

        def settle(answer: Answer) -> Settled:
            return self.settle(one, details["prompt"], answer)

        try:
            details = self.details(one)
        except CouncilError as error:  # a template of the workspace is broken
            slot.release()
            settle(failed(error.message))
            return False
        wanted = Launch(
            agent=one.agent if self.by_mcp else one.agent.printing,
            owner=self.owner,
            name=self.name,
            task=one.wake.task,
            token=self.token(one),
            slot=slot,
            **details,
        )
        return launch(self.place, wanted, settle)

    def again(self, failure: str, tasks: list[Task], *, is_due: bool) -> Settled:
        """Return why a run failed, and when the same turn is tried again if it `is_due`.

        `tasks` are the attempts of that turn.
        """
        failures = sum(one.is_failed_run for one in tasks)
        if not failures or not is_due:
            return Settled(failure=failure)
        pause_s = pause(failures, self.place.settings.retry_backoff).total_seconds()
        return Settled(failure=failure, again=True, retry_s=pause_s)


def serve(
    place: Place, served: list[Served], now: datetime, report: Report
) -> list[tuple[DueRun, Slot]]:
    """Advance what is served and claim the runs that are due, oldest first; each has its place."""
    due: list[DueRun] = []
    advanced: list[Served] = []
    for one in served:
        try:
            one.advance(report)
            due += one.due_runs()
            advanced.append(one)
        except CouncilError as error:
            one.withdraw(report)
            if not isinstance(error, NotFoundError):  # else another process has archived it
                report.errors.append((one.name, error))
    due = in_order(due)
    _pass_gate(place, due, now)
    slots = Slots(place.paths.places, place.settings.max_runs)
    places: dict[str, Slot] = {}
    claimed: list[DueRun] = []
    try:
        wanted = [one for one in due if not one.halted and not one.refusal]
        places = _take_places(wanted, slots, in_line(slots.directory, int(now.timestamp())))
        for thing in advanced:
            mine = [one for one in due if one.of is thing]
            claimed += _claim_reporting(thing, mine, places, report)
        charge(place, [one.of.owner for one in claimed])
    except CouncilError:
        claimed.clear()  # what cannot be counted is not started; its leases end
        raise
    finally:
        started = {one.wake.task for one in claimed}
        for task, slot in places.items():
            if task not in started:
                slot.release()
    return [(one, places[one.wake.task]) for one in claimed]


def in_order(due: list[DueRun]) -> list[DueRun]:
    """Return the runs that are due as they come: tasks of P0, then what has waited longest.

    A task of P2 lets those of P1 pass (PR-410), so it counts as waiting since the last of
    them; what is no task has no priority and passes for P1.
    """
    usual = [one.wake.due_at for one in due if one.priority == _USUAL]

    def place_in_line(one: DueRun) -> tuple[bool, datetime, bool, str]:
        deferred = one.priority > _USUAL
        since = max(one.wake.due_at, *usual) if deferred and usual else one.wake.due_at
        return one.priority != _URGENT, since, deferred, one.of.name

    return sorted(due, key=place_in_line)


def _pass_gate(place: Place, due: list[DueRun], now: datetime) -> None:
    """Say of each who is due whether a run may be started; the oldest use up what is left."""
    gate = Gate(place, now)
    for one in due:
        one.halted = gate.halted
        if not one.halted and not one.by_hand:
            agent = one.agent.id
            one.refusal = gate.admits(one.of.owner, agent, one.of.heard_at(agent))
            # The synthesis is handed on, a turn is skipped; another round waits for its deadline.
            one.final = one.refusal.startswith(RESTS) and one.of.goes_on_without_an_agent()


def _claim_reporting(
    thing: Served, mine: list[DueRun], places: dict[str, Slot], report: Report
) -> list[DueRun]:
    """Claim for one of those that are served; what goes wrong there stops no other one."""
    handed: list[DueRun] = []
    for one in mine:
        try:
            if one.by_hand and not one.halted:
                thing.hand_over(one.wake)
            handed.append(one)
        except CouncilError as error:  # a broken template, say: due until it is mended
            report.errors.append((thing.name, error))
    try:
        claimed = thing.claim(handed, places)
        report.passed_over = report.passed_over or any(one.final for one in handed)
        return claimed
    except NotFoundError:
        return []  # it was cancelled while we looked
    except CouncilError as error:
        report.errors.append((thing.name, error))
        return []


def _take_places(due: list[DueRun], slots: Slots, calls: list[Standing]) -> dict[str, Slot]:
    """Take places in the order given, by task; no one gets one that an older wake was refused.

    Nor one that an older call waits for, which takes it by itself. A place may
    become free while we go through the list: an agent that was refused one, or runs
    elsewhere, is served first by the next heartbeat.
    """
    places: dict[str, Slot] = {}
    refused: set[str] = set()
    kept = 0
    for one in due:
        while calls and one.priority != _URGENT and calls[0].since < one.wake.due_at.timestamp():
            call = calls.pop(0)
            refused.add(call.agent)
            kept += 0 if call.has_place or slots.is_running(call.agent) else 1
        if one.by_hand or one.agent.id in refused:
            continue
        if kept and slots.taken() + kept >= slots.max_runs:
            break
        slot = slots.take(one.agent.id)
        if slot is not None:
            places[one.wake.task] = slot
        elif slots.taken() >= slots.max_runs:
            break
        refused.add(one.agent.id)
    return places


# --- One run of an agent, whatever it is for


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
        settle(failed(f"cannot start a run: {error.strerror or error}"))

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
    answer = _run_whatever_happens(place, wanted)
    own = place.settings.timeout_of(wanted.agent.settings)
    limited = answer.timed_out and wanted.timeout is not None and wanted.timeout < own
    # A limit of the caller's says nothing about the agent that was called (OP-005).
    counts = not (limited or answer.too_many_tool_calls)
    _count(place, wanted, answer, Settled(failure="" if answer.ok else answer.reason), counts)
    return answer


def _supervise(place: Place, wanted: Launch, settle: Callable[[Answer], Settled]) -> None:
    """Run the agent, write down what came of it, and pass the place on."""
    settled, give_back = Settled(), wanted.slot.release
    try:
        run = _run_interruptibly if wanted.mark else _run_whatever_happens
        answer = run(place, wanted)
        # Its supervisor may be held up, and have a copy of the place to this moment.
        give_back = wanted.slot.free
        settled = settle(answer)
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


def _nobody_is_left() -> bool:
    """Return true if all children of this process are gone: the program, and who keeps it."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _run_interruptibly(place: Place, wanted: Launch) -> Answer:
    """Run the agent; a signal to end ends it with all it has started, and nothing is settled."""
    import signal

    def leave(*_: object) -> None:
        # Asked twice, it still ends all that the agent has started.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit

    before = signal.signal(signal.SIGTERM, leave)
    mark = begin_mark(wanted.mark, wanted.owner, wanted.task)
    try:
        return _run_whatever_happens(place, wanted)
    finally:
        end_mark(mark)
        signal.signal(signal.SIGTERM, before)


def _count(place: Place, wanted: Launch, answer: Answer, settled: Settled, counts: bool) -> None:
    """Count how the agent fares and what the run used up; a failure if it `counts`."""
    if answer.tokens or answer.usd:
        charge(place, [wanted.owner], tokens=answer.tokens or 0, usd=answer.usd or 0.0)
    around = parse_traceparent(wanted.traceparent)
    trace = around.trace if around else ""
    if settled.failure and counts:
        from council.operations.reporting.run_logs import reason_with_output

        why = reason_with_output(place, wanted.task, settled.failure)
        note_failure(place, wanted.agent.id, why, wanted.owner, trace)
    elif not settled.failure:
        note_success(place, wanted.agent.id, wanted.owner, trace)


def _run_whatever_happens(place: Place, wanted: Launch) -> Answer:
    try:
        return _run(place, wanted)
    except Exception as error:  # a fault of ours is a failed attempt, not a lease to wait for
        write_down_failure(place.paths.failure_log)
        return failed(f"the run broke: {type(error).__name__}: {error}")


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
        state = make_run_state(place.paths, agent.id)
        replace(prompt_file, wanted.prompt.encode("utf-8"), mode=0o600)
        if is_shared(place.paths.runs):
            log = place.paths.run_file(wanted.task, "log")
            with explaining("write", log):  # drivers know of no groups
                os.close(opened(log, os.O_WRONLY, 0o600))
    except CouncilError as error:
        return failed(error.message)
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
