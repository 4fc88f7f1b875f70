"""What `doctor` says of artifacts, briefs, rooms, identities, and of document 002.

Artifacts and briefs are looked at by their sizes; their bytes are read up to a limit, so that
`doctor` stays quick where much is stored.

Source: `cli.md` section 2 (`doctor`), P8-035, DG-007, DG-012, DG-018, PR-422.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, DamagedArtifactError, NotFoundError, ignoring
from council.core.protocol.registry import EntryStatus
from council.operations.examining.causes import cause, refusal
from council.operations.examining.finding import Finding, wrong
from council.operations.place import Place
from council.operations.protocol.exchanging import contexts
from council.operations.rooms import rooms
from council.store.delegation import artifact_care, artifacts, briefs
from council.store.paths import record_files
from council.store.protocol import protocol_registry
from council.store.rooms import identities

_READ_BYTES = 512 * 2**20


def examine_artifacts(place: Place, *, repair: bool = False) -> list[Finding]:
    """Look at what is stored for all to fetch, and at what publishers that died left behind."""
    try:
        return [*_contents(place), *_remains(place, repair), *_briefs(place)]
    except CouncilError as error:
        return [wrong(refusal("artifact", "artifacts", error))]


def _contents(place: Place) -> list[Finding]:
    found: list[Finding] = []
    count, left_bytes, unread = 0, _READ_BYTES, 0
    for wanted in artifacts.ids(place.paths):
        count += 1
        path = f"{place.paths.artifacts}/{wanted}{artifacts.CONTENT}"
        try:
            one = artifacts.find(place.paths, wanted)
            size = os.lstat(path).st_size
            if size != one.size_bytes:
                raise DamagedArtifactError(wanted, path, f"another file, of {size} bytes")
            if size > left_bytes:
                unread += 1
                continue
            left_bytes -= size
            artifacts.open_verified(place.paths, wanted, now=place.now()).close()
        except CouncilError as error:
            fix = f"publish the same bytes again, or remove it: rm -f {path}"
            found.append(wrong(cause("artifact", wanted[:16], message=error.message, hint=fix)))
    if not count:
        return []
    if not found:
        rest = f", {unread} by size alone: council artifact verify --all" if unread else ""
        found.append(Finding(what="artifacts", found=f"{count} verified{rest}"))
    return found


def _remains(place: Place, repair: bool) -> list[Finding]:
    left = artifact_care.remains(place.paths, place.now())
    if repair and (left.abandoned or left.nameless):
        artifact_care.clear(place.paths, [*left.abandoned, *left.nameless])
        left = artifact_care.remains(place.paths, place.now())
    fix = "council doctor --repair, or council artifact gc"
    told = [
        *((path, "metadata of content that is gone", fix) for path in left.nameless),
        *((path, "left by a publisher that died", fix) for path in left.abandoned),
        *((path, "is no artifact", "move it elsewhere") for path in left.foreign),
        *(
            (
                artifacts.content_path(place.paths, one),
                "has no metadata: its publisher died",
                f"council artifact publish {artifacts.content_path(place.paths, one)}",
            )
            for one in left.undescribed
        ),
    ]
    return [
        wrong(cause("artifact", "artifacts", message=f"{os.path.basename(path)}: {said}", hint=how))
        for path, said, how in told
    ]


def _briefs(place: Place) -> list[Finding]:
    return [
        wrong(
            cause(
                "brief",
                "briefs",
                message=f"{os.path.relpath(path, place.root)} is no brief",
                hint="correct it, or move it elsewhere",
            )
        )
        for path in briefs.damaged(place.paths)
    ]


# --- Rooms and messages: what is well, and what is over and cannot be read


def examine_rooms(place: Place) -> list[Finding]:
    """Look at channels, and at the accounts that are known."""
    seen, _ = rooms.each(place, lambda here, one: rooms.channels(here).see(one))
    found = []
    if seen:
        found.append(Finding(what="channels", found=f"{len(seen)} can be read"))
    if os.path.lexists(place.paths.identities):
        with ignoring(CouncilError):
            count = len(identities.load(place.paths).identities)
            found.append(Finding(what="identities", found=f"{count} accounts are known"))
    if os.path.lexists(place.paths.ego):
        found.append(Finding(what="identity source", found=f"read from {place.paths.ego}"))
    return found


def examine_protocol(place: Place) -> list[Finding]:
    """Look at the registry of the protocol, and at contexts that are over."""
    store, found = contexts(place), []
    if record_files(protocol_registry.registry_path(place.paths)):
        with ignoring(CouncilError):
            here = protocol_registry.load(place.paths).here()
            active = [one for one in here if one.status is EntryStatus.ACTIVE and one.seen_at]
            said = f"{len(active)} agents can be given work"
            found.append(Finding(what="protocol", found=said))
    try:
        closed = store.closed_ids()
    except CouncilError as error:
        return [*found, wrong(refusal("context", "contexts", error))]
    for name in closed:
        try:
            store.read(name)
        except NotFoundError:
            continue  # forgotten meanwhile
        except CouncilError as error:
            found.append(wrong(refusal("context", name, error)))
    return found
