"""What `doctor` says of document 002: the registry, who fell silent, contexts that are broken.

Source: `cli.md` section 2 (`doctor`), PR-422.
"""

from __future__ import annotations

from council.core.errors import CouncilError, NotFoundError
from council.core.protocol.registry import EntryStatus
from council.core.times import render_duration
from council.operations.examining.finding import Finding
from council.operations.place import Place
from council.operations.protocol.exchanging import contexts
from council.store.paths import record_files
from council.store.protocol import protocol_registry


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
