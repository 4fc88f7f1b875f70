"""What `doctor` says of rooms and of the identity registry.

Source: `cli.md` section 2 (`doctor`), DG-007, DG-012, DG-018.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError
from council.core.rooms.identities import MODERATOR
from council.operations.examining.finding import Finding
from council.operations.place import Place
from council.operations.rooms import rooms
from council.store.agents import known_agents
from council.store.rooms import ego, identities


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
