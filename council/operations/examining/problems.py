"""What is wrong in a workspace, for somebody who runs many councils.

Only what wants an action is a problem, and each says which. That nothing is
found wrong does not mean that agents say anything sensible.

Source: `cli.md` section 2 (`status --problems`).
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from council.core.errors import CouncilError
from council.core.record import Record
from council.core.times import render_duration, render_instant
from council.operations.conversations.checking import check
from council.operations.place import Place
from council.operations.schedule import clocks
from council.operations.view import Overview, Standing, status
from council.store.delegation.traces import held_notes
from council.store.paths import record_files
from council.store.tally import is_damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.operations.rooms.room_standings import RoomStanding

STALE_BEAT = timedelta(minutes=45)
_LATE_BEAT = timedelta(minutes=15)
_LATE_PHASE = timedelta(minutes=1)
_RECENT = timedelta(days=1)

# In the order in which they are shown: what stands in the way of most comes first.
KINDS = {
    "halted": "council resume --all",
    "heartbeat": "council heartbeat; then let a clock do it: council schedule --install",
    "clock": "council schedule --install",
    "limit": "wait, or raise it under [limits] in council.toml",
    "resting": "see the log of its last run; try it with: council doctor --probe",
    "call": "council heartbeat writes its end; then ask again",
    "silent": "start it again; it is back with: council agent liveness ID --load 0",
    "registry": "put back a copy of memory/shared/protocol/registry.jsonl, or move it away",
    "file": "council check --name NAME; go back with council restore REV",
    "failed": "read the log; the agent may still answer: council respond --as ID --name NAME",
    "floor": "read the log; it may still speak: council turn end ROOM --as ID --post --text …",
    "overdue": "council heartbeat; or give it time: council extend 30m --name NAME",
    "waits": "council heartbeat",
    "idle": "council discussion complete ROOM --as ID --summary FILE",
    "calmed": "read it: council channel show ROOM; wake it: council turn wake ROOM",
    "paused": "council resume --name NAME",
    "counts": "council doctor --repair",
    "work": "read it, report it, then delete it",
}


class Problem(Record):
    """One thing that is wrong: its kind, the conversation or agent, what is said, a log."""

    kind: str
    where: str
    said: str
    log: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the problem as JSON."""
        return {**self.as_json("kind where? said log?"), "fix": KINDS[self.kind]}


