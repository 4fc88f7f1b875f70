"""The registry at work: messages to it, joining, leaving, groups, signs of life; the members.

Each act is a rule of the core; what follows from it, `registry_changes` does.

Source: PR-305, PR-404, PR-405, PR-421, PR-422, PR-504, PR-507 to PR-518, PR-561, XC-101, `cli.md`
section 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from council.core.bounds import V5
from council.core.errors import (
    IdConflictError,
    InvalidInputError,
    NotFoundError,
    ProtocolRefusedError,
    RefusedError,
    UsageError,
)
from council.core.ids import is_name
from council.core.protocol import grouping, liveness
from council.core.protocol import registering as rules
from council.core.protocol.messages import COORDINATOR, Message
from council.core.protocol.protocol_ids import is_filter, is_protocol_id, role_of
from council.core.protocol.registering import Joining, capabilities_of, change_capabilities
from council.core.protocol.registering import leave as leaving
from council.core.protocol.registry import (
    REFUSED,
    Entry,
    EntryStatus,
    Registry,
    RegistryStep,
    capabilities_in,
    is_capability,
    of_registry,
    shown,
)
from council.core.protocol.registry_messages import chosen, concerns_registry
from council.core.protocol.registry_messages import receive as answered
from council.core.protocol.selection import Selection, candidates_of, select
from council.core.record import Record
from council.operations.place import Place, speaker
from council.operations.protocol.registry_changes import (
    Done,
    changed,
    is_own,
    no_group,
    not_registered,
    registry_of,
)
from council.store.notes import liveness_is_due
from council.store.protocol import protocol_registry

_UNKNOWN_AGENT = "E41"
# What these ask needs no reading of what agents can do.
_QUICK = frozenset("HQL")


def receive(place: Place, message: Message, *, agent: str = "", speaks: str = V5) -> Done:
    """Do what a message asks of the registry: J, L, K, Q, H and their forms in V4.

    The message and what it is answered with are logged, and each answer lies in
    the inbox of whom it is for. A refusal is an answer, too; it raises nothing.

    Args:
        place: The workspace.
        message: One of which `concerns_registry` is true.
        agent: The agent of the workspace that sends it, "" where that is not known.
        speaks: The version in which it was written.

    Raises:
        RefusedError: A run speaks for another one.
        InvalidStateError: The registry, or a `SOUL.md`, is not to be changed by a program.
    """
    assert concerns_registry(message)
    sender = _in_run(place, message) or agent
    if not sender:
        sender = owner_of(place, message.sender)
        # Nothing shows that a line from a shell is that agent's: it takes nothing over.
        sender = "" if _replaces(place, message, sender) else sender

    def rule(registry: Registry) -> RegistryStep:
        own = bool(sender) and is_own(place, sender)
        known, now = place.settings.protocol, place.now()
        return answered(registry, message, now, known, agent=sender, is_own=own, speaks=speaks)

    return changed(place, rule, message, sender, quick=message.kind in _QUICK)


def _replaces(place: Place, message: Message, owner: str) -> bool:
    """Return true if a J would give other capabilities to an agent that is there already.

    One that names that agent by `agent=` may do so.
    """
    told = capabilities_of(message)
    if message.kind != "J" or not owner or told is None or message.pair("agent") == owner:
        return False
    entry = registry_of(place).get(message.sender)
    return entry is not None and entry.is_here and set(told) != set(entry.capabilities)


def _in_run(place: Place, message: Message) -> str:
    """Return whose run this is, "" outside of runs.

    Raises:
        RefusedError: It speaks as another one.
    """
    if not place.is_in_run:
        return ""
    own = place.environ.get("COUNCIL_AGENT", "")
    entry = protocol_registry.load(place.paths).of_agent(own)
    if entry is not None and entry.is_here and entry.id != message.sender:
        raise RefusedError(
            f"this run is {entry.id}'s and cannot speak as {message.sender}", f"send as {entry.id}"
        )
    return own


def owner_of(place: Place, protocol_id: str) -> str:
    """Return the agent of the workspace that a protocol id belongs to, "" for none.

    The registry says it; of who has not joined, the handles in its `SOUL.md`.
    """
    entry = protocol_registry.load(place.paths).get(protocol_id)
    if entry is not None:
        return entry.agent
    for agent in place.agents():
        if protocol_id in place.agent(agent).handles:
            return agent
    return ""


def join(place: Place, wish: Joining) -> Done:
    """Register an agent without a message of its own.

    Raises:
        IdConflictError: Its id is taken, or none is left.
        ProtocolRefusedError: What it says of itself cannot be, or no version is common.
        InvalidStateError: The registry, or its `SOUL.md`, is not to be changed by a program.
    """
    told = _as_known(place, wish)
    asked = of_registry(told.proposed, COORDINATOR, "J", number=1) if told.proposed else None
    version = told.version if told.version and not told.fallback else V5

    def rule(registry: Registry) -> RegistryStep:
        known = place.settings.protocol
        return rules.join(registry, told, place.now(), known, asked, speaks=version)

    return _accepted(changed(place, rule, None, told.agent))


def _as_known(place: Place, wish: Joining) -> Joining:
    """Return what a joining agent says, with what its `SOUL.md` says for it."""
    if not wish.agent or not is_own(place, wish.agent):
        return wish.copy(is_own=False)
    facts = place.agent(wish.agent)
    handles = [one for one in facts.handles if is_protocol_id(one) and role_of(one) == wish.role]
    if not wish.proposed and handles:
        wish = wish.copy(proposed=handles[0], insists=False)
    usual = capabilities_in(facts.capabilities)
    return wish.copy(
        is_own=True,
        capabilities=usual if wish.capabilities is None else wish.capabilities,
        description=wish.description or facts.role,
    )


def leave(place: Place, protocol_id: str, reason: str = "") -> Done:
    """Take an agent out of the registry.

    Raises:
        NotFoundError: No agent bears that id.
        InvalidStateError: The registry is not to be changed by a program.
    """
    return _accepted(
        changed(place, lambda registry: leaving(registry, protocol_id, reason, place.now()))
    )


def declare(place: Place, protocol_id: str, capabilities: Iterable[str]) -> Done:
    """Let an agent have these capabilities and no others.

    Raises:
        NotFoundError: No agent bears that id.
        ProtocolRefusedError: One cannot name a capability.
        InvalidStateError: The registry, or its `SOUL.md`, is not to be changed by a program.
    """
    wanted = tuple(dict.fromkeys(capabilities))

    def rule(registry: Registry) -> RegistryStep:
        return change_capabilities(registry, protocol_id, wanted, place.now())

    return _accepted(changed(place, rule))


def tell_liveness(place: Place, protocol_id: str, load: int, queue: int) -> Done:
    """Take in a sign of life; one that comes too soon is dropped, and says so in `reason`.

    Raises:
        NotFoundError: No agent bears that id.
        ProtocolRefusedError: Load or queue cannot be so.
        InvalidStateError: The registry is not to be changed by a program.
    """
    return _accepted(receive(place, liveness.liveness_message(protocol_id, load, queue)))


def change_group(place: Place, group: str, members: Iterable[str], *, add: bool) -> Done:
    """Put workers into a group or take them out; without members to take out, all of them.

    Raises:
        NotFoundError: There is no such group, or one of them is not registered or not in it.
        ProtocolRefusedError: It can be no group, or one of them cannot be in it.
        InvalidStateError: The registry is not to be changed by a program.
    """
    named = list(members)

    def rule(registry: Registry) -> RegistryStep:
        if add:
            return grouping.add_members(registry, group, named)
        if group not in registry.groups:
            raise no_group(group)
        strangers = [one for one in named if one not in registry.groups[group]]
        if strangers:
            told = f"council agent group list; it holds: {', '.join(registry.groups[group])}"
            raise NotFoundError(f"{strangers[0]} is not in {group}", f"see: {told}")
        return grouping.remove_members(registry, group, named)

    return _accepted(changed(place, rule))


def note_used(place: Place, *protocol_ids: str) -> None:
    """Remember that agents were given work, so that the next task goes to others."""

    def rule(registry: Registry) -> RegistryStep:
        return liveness.used(registry, place.now(), *protocol_ids).step(liveness.HEARD, "")

    changed(place, rule, quick=True)


def note_seen(place: Place, protocol_id: str) -> None:
    """Take any message of an agent for a sign of life.

    One whose signs are not awaited is not written down.
    """
    entry = protocol_registry.load(place.paths).entries.get(protocol_id)
    if entry is None or not entry.is_here or not entry.watched:
        return
    changed(place, lambda registry: liveness.seen(registry, protocol_id, place.now()), quick=True)


def expire_liveness(place: Place, now: datetime) -> list[str]:
    """Mark those who fell silent as unavailable; return their ids.

    It costs two reads of the file system while no agent can have fallen silent.

    Raises:
        InvalidStateError: The registry is not to be changed by a program.
    """
    if not liveness_is_due(place.paths.protocol, now):
        return []
    gone: list[str] = []

    def rule(registry: Registry) -> RegistryStep:
        step = liveness.expire(registry, now, place.settings.protocol)
        gone[:] = [reply.message.receiver for reply in step.replies]
        return step

    changed(place, rule, quick=True)
    if not gone:
        protocol_registry.note_due(place.paths, place.settings.protocol)
    return gone


def _accepted(done: Done) -> Done:
    """Let an act pass that was done.

    Raises:
        IdConflictError: The id was taken.
        NotFoundError: It is about an agent that the registry does not know.
        ProtocolRefusedError: Anything else was wrong.
    """
    answer = done.answers[0] if done.answers else ""
    if done.outcome == rules.CONFLICT:
        raise IdConflictError(done.reason, answer)
    if done.outcome != REFUSED:
        return done
    if done.code == _UNKNOWN_AGENT:
        raise NotFoundError(f"{done.code}: {done.reason}", "see who is: council agent query")
    raise ProtocolRefusedError(done.reason, done.code, answer)


# --- Who is registered, who would get a task, who is meant by a name: nothing here writes


class Found(Record):
    """Those whom a query found."""

    registry: Registry
    entries: list[Entry]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `agent query`."""
        ids, groups_of = [one.id for one in self.entries], grouping.groups_of
        return {
            "agents": ids,
            "count": len(ids),
            "answer": f"agents={','.join(ids) or '-'};count={len(ids)}",
            "entries": [shown(one, groups_of(self.registry, one.id)) for one in self.entries],
            "groups": dict(sorted(self.registry.groups.items())),
        }


