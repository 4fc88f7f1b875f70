"""Who takes part: lines to the registry (J, L, K, H, Q), and what O1 answers."""

from __future__ import annotations

import re
from datetime import datetime

from council.agents.registry import GROUPED, JOINED, LEFT, Registry, Worker
from council.kernel import times
from council.kernel.errors import Invalid, NotFound, Refused, Usage
from council.kernel.record import Any
from council.tasks.model import Context, Event
from council.tasks.wire.model import Message

ALIVE, CYCLE = (
    180,
    60,
)  # seconds after which a silent worker counts as gone; one H counts in a cycle
ROLES = {"worker": "W", "router": "R", "orchestrator": "O"}
Answer = tuple[list[Event], str]  # events, and the DATA of the answer


def is_silent(worker: Worker, now: datetime) -> bool:
    """Return whether a worker that sends liveness messages has stopped to (E22)."""
    since = times.instant(worker.alive) if worker.alive else now
    return (now - since).total_seconds() > ALIVE


def play(registry: Registry, message: Message, agent: str, now: datetime) -> Answer:
    """Return what a line to the registry does."""
    ident, pairs, at = message.sender, message.pairs, times.text(now)
    worker = registry.workers.get(ident)
    if message.kind == "Q":
        return [], _listed(registry, pairs, now)
    if message.kind == "J":
        depth = pairs.get("max_depth", "4")
        caps = [one for one in pairs.get("caps", "").split(",") if one]
        joining: dict[str, Any] = {
            "caps": caps,
            "about": pairs.get("desc", ""),
            "version": _version(pairs),
        }
        joining |= {"maxDepth": int(depth) if depth.isdecimal() else 4}
        return join(registry, agent or ident.lower(), ident, joining, at)
    if worker is None:
        raise NotFound("E41", f"{ident} has not joined", "council agent join AGENT --caps A,B")
    if message.kind == "L":
        return [{"type": LEFT, "id": ident, "at": at}], f"left;id={ident}"
    if message.kind == "K":
        caps = _checked(pairs.get("caps", "").split(","))
        changes: dict[str, Any] = {"caps": caps}
        return [_changed("agent.capable", ident, changes, at)] * (caps != worker.caps), "ok"
    load, queue = pairs.get("load", "0").removesuffix("%"), pairs.get("queue", "0")
    if not (load.isdecimal() and queue.isdecimal() and int(load) <= 100):
        raise Invalid("E10", "liveness is load=N%;queue=N, with a load of up to 100")
    if worker.alive and (now - times.instant(worker.alive)).total_seconds() < CYCLE:
        return [], f"dropped;desc=one liveness message counts in {CYCLE} seconds"
    changes = {"load": int(load), "queue": int(queue), "alive": at}
    return [_changed("agent.alive", ident, changes, at)], "ok"


def join(registry: Registry, agent: str, ident: str, joining: dict[str, Any], at: str) -> Answer:
    """Give an agent the protocol id that it proposes, or the next one of a role (`W`)."""
    mine = [one for one, row in registry.workers.items() if row.agent_id == agent]
    if ident in ROLES.values():
        numbers = [int(one[1:]) for one in registry.workers if one[0] == ident] + [ident == "O"]
        same = [one for one in mine if one[0] == ident]
        ident = same[0] if same else f"{ident}{max([0, *numbers]) + 1}"
    if ident in registry.workers and ident not in mine:
        raise Refused("E99", f"ID_CONFLICT: {ident} is {registry.workers[ident].agent_id}'s")
    worker = Worker.from_json({"agentId": agent, **joining, "caps": _checked(joining["caps"])})
    is_new = registry.workers.get(ident) != worker
    event = {"type": JOINED, "id": ident, "worker": worker.to_json(), "at": at}
    mode = ";version=V4;mode=compat" * (worker.version == "V4")
    return [event] * is_new, f"registered;id={ident};status=active{mode}"


def group(registry: Registry, name: str, ident: str, at: str) -> list[Event]:
    """Return the event that adds a worker to a group."""
    if not re.fullmatch("G[1-9]", name):
        raise Usage("bad-group", f"no group: {name[:20]!r}", "use G1 to G9")
    members = registry.groups.get(name, [])
    event = {"type": GROUPED, "group": name, "members": [*members, ident], "at": at}
    return [] if ident in members else [event]


def _changed(kind: str, ident: str, changes: dict[str, Any], at: str) -> Event:
    return {"type": kind, "id": ident, "worker": changes, "at": at}


def _checked(caps: list[str]) -> list[str]:
    for one in caps:
        if not re.fullmatch("[a-z0-9_]{1,40}", one):
            hint = "use small letters, digits and _, separated by commas"
            raise Invalid("bad-capability", f"no name of a capability: {one[:40]!r}", hint)
    return list(dict.fromkeys(caps))


def _version(pairs: dict[str, str]) -> str:
    """Return the version to speak with a worker (PR-591)."""
    for name in ("version", "fallback"):
        if pairs.get(name, "V5") in ("V4", "V5"):
            return pairs.get(name, "V5")
    raise Refused("E90", "no version in common: O1 speaks V5 and V4")


def _listed(registry: Registry, pairs: dict[str, str], now: datetime) -> str:
    begin, status = pairs.get("filter", "*").removesuffix("*"), pairs.get("status", "")
    rows = sorted(registry.workers.items(), key=lambda row: (len(row[0]), row[0]))
    found = [
        ident
        for ident, one in rows
        if ident.startswith(begin)
        and status in ("", "inactive" if is_silent(one, now) else "active")
    ]
    return f"agents={','.join(found)};count={len(found)}"


def news(
    state: Context, registry: Registry, now: datetime, loads: dict[str, int] | None = None
) -> list[Event]:
    """Return what the registry says of workers and a context does not know yet.

    `loads` are the tasks that each has in hand: 10 % each, on top of what it says itself. Without
    them loads stay as they were.
    """
    workers, down = dict(registry.workers), list[str]()
    for ident, one in workers.items():
        down += [ident] if is_silent(one, now) else []
        known = state.workers.get(ident)
        load = known.load if known and loads is None else one.load
        load += min(10 * (loads or {}).get(ident, 0), max(0, 99 - load))
        used = known.used if known and loads is None else one.used
        workers[ident] = one.copy(load=load, used=used, alive="", queue=0)
    is_known = (workers, down, registry.groups) == (state.workers, state.down, state.groups)
    if is_known or state.closed_at:
        return []
    rows = {ident: one.to_json() for ident, one in workers.items()}
    event = {"type": "context.known", "workers": rows, "down": down, "groups": registry.groups}
    return [{**event, "at": times.text(now)}]
