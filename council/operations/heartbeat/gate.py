"""Whether a run may be started now: the halt, the caps, agents that rest; halting and resuming.

A heartbeat asks it as soon as a start is due, and not before: an
idle one reads none of it. A halt lets those who are due wait as if all places
were taken, so that no deadline passes by it. A cap or a rest refuses the run,
and the phase goes on by its deadline.

The halt is a file that need only be there, so it can be made and removed by
hand when nothing else works. Runs under way end by themselves. Who is due
meanwhile waits, and so do the deadlines. What a person or an agent says is
taken in all the time, and rounds that are complete go on.

Source: `trust.md` (bounds), `cli.md` section 2 (`halt`).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime
from stat import S_ISREG

from council.core import bounds
from council.core.agents import Agent
from council.core.bounds import Lapse, Tally
from council.core.conversations.conversation import Conversation, Task, TaskState
from council.core.conversations.due import Wake
from council.core.errors import CouncilError, UnreachableError
from council.core.events import Event
from council.core.ids import sha256_hex
from council.core.reading import read_json
from council.core.reasons import NO_REASON, Reason
from council.core.record import Any, Record
from council.core.times import parse_instant, render_instant
from council.operations.place import Place
from council.store import files
from council.store.events import append, loose_records
from council.store.keys import run_key
from council.store.lock import Lock
from council.store.slots import Slots
from council.store.tally import edit_tally, read_tally

_MANY_COUNCILS = 200


class Gate:
    """The bounds of a workspace as they stand at one scan; they hold for runs of every kind.

    Attributes:
        halted: Whether nothing at all is started: the workspace is halted, or the host says so.
    """

    def __init__(self, place: Place, now: datetime) -> None:
        if place.engine is not None:
            _bring_halt(place)  # without the engine nothing can be claimed anyway
        self.halted = is_halted(place) or bool(place.host_guard)
        self._place = place
        self._limits = place.settings.limits
        self._now = now
        self._tally = read_tally(place.paths)

    def refuses(
        self,
        owner: str,
        agent: str,
        heard_at: datetime | None = None,
        *,
        each_round: bool = False,
    ) -> Reason:
        """Return why no run of `agent` may be started for `owner`, no reason when it may.

        Args:
            owner: The id of what the run is for: a conversation, channel, context or trace.
            agent: Who would be run.
            heard_at: When it was last heard there, None for never.
            each_round: An agent that fails there at once is tried again in each round, as that
                costs seconds; elsewhere it rests.
        """
        lapse = _resting(self._place, self._tally, agent, self._now, heard_at)
        is_tried = each_round and lapse is not None and lapse.at_once and lapse.owner == owner
        if lapse is not None and lapse.until is not None and not is_tried:
            return Reason.of("rests", until=lapse.until, failures=lapse.failures)
        cap = bounds.reached(self._tally, self._limits, owner, self._now)
        return Reason.of("cap", limit=cap[0], most=cap[1]) if cap else NO_REASON

    def admits(
        self,
        owner: str,
        agent: str,
        heard_at: datetime | None = None,
        *,
        each_round: bool = False,
    ) -> Reason:
        """Return the refusal, or no reason and count the run as one that will be started."""
        refused = self.refuses(owner, agent, heard_at, each_round=each_round)
        if not refused:
            bounds.spend(self._tally, owner, self._now, runs=1)
        return refused

    def holds(
        self,
        owner: str,
        wake: Wake,
        tasks: dict[str, Task],
        mine: list[Task],
        heard_at: datetime | None = None,
        *,
        each_round: bool = False,
    ) -> bool:
        """Return true if a start that is due is kept back, and that is written down already.

        Args:
            owner: The id of what it is for.
            wake: The start.
            tasks: All tasks that are known there.
            mine: Those of the same turn, in the order of their attempts.
            heard_at: When the agent was last heard there, None for never.
            each_round: Whether one that fails at once is tried in each round.
        """
        if self.halted or wake.task in tasks:
            return self.halted and wake.task in tasks
        refused = self.refuses(owner, wake.agent, heard_at, each_round=each_round)
        last = next((one for one in reversed(mine) if one.state is not TaskState.N), None)
        told = last is not None and last.state is TaskState.F and last.reason == refused
        return bool(refused) and told


def is_halted(place: Place) -> bool:
    """Return true if all starting of runs is halted; the mark need only be there."""
    return os.path.lexists(place.paths.halt_mark)


def resting_agents(place: Place) -> dict[str, Lapse]:
    """Return the agents that rest now, and why."""
    tally, now = read_tally(place.paths), place.now()
    found = {agent: _resting(place, tally, agent, now) for agent in sorted(tally.lapses)}
    return {agent: lapse for agent, lapse in found.items() if lapse is not None}


def _resting(
    place: Place, tally: Tally, agent: str, now: datetime, heard_at: datetime | None = None
) -> Lapse | None:
    """Return why an agent rests; None where its cause may be mended: it is started otherwise.

    Source: FW-005.
    """
    lapse = bounds.resting(tally, agent, now, heard_at)
    if lapse is None or not lapse.made_of:
        return lapse
    with suppress(CouncilError):
        if lapse.is_mended(digest_of(place, place.agent(agent))):
            return None
    return lapse


def with_mended(place: Place, state: Conversation) -> Conversation:
    """Return a conversation in which who failed at once, and was mended since, is tried again.

    Source: FW-005.
    """
    given_up = [
        one
        for one in state.tasks.values()
        if one.at_once and one.final and one.tour == state.tour and one.is_failed_run
    ]
    lapses = read_tally(place.paths).lapses if given_up else {}
    mended = []
    for task in given_up:
        with suppress(CouncilError):
            lapse = lapses.get(task.agent)
            if lapse and lapse.is_mended(digest_of(place, place.agent(task.agent))):
                mended.append(task.id)
    if not mended:
        return state
    new = state.copy()
    for one in mended:
        new.tasks[one].final = False
    return new


def digest_of(place: Place, agent: Agent) -> str:
    """Return a digest of what an agent is started with: settings, program, files, keys.

    It says nothing about any of them to one that does not know the key of the workspace.

    Raises:
        CouncilError: That key cannot be read.
    """
    from council.drivers.waking import look_up, variables_of

    settings = agent.settings
    code, found = look_up(agent, place.root, place.environ)
    named = [found.get("path", ""), settings.answers, *settings.argv]
    files_named = [os.path.join(place.root, os.path.expanduser(one)) for one in named if one]
    told = [
        *({name: str(value) for name, value in vars(settings).items()}, agent.model, code),
        [_stamp(one) for one in files_named],
        {name: place.environ.get(name) for name in variables_of(agent)},
    ]
    return sha256_hex(run_key(place.paths) + json.dumps(told, sort_keys=True).encode())[:32]


def _stamp(path: str) -> list[int]:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns] if S_ISREG(found.st_mode) else []


def reached_today(place: Place) -> list[str]:
    """Return the daily caps that are reached, each as `name = value`."""
    cap = bounds.reached(read_tally(place.paths), place.settings.limits, "", place.now())
    return [f"{cap[0]} = {cap[1]}"] if cap else []


def has_caps(place: Place) -> bool:
    """Return true if the settings bound what may be used up."""
    return any(place.settings.limits.get(name) for name in bounds.CAPS)


def charge(place: Place, conversation_ids: list[str], *, tokens: int = 0, usd: float = 0.0) -> None:
    """Count the runs about to be started, one for each id, or what one that ended has used.

    Under a cap it is called before the start: of a process that dies in between, too many
    runs are counted rather than too few. Without one it is counted as well, for a cap that is
    set later to bound the whole day; then no start waits for it.
    """
    if not conversation_ids:
        return
    now, runs = place.now(), 0 if tokens or usd else 1

    def change(tally: Tally) -> None:
        if any(one not in tally.councils for one in conversation_ids):
            _forget_ended(place, tally)
        for one in conversation_ids:
            bounds.spend(tally, one, now, runs=runs, tokens=tokens, usd=usd)

    try:
        edit_tally(place.paths, change)
    except CouncilError:
        if has_caps(place):
            raise


def _forget_ended(place: Place, tally: Tally) -> None:
    """Drop the counts of conversations that are over, once there are many of them."""
    if len(tally.councils) >= _MANY_COUNCILS:
        from council.store.conversations.naming import pointer_of
        from council.store.rooms.channel_places import channel_ids

        still_open = {pointer_of(place.paths, name) for name in place.conversations.names()}
        still_open.update(channel_ids(place.paths))
        tally.councils = {key: one for key, one in tally.councils.items() if key in still_open}


def note_failure(
    place: Place,
    agent: str,
    reason: Reason,
    conversation_id: str,
    trace: str = "",
    *,
    at_once: bool = False,
    made_of: str = "",
) -> None:
    """Count a failed run; at the third in a row the agent is rested, and an event says so.

    What cannot be counted stops no one.

    Args:
        place: The workspace.
        agent: The agent.
        reason: Why it failed.
        conversation_id: The id of what it ran for.
        trace: The trace, "" for that of the conversation's id.
        at_once: Whether it failed within seconds.
        made_of: With what it was started, "" where that is not known.
    """
    now, limits = place.now(), place.settings.limits
    with suppress(CouncilError):

        def failed(tally: Tally) -> Lapse | None:
            given = (tally, agent, reason, now, limits, conversation_id)
            return bounds.failure(*given, at_once=at_once, made_of=made_of)

        lapse = edit_tally(place.paths, failed)
        if lapse is not None and lapse.until is not None:
            data = {
                "until": render_instant(lapse.until),
                "failuresInARow": lapse.failures,
                "reason": reason.to_record(),
            }
            _say(place, "agent.rested", data, agent, conversation_id, trace)


def note_success(place: Place, agent: str, conversation_id: str, trace: str = "") -> None:
    """Forget the failures of an agent that has answered; an event says if it had been rested."""
    if agent not in read_tally(place.paths).lapses:
        return
    with suppress(CouncilError):
        lapse = edit_tally(place.paths, lambda tally: bounds.success(tally, agent))
        if lapse is not None and lapse.rests:
            failures = {"failures": lapse.failures}
            _say(place, "agent.recovered", failures, agent, conversation_id, trace)


# --- Halting a workspace: no run is started anywhere until it is resumed


class Halt(Record):
    """Since when a workspace is halted and why, as far as the mark says."""

    _keys = "reason?"

    at: datetime | None = None
    reason: str = ""


class Halted(Record):
    """What `halt` or `resume --all` did; `running` counts the runs that are still under way."""

    _keys = "halt:halted"

    halt: Halt | None
    changed: bool
    running: int


def halt(place: Place, reason: str = "") -> Halted:
    """Let no more runs be started. When it returns, none is being claimed any more on this machine.

    The others of an engine follow as soon as they have brought the mark.

    Raises:
        UnreachableError: The engine is not reached; this machine is halted all the same.
        CouncilError: The disk refuses.
    """
    files.make_folder(place.paths.control)
    mark = {"at": render_instant(place.now()), "reason": " ".join(reason.split())}
    data = json.dumps(mark, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    unreached = _bring_halt(place)
    changed = files.write_new(place.paths.halt_mark, data)
    unreached = unreached or _bring_halt(place)
    if changed:
        _say(place, "council.halted", {"reason": mark["reason"]})
    with Lock(place.paths.heartbeat_lock):
        pass  # a heartbeat that looked before the mark was there has now claimed what it claims
    if unreached is not None:
        unreached.hint = "this machine is halted; the others are not: repeat it when it is reached"
        raise unreached
    return Halted(halt=read_halt(place), changed=changed, running=_running(place))


def _bring_halt(place: Place) -> UnreachableError | None:
    """Share the mark with other machines; return why that cannot be done."""
    from council.store import shared

    try:
        shared.bring(place.paths.halt_mark)
    except UnreachableError as error:
        return error
    return None


def resume_all(place: Place) -> Halted:
    """End the halt, and have those who waited served without waiting for it.

    Raises:
        CouncilError: The mark cannot be removed.
    """
    from council.store import shared

    mark = place.paths.halt_mark
    shared.bring(mark)
    changed = is_halted(place)
    if changed:
        while not shared.publish(mark, None):
            shared.bring(mark)
        files.remove(mark)
        shared.bring(mark)
        if is_halted(place):
            raise CouncilError(f"cannot remove {mark}", "remove it by hand: the halt ends with it")
        _say(place, "council.resumed", {})
        from council.operations.detach import wake_next

        wake_next(place)
    return Halted(halt=None, changed=changed, running=_running(place))


def read_halt(place: Place) -> Halt | None:
    """Return the halt under way, None when there is none."""
    if not is_halted(place):
        return None
    try:
        reading = files.read_stable(place.paths.halt_mark)
        mark = read_json(reading.data) if reading is not None else {}
        return Halt(at=parse_instant(str(mark["at"])), reason=str(mark.get("reason") or ""))
    except (CouncilError, ValueError, KeyError, TypeError, AttributeError):
        return Halt()  # made by hand: that it is there is enough


def _running(place: Place) -> int:
    return Slots(place.paths.places, place.settings.max_runs).taken()


def _say(
    place: Place, kind: str, data: dict[str, Any], agent: str = "", owner: str = "", trace: str = ""
) -> None:
    event = Event(type=kind, agent=agent, data=data)
    append(place.paths, loose_records([event], owner, place.now(), trace))
