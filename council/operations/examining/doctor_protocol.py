"""What `doctor` says of those who exchange messages: the registry, and who fell silent.

Source: `cli.md` section 2 (`doctor`), PR-422.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError
from council.core.protocol.registry import EntryStatus
from council.core.times import render_duration
from council.operations.examining.finding import Finding
from council.operations.place import Place
from council.store.protocol import protocol_registry


def examine_protocol(place: Place) -> list[Finding]:
    """Look at the registry of the protocol; where nobody has joined there is nothing to say."""
    if not os.path.lexists(protocol_registry.registry_path(place.paths)):
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
