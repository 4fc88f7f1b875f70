"""Joining the registry and leaving it: which id, which version, which capabilities.

The id that a joining agent signs with is a proposal. O1 confirms it, or
assigns another one where the agent insists on none; one that another agent
bears is refused. An agent that names itself gets its own id back, however
often it asks.

Source: PR-404, PR-405, PR-507, PR-508, PR-510, PR-512, PR-514, PR-591, A-39, A-69.
"""

from __future__ import annotations

from datetime import datetime

from council.core.bounds import V4, V5, ProtocolRules
from council.core.events import Event
from council.core.ids import is_name
from council.core.protocol.messages import COORDINATOR, Message, compose, inline
from council.core.protocol.protocol_ids import GROUP, ROLES, WORKER, is_protocol_id, role_of
from council.core.protocol.registry import (
    HIGHEST_DEPTH,
    Entry,
    EntryStatus,
    Registry,
    RegistryStep,
    Reply,
    answer_to,
    free_id,
    is_capability,
    refused,
    unknown,
)
from council.core.record import Record

REGISTERED, STANDS, CONFLICT, AGREED = "registered", "already-registered", "conflict", "agreed"
LEFT, UPDATED, UNCHANGED = "left", "updated", "unchanged"
ID_CONFLICT = "ID_CONFLICT"
# A joining agent that says `id=any` takes whatever number is free.
ANY = "any"

_CONFLICT_CODE = "E99"
_BAD_FORM = "E10"
_REASON_CHARS = 200
_NO_VERSION = "E90"
_DESCRIPTION_CHARS = 200


class Joining(Record):
    """What an agent that wants to join says of itself.

    Args:
        proposed: The id it proposes, "" for any of `role`.
        role: The letter of its role, where it proposes no id.
        agent: Who it is, "" where it does not say.
        is_own: Whether the workspace knows that agent.
        insists: Whether it wants that id or none.
        capabilities: What it can do; None where it does not say.
        description: What it is there for, "" where it does not say.
        max_depth: The depth from which on it refuses, None where it does not say.
        version: What it speaks best, "" where it does not say.
        fallback: What else it speaks.
    """

    proposed: str = ""
    role: str = WORKER
    agent: str = ""
    is_own: bool = False
    insists: bool = True
    capabilities: tuple[str, ...] | None = None
    description: str = ""
    max_depth: int | None = None
    version: str = ""
    fallback: str = ""


def joining_of(message: Message, agent: str = "", *, is_own: bool = False) -> Joining | None:
    """Return what a J says, None where its `max_depth` is no such number."""
    depth = message.pair("max_depth")
    if depth and not (depth.isascii() and depth.isdigit() and 0 < int(depth) <= HIGHEST_DEPTH + 1):
        return None
    return Joining(
        proposed=message.sender,
        agent=agent or message.pair("agent"),
        is_own=is_own,
        insists=message.pair("id") != ANY,
        capabilities=capabilities_of(message),
        description=message.pair("desc"),
        max_depth=int(depth) if depth else None,
        version=message.pair("version").upper(),
        fallback=message.pair("fallback").upper(),
    )


def capabilities_of(message: Message) -> tuple[str, ...] | None:
    """Return the capabilities that a message declares, each once; None where it says nothing."""
    if all(name != "caps" for name, _ in message.pairs):
        return None
    words = (one.strip() for one in message.pair("caps").split(","))
    return tuple(dict.fromkeys(one for one in words if one))


def is_handshake(message: Message) -> bool:
    """Return true if a J only settles the version: M0, which opens a handshake (PR-513, PR-591)."""
    return message.number == 0 and capabilities_of(message) is None


def shake_hands(registry: Registry, message: Message, rules: ProtocolRules) -> RegistryStep:
    """Agree on a version with who has not joined yet; the answer is in the shape of V5."""
    version = agreed(rules, message.pair("version").upper(), message.pair("fallback").upper())
    if not version:
        return _no_version(registry, message, rules)
    pairs = {"version": version, **({"mode": "compat"} if version != V5 else {})}
    event = registry.event("agent.version-agreed", message.sender, version=version)
    entry = registry.get(message.sender)
    if entry is not None and message.sender in registry.entries:
        changed = registry.with_entry(entry.copy(version=version))
    else:
        changed = registry.copy(handshakes={**registry.handshakes, message.sender: version})
    told = Reply(message=answer_to(message, "A", pairs=pairs))
    return changed.step(AGREED, message.sender, replies=[told], events=[event])


def agreed(rules: ProtocolRules, version: str, fallback: str, settled: str = "") -> str:
    """Return the version that both sides speak, "" for none.

    Args:
        rules: What the orchestrator speaks.
        version: What the other side speaks best, "" where it does not say.
        fallback: What else it speaks, "" for nothing.
        settled: What an earlier handshake came to.
    """
    wanted = [one for one in (version, fallback) if one] or [settled or V5]
    return next((one for one in wanted if one in rules.versions), "")


