"""The queue: what is due anywhere is advanced, and runs are claimed, oldest first over all.

This is the part of a heartbeat that writes. It is called under the
heartbeat's own lock, and only when there is something to do: an idle
heartbeat does not even load it. Conversations, rooms and contexts of tasks
share the halt, the caps, the rests, the places, one queue, and how a claimed
run is started (`Served`).

Source: C0-026 to C0-037, C0-046, C0-076, PR-309, PR-410, XC-014, XC-016, XC-017, XC-109,
`architecture.md` section 3, `cli.md` section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from council.core.agents import Agent
from council.core.conversations.conversation import Task
from council.core.conversations.due import Wake, pause_after
from council.core.errors import CouncilError, InvalidInputError, NotFoundError
from council.core.reasons import NO_REASON, Reason
from council.core.record import Any, Record
from council.core.trust import run_token
from council.drivers.runs import Answer, failed
from council.operations.heartbeat.gate import Gate, charge, has_caps
from council.operations.heartbeat.running import Launch, Settled, launch, take_place
from council.operations.place import Place
from council.operations.report import Report
from council.store.delegation.line import Standing, in_line
from council.store.keys import run_key
from council.store.slots import Slot, Slots

_URGENT, _USUAL = "P0", "P1"
LEASE_MARGIN = timedelta(seconds=30)


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
    refusal: Reason = NO_REASON
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
    # Whether an agent that fails there at once is tried again in each round.
    each_round = False

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
            slot.free()
            is_template = isinstance(error, InvalidInputError)
            code = "no-prompt" if is_template else "not-ready"
            settle(failed(Reason.of(code, text=error.message)))
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

    def again(self, failure: Reason, tasks: list[Task], *, is_due: bool) -> Settled:
        """Return why a run failed, and when the same turn is tried again if it `is_due`.

        `tasks` are the attempts of that turn.
        """
        if not is_due or not any(one.is_failed_run for one in tasks):
            return Settled(failure=failure)
        pause_s = pause_after(tasks, self.place.settings.retry_backoff).total_seconds()
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
        places = _take_places(place, wanted, slots, in_line(slots.directory, int(now.timestamp())))
        for thing in advanced:
            mine = [one for one in due if one.of is thing]
            claimed += _claim_reporting(thing, mine, places, report)
        if has_caps(place):
            charge(place, [one.of.owner for one in claimed])
    except CouncilError:
        claimed.clear()  # what cannot be counted is not started; its leases end
        raise
    finally:
        started = {one.wake.task for one in claimed}
        for task, slot in places.items():
            if task not in started:
                slot.free()
    return [(one, places[one.wake.task]) for one in claimed]


def start(place: Place, claimed: list[tuple[DueRun, Slot]]) -> bool:
    """Start what was claimed; return whether all were started."""
    started = [one.of.start(one, slot) for one, slot in claimed]  # each, whatever became of one
    if not has_caps(place):
        charge(place, [one.of.owner for one, _ in claimed])
    return all(started)


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
            heard_at, each_round = one.of.heard_at(agent), one.of.each_round
            one.refusal = gate.admits(one.of.owner, agent, heard_at, each_round=each_round)
            # The synthesis is handed on, a turn is skipped; another round waits for its deadline.
            one.final = one.refusal.code == "rests" and one.of.goes_on_without_an_agent()


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


def _take_places(
    place: Place, due: list[DueRun], slots: Slots, calls: list[Standing]
) -> dict[str, Slot]:
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
        slot = take_place(place, slots, one.agent.id, one.wake.task)
        if slot is not None:
            places[one.wake.task] = slot
        elif slots.taken() >= slots.max_runs:
            break
        refused.add(one.agent.id)
    return places
