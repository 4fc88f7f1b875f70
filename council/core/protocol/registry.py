"""The registry of document 002: who takes part in the protocol, by which id, in which state.

It holds only what runs. What an agent of the workspace can do stands in its
`SOUL.md` and is laid into its entry while it is read (`informed`); of
one that joined from outside it stands in the entry. `O1` is the coordinator
itself: it is there before anybody joins, and it is the one who assigns ids.

Values, what can be asked of them, and what is answered: confirmations, refusals,
words sent unasked; and their JSON form, both ways, in which unknown fields survive and what the
workspace knows of its own agents is not written. What changes them stands in `registering`,
`liveness` and `grouping`.

Source: PR-305, PR-404, PR-405, PR-504, PR-507, PR-508, PR-510, PR-512, PR-517, PR-546, XC-013,
A-69, `cli.md` section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from council.core.bounds import V5, VERSIONS
from council.core.errors import NewerVersionError
from council.core.events import Event
from council.core.ids import is_name
from council.core.protocol.messages import (
    COORDINATOR,
    REGISTRY_CONTEXT,
    REGISTRY_TASK,
    Message,
    compose,
    inline,
)
from council.core.protocol.protocol_ids import (
    GROUP,
    ROLES,
    in_order,
    is_protocol_id,
    role_of,
    role_word,
)
from council.core.reading import Reader
from council.core.record import Any, Record

SCHEMA_VERSION = 1
CAPABILITIES = (
    "web_search",
    "web_fetch",
    "code_read",
    "code_write",
    "code_exec",
    "file_ops",
    "data_analysis",
    "text_gen",
    "summarize",
    "translate",
    "reason",
    "plan",
)
# Who does not say how deep it may be called counts as one that may be called to depth 3.
UNDECLARED_DEPTH = 4
HIGHEST_DEPTH = 5
FULL_LOAD = 100
REFUSED = "refused"
# What the file of the registry is called where something is wrong with it.
WHERE = "protocol registry"
_UNKNOWN_AGENT = "E41"
_LAST_NUMBER = 9999
_REASON_CHARS = 120

_CAPABILITY_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


class EntryStatus(StrEnum):
    """Whether an agent can be given work."""

    ACTIVE = "active"
    UNAVAILABLE = "unavailable"
    LEFT = "left"


class Entry(Record):
    """One agent of the registry.

    Args:
        id: Its id in messages.
        agent: The agent that bears it, "" where that is not known.
        is_own: Whether the workspace knows that agent, so that its `SOUL.md` gives the rest.
        status: Whether it can be given work; one that left keeps its number for a while.
        capabilities: What it can do, by name.
        description: What it is there for, in one line.
        max_depth: It serves messages whose depth is below this; None where it did not say.
        version: What it speaks, as agreed: `V5` or `V4`.
        fallback: What it also speaks, "" for nothing else.
        load: How busy it said it is, in percent.
        queue: How many messages wait for it, as it said.
        watched: Whether it must show signs of life: from its first liveness message on.
        joined_at: When it was registered last.
        seen_at: When it showed its last sign of life.
        alive_at: When its last liveness message counted, None for never.
        used_at: When it was last given work, None for never.
        use: The number of that, counted over all agents; 0 for never.
        left_at: When it left, None while it has not.
        reason: Why it left or is unavailable.
    """

    _keys = (
        "id:- agent:agentId? is_own:- description? fallback? seen_at:lastSeenAt"
        " alive_at:livenessAt used_at:lastUsedAt use:lastUse~ reason?"
    )

    id: str
    agent: str = ""
    is_own: bool = False
    status: EntryStatus = EntryStatus.ACTIVE
    capabilities: tuple[str, ...] = ()
    description: str = ""
    max_depth: int | None = None
    version: str = V5
    fallback: str = ""
    load: int = 0
    queue: int = 0
    watched: bool = False
    joined_at: datetime | None = None
    seen_at: datetime | None = None
    alive_at: datetime | None = None
    used_at: datetime | None = None
    use: int = 0
    left_at: datetime | None = None
    reason: str = ""
    extra: dict[str, Any] = {}

    @property
    def is_here(self) -> bool:
        """Return true if it is registered, whether or not it can be given work."""
        return self.status is not EntryStatus.LEFT

    @property
    def serves_below(self) -> int:
        """The depth from which on it refuses (PR-565)."""
        return UNDECLARED_DEPTH if self.max_depth is None else self.max_depth

    def to_record(self) -> dict[str, Any]:
        """Return its part of the registry's file, without what its `SOUL.md` says."""
        record = super().to_record()
        if self.is_own:
            del record["capabilities"], record["description"]
        return record


