"""Liveness: what agents that run by themselves say of how they are, and who fell silent.

An `H` says load and queue. One counts in each cycle, what comes sooner is
dropped. Who has sent one is expected to go on: who shows no sign of life for
too long is unavailable (E22) until the next one. No one has to begin: many
agents are started for each task, and have nothing to say in between.

Source: PR-414, PR-421, PR-422, XC-108.
"""

from __future__ import annotations

from datetime import datetime

from council.core.bounds import ProtocolRules
from council.core.events import Event
from council.core.protocol.messages import COORDINATOR, Message
from council.core.protocol.registry import (
    FULL_LOAD,
    Entry,
    EntryStatus,
    Registry,
    RegistryStep,
    Reply,
    of_registry,
    refused,
    unasked,
    unknown,
)
from council.core.record import Any
from council.core.times import render_instant

HEARD, DROPPED, EXPIRED = "heard", "dropped", "expired"
SILENT = "E22"
NO_SIGN = "no liveness"
_BAD_FORM = "E10"
_MOST_WAITING = 10**6


def _number(text: str, most: int) -> int | None:
    if not (text.isascii() and text.isdigit()) or len(text) > 7 or int(text) > most:
        return None
    return int(text)


def heard(
    registry: Registry, message: Message, now: datetime, rules: ProtocolRules
) -> RegistryStep:
    """Take in a liveness message: load, queue, and that its sender is alive."""
    entry = registry.get(message.sender)
    if entry is None or message.sender not in registry.entries:
        return unknown(registry, message, message.sender)
    load = _number(message.pair("load").removesuffix("%"), FULL_LOAD)
    queue = _number(message.pair("queue", "0"), _MOST_WAITING)
    if load is None or queue is None:
        reason = "liveness is load=N%;queue=N with a load of up to 100"
        return refused(registry, message, _BAD_FORM, reason)
    if entry.alive_at is not None and now - entry.alive_at < rules.liveness_cycle:
        next_from = render_instant(entry.alive_at + rules.liveness_cycle)
        dates = {"heardAt": render_instant(entry.alive_at), "nextFrom": next_from}
        event = registry.event("liveness.dropped", entry.id, **dates)
        seconds = int((now - entry.alive_at).total_seconds())
        reason = f"{entry.id} was heard {seconds} s ago; one liveness message counts in a cycle"
        return registry.step(DROPPED, entry.id, events=[event], reason=reason)
    changes = {"load": load, "queue": queue, "watched": True, "alive_at": now}
    return _seen(registry, entry, now, **changes)


def seen(registry: Registry, protocol_id: str, now: datetime) -> RegistryStep:
    """Take any message of an agent for a sign of life."""
    entry = registry.entries.get(protocol_id)
    if entry is None or not entry.is_here:
        return registry.step(HEARD, protocol_id)
    return _seen(registry, entry, now)


def _seen(registry: Registry, entry: Entry, now: datetime, **changes: Any) -> RegistryStep:
    alive = entry.copy(status=EntryStatus.ACTIVE, seen_at=now, reason="", **changes)
    is_back = entry.status is not EntryStatus.ACTIVE
    events = [registry.event("agent.available", entry.id)] if is_back else []
    return registry.with_entry(alive).step(HEARD, entry.id, events=events)


def used(registry: Registry, now: datetime, *protocol_ids: str) -> Registry:
    """Remember that agents were given work, for the selection to spread it (PR-561).

    The file knows the time to the second; a number says which of one second came later.
    """
    number = 1 + max((one.use for one in registry.entries.values()), default=0)
    known = [registry.entries[one] for one in protocol_ids if one in registry.entries]
    given = {one.id: one.copy(used_at=now, use=number) for one in known}
    return registry.copy(entries={**registry.entries, **given})


def expires_at(entry: Entry, rules: ProtocolRules) -> datetime | None:
    """Return when an agent becomes unavailable unless it shows a sign of life, None for never."""
    if entry.status is not EntryStatus.ACTIVE or not entry.watched or entry.seen_at is None:
        return None
    return entry.seen_at + rules.liveness_timeout


def next_due(registry: Registry, rules: ProtocolRules) -> datetime | None:
    """Return when the next agent becomes unavailable, None when none can."""
    instants = [expires_at(one, rules) for one in registry.entries.values()]
    return min((one for one in instants if one is not None), default=None)


def expire(registry: Registry, now: datetime, rules: ProtocolRules) -> RegistryStep:
    """Mark those who fell silent as unavailable: E22 for each."""
    changed = registry
    replies: list[Reply] = []
    events: list[Event] = []
    for entry in registry.entries.values():
        due = expires_at(entry, rules)
        if due is None or due > now or entry.seen_at is None:
            continue
        silent_s = int((now - entry.seen_at).total_seconds())
        gone = entry.copy(status=EntryStatus.UNAVAILABLE, reason=NO_SIGN)
        pairs = {"desc": NO_SIGN, "id": entry.id, "last": f"{silent_s}s"}
        told = {"pairs": pairs, "code": SILENT, "state": "F"}
        changed, message = unasked(changed.with_entry(gone), entry.id, "E", **told)
        replies.append(Reply(message=message, version=entry.version))
        data = {"code": SILENT, "seenAt": render_instant(entry.seen_at), "reason": NO_SIGN}
        events.append(registry.event("agent.unavailable", entry.id, **data))
    about = replies[0].message.receiver if replies else ""
    return changed.step(EXPIRED, about, replies=replies, events=events)


def liveness_message(protocol_id: str, load: int, queue: int) -> Message:
    """Return the liveness message of an agent."""
    pairs = {"load": f"{load}%", "queue": queue}
    return of_registry(protocol_id, COORDINATOR, "H", pairs=pairs, state="R", number=1)
