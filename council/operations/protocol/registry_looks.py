"""Looking at the registry: who is there, who would get a task, who is meant by a name.

Nothing here writes.

Source: PR-305, PR-504, PR-509, PR-515, PR-561, XC-101.
"""

from __future__ import annotations

from council.core.errors import InvalidInputError, NotFoundError, UsageError
from council.core.ids import is_name
from council.core.protocol.grouping import groups_of, is_group
from council.core.protocol.protocol_ids import is_filter, is_protocol_id
from council.core.protocol.registry import Entry, EntryStatus, Registry, is_capability
from council.core.protocol.registry_messages import chosen
from council.core.protocol.registry_records import shown
from council.core.protocol.selection import Selection, candidates_of, select
from council.core.record import Record
from council.operations.place import Place, speaker
from council.operations.protocol.registry_changes import no_group, not_registered, registry_of
from council.store.protocol import protocol_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Found(Record):
    """Those whom a query found."""

    registry: Registry
    entries: list[Entry]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `agent query`."""
        return {
            "agents": [one.id for one in self.entries],
            "count": len(self.entries),
            "answer": f"agents={','.join(one.id for one in self.entries) or '-'}"
            f";count={len(self.entries)}",
            "entries": [shown(one, groups_of(self.registry, one.id)) for one in self.entries],
            "groups": {name: list(many) for name, many in sorted(self.registry.groups.items())},
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
    if is_group(pattern) and pattern not in registry.groups:
        raise no_group(pattern)
    if is_protocol_id(pattern) and not is_group(pattern) and registry.get(pattern) is None:
        raise not_registered(pattern)
    return Found(registry=registry, entries=chosen(registry, pattern, status))


def weigh(
    place: Place,
    capabilities: Iterable[str],
    *,
    depth: int = 0,
    threshold: float | None = None,
    without: Iterable[str] = (),
) -> Selection:
    """Weigh the workers of the registry for a task.

    Args:
        place: The workspace.
        capabilities: What the task needs.
        depth: The depth at which it would be called.
        threshold: From 0 to 1, the least score; None takes that of the settings.
        without: Ids that are not to get it.

    Raises:
        InvalidInputError: A word cannot name a capability.
        InvalidStateError: The registry cannot be understood.
    """
    wanted = list(capabilities)
    check_capabilities(wanted)
    least = place.settings.protocol.threshold if threshold is None else threshold
    return select(
        wanted,
        candidates_of(registry_of(place)),
        threshold=least,
        depth=depth,
        without=tuple(without),
    )


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
        given: A protocol id, an agent, or "" for whoever calls.

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
    agent = names[0] if names else ""
    if not agent:
        try:
            agent = speaker(place, "")
        except UsageError:
            agent = ""  # it joins from outside
    return (ids[0] if ids else ""), agent
