"""Artifacts: bytes kept under their SHA-256, and beside them what is known about them.

The content is `memory/shared/artifacts/art_<64 hex>.json`, unchanged whatever its type; the facts
are in `art_<64 hex>.meta.json` (document 004).
"""

from __future__ import annotations

import os
from _thread import get_ident

from council.kernel import codec, files, shared
from council.kernel.errors import Invalid, NotFound
from council.kernel.ids import digest
from council.kernel.record import Record

FOLDER = "memory/shared/artifacts"
TEXT = "text/plain; charset=utf-8"
MOST = 64 * 1024 * 1024  # bytes of an artifact
_HEX = frozenset("0123456789abcdef")


class Artifact(Record, settled=True):
    """What is known about an artifact; `artifact_id` is `art_` and the SHA-256 of its bytes."""

    artifact_id: str
    size: int
    content_type: str = "application/octet-stream"
    publisher: str = ""
    trace_id: str = ""
    created_at: str = ""


def publish(root: str, data: bytes, kind: str, publisher: str, trace: str, at: str) -> Artifact:
    """Keep bytes of a content type and return what is known; the same bytes change nothing."""
    if len(data) > MOST:
        raise Invalid("too-large", f"an artifact has at most {MOST >> 20} MB", "split it")
    of = {"content_type": kind, "publisher": publisher, "trace_id": trace, "created_at": at}
    made = Artifact(artifact_id=f"art_{digest(data)}", size=len(data), **of)
    path = f"{root}/{FOLDER}/{made.artifact_id}"
    if files.content(f"{path}.json") != data:  # missing, or damaged and mended by its own bytes
        put(f"{path}.json", data, replace=True)
    is_new = put(f"{path}.meta.json", codec.encoded(made.to_json()) + b"\n")
    return made if is_new else about(root, made.artifact_id)


def fetch(root: str, ident: str) -> bytes:
    """Return the bytes of an artifact, compared with the digest in its id."""
    if not is_id(ident):
        raise Invalid("bad-artifact-id", f"not an artifact id: {ident[:80]!r}", "use art_SHA256")
    path = f"{root}/{FOLDER}/{ident}.json"
    data = files.content(path)
    if data is None:
        raise NotFound("no-artifact", f"no artifact {ident}", "council list artifacts")
    if f"art_{digest(data)}" != ident:
        raise Invalid("damaged-artifact", f"{path} is damaged", "publish the original again")
    return data


def about(root: str, ident: str) -> Artifact:
    """Return what is known about an artifact: id and size only where its facts cannot be read."""
    try:
        facts = files.content(f"{root}/{FOLDER}/{ident}.meta.json") if is_id(ident) else b""
        return Artifact.from_json(codec.loads(facts or b""))
    except Invalid:
        return Artifact(artifact_id=ident, size=len(fetch(root, ident)))


def known(root: str) -> list[str]:
    """Return the ids of all artifacts, sorted."""
    names = files.names(f"{root}/{FOLDER}")
    return sorted({name[:68] for name in names if name[68:] == ".json" and is_id(name[:68])})


def is_id(text: str) -> bool:
    """Return whether a text has the form of an artifact's id."""
    return len(text) == 68 and text[:4] == "art_" and not set(text[4:]) - _HEX


def named(text: str) -> list[str]:
    """Return the ids of the artifacts that a text names."""
    return sorted(filter(is_id, {f"art_{part[:64]}" for part in text.split("art_")[1:]}))


def put(path: str, data: bytes, replace: bool = False) -> bool:
    """Write a file whole and durably; False where it is there and is not to be replaced."""
    with files.reported("write", path):
        if (done := shared.put(path, data, replace)) is not None:
            return done
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if replace:
            files.replace(path, data, durable=True)
            return True
        new = f"{path}.{os.getpid()}.{get_ident()}"
        return not os.path.lexists(path) and files.publish(path, data, None, new, durable=True)
