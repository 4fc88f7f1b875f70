"""What `doctor` says of artifacts, briefs, rooms, identities, and of document 002.

Artifacts and briefs are looked at by their sizes; their bytes are read up to a limit, so that
`doctor` stays quick where much is stored.

Source: `cli.md` section 2 (`doctor`), P8-035, DG-007, DG-012, DG-018, PR-422.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, DamagedArtifactError, NotFoundError
from council.core.protocol.registry import EntryStatus
from council.core.rooms.identities import MODERATOR
from council.core.times import render_duration
from council.operations.examining.finding import Finding
from council.operations.place import Place
from council.operations.protocol.exchanging import contexts
from council.operations.rooms import rooms
from council.store.agents import known_agents
from council.store.delegation import artifact_care, artifacts, briefs
from council.store.paths import record_files
from council.store.protocol import protocol_registry
from council.store.rooms import ego, identities

_READ_BYTES = 512 * 2**20


def examine_artifacts(place: Place, *, repair: bool = False) -> list[Finding]:
    """Look at what is stored for all to fetch, and at what publishers that died left behind."""
    try:
        return [*_contents(place), *_remains(place, repair), *_briefs(place)]
    except CouncilError as error:
        return [Finding(what="artifacts", ok=False, found=error.message, fix=error.hint)]


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
            found.append(Finding(what=wanted[:16], ok=False, found=error.message, fix=fix))
    if not count:
        return []
    if not found:
        rest = f", {unread} by size alone: council artifact verify --all" if unread else ""
        found.append(Finding(what="artifacts", ok=True, found=f"{count} verified{rest}"))
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
        Finding(what="artifacts", ok=False, found=f"{os.path.basename(path)}: {said}", fix=how)
        for path, said, how in told
    ]


def _briefs(place: Place) -> list[Finding]:
    return [
        Finding(
            what="briefs",
            ok=False,
            found=f"{os.path.relpath(path, place.root)} is no brief",
            fix="correct it, or move it elsewhere",
        )
        for path in briefs.damaged(place.paths)
    ]


# --- Rooms: those that cannot be read, and who may not be what they seem


def examine_rooms(place: Place) -> list[Finding]:
    """Look at channels, at the registry, and at the source from which it may be filled."""
    return [*_channels(place), *_registry(place), *_moderator(place), *_source(place)]


def _channels(place: Place) -> list[Finding]:
    findings, well = [], 0
    for channel_id in rooms.open_channels(place):
        try:
            rooms.look(place, channel_id, place.now())
            seen = rooms.channels(place).see(channel_id)
        except CouncilError as error:
            fault = Finding(what=channel_id, ok=False, found=error.message, fix=error.hint)
            findings.append(fault)
        else:
            if seen.newest < seen.channel.seen:
                findings.append(_shortened(channel_id, seen.channel.seen, seen.newest))
                continue
            well += 1
    if well:
        findings.append(Finding(what="channels", ok=True, found=f"{well} well formed"))
    return findings


def _shortened(channel_id: str, seen: int, last: int) -> Finding:
    return Finding(
        what=channel_id,
        ok=False,
        found=f"its log of messages ends at {last}, though message {seen} was there",
        fix=f"put memory/shared/channels/{channel_id}.jsonl back, or go on from {seen + 1}",
    )


def _registry(place: Place) -> list[Finding]:
    path = place.paths.identities
    if not os.path.lexists(path):
        return []
    where = os.path.relpath(path, place.root)
    try:
        registry = identities.load(place.paths)
    except CouncilError as error:
        return [Finding(what="identities", ok=False, found=error.message, fix=error.hint)]
    return [
        Finding(what="identities", ok=False, found=f"{where}: {fault}", fix="correct that entry")
        for fault in registry.faults
    ] or [
        Finding(what="identities", ok=True, found=f"{len(registry.identities)} accounts are known")
    ]


def _moderator(place: Place) -> list[Finding]:
    """Say that an agent is called as the moderator, for such a one never has a floor."""
    if MODERATOR not in known_agents(place.root, place.settings):
        return []
    return [
        Finding(
            what="moderator",
            ok=False,
            found="an agent has the id of who moderates rooms, and can be in none",
            fix=f"rename its folder below {os.path.relpath(place.paths.agents, place.root)}/ "
            f"and its table in council.toml",
        )
    ]


def _source(place: Place) -> list[Finding]:
    path = place.paths.ego
    if not os.path.lexists(path):
        return []
    try:
        ego.read(path)
    except CouncilError as error:
        fix = error.hint or "correct it there; what was taken over stays"
        return [Finding(what="identity source", ok=False, found=error.message, fix=fix)]
    return [Finding(what="identity source", ok=True, found=f"read from {path}")]


# --- The registry of those who exchange messages


def examine_protocol(place: Place) -> list[Finding]:
    """Look at the registry of the protocol and at its contexts."""
    return [*_members(place), *_contexts(place)]


def _contexts(place: Place) -> list[Finding]:
    """Name each context that cannot be read, also among those that are over."""
    store = contexts(place)
    findings: list[Finding] = []
    try:
        names = [*store.ids(), *store.closed_ids()]
    except CouncilError as error:
        return [Finding(what="contexts", ok=False, found=error.message, fix=error.hint)]
    for name in names:
        try:
            store.read(name)
        except NotFoundError:
            continue  # forgotten meanwhile
        except CouncilError as error:
            findings.append(
                Finding(what=f"context {name}", ok=False, found=error.message, fix=error.hint)
            )
    return findings


def _members(place: Place) -> list[Finding]:
    """Look at the registry; where nobody has joined there is nothing to say."""
    if not record_files(protocol_registry.registry_path(place.paths)):
        return []
    try:
        here = protocol_registry.load(place.paths).here()
    except CouncilError as error:
        return [Finding(what="protocol", ok=False, found=error.message, fix=error.hint)]
    silent = [
        Finding(
            what=f"protocol {one.id}",
            ok=False,
            found=f"no sign of life for {render_duration(place.now() - one.seen_at)}",
            fix=f"start it again, then: council agent liveness {one.id} --load 0",
        )
        for one in here
        if one.status is EntryStatus.UNAVAILABLE and one.seen_at is not None
    ]
    active = sum(1 for one in here if one.status is EntryStatus.ACTIVE and one.seen_at is not None)
    joined = Finding(what="protocol", ok=True, found=f"{active} agents can be given work")
    return [joined, *silent]