def join(
    registry: Registry,
    wish: Joining,
    now: datetime,
    rules: ProtocolRules,
    message: Message | None = None,
    *,
    speaks: str = V5,
) -> RegistryStep:
    """Register an agent, or say why it cannot be.

    Args:
        registry: As it stands, informed.
        wish: What it says of itself.
        now: The present instant.
        rules: What the orchestrator speaks.
        message: The message that asks for it; None where none was sent.
        speaks: The version that message was written in.
    """
    chosen = _id_for(registry, wish)
    asked = message or _asked(chosen or COORDINATOR, "J")
    if role_of(wish.proposed or wish.role) == GROUP:
        return refused(registry, asked, "E13", "a group is made by O1 and does not join")
    if fault := _fault(wish):
        return refused(registry, asked, _BAD_FORM, fault, speaks=speaks)
    if not chosen:
        return _conflict(registry, asked, wish, speaks)
    told = wish.version or (V4 if speaks == V4 else "")
    version = agreed(rules, told, wish.fallback, registry.handshakes.get(wish.proposed, ""))
    if not version:
        return _no_version(registry, asked, rules)
    standing = registry.entries.get(chosen)
    entry = _entry(standing, chosen, wish, version, now)
    stood = standing is not None and standing.is_here and _same(standing, entry)
    left = {key: value for key, value in registry.handshakes.items() if key != wish.proposed}
    changed = registry.copy(handshakes=left).with_entry(entry)
    data = {"id": chosen, "proposed": wish.proposed or None}
    data |= entry.as_json("capabilities max_depth version")
    event = Event(type="agent.joined", agent=entry.agent or chosen, data=data)
    welcome = _welcome(asked, chosen, version, speaks, mismatch=bool(told) and version != V5)
    outcome, events = (STANDS, []) if stood else (REGISTERED, [event])
    return changed.step(outcome, chosen, replies=[welcome], events=events)


def _asked(sender: str, kind: str) -> Message:
    """Return the message in whose place a person acts by hand."""
    return compose(sender, COORDINATOR, kind, priority="")


def _fault(wish: Joining) -> str:
    """Return what a joining agent says of itself that cannot be, "" for nothing."""
    wrong = next((one for one in wish.capabilities or () if not is_capability(one)), None)
    if wrong is not None:
        return f"{wrong!r} is no capability: small letters, digits and _"
    if wish.agent and not is_name(wish.agent):
        return f"{wish.agent!r} cannot name an agent"
    return ""


def _id_for(registry: Registry, wish: Joining) -> str:
    """Return the id that an agent gets, "" when it can have none."""
    own = registry.of_agent(wish.agent)
    role = role_of(wish.proposed or wish.role)
    if own is not None and own.is_here:
        return own.id if role_of(own.id) == role or not wish.insists else ""
    if wish.proposed and is_protocol_id(wish.proposed) and _is_free(registry, wish):
        return wish.proposed
    if wish.proposed and wish.insists:
        return ""
    if own is not None and not own.is_here and role_of(own.id) == role:
        return own.id  # it comes back
    return free_id(registry, role) if role in ROLES else ""


def _is_free(registry: Registry, wish: Joining) -> bool:
    if wish.proposed == COORDINATOR and not wish.is_own:
        return False  # nobody from outside becomes the one who assigns ids
    standing = registry.entries.get(wish.proposed)
    if standing is None or not standing.is_here:
        return True
    if standing.agent and standing.agent == wish.agent:
        return True
    # Who fell silent and comes back without a name signs as it did before.
    silent = standing.status is EntryStatus.UNAVAILABLE
    return silent and not standing.agent and not wish.agent


def _entry(
    standing: Entry | None, chosen: str, wish: Joining, version: str, now: datetime
) -> Entry:
    """Return the entry of who joins; who bore its number before leaves no trace in it."""
    is_same = standing is not None and (standing.agent == wish.agent and standing.is_here)
    before = standing if is_same and standing is not None else Entry(id=chosen)
    return before.copy(
        agent=wish.agent,
        is_own=wish.is_own,
        status=EntryStatus.ACTIVE,
        capabilities=before.capabilities if wish.capabilities is None else wish.capabilities,
        description=wish.description[:_DESCRIPTION_CHARS] or before.description,
        max_depth=before.max_depth if wish.max_depth is None else wish.max_depth,
        version=version,
        fallback=wish.fallback or before.fallback,
        joined_at=before.joined_at or now,
        seen_at=now,
        left_at=None,
        reason="",
    )