def query(place: Place, pattern: str = "*", status: str = "") -> Found:
    """Return who is registered and fits a filter.

    Args:
        place: The workspace.
        pattern: `*`, a role such as `W*`, one id, or an agent that has joined.
        status: `active`, `unavailable` or `left`; "" for all who have not left.

    Raises:
        InvalidInputError: The filter or the status is none.
        NotFoundError: There is no such agent or group.
        InvalidStateError: The registry cannot be understood.
    """
    if is_name(pattern):
        pattern = protocol_id_of(place, pattern)
    if not is_filter(pattern):
        raise InvalidInputError(f"{pattern!r} chooses nobody", "write *, W*, O*, R* or an id")
    if status and status not in tuple(EntryStatus):
        raise InvalidInputError(f"no status {status!r}", f"it is one of {', '.join(EntryStatus)}")
    registry = registry_of(place)
    if grouping.is_group(pattern) and pattern not in registry.groups:
        raise no_group(pattern)
    if is_protocol_id(pattern) and not grouping.is_group(pattern) and registry.get(pattern) is None:
        raise not_registered(pattern)
    return Found(registry=registry, entries=chosen(registry, pattern, status))


def weigh(
    place: Place,
    capabilities: Iterable[str],
    *,
    depth: int = 0,
    threshold: float | None = None,
) -> Selection:
    """Weigh the workers of the registry for a task.

    Args:
        place: The workspace.
        capabilities: What the task needs.
        depth: The depth at which it would be called.
        threshold: From 0 to 1, the least score; None takes that of the settings.

    Raises:
        InvalidInputError: A word cannot name a capability.
        InvalidStateError: The registry cannot be understood.
    """
    wanted = list(capabilities)
    check_capabilities(wanted)
    least = place.settings.protocol.threshold if threshold is None else threshold
    return select(wanted, candidates_of(registry_of(place)), threshold=least, depth=depth)


