"""Changes of the identity registry, and taking over identities from another program.

Each change is reported by an event. Nothing depends on the file of the other program: where
it is missing there is nothing to do.

Source: DG-002, DG-013 to DG-022, A-21, XC-008.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from council.core.errors import CouncilError, InvalidInputError, NotFoundError
from council.core.record import Record
from council.core.rooms.identities import Registry, Scanned, is_source
from council.core.rooms.identities import scan as take_over
from council.operations.place import Place
from council.store.rooms import ego, identities


def change_registry(place: Place, rule: Callable[[Registry], Registry], *, by: str = "") -> None:
    """Change the registry; an event says which accounts were added, changed and removed.

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
        from council.core.events import Event
        from council.store.events import append, loose_records

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


class Scan(Record):
    """What a scan of an identity source came to; `done` is None where it is no source."""

    source: str
    done: Scanned | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `agent scan`."""
        done = self.done or Scanned(registry=Registry())
        return {"source": self.source, "detected": self.done is not None, **done.to_record()}


def scan(place: Place, file: str = "") -> Scan:
    """Take over the agents of an identity source that have no entry yet.

    Args:
        place: The workspace.
        file: The source; else `[paths] ego`, else where its program keeps it.

    Raises:
        RefusedError: The workspace is a slave (DG-162).
        NotFoundError: The file that was named is not there.
        InvalidInputError: The source is not JSON.
        CouncilError: The registry is broken, or the system refuses.
    """
    place.refuse_on_slave()
    source = os.path.abspath(file) if file else place.paths.ego
    document = ego.read(source)
    if document is None and file:
        raise NotFoundError(f"no such file: {file}", "name the ego.json to read")
    return _taken_over(place, source, document)


def _taken_over(place: Place, source: str, document: object) -> Scan:
    if not is_source(document):
        return Scan(source=source)
    known = place.agents()
    done: list[Scanned] = []

    def rule(registry: Registry) -> Registry:
        done.append(take_over(registry, document, known))
        return done[-1].registry

    change_registry(place, rule)
    return Scan(source=source, done=done[-1])


def scan_if_changed(place: Place) -> Scan | None:
    """Scan the usual source if it has changed since the last time, or the registry is gone.

    It is one `stat` where nothing is there and one small read where nothing
    has changed, so every heartbeat may call it. A source that is broken is
    reported once for each state of it.

    Raises:
        CouncilError: As `scan`.
    """
    source = place.paths.ego
    looks = ego.look(source)
    if not looks or ego.was_taken(place.paths, source, looks):
        return None
    try:
        document = ego.read(source)
    except InvalidInputError:
        ego.note_taken(place.paths, source, looks)
        raise
    made = _taken_over(place, source, document)
    ego.note_taken(place.paths, source, looks)
    return made


def source_is_there(place: Place) -> bool:
    """Return true if there is a source to scan, so that scanning may be offered (DG-022)."""
    try:
        return not place.is_slave and is_source(ego.read(place.paths.ego))
    except CouncilError:
        return False
