"""What can be done with artifacts: publish, fetch, list, verify, collect; and with briefs.

Files are read and written piece by piece, so memory stays flat whatever their
size. What is fetched is verified before anybody sees it.

Source: P8-031 to P8-037, XC-107, `cli.md` section 2 (`artifact`, `brief`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any, BinaryIO

from council.core.delegation.artifacts import (
    DEFAULT_TYPE,
    MARK,
    PREFIX,
    Artifact,
    artifact_id,
    checked_id,
)
from council.core.errors import (
    CouncilError,
    DamagedArtifactError,
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    UsageError,
)
from council.core.events import trace_around
from council.core.record import Record
from council.core.times import render_duration
from council.operations.delegation.permitted import open_permitted, permitted, reporting_refusals
from council.operations.place import Place, speaker
from council.store import files
from council.store.added_lines import size_of
from council.store.delegation import artifact_care, artifacts
from council.store.maintenance import alone

Seen = Callable[[int], object]

_LEAST_PREFIX_CHARS = 6


class Published(Record):
    """An artifact and whether it is new."""

    artifact: Artifact
    is_new: bool

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `artifact publish`."""
        outcome = "published" if self.is_new else "already-there"
        return {"outcome": outcome, **self.artifact.to_record()}


def publish(
    place: Place,
    source: str,
    *,
    publisher: str = "",
    content_type: str = "",
    trace: str = "",
    seen: Seen | None = None,
    data: BinaryIO | None = None,
) -> Published:
    """Publish a file, or with `-` what comes in by standard input.

    Args:
        place: The workspace.
        source: The file, or `-`.
        publisher: Who publishes, "" to go by environment or folder, else none.
        content_type: What it is; "" goes by the name of the file.
        trace: What it belongs to; "" is the trace that the command was called in.
        seen: Called now and then with how many bytes have been read.
        data: What to publish instead of a file.

    Raises:
        NotFoundError: There is no such file.
        CouncilError: It may not be read, or the system refuses.
    """
    who = _who(place, publisher)
    with data or _opened(place, source) as opened:
        made, is_new = artifacts.put(
            place.paths,
            opened,
            content_type=_type_of(source, content_type),
            publisher=who,
            trace=trace or trace_around(place.environ),
            now=place.now(),
            seen=seen,
        )
    return Published(artifact=made, is_new=is_new)


def _who(place: Place, given: str) -> str:
    """Return which agent acts, "" for a person who says nothing."""
    try:
        with reporting_refusals(place, "identity"):
            return speaker(place, given)
    except UsageError:
        if given:
            raise
        return ""


