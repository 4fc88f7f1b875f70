"""What agents of the registry change of themselves: they leave, they declare what they can do.

Source: PR-507, PR-508, PR-510.
"""

from __future__ import annotations

from datetime import datetime

from council.core.events import Event
from council.core.protocol.messages import COORDINATOR, Message, inline
from council.core.protocol.registry import EntryStatus, Registry, is_capability, name_of
from council.core.protocol.registry_replies import RegistryStep, Reply, answer_to, refused, unknown

LEFT, UPDATED, UNCHANGED = "left", "updated", "unchanged"
_BAD_FORM = "E10"
_REASON_CHARS = 200


def leave(
    registry: Registry, protocol_id: str, reason: str, now: datetime, message: Message | None = None
) -> RegistryStep:
    """Take an agent out: out of all groups, too. Its number comes again last of all."""
    asked = message or Message(
        sender=protocol_id, receiver=COORDINATOR, kind="L", priority="", data="ok"
    )
    entry = registry.entries.get(protocol_id)
    if entry is None:
        return unknown(registry, asked, protocol_id)
    gone = Reply(message=answer_to(asked, "A", flags=["left"], pairs={"id": protocol_id}))
    if not entry.is_here:
        return RegistryStep(registry=registry, replies=[gone], outcome=UNCHANGED, id=protocol_id)
    told = inline(reason, _REASON_CHARS) if reason else ""
    groups = {
        name: [one for one in members if one != protocol_id]
        for name, members in registry.groups.items()
    }
    changed = registry.copy(groups=groups).with_entry(
        entry.copy(status=EntryStatus.LEFT, left_at=now, reason=told, load=0, queue=0)
    )
    event = Event(
        type="agent.left",
        agent=name_of(registry, protocol_id),
        data={"id": protocol_id, "reason": told or None},
    )
    return RegistryStep(
        registry=changed, replies=[gone], events=[event], outcome=LEFT, id=protocol_id
    )


def change_capabilities(
    registry: Registry,
    protocol_id: str,
    capabilities: tuple[str, ...],
    now: datetime,
    message: Message | None = None,
) -> RegistryStep:
    """Let an agent have these capabilities and no others."""
    asked = message or Message(
        sender=protocol_id, receiver=COORDINATOR, kind="K", priority="", data="ok"
    )
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
        return RegistryStep(registry=registry, replies=[told], outcome=UNCHANGED, id=protocol_id)
    event = Event(
        type="agent.capabilities-changed",
        agent=name_of(registry, protocol_id),
        data={"id": protocol_id, "capabilities": list(capabilities)},
    )
    changed = registry.with_entry(entry.copy(capabilities=capabilities, seen_at=now))
    return RegistryStep(
        registry=changed, replies=[told], events=[event], outcome=UPDATED, id=protocol_id
    )
