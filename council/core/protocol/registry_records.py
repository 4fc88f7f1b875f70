"""The JSON form of the registry, both ways; unknown fields survive.

What the workspace knows of its own agents is not written: it stands in their
`SOUL.md`.

Source: XC-013, PR-507, `cli.md` section 5.
"""

from __future__ import annotations

from council.core.errors import NewerVersionError
from council.core.ids import is_name
from council.core.protocol.protocol_ids import GROUP, is_protocol_id, role_of, role_word
from council.core.protocol.protocol_rules import V5, VERSIONS
from council.core.protocol.registry import (
    FULL_LOAD,
    HIGHEST_DEPTH,
    SCHEMA_VERSION,
    Entry,
    EntryStatus,
    Registry,
)
from council.core.reading import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WHERE = "protocol registry"
_LAST_NUMBER = 9999


def registry_to_record(registry: Registry) -> dict[str, Any]:
    """Return the JSON object of the registry's file."""
    return {
        "schemaVersion": registry.schema_version,
        "rev": registry.rev,
        "agents": {one.id: _entry_to_record(one) for one in registry.entries.values()},
        "groups": {name: list(members) for name, members in registry.groups.items()},
        "handshakes": dict(registry.handshakes),
        "nextMessage": registry.next_message,
        **registry.extra,
    }


def _entry_to_record(one: Entry) -> dict[str, Any]:
    told = {} if one.is_own else _told(one)
    return {
        "agentId": one.agent or None,
        "status": str(one.status),
        **told,
        **one.as_json(
            "max_depth version fallback? load queue watched joined_at seen_at:lastSeenAt"
            " alive_at:livenessAt used_at:lastUsedAt left_at reason?"
        ),
        **one.extra,
    }


def _told(one: Entry) -> dict[str, Any]:
    return {"capabilities": list(one.capabilities), "description": one.description or None}


def shown(one: Entry, groups: list[str]) -> dict[str, Any]:
    """Return what people and programs are shown of an agent of an informed registry."""
    return {
        "id": one.id,
        "role": role_word(one.id),
        **_entry_to_record(one),
        **_told(one),
        "groups": groups,
    }


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
    registry = Registry(
        entries={key: _entry(key, one) for key, one in read.table("agents").items()},
        groups=_groups(read),
        handshakes=read.text_table("handshakes"),
        next_message=min(read.whole("nextMessage", 1, 1), _LAST_NUMBER),
        rev=read.whole("rev", 0),
        schema_version=version,
    )
    registry.extra = read.left
    return registry


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
    one = Entry(
        id=key,
        agent=read.text("agentId"),
        status=read.choice("status", EntryStatus, EntryStatus.ACTIVE),
        capabilities=tuple(read.texts("capabilities")),
        description=read.text("description"),
        max_depth=depth,
        version=read.text("version") or V5,
        fallback=read.text("fallback"),
        load=read.whole("load", 0),
        queue=read.whole("queue", 0),
        watched=read.flag("watched", False),
        joined_at=read.instant("joinedAt"),
        seen_at=read.instant("lastSeenAt"),
        alive_at=read.instant("livenessAt"),
        used_at=read.instant("lastUsedAt"),
        left_at=read.instant("leftAt"),
        reason=read.text("reason"),
    )
    if one.agent and not is_name(one.agent):
        raise read.fail("agentId", "a legal agent id, or null")
    if one.version not in VERSIONS:
        raise read.fail("version", f"one of {', '.join(VERSIONS)}")
    if one.load > FULL_LOAD:
        raise read.fail("load", f"a percentage up to {FULL_LOAD}")
    one.extra = read.left
    return one
