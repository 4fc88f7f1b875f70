"""All that is known of each agent, with every id it has.

Source: DG-012, XC-101, `cli.md` section 5.
"""

from __future__ import annotations

import os

from council.core.agents import Agent
from council.core.errors import CouncilError, NotFoundError
from council.core.ids import checked_name
from council.core.protocol.protocol_ids import is_protocol_id, role_word
from council.core.protocol.registry import Entry
from council.core.protocol.registry import Registry as ProtocolRegistry
from council.core.record import Any, Record
from council.core.rooms.identities import Identity, Registry
from council.operations.place import Place
from council.store.agents import soul_path
from council.store.protocol import protocol_registry
from council.store.rooms import identities


def named(agent: str, entry: Identity | None) -> dict[str, Any]:
    """Return how an agent is named, as document 001 has it."""
    name, account = (entry.name, entry.account) if entry else (agent, None)
    return {"agentId": agent, "agentName": name, "discordUserId": account}


class Profile(Record):
    """All that is known of one agent, with every id it has (XC-101).

    `roles` are its roles in the open conversations, by their names; `entry` is
    what the registry of the protocol says of it, None while it has not joined;
    `soul` is where its `SOUL.md` lies, "" when there is none.
    """

    agent: Agent
    identities: list[Identity]
    roles: dict[str, str]
    entry: Entry | None = None
    soul: str = ""
    settled: bool = False

    @property
    def name(self) -> str:
        """The name to show: that of the workspace, else that of the registry."""
        if not self.settled and self.identities:
            return self.identities[0].name
        return self.agent.name

    @property
    def protocol_id(self) -> str:
        """The id in protocol messages, such as `W3`, "" without one.

        The one that was assigned, else a handle that it proposes.
        """
        if self.entry is not None:
            return self.entry.id
        return next((one for one in self.agent.handles if is_protocol_id(one)), "")

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `agent show --json`, an element of `agent list --json`."""
        one = self.agent
        return {
            **named(one.id, self.identities[0] if self.identities else None),
            "accounts": [entry.account for entry in self.identities],
            "protocolId": self.protocol_id or None,
            "protocol": self.entry
            and {
                "role": role_word(self.entry.id),
                **self.entry.as_json("status version max_depth"),
            },
            "handles": one.handles,
            "conversations": [
                {"name": name, "role": role or None} for name, role in self.roles.items()
            ],
            "name": self.name,
            **one.as_json("emoji role? model? driver capabilities workspace"),
            "soul": self.soul or None,
            "faults": one.faults,
        }


def profiles(place: Place) -> tuple[list[Profile], list[str]]:
    """Return all agents of the workspace and of the registry, and what could not be used.

    Raises:
        InvalidStateError: The registry is broken.
    """
    registry = identities.load(place.paths)
    ids = sorted(registry.agents | set(place.agents()))
    roles, faults = roles_of(place)
    joined, broken = joined_in(place)
    found = [_profile(place, one, registry, roles, joined) for one in ids]
    where = os.path.relpath(place.paths.identities, place.root)
    return found, [f"{where}: {fault}" for fault in registry.faults] + faults + broken


def profile(place: Place, agent_id: str) -> Profile:
    """Return one agent.

    Raises:
        NotFoundError: Nothing is known of it.
        InvalidStateError: The registry is broken.
    """
    registry = identities.load(place.paths)
    must_be_known(place, agent_id, registry)
    return _profile(place, agent_id, registry, roles_of(place)[0], joined_in(place)[0])


def joined_in(place: Place) -> tuple[ProtocolRegistry, list[str]]:
    """Return who has joined the protocol; a registry that is broken is a fault and stops no one."""
    try:
        return protocol_registry.load(place.paths), []
    except CouncilError as error:
        return ProtocolRegistry(), [error.message]


def _profile(
    place: Place,
    agent_id: str,
    registry: Registry,
    roles: dict[str, dict[str, str]],
    joined: ProtocolRegistry,
) -> Profile:
    entry = joined.of_agent(agent_id)
    soul = soul_path(place.root, place.settings, agent_id)
    soul = soul if os.path.lexists(soul) else ""
    return Profile(
        agent=place.agent(agent_id),
        identities=registry.of_agent(agent_id),
        roles=roles.get(agent_id, {}),
        entry=entry if entry is not None and entry.is_here else None,
        soul=soul,
        settled=bool(soul) or agent_id in place.settings.agents,
    )


def roles_of(place: Place) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return by agent in which open conversations it takes part, and as what."""
    roles: dict[str, dict[str, str]] = {}
    faults = []
    for name in place.conversations.names():
        try:
            state = place.conversations.read(name)
        except CouncilError as error:
            faults.append(f"{name}: {error.message}")
            continue
        for participant in state.participants.values():
            roles.setdefault(participant.id, {})[name] = participant.role
    return roles, faults


def must_be_known(place: Place, agent_id: str, registry: Registry) -> None:
    """Let an agent pass of which a folder, settings, the registry or another machine know.

    Raises:
        InvalidInputError: It is no legal id.
        NotFoundError: Nothing is known of it.
    """
    checked_name(agent_id, "agent id")
    if agent_id not in registry.agents | set(place.agents()) and place.has(agent_id):
        raise NotFoundError(f"no agent {agent_id}", f"add it: council agent add {agent_id}")