class Problems(Record):
    """Everything that is wrong, and among how many open conversations."""

    now: datetime
    open: int
    last_beat: datetime | None
    found: list[Problem]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `status --problems --json`."""
        return {
            "ok": not self.found,
            "now": render_instant(self.now),
            "open": self.open,
            "lastHeartbeat": render_instant(self.last_beat) if self.last_beat else None,
            "problems": [one.to_record() for one in self.found],
        }


def find_problems(
    place: Place, overview: Overview | None = None, known_clocks: list[str] | None = None
) -> Problems:
    """Look for everything that is wrong; nothing is changed.

    Args:
        place: The workspace.
        overview: How everything stands, None to look.
        known_clocks: The clocks that are in place, None to look for them.
    """
    seen = overview or status(place)
    found = _of_workspace(place, seen, known_clocks)
    for name, error in seen.errors:
        found.append(Problem(kind="file", where=name, said=error.message))
    for one in seen.standings:
        found += _of_conversation(place, one, seen.now)
    for room in seen.rooms:
        found += _of_room(room, seen)
    order = list(KINDS)
    found.sort(key=lambda one: (order.index(one.kind), one.where))
    return Problems(
        now=seen.now,
        open=len(seen.standings)
        + len(seen.errors)
        + sum(1 for one in seen.rooms if one.is_at_work),
        last_beat=seen.last_beat,
        found=found,
    )


def _of_workspace(place: Place, seen: Overview, known_clocks: list[str] | None) -> list[Problem]:
    found = []
    if seen.halt is not None:
        since = f"since {render_instant(seen.halt.at)}" if seen.halt.at else "by hand"
        why = f": {seen.halt.reason}" if seen.halt.reason else ""
        found.append(Problem(kind="halted", where="", said=f"no run is started, {since}{why}"))
    if seen.anything_open:
        found += _of_clock(place, seen, known_clocks)
    for agent, lapse in seen.resting.items():
        until = render_instant(lapse.until) if lapse.until else ""
        said = f"rests until {until}, failed {lapse.failures} times in a row: {lapse.reason}"
        found.append(Problem(kind="resting", where=agent, said=said))
    found += _of_registry(place, seen.now)
    found += [Problem(kind="limit", where="", said=f"{cap} is reached") for cap in seen.reached]
    if is_damaged(place.paths):
        said = f"{os.path.relpath(place.paths.tally, place.root)} cannot be read; counts begin anew"
        found.append(Problem(kind="counts", where="", said=said))
    found += _of_calls(place)
    log = place.paths.failure_log
    if os.path.isfile(log) and os.path.getsize(log):
        found.append(Problem(kind="work", where="", said="detached work failed", log=log))
    return found


def _of_calls(place: Place) -> list[Problem]:
    """Return the calls and messages that their processes left behind."""
    found = []
    for note in held_notes(place.paths, held=False):
        line = note.get("line")
        where = str(note.get("trace") or (line.get("trace") if isinstance(line, dict) else ""))
        said = f"a {note.get('kind')} has no end: the process that made it is gone"
        found.append(Problem(kind="call", where=where, said=said))
    return found


def _of_registry(place: Place, now: datetime) -> list[Problem]:
    """Return who of those that exchange messages fell silent, or what is wrong with their list."""
    if not record_files(f"{place.paths.protocol}/registry.jsonl"):
        return []
    from council.core.protocol.registry import EntryStatus
    from council.store.protocol.protocol_registry import load

    try:
        entries = load(place.paths).here()
    except CouncilError as error:
        return [Problem(kind="registry", where="", said=error.message)]
    return [
        Problem(
            kind="silent",
            where=f"{one.id} ({one.agent})" if one.agent else one.id,
            said=f"no sign of life for {render_duration(now - one.seen_at)}",
        )
        for one in entries
        if one.status is EntryStatus.UNAVAILABLE and one.seen_at is not None
    ]


def _of_clock(place: Place, seen: Overview, known_clocks: list[str] | None) -> list[Problem]:
    """Return what is wrong with the clock; one that nobody knows of shows by fresh heartbeats."""
    age = seen.now - seen.last_beat if seen.last_beat else None
    found = []
    if age is None or age > STALE_BEAT:
        said = f"last ran {render_duration(age)} ago" if age else "has never run"
        found.append(Problem(kind="heartbeat", where="", said=said))
    if age is None or age > _LATE_BEAT:
        in_place = clocks(place) if known_clocks is None else known_clocks
        if not in_place:
            found.append(Problem(kind="clock", where="", said="no clock runs the heartbeat"))
    return found


def _of_conversation(place: Place, one: Standing, now: datetime) -> list[Problem]:
    state, found = one.state, []
    if state.paused_at is not None:
        for_ = render_duration(now - state.paused_at)
        found.append(Problem(kind="paused", where=state.name, said=f"{state.phase}, for {for_}"))
    elif state.timeout_at + _LATE_PHASE <= now and not one.queued and state.finished_at is None:
        late = render_duration(now - state.timeout_at)
        said = f"{state.phase} round {state.tour}, over for {late}, waits for {_few(one.owing)}"
        found.append(Problem(kind="overdue", where=state.name, said=said))
    for agent, reason in one.failures.items():
        if agent not in one.running:
            said = f"{agent}, {state.phase} round {state.tour}: {reason}"
            log = one.logs.get(agent, "")
            found.append(Problem(kind="failed", where=state.name, said=said, log=log))
    try:
        faults = check(place, state.name).faults
    except CouncilError as error:
        faults = [error.message]
    return found + [Problem(kind="file", where=state.name, said=fault) for fault in faults]


def _of_room(one: RoomStanding, seen: Overview) -> list[Problem]:
    """Return what is wrong in a room; one that was calmed is told of for a day."""
    channel, now, found = one.channel, seen.now, []
    where = channel.channel_id
    if not one.running:
        for agent, reason in one.failures.items():
            said = f"{agent}, cycle {channel.cycle}: {reason}"
            found.append(Problem(kind="floor", where=where, said=said, log=one.logs.get(agent, "")))
    waits = one.owed_since is not None and one.owed_since + _LATE_PHASE <= now
    if waits and one.owed_since is not None and not one.queued and seen.halt is None:
        late = render_duration(now - one.owed_since)
        said = f"{channel.speaker} has the floor and was to be woken {late} ago"
        found.append(Problem(kind="waits", where=where, said=said))
    if one.waits_for_summary and channel.discussion is not None:
        said = f"waits for the summary of {channel.discussion.initiator}"
        found.append(Problem(kind="idle", where=where, said=said))
    if channel.calmed and channel.dormant_at is not None and now - channel.dormant_at <= _RECENT:
        said = f"calmed ({channel.calmed}) in cycle {channel.cycle}, sleeps since "
        said += render_instant(channel.dormant_at)
        found.append(Problem(kind="calmed", where=where, said=said))
    return found


def _few(agents: tuple[str, ...]) -> str:
    return ", ".join(agents[:3]) + (f" and {len(agents) - 3} more" if len(agents) > 3 else "")