class Registry(Record):
    """All agents of the protocol, and its groups.

    Args:
        entries: Each agent by its id; those that left stay until their number is needed.
        groups: The members of each group, in the order in which they were added.
        handshakes: The version agreed with who has opened a handshake and not joined yet.
        next_message: The number of the next message that the registry sends unasked.
        rev: How often it was changed.
    """

    _keys = "entries:agents"

    schema_version: int = SCHEMA_VERSION
    rev: int = 0
    entries: dict[str, Entry] = {}
    groups: dict[str, list[str]] = {}
    handshakes: dict[str, str] = {}
    next_message: int = 1
    extra: dict[str, Any] = {}

    def here(self) -> list[Entry]:
        """Return all who are registered, in the order of their ids; O1 always is."""
        found = [one for one in self.entries.values() if one.is_here]
        if all(one.id != COORDINATOR for one in found):
            found.append(Entry(id=COORDINATOR))
        return sorted(found, key=lambda one: in_order(one.id))

    @property
    def agents(self) -> dict[str, str]:
        """The agents of the workspace by the ids that they have here."""
        return {one.id: one.agent for one in self.entries.values() if one.agent}

    def get(self, protocol_id: str) -> Entry | None:
        """Return who is registered under an id, None for none."""
        entry = self.entries.get(protocol_id)
        if entry is not None and entry.is_here:
            return entry
        return Entry(id=COORDINATOR) if protocol_id == COORDINATOR else None

    def is_active(self, protocol_id: str) -> bool:
        """Return true if an agent is registered and can be given work."""
        entry = self.get(protocol_id)
        return entry is not None and entry.status is EntryStatus.ACTIVE

    def of_agent(self, agent: str) -> Entry | None:
        """Return the entry of an agent, the one that counts before one that it has left."""
        own = [one for one in self.entries.values() if agent and one.agent == agent]
        return min(own, key=lambda one: (not one.is_here, in_order(one.id)), default=None)

    def version_of(self, protocol_id: str) -> str:
        """Return what is spoken with an id: V5 unless stated otherwise (PR-598)."""
        entry = self.get(protocol_id)
        return entry.version if entry else self.handshakes.get(protocol_id, V5)

    def step(self, outcome: str, about: str, **told: Any) -> RegistryStep:
        """Return what an act comes to that has led here; `told` are more fields of the step."""
        return RegistryStep(registry=self, outcome=outcome, id=about, **told)

    def event(self, kind: str, protocol_id: str, /, **data: Any) -> Event:
        """Return an event about an agent: the one that bears an id, else the id itself."""
        return Event(type=kind, agent=name_of(self, protocol_id), data={"id": protocol_id, **data})

    def with_entry(self, entry: Entry) -> Registry:
        """Return the registry with an entry in the place of what stood under its id."""
        return self.copy(entries={**self.entries, entry.id: entry})


def is_capability(text: str) -> bool:
    """Return true if `text` can name a capability: small letters, digits and `_` (PR-508)."""
    return 0 < len(text) <= 64 and _CAPABILITY_CHARS.issuperset(text)


