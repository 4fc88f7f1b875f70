"""Changes of the identity registry, each told by an event.

Source: DG-013 to DG-020, XC-008.
"""

from __future__ import annotations

from council.core.events import Event
from council.core.rooms.identities import Registry
from council.store.events import append, loose_records
from council.store.rooms import identities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.place import Place


def change(place: Place, rule: Callable[[Registry], Registry], *, by: str = "") -> None:
    """Change the registry; an event tells which accounts were added, changed and removed.

    Raises:
        InvalidStateError: The file is broken; it is left as it is.
        CouncilError: The rule or the system refuses.
    """
    before: list[Registry] = []

    def watched(standing: Registry) -> Registry:
        before[:] = [standing.copy()]
        return rule(standing)

    after = identities.change(place.paths, watched)
    if after.items != before[0].items:
        event = Event(type="identities.changed", agent=by, data=_difference(before[0], after))
        append(place.paths, loose_records([event], "", place.now()))


def _difference(before: Registry, after: Registry) -> dict[str, list[str]]:
    old = {one.account: (one.agent, one.name) for one in before.identities}
    new = {one.account: (one.agent, one.name) for one in after.identities}
    return {
        "added": sorted(new.keys() - old.keys()),
        "changed": sorted(one for one in new.keys() & old.keys() if new[one] != old[one]),
        "removed": sorted(old.keys() - new.keys()),
    }
