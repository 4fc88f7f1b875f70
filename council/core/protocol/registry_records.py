"""The JSON form of the registry, both ways; unknown fields survive.

What the workspace knows of its own agents is not written: it stands in their
`SOUL.md`.

Source: XC-013, PR-507, `cli.md` section 5.
"""

from __future__ import annotations

from council.core.bounds import V5, VERSIONS
from council.core.errors import NewerVersionError
from council.core.ids import is_name
from council.core.protocol.protocol_ids import GROUP, is_protocol_id, role_of, role_word
from council.core.protocol.registry import (
    FULL_LOAD,
    HIGHEST_DEPTH,
    SCHEMA_VERSION,
    Entry,
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
        **registry.as_json("schema_version rev"),
        "agents": {one.id: _entry_to_record(one) for one in registry.entries.values()},
        **registry.as_json("groups handshakes next_message"),
        **registry.extra,
    }


def _entry_to_record(one: Entry) -> dict[str, Any]:
    record = one.to_record()
    if one.is_own:
        del record["capabilities"], record["description"]
    return record


def shown(one: Entry, groups: list[str]) -> dict[str, Any]:
    """Return what people and programs are shown of an agent of an informed registry."""
    return {"id": one.id, "role": role_word(one.id), **one.to_record(), "groups": groups}


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