def _same(standing: Entry, entry: Entry) -> bool:
    return standing.copy(seen_at=entry.seen_at) == entry


def _welcome(asked: Message, chosen: str, version: str, speaks: str, *, mismatch: bool) -> Reply:
    """Return the confirmation: in V4 the assignment alone, in V5 with what was agreed."""
    if speaks == V4:
        assigned = answer_to(asked, "A", pairs={"ID": chosen}).copy(receiver=chosen, priority="")
        return Reply(message=assigned, version=V4)
    pairs = {"id": chosen, "status": str(EntryStatus.ACTIVE)}
    if mismatch:
        pairs |= {"version": version, "mode": "compat"}
    state = "D" if asked.state else ""
    told = answer_to(asked, "A", flags=["registered"], pairs=pairs, state=state)
    # Where another id was assigned, the answer reaches who proposed the first one.
    return Reply(message=told, to_caller=asked.sender != chosen)


def _conflict(registry: Registry, asked: Message, wish: Joining, speaks: str) -> RegistryStep:
    """Refuse an id that an agent bears, or an agent for whom no number is left."""
    proposed = wish.proposed
    standing = registry.get(proposed) if proposed else None
    own = registry.of_agent(wish.agent)
    if own is not None and own.is_here:
        reason = f"{wish.agent} is {own.id}"
    elif not proposed:
        reason = f"all {ROLES[wish.role]} numbers of {wish.role} are taken"
    elif not is_protocol_id(proposed):
        reason = f"{proposed} is no id"
    elif standing is not None:
        holder = f" by {standing.agent}" if standing.agent else ""
        reason = f"{proposed} is taken{holder}"
    else:
        reason = f"no number of {role_of(proposed)} is left"
    pairs = {"desc": ID_CONFLICT, **({"id": proposed} if proposed else {})}
    told = answer_to(asked, "E", pairs=pairs, code=_CONFLICT_CODE, state="F")
    data = {"id": proposed or None, "code": _CONFLICT_CODE, "reason": reason}
    event = Event(type="agent.refused", agent=wish.agent or proposed, data=data)
    reply = Reply(message=told, version=speaks, to_caller=True)
    return registry.step(CONFLICT, proposed, replies=[reply], events=[event], reason=reason)


def _no_version(registry: Registry, asked: Message, rules: ProtocolRules) -> RegistryStep:
    ours = ",".join(rules.versions)
    return refused(
        registry, asked, _NO_VERSION, f"no version in common; spoken here: {ours}", versions=ours
    )


def leave(
    registry: Registry, protocol_id: str, reason: str, now: datetime, message: Message | None = None
) -> RegistryStep:
    """Take an agent out: out of all groups, too. Its number comes again last of all."""
    asked = message or _asked(protocol_id, "L")
    entry = registry.entries.get(protocol_id)
    if entry is None:
        return unknown(registry, asked, protocol_id)
    gone = Reply(message=answer_to(asked, "A", flags=["left"], pairs={"id": protocol_id}))
    if not entry.is_here:
        return registry.step(UNCHANGED, protocol_id, replies=[gone])
    told = inline(reason, _REASON_CHARS) if reason else ""
    groups = {
        name: [one for one in members if one != protocol_id]
        for name, members in registry.groups.items()
    }
    changed = registry.copy(groups=groups).with_entry(
        entry.copy(status=EntryStatus.LEFT, left_at=now, reason=told, load=0, queue=0)
    )
    event = registry.event("agent.left", protocol_id, reason=told or None)
    return changed.step(LEFT, protocol_id, replies=[gone], events=[event])


def change_capabilities(
    registry: Registry,
    protocol_id: str,
    capabilities: tuple[str, ...],
    now: datetime,
    message: Message | None = None,
) -> RegistryStep:
    """Let an agent have these capabilities and no others."""
    asked = message or _asked(protocol_id, "K")
    entry = registry.get(protocol_id)
    if entry is None or protocol_id not in registry.entries:
        return unknown(registry, asked, protocol_id)
    wrong = [one for one in capabilities if not is_capability(one)]
    if wrong:
        reason = f"{wrong[0]!r} is no capability: small letters, digits and _"
        return refused(registry, asked, _BAD_FORM, reason)
    state = "D" if asked.state else ""
    pairs = {"id": protocol_id, "count": len(capabilities)}
    told = Reply(message=answer_to(asked, "A", flags=["updated"], pairs=pairs, state=state))
    if entry.capabilities == capabilities:
        return registry.step(UNCHANGED, protocol_id, replies=[told])
    names = list(capabilities)
    event = registry.event("agent.capabilities-changed", protocol_id, capabilities=names)
    changed = registry.with_entry(entry.copy(capabilities=capabilities, seen_at=now))
    return changed.step(UPDATED, protocol_id, replies=[told], events=[event])
