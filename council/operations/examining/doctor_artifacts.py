"""What `doctor` says of artifacts and briefs.

All are looked at by their sizes; their bytes are read up to a limit, so that
`doctor` stays quick where much is stored.

Source: `cli.md` section 2 (`doctor`), P8-035.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, DamagedArtifactError
from council.operations.examining.finding import Finding
from council.operations.place import Place
from council.store.delegation import artifact_care, artifacts, briefs

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