def _opened(place: Place, given: str) -> BinaryIO:
    if given == "-":
        return open(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    return open_permitted(given, place.environ, place)


def _type_of(path: str, given: str) -> str:
    if not given.isascii() or not given.isprintable() or len(given) > 200:
        raise InvalidInputError(f"not a content type: {given[:60]!r}", "such as: text/markdown")
    if given.strip():
        return given.strip()
    import mimetypes

    return mimetypes.guess_type(path)[0] or DEFAULT_TYPE


def _find(place: Place, given: str) -> Artifact:
    """Return what is known of the artifact that is meant; damaged metadata hide no bytes."""
    with reporting_refusals(place):
        return _known(place, which(place, given))


def which(place: Place, given: str) -> str:
    """Return the id that is meant by an id, a reference, or the beginning of an id.

    Raises:
        NotFoundError: None begins so.
        UsageError: Several do.
        RefusedError: It is a path.
        InvalidInputError: It is none of all that.
    """
    wanted = given.removeprefix(MARK)
    digits = wanted.removeprefix(PREFIX)
    if len(wanted) < len(artifact_id("0" * 64)) and digits != wanted and digits.isalnum():
        if len(digits) < _LEAST_PREFIX_CHARS:
            raise UsageError(f"{wanted!r} is too short", f"give {_LEAST_PREFIX_CHARS} digits of it")
        found = [one for one in artifacts.known_ids(place.paths) if one.startswith(wanted)]
        if len(found) > 1:
            raise UsageError(f"{len(found)} artifacts begin with {wanted}", "give more of it")
        if not found:
            raise NotFoundError(f"no artifact {wanted}", "see: council artifact list")
        return found[0]
    return checked_id(given)


class Fetched(Record):
    """An artifact that was fetched, and the file it went to, "" for none.

    `untold` says why the event of it could not be written, "" when it was.
    """

    artifact: Artifact
    path: str = ""
    untold: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `artifact fetch --out`."""
        return {**self.artifact.to_record(), "file": self.path or None}


def fetch(
    place: Place,
    given: str,
    out: str,
    *,
    reader: str = "",
    trace: str = "",
    seen: Seen | None = None,
) -> Fetched:
    """Copy an artifact to a file, which appears whole and verified or not at all.

    Args:
        place: The workspace.
        given: The artifact.
        out: The file; what is there is replaced. A folder takes it under its id.
        reader: Who fetches, "" to go by environment or folder.
        trace: What this belongs to, "" for the trace that the command was called in.
        seen: Called now and then with how many bytes have been read.

    Raises:
        NotFoundError: There is no such artifact, or no such folder.
        DamagedArtifactError: Its bytes are not those of its id; nothing was written.
        RefusedError: A run may not write there.
    """
    who = _who(place, reader)
    one = _find(place, given)
    target = os.path.join(out, one.artifact_id) if os.path.isdir(out) else out
    path = os.path.abspath(permitted(target, place.environ, writing=True))
    if target.endswith(os.sep) or not os.path.isdir(os.path.dirname(path)):
        raise NotFoundError(f"no such folder: {os.path.dirname(target)}", "make it first")
    with artifacts.open_verified(place.paths, one.artifact_id, now=place.now()) as source:
        _copy(place, one, source, path, seen)
    return _told(place, one, who, trace, path)


def _copy(place: Place, one: Artifact, source: BinaryIO, path: str, seen: Seen | None) -> None:
    with files.explaining("write", path):
        standing = os.lstat(path) if os.path.lexists(path) else None
        if standing is not None and not stat.S_ISREG(standing.st_mode):
            raise InvalidInputError(f"{path} is not a regular file", "name another: --out FILE")
        temporary, descriptor = files.open_temporary(os.path.dirname(path), b"", like=None)
        try:
            with open(descriptor, "wb", buffering=0):
                if standing is not None:
                    os.fchmod(descriptor, stat.S_IMODE(standing.st_mode))

                def write(piece: bytes) -> None:
                    files.write_all(descriptor, piece)

                # It may have been damaged since it was verified.
                artifacts.pour(
                    place.paths, one.artifact_id, source, write, now=place.now(), seen=seen
                )
                files.sync(descriptor)
            os.rename(temporary, path)
        except BaseException:
            files.remove(temporary)
            raise
        files.sync_folder(os.path.dirname(path))


def pour(
    place: Place, given: str, write: Callable[[bytes], object], *, reader: str = "", trace: str = ""
) -> Fetched:
    """Give an artifact to `write`, piece by piece, once all of it was found to be right.

    Raises:
        NotFoundError: There is no such artifact.
        DamagedArtifactError: Its bytes are not those of its id.
    """
    who = _who(place, reader)
    one = _find(place, given)
    with artifacts.open_verified(place.paths, one.artifact_id, now=place.now()) as source:
        done = _told(place, one, who, trace)
        artifacts.pour(place.paths, one.artifact_id, source, write, now=place.now())
    return done


def content_of(
    place: Place, given: str, *, reader: str = "", trace: str = ""
) -> tuple[Fetched, bytes]:
    """Return an artifact and its bytes, where it is no larger than a text may be.

    Raises:
        NotFoundError: There is no such artifact.
        DamagedArtifactError: Its bytes are not those of its id.
        UsageError: It is larger.
    """
    most = place.settings.max_text_bytes
    content = bytearray()

    def take(piece: bytes) -> None:
        content.extend(piece)
        if len(content) > most:
            raise UsageError(f"it is larger than {most} bytes", "give it a file: --out FILE")

    done = pour(place, given, take, reader=reader, trace=trace)
    return done, bytes(content)


def text_of(place: Place, given: str, *, reader: str = "", trace: str = "") -> tuple[Fetched, str]:
    """Return an artifact and its text; raises as `content_of`, and UsageError if it is no text."""
    done, content = content_of(place, given, reader=reader, trace=trace)
    try:
        return done, content.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("it is no text that JSON can hold", "give it a file: --out FILE") from None


def _known(place: Place, wanted: str) -> Artifact:
    try:
        return artifacts.find(place.paths, wanted)
    except InvalidStateError:
        size = os.lstat(artifacts.local_path(place.paths, wanted)).st_size
        return Artifact(artifact_id=wanted, size_bytes=size, created_at=place.now())


def _told(place: Place, one: Artifact, who: str, trace: str, path: str = "") -> Fetched:
    done = Fetched(artifact=one, path=path)
    try:
        artifacts.tell_fetch(
            place.paths,
            one,
            agent=who,
            trace=trace or trace_around(place.environ),
            now=place.now(),
        )
    except CouncilError as error:  # what can be read may be had, also where nothing can be written
        done.untold = error.message
    return done


class Verdict(Record):
    """Whether an artifact is what its id says, and what is wrong with it."""

    artifact_id: str
    found: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return one item of `artifact verify --json`."""
        return {**self.as_json("artifact_id"), "ok": not self.found, **self.as_json("found?")}


def verify(place: Place, given: str = "", *, seen: Seen | None = None) -> list[Verdict]:
    """Read an artifact, or all of them, and return which are what their ids say.

    Raises:
        NotFoundError: The one that was named is not there.
    """
    wanted = [_find(place, given).artifact_id] if given else list(artifacts.ids(place.paths))
    return [_verdict(place, one, seen) for one in wanted]


def _verdict(place: Place, wanted: str, seen: Seen | None) -> Verdict:
    try:
        with artifacts.open_verified(place.paths, wanted, now=place.now(), seen=seen) as file:
            size = os.fstat(file.fileno()).st_size
        known = artifacts.find(place.paths, wanted)
    except DamagedArtifactError:
        return Verdict(artifact_id=wanted, found="its bytes are others")
    except CouncilError as error:  # a link, a folder, metadata that cannot be understood
        return Verdict(artifact_id=wanted, found=error.message)
    told = f"its metadata say {known.size_bytes} bytes, it has {size}"
    return Verdict(artifact_id=wanted, found="" if size == known.size_bytes else told)


def listed(place: Place) -> tuple[list[Artifact], list[CouncilError]]:
    """Return all artifacts, the newest first, and why others that bear such names are none."""
    found: list[Artifact] = []
    wrong: list[CouncilError] = []
    for one in artifacts.known_ids(place.paths):
        try:
            found.append(_known(place, one))
        except NotFoundError:
            continue  # it has just been collected
        except CouncilError as error:
            wrong.append(error)
    found.sort(key=lambda one: (-one.created_at.timestamp(), one.artifact_id))
    return found, wrong


class Collected(Record):
    """What `artifact gc` removed, or would: ids and paths with their sizes in bytes.

    `strange` lists what has the name of an artifact and is none; it stays.
    """

    older_than: timedelta
    dry_run: bool
    artifacts: list[tuple[str, int]]
    remains: list[tuple[str, int]]
    strange: list[CouncilError] = []

    @property
    def total_bytes(self) -> int:
        """How much room they took."""
        return sum(size for _, size in (*self.artifacts, *self.remains))

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `artifact gc`."""
        return {
            "dryRun": self.dry_run,
            "olderThan": render_duration(self.older_than),
            "artifacts": [{"artifactId": one, "size": size} for one, size in self.artifacts],
            "remains": [path for path, _ in self.remains],
            "bytes": self.total_bytes,
        }


def collect(place: Place, older_than: timedelta, *, dry_run: bool = False) -> Collected:
    """Remove the artifacts that nothing refers to, and what publishers that died left behind.

    Args:
        place: The workspace.
        older_than: How long ago they must have been published or fetched last.
        dry_run: Only say what would go.

    Raises:
        LockTimeoutError: Another process maintains the workspace already.
        CouncilError: Some file cannot be read, so it is unknown what it refers to.
    """
    with nullcontext() if dry_run else alone(place.paths):
        now = place.now()
        doomed = artifact_care.unneeded(place.paths, now - older_than)
        left = artifact_care.remains(place.paths, now)
        litter = [(path, size_of(path)) for path in (*left.abandoned, *left.nameless)]
        if not dry_run:
            wanted = [one for one, _ in doomed]
            doomed = artifact_care.remove(
                place.paths, wanted, since=now - older_than, now=now, reason="unused"
            )
            artifact_care.clear(place.paths, [path for path, _ in litter])
        return Collected(
            older_than=older_than,
            dry_run=dry_run,
            artifacts=doomed,
            remains=litter,
            strange=listed(place)[1],
        )