def check_capabilities(names: Iterable[str]) -> None:
    """Let only names pass that a capability can have.

    Raises:
        InvalidInputError: A word cannot name a capability.
    """
    wrong = next((one for one in names if not is_capability(one)), None)
    if wrong is not None:
        raise InvalidInputError(
            f"{wrong!r} is no capability", "use small letters, digits and _, such as web_search"
        )


def protocol_id_of(place: Place, given: str) -> str:
    """Return the protocol id of whom a command means.

    Args:
        place: The workspace.
        given: A protocol id, an agent, or "" for the caller.

    Raises:
        UsageError: Nothing says who calls.
        NotFoundError: That agent has not joined.
    """
    if is_protocol_id(given):
        return given
    agent = speaker(place, given)
    entry = protocol_registry.load(place.paths).of_agent(agent)
    if entry is None or not entry.is_here:
        raise NotFoundError(
            f"{agent} has not joined the protocol", f"let it join: council agent join --as {agent}"
        )
    return entry.id


def whom(place: Place, given: str, as_: str) -> tuple[str, str]:
    """Return the proposed protocol id and the agent of who joins, each "" where nothing says so.

    Raises:
        UsageError: Two of them contradict each other.
    """
    words = [one for one in (given, as_) if one]
    ids = [one for one in words if is_protocol_id(one)]
    names = [one for one in words if one not in ids]
    if len(set(ids)) > 1 or len(set(names)) > 1:
        raise UsageError(f"{' or '.join(words)}?", "name one id such as W3, and one agent")
    proposed = ids[0] if ids else ""
    try:
        return proposed, names[0] if names else speaker(place, "")
    except UsageError:
        return proposed, ""  # it joins from outside
