"""Serving: what is due anywhere is advanced, and runs are claimed, oldest first over all.

This is the part of a heartbeat that writes. It is called under the
heartbeat's own lock, and only when there is something to do: an idle
heartbeat does not even load it. Conversations (`claiming`), rooms (`attending`)
and contexts of tasks (`task_claims`) share the halt, the caps, the rests, the
places and one queue.

Source: C0-026 to C0-037, PR-309, PR-410, XC-016, XC-109, `architecture.md` section 3.
"""

from __future__ import annotations

from datetime import datetime

from council.core.agents import Agent
from council.core.bounds import RESTS
from council.core.conversations.owed import Wake
from council.core.errors import CouncilError, NotFoundError
from council.core.record import Record
from council.operations.gate import Gate, charge
from council.operations.place import Place
from council.operations.report import Report
from council.store.agents import agent as agent_of
from council.store.delegation.line import Standing, in_line
from council.store.slots import Slot, Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Served(Protocol):
        """What a heartbeat found something to do in: a conversation, a room, a context."""

        name: str

        @property
        def owner(self) -> str:
            """The id under which its runs are counted."""

        def advance(self, report: Report) -> None:
            """Take the steps that are due; what is done is written down in the report.

            Raises:
                CouncilError: It cannot be read or written.
            """

        def withdraw(self, report: Report) -> None:
            """Take it out of the report: it could not be served."""

        def owed(self) -> list[Owed]:
            """Return the runs that are owed now.

            Raises:
                CouncilError: An agent's file cannot be read.
            """

        def heard_at(self, agent: str) -> datetime | None:
            """Return when an agent was last heard there."""

        def goes_on_without(self, agent: str) -> bool:
            """Tell whether nobody waits there for an agent that rests."""

        def hand_over(self, wake: Wake) -> None:
            """Put the prompt where an agent that answers by itself finds it.

            Raises:
                CouncilError: The prompt cannot be made or written.
            """

        def claim(self, mine: list[Owed], places: dict[str, Slot]) -> list[Claimed]:
            """Write down which of its wakes are started, wait for a place or are refused.

            Raises:
                CouncilError: It cannot be written.
            """


_URGENT, _USUAL = "P0", "P1"


class Owed(Record):
    """A wake that is due in something served.

    `priority` is that of a task, "" of anything else. `halted` lets it wait, `refusal` is why
    no run may be started for it; `final` if nobody waits for it then.
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


class Claimed(Record):
    """A run that was claimed: what it is counted for, its task, and how it is started.

    `start` tells whether it could be started; the place goes over to it either way.
    """

    owner: str
    task: str
    start: Callable[[], bool]


def serve(place: Place, served: list[Served], now: datetime, report: Report) -> list[Claimed]:
    """Advance what is served and claim the runs it is owed, oldest first."""
    owed: list[Owed] = []
    advanced: list[Served] = []
    for one in served:
        try:
            one.advance(report)
            owed += one.owed()
            advanced.append(one)
        except CouncilError as error:
            one.withdraw(report)
            if not isinstance(error, NotFoundError):  # else somebody else has archived it
                report.errors.append((one.name, error))
    owed = in_order(owed)
    _pass_gate(place, owed, now)
    slots = Slots(place.paths.places, place.settings.max_runs)
    places: dict[str, Slot] = {}
    claimed: list[Claimed] = []
    try:
        wanted = [one for one in owed if not one.halted and not one.refusal]
        places = _take_places(wanted, slots, in_line(slots.directory, int(now.timestamp())))
        for thing in advanced:
            mine = [one for one in owed if one.of is thing]
            claimed += _claim_reporting(thing, mine, places, report)
        charge(place, [one.owner for one in claimed])
    except CouncilError:
        claimed.clear()  # what cannot be counted is not started; its leases end
        raise
    finally:
        started = {one.task for one in claimed}
        for task, slot in places.items():
            if task not in started:
                slot.release()
    return claimed


def owed_to(place: Place, of: Served, wakes: list[Wake]) -> list[Owed]:
    """Return wakes with what has to be known of their agents.

    Raises:
        CouncilError: An agent's file cannot be read.
    """
    return [
        Owed(of=of, wake=one, agent=agent_of(place.root, place.settings, one.agent))
        for one in wakes
    ]


def in_order(owed: list[Owed]) -> list[Owed]:
    """Return who is owed a run as they come: tasks of P0, then whoever has waited longest.

    A task of P2 lets those of P1 pass (PR-410), so it counts as waiting since the last of
    them; what is no task has no priority and passes for P1.
    """
    usual = [one.wake.due_at for one in owed if one.priority == _USUAL]

    def place_in_line(one: Owed) -> tuple[bool, datetime, bool, str]:
        deferred = one.priority > _USUAL
        since = max(one.wake.due_at, *usual) if deferred and usual else one.wake.due_at
        return one.priority != _URGENT, since, deferred, one.of.name

    return sorted(owed, key=place_in_line)


def _pass_gate(place: Place, owed: list[Owed], now: datetime) -> None:
    """Say of each who is due whether a run may be started; the oldest use up what is left."""
    gate = Gate(place, now)
    for one in owed:
        one.halted = gate.halted
        if not one.halted and not one.by_hand:
            agent = one.agent.id
            one.refusal = gate.admits(one.of.owner, agent, one.of.heard_at(agent))
            # The synthesis is handed on, a turn is skipped; another round waits for its deadline.
            one.final = one.refusal.startswith(RESTS) and one.of.goes_on_without(agent)


def _claim_reporting(
    thing: Served, mine: list[Owed], places: dict[str, Slot], report: Report
) -> list[Claimed]:
    """Claim for one of those that are served; what goes wrong there stops no other one."""
    handed: list[Owed] = []
    for one in mine:
        try:
            if one.by_hand and not one.halted:
                thing.hand_over(one.wake)
            handed.append(one)
        except CouncilError as error:  # a broken template, say: owed until it is mended
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


def _take_places(owed: list[Owed], slots: Slots, calls: list[Standing]) -> dict[str, Slot]:
    """Take places in the order given, by task; nobody gets one that an older wake was refused.

    Nor one that an older call waits for, which takes it by itself. A place may
    become free while we go through the list: whoever was refused one, or runs
    elsewhere, is served first by the next heartbeat.
    """
    places: dict[str, Slot] = {}
    refused: set[str] = set()
    kept = 0
    for one in owed:
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