def capabilities_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return those of many words that can name a capability, each once.

    A persona may call its skills as it likes; the protocol knows the others only.
    """
    return tuple(dict.fromkeys(one for one in texts if is_capability(one)))


def informed(registry: Registry, known: Mapping[str, tuple[tuple[str, ...], str]]) -> Registry:
    """Return the registry with what the workspace knows of its own agents laid into it.

    Args:
        registry: As it stands in its file.
        known: By agent its capabilities and what it is there for.
    """
    entries = dict(registry.entries)
    for one in registry.entries.values():
        if one.agent in known:
            capabilities, description = known[one.agent]
            entries[one.id] = one.copy(
                is_own=True, capabilities=capabilities_in(capabilities), description=description
            )
    return registry.copy(entries=entries)


def free_id(registry: Registry, role: str) -> str:
    """Return the id that O1 assigns next, "" when the role has none left.

    Numbers go in order; one of an agent that has left comes again only when
    there is no fresh one, the longest unused first.
    """
    taken = registry.entries
    for number in range(1, ROLES[role] + 1):
        fresh = f"{role}{number}"
        if fresh not in taken and fresh != COORDINATOR:
            return fresh
    left = [
        one
        for one in taken.values()
        if not one.is_here and role_of(one.id) == role and "." not in one.id
    ]
    left.sort(key=lambda one: (one.left_at.timestamp() if one.left_at else 0.0, in_order(one.id)))
    return left[0].id if left else ""


def name_of(registry: Registry, protocol_id: str) -> str:
    """Return who an event is about: the agent that bears an id, else the id itself."""
    return registry.agents.get(protocol_id, protocol_id)


def number_after(number: int) -> int:
    """Return the number of the next message; the reserved context begins anew after the last."""
    return number % _LAST_NUMBER + 1


class Reply(Record):
    """A message that the registry sends, and in which version it has to be written.

    `to_caller` says that it goes back to who brought the message, and to
    no inbox: its receiver is the id of another one.
    """

    message: Message
    version: str = V5
    to_caller: bool = False


class RegistryStep(Record):
    """What one act on the registry comes to.

    `outcome` is a word for it, `id` the agent or group that it was about, and
    `reason` says what kept it from being done, "" when it was done; `code` is its wire code
    where it answers no one.
    """

    registry: Registry
    replies: list[Reply] = []
    events: list[Event] = []
    outcome: str
    id: str = ""
    reason: str = ""
    code: str = ""


def answer_to(message: Message, kind: str, **told: Any) -> Message:
    """Return what answers a message of the registry: same task, context, depth and priority.

    `told` is what it says, as `compose` takes it.
    """
    told |= {"task": message.task or REGISTRY_TASK, "context": message.context or REGISTRY_CONTEXT}
    told |= {"priority": message.priority, "depth": message.depth}
    return compose(COORDINATOR, message.sender, kind, number=number_after(message.number), **told)


def of_registry(sender: str, receiver: str, kind: str, **told: Any) -> Message:
    """Return a message about the registry: in its reserved task and context, of no priority."""
    told |= {"task": REGISTRY_TASK, "priority": "", "context": REGISTRY_CONTEXT}
    return compose(sender, receiver, kind, **told)


def unasked(registry: Registry, receiver: str, kind: str, **told: Any) -> tuple[Registry, Message]:
    """Return a message that O1 sends of its own, and the registry that has numbered it."""
    number = registry.next_message
    message = of_registry(COORDINATOR, receiver, kind, number=number, **told)
    return registry.copy(next_message=number_after(number)), message


def refused(
    registry: Registry,
    asked: Message,
    code: str,
    reason: str,
    *,
    speaks: str = V5,
    **pairs: str,
) -> RegistryStep:
    """Leave the registry as it is and answer a message with what is wrong with it."""
    told = {"desc": inline(reason, _REASON_CHARS), **pairs}
    data = {"kind": asked.kind, "code": code, "reason": reason}
    event = registry.event("agent.refused", asked.sender, **data)
    answer = answer_to(asked, "E", pairs=told, code=code, state="F")
    reply = Reply(message=answer, version=speaks, to_caller=True)
    return registry.step(REFUSED, asked.sender, replies=[reply], events=[event], reason=reason)


def unknown(registry: Registry, asked: Message, protocol_id: str) -> RegistryStep:
    """Answer a message about an agent that is not registered."""
    reason = f"{protocol_id} is not registered"
    return refused(registry, asked, _UNKNOWN_AGENT, reason, id=protocol_id)


def shown(one: Entry, groups: list[str]) -> dict[str, Any]:
    """Return what people and programs are shown of an agent of an informed registry."""
    told = one.copy(is_own=False).to_record()
    return {"id": one.id, "role": role_word(one.id), **told, "groups": groups}


def registry_from_record(record: object) -> Registry:
    """Read the JSON object of the registry's file; everything in it may be missing.

    Raises:
        NewerVersionError: It is of a newer major version.
        InvalidStateError: A field has a value it cannot have.
    """
    read = Reader(record, WHERE)
    version = read.whole("schemaVersion", SCHEMA_VERSION, 1)
    if version > SCHEMA_VERSION:
        raise NewerVersionError(WHERE, version, SCHEMA_VERSION)
    return read.make(
        Registry,
        entries={key: _entry(key, one) for key, one in read.table("agents").items()},
        groups=_groups(read),
        next_message=min(read.whole("nextMessage", 1, 1), _LAST_NUMBER),
        schema_version=version,
    )


def _groups(read: Reader) -> dict[str, list[str]]:
    groups = read.table("groups")
    for name, members in groups.items():
        if role_of(name) != GROUP or not is_protocol_id(name):
            raise read.fail(f"groups.{name}", "a group such as G1")
        if not isinstance(members, list) or not all(
            isinstance(one, str) and is_protocol_id(one) for one in members
        ):
            raise read.fail(f"groups.{name}", "a list of ids such as W1")
    return groups


def _entry(key: str, value: object) -> Entry:
    read = Reader(value, f"{WHERE}: agents.{key}")
    if not is_protocol_id(key):
        raise read.fail("its key", "an id such as W1")
    depth = read.left.pop("maxDepth", None)
    if depth is not None and not (type(depth) is int and 0 < depth <= HIGHEST_DEPTH + 1):
        raise read.fail("maxDepth", f"null or a whole number from 1 to {HIGHEST_DEPTH + 1}")
    one = read.make(Entry, id=key, max_depth=depth, version=read.text("version") or V5)
    if one.agent and not is_name(one.agent):
        raise read.fail("agentId", "a legal agent id, or null")
    if one.version not in VERSIONS:
        raise read.fail("version", f"one of {', '.join(VERSIONS)}")
    if one.load > FULL_LOAD:
        raise read.fail("load", f"a percentage up to {FULL_LOAD}")
    return one
