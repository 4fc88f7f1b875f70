"""Who takes part: lines to the registry (J, L, K, H, Q), and what O1 answers."""

from __future__ import annotations

import re

from council.agents.registry import GROUPED, JOINED, LEFT, Registry, Worker
from council.kernel import times
from council.kernel.errors import Invalid, NotFound, Refused, Usage
from council.kernel.record import Any
from council.kernel.times import datetime, timedelta
from council.tasks.model import SILENT, Context, Event
from council.tasks.wire.model import Message

CYCLE = timedelta(minutes=1)  # in which one liveness message counts
ROLES = {"worker": "W", "router": "R", "orchestrator": "O"}
_STATUS = ("active", "inactive")
Answer = tuple[list[Event], str]  # events, and the DATA of the answer


def _is_older(worker: Worker, age: timedelta, now: datetime) -> bool:
    """Return whether a worker has said that it lives, and that was so long ago."""
    return bool(worker.alive) and now - times.instant(worker.alive) > age


def answer(registry: Registry, message: Message, agent: str, now: datetime) -> Answer:
    """Return what a line to the registry does."""
    ident, pairs, at = message.sender, message.pairs, times.text(now)
    worker, caps = registry.workers.get(ident), list(filter(None, pairs.get("caps", "").split(",")))
    if message.kind == "Q":
        begin, standing = pairs.get("filter", "").removesuffix("*"), pairs.get("status", "")
        workers = registry.workers
        status = {key: ("", _STATUS[_is_older(one, SILENT, now)]) for key, one in workers.items()}
        names = sorted(workers, key=lambda key: (len(key), key))
        names = [key for key in names if key.startswith(begin) and standing in status[key]]
        return [], f"agents={','.join(names)};count={len(names)}"
    if message.kind == "J":
        spoken = [pairs.get("version", "V5"), pairs.get("fallback", "")]  # PR-591
        version = next((one for one in spoken if one in ("V4", "V5")), "")
        if not version:
            raise Refused("E90", "no version in common: O1 speaks V5 and V4")
        fields: dict[str, Any] = {"about": pairs.get("desc", ""), "version": version}
        depth = pairs.get("max_depth", "")
        fields |= {"caps": caps, "maxDepth": int(depth) if depth.isdecimal() else 4}
        return join(registry, agent or ident.lower(), ident, fields, at)
    if worker is None:
        raise NotFound("E41", f"{ident} has not joined", "council agent join AGENT --caps A,B")
    if message.kind == "L":
        return [{"type": LEFT, "id": ident, "at": at}], f"left;id={ident}"
    event: Event = {"type": "agent.capable", "id": ident, "worker": {"caps": caps}, "at": at}
    if message.kind == "K":
        _check(caps)
        return [event] * (caps != worker.caps), "ok"
    load, queue = pairs.get("load", "0").removesuffix("%"), pairs.get("queue", "0")
    if not (load.isdecimal() and queue.isdecimal() and int(load) <= 100):
        raise Invalid("E10", "liveness is load=N%;queue=N, with a load of up to 100")
    if worker.alive and not _is_older(worker, CYCLE, now):
        return [], "dropped;desc=one liveness message counts in a minute"
    changes = {"load": int(load), "queue": int(queue), "alive": at}
    return [{**event, "type": "agent.alive", "worker": changes}], "ok"


def join(
    registry: Registry, agent: str, ident: str, fields: dict[str, Any], at: str, group: str = ""
) -> Answer:
    """Give an agent the protocol id that it proposes, or the next one of a role; add to a group."""
    _check(fields["caps"])
    mine = [key for key, one in registry.workers.items() if one.agent_id == agent]
    if ident in ROLES.values():
        taken = [key.partition(".")[0] for key in registry.workers if key[0] == ident]
        numbers = [int(key[1:]) for key in taken]
        following = f"{ident}{max([*numbers, ident == 'O']) + 1}"  # O1 is taken
        ident = next((key for key in mine if key[0] == ident), following)
    if ident in registry.workers and ident not in mine:
        raise Refused("E99", f"ID_CONFLICT: {ident} is {registry.workers[ident].agent_id}'s")
    before = registry.workers.get(ident, Worker(agent_id=""))
    worker = Worker.from_json({**before.to_json(), "agentId": agent, **fields})
    event = {"type": JOINED, "id": ident, "worker": worker.to_json(), "at": at}
    events = [event] * (worker != before)
    if not re.fullmatch("(G[1-9])?", group):
        raise Usage("bad-group", f"no group: {group[:20]!r}", "use G1 to G9")
    if group and ident not in (members := registry.groups.get(group, [])):
        events.append({"type": GROUPED, "group": group, "members": [*members, ident], "at": at})
    mode = ";version=V4;mode=compat" * (worker.version == "V4")
    return events, f"registered;id={ident};status=active{mode}"


def _check(caps: list[str]) -> None:
    for one in caps:
        if not re.fullmatch("[a-z0-9_]{1,40}", one):
            hint = "use small letters, digits and _, separated by commas"
            raise Invalid("bad-capability", f"no name of a capability: {one[:40]!r}", hint)


def news(
    state: Context, registry: Registry, now: datetime, loads: dict[str, int] | None = None
) -> list[Event]:
    """Return what the registry says of workers and a context does not know yet.

    With `loads`, the tasks that each has in hand, also how busy they are: 10 % for each task.
    """
    down = [key for key, one in registry.workers.items() if _is_older(one, SILENT, now)]
    rows = {key: one.to_json() for key, one in registry.workers.items()}
    for key, row in rows.items():
        row["load"] = max(row["load"], min(99, row["load"] + 10 * (loads or {}).get(key, 0)))
    fields = ("agentId", "caps", "maxDepth", "version") if loads is None else Worker._keys.values()
    known = {key: one.to_json() for key, one in state.workers.items()}
    facts = [[(key, [row[f] for f in fields]) for key, row in of.items()] for of in (known, rows)]
    is_known = facts[0] == facts[1] and (down, registry.groups) == (state.down, state.groups)
    event = {"type": "context.known", "workers": rows, "down": down, "groups": registry.groups}
    return [{**event, "at": times.text(now)}] * (not (state.closed_at or is_known))
