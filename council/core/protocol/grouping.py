"""Groups, and whom a message reaches: broadcasts, groups, what a router passes on.

Source: PR-304, PR-403, PR-454, PR-504, PR-516 to PR-518, A-36, A-46.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from council.core.events import Event
from council.core.protocol.messages import COORDINATOR, USER, Message, compose, inline
from council.core.protocol.protocol_ids import (
    ALL_WORKERS,
    EVERYBODY,
    GROUP,
    ROLES,
    ROUTER,
    WORKER,
    fits,
    in_order,
    is_protocol_id,
    role_of,
)
from council.core.protocol.registering import UNCHANGED, UPDATED
from council.core.protocol.registry import (
    REFUSED,
    EntryStatus,
    Registry,
    RegistryStep,
    Reply,
    name_of,
    number_after,
    unasked,
)
from council.core.record import Record

JOINING, LEAVING = "JOIN", "LEAVE"
_UNAVAILABLE, _UNKNOWN_AGENT, _BAD_ROUTE = "E30", "E41", "E13"


def is_group(protocol_id: str) -> bool:
    """Return true if an id is that of a group."""
    return role_of(protocol_id) == GROUP and is_protocol_id(protocol_id)


def add_members(registry: Registry, group: str, members: Iterable[str]) -> RegistryStep:
    """Put workers into a group, which is made by its first member; B informs them."""
    wanted = list(dict.fromkeys(members))
    if fault := _fault(group, wanted):
        return _refused(registry, group, fault)
    strangers = [one for one in wanted if registry.get(one) is None]
    if strangers:
        return _refused(registry, group, f"{strangers[0]} is not registered", _UNKNOWN_AGENT)
    standing = registry.groups.get(group, [])
    new = [one for one in wanted if one not in standing]
    return _changed(registry, group, [*standing, *new], JOINING, new)


def remove_members(registry: Registry, group: str, members: Iterable[str] = ()) -> RegistryStep:
    """Take members out of a group; without any named, all of them: the group is gone."""
    standing = registry.groups.get(group)
    if standing is None or not is_group(group):
        return _refused(registry, group, f"there is no group {group}")
    wanted = list(dict.fromkeys(members)) or list(standing)
    strangers = [one for one in wanted if one not in standing]
    if strangers:
        return _refused(registry, group, f"{strangers[0]} is not in {group}")
    left = [one for one in standing if one not in wanted]
    return _changed(registry, group, left, LEAVING, wanted)


def _fault(group: str, members: list[str]) -> str:
    if not is_group(group):
        return f"{group} is no group; one is called G1 to G{ROLES[GROUP]}"
    for one in members:
        if not is_protocol_id(one) or role_of(one) != WORKER:
            return f"{one} is no worker; a group is made of workers"
    return "" if members else "no members were named"


def _refused(registry: Registry, group: str, reason: str, code: str = "") -> RegistryStep:
    event = Event(type="group.refused", agent=COORDINATOR, data={"group": group, "reason": reason})
    return registry.step(REFUSED, group, events=[event], reason=reason, code=code)


def _changed(
    registry: Registry, group: str, members: list[str], word: str, told: list[str]
) -> RegistryStep:
    """Write down who is in a group now, and inform those whom it concerns."""
    groups = {name: list(many) for name, many in registry.groups.items() if name != group}
    if members:
        groups[group] = members
    changed = registry.copy(groups=groups)
    if not told and groups == registry.groups:
        return registry.step(UNCHANGED, group)
    replies = []
    pairs = {"group": group, "members": ",".join(told)[:80]}
    for one in told:
        changed, message = unasked(changed, one, "B", flags=[word], pairs=pairs)
        replies.append(Reply(message=message, version=registry.version_of(one)))
    data = {"group": group, "members": members, "word": word.lower(), "who": told}
    event = Event(type="group.changed", agent=COORDINATOR, data=data)
    return changed.step(UPDATED, group, replies=replies, events=[event])


def targets(registry: Registry, sender: str, receiver: str) -> tuple[str, ...]:
    """Return whom a message reaches, each once and never its sender.

    Args:
        registry: Who is registered.
        sender: Who sends it.
        receiver: `*` for everybody, `W*` for all workers, a group, one id, or `User`.
    """
    if receiver == USER:
        return (USER,)
    if receiver in (EVERYBODY, ALL_WORKERS):
        found = [one.id for one in registry.here() if fits(one.id, receiver)]
    elif is_group(receiver):
        members = dict.fromkeys(registry.groups.get(receiver, ()))
        found = sorted((one for one in members if registry.get(one)), key=in_order)
    else:
        return (receiver,) if registry.get(receiver) else ()
    return tuple(one for one in found if one != sender)


class Relay(Record):
    """Where a router passes a message on to, or what it answers where it cannot.

    `target` is "" where there is none to be reached; then `fault` is the answer.
    """

    target: str = ""
    fault: Message | None = None


def is_for_router(message: Message) -> bool:
    """Return true if a message goes to a router."""
    return role_of(message.receiver) == ROUTER and is_protocol_id(message.receiver)


def relay_target(registry: Registry, message: Message, now: datetime) -> Relay:
    """Return whom a message to a router is for: its DATA names that by `to=`.

    The message itself is passed on as it stands (PR-516). Who cannot be reached
    is reported to the sender.
    """
    router = registry.get(message.receiver)
    if router is None:
        return _lost(message, COORDINATOR, _UNKNOWN_AGENT, id=message.receiver)
    target = message.pair("to")
    if not target:
        return _lost(message, router.id, _BAD_ROUTE, desc="to= names no target")
    if target == message.receiver or role_of(target) == ROUTER or not is_protocol_id(target):
        return _lost(message, router.id, _BAD_ROUTE, id=inline(target, 20))
    entry = registry.get(target)
    if entry is None:
        return _lost(message, router.id, _UNKNOWN_AGENT, id=target)
    if entry.status is EntryStatus.UNAVAILABLE:
        last = int((now - entry.seen_at).total_seconds()) if entry.seen_at else 0
        return _lost(message, router.id, _UNAVAILABLE, id=target, last=f"{last}s")
    return Relay(target=target)


def _lost(message: Message, router: str, code: str, **pairs: str) -> Relay:
    told = compose(
        router, message.sender, "E", pairs=pairs, task=message.task, priority=message.priority,
        state="F", code=code, depth=message.depth, context=message.context,
        number=number_after(message.number),
    )  # fmt: skip
    return Relay(fault=told)


def groups_of(registry: Registry, protocol_id: str) -> list[str]:
    """Return the groups that an agent is in."""
    return sorted(name for name, members in registry.groups.items() if protocol_id in members)


def from_members(registry: Registry, message: Message) -> RegistryStep | None:
    """Carry out a JOIN or LEAVE that stands in the DATA of a B or U; None when it holds none.

    O1 changes a group with B to it and `members=`; a worker joins or leaves by
    itself with U and `group=`.
    """
    word = next((one for one in (JOINING, LEAVING) if message.says(one)), "")
    act = {JOINING: add_members, LEAVING: remove_members}.get(word)
    if act is None:
        return None
    if is_group(message.receiver) and role_of(message.sender) == "O":
        named = [one.strip() for one in message.pair("members").split(",") if one.strip()]
        return act(registry, message.receiver, named)
    if message.pair("group"):
        who = name_of(registry, message.sender)
        step = act(registry, message.pair("group"), [message.sender])
        return step.copy(events=[one.copy(agent=who) for one in step.events])
    return None
