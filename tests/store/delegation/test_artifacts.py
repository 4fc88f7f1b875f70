"""Artifacts on the disk: named by their bytes, whole or not there, never a path."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from council.core.delegation.artifacts import OVERSIZE_CHARS, ids_in, is_artifact_id, shortened
from council.core.errors import (
    DamagedArtifactError,
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    RefusedError,
)
from council.store import events
from council.store.delegation import artifacts
from council.store.delegation.artifact_care import ids_in_file
from council.store.documents.stored import Stored
from council.store.paths import Workspace
from tests.store.processes import together
from tests.store.records import put

HELLO = "art_5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

# Publishes what it is given on standard input.
PUBLISHER = """
import sys
from datetime import UTC, datetime
from council.store.delegation import artifacts
from council.store.paths import Workspace
artifacts.publish(Workspace(sys.argv[1]), sys.stdin.buffer, now=datetime(2026, 2, 8, tzinfo=UTC))
"""


@pytest.fixture
def paths(workspace: Path) -> Workspace:
    return Workspace(str(workspace))


def stored(paths: Workspace) -> list[str]:
    return sorted(os.listdir(paths.artifacts))


def told(paths: Workspace, kind: str) -> list[dict]:
    return [one for one in events.tail(paths) if one["type"] == kind]


@pytest.mark.req("P8-031", "P8-032", "P8-033")
@pytest.mark.parametrize("data", [b"", b"hello\n", bytes(range(256)) * 5000])
def test_bytes_are_kept_unchanged_under_their_digest_with_what_is_known(paths, now, data):
    made = artifacts.publish(
        paths, data, content_type="text/plain", publisher="henry", trace="t1", now=now
    )

    wanted = "art_" + hashlib.sha256(data).hexdigest()
    assert made.artifact_id == wanted
    assert Path(paths.artifacts, wanted + ".json").read_bytes() == data
    known = json.loads(Path(paths.artifacts, wanted + ".meta.json").read_text())
    assert known == {
        "schemaVersion": 1,
        "artifactId": wanted,
        "size": len(data),
        "contentType": "text/plain",
        "publisher": "henry",
        "traceId": "t1",
        "createdAt": "2026-02-08T20:00:00Z",
    }
    assert stored(paths) == [wanted + ".json", wanted + ".meta.json"]


def test_what_is_read_piece_by_piece_is_the_same_artifact(paths, now):
    data = os.urandom(artifacts.PIECE_BYTES * 2 + 17)
    counted: list[int] = []

    made, new = artifacts.put(paths, io.BytesIO(data), now=now, seen=counted.append)

    assert new
    assert made == artifacts.publish(paths, data, now=now)
    assert counted == [artifacts.PIECE_BYTES, artifacts.PIECE_BYTES * 2, len(data)]
    assert artifacts.read(paths, made.artifact_id, now=now) == data


@pytest.mark.req("P8-034", "P8-037")
def test_same_bytes_again_change_nothing_and_are_told_again(paths, now):
    first = artifacts.publish(paths, b"hello\n", publisher="henry", now=now)
    before = {name: os.lstat(Path(paths.artifacts, name)) for name in stored(paths)}

    again, new = artifacts.put(
        paths, io.BytesIO(b"hello\n"), publisher="nova", now=now + timedelta(days=1)
    )

    assert (again, new) == (first, False)
    after = {name: os.lstat(Path(paths.artifacts, name)) for name in stored(paths)}
    assert {n: (f.st_ino, f.st_mtime_ns, f.st_ctime_ns) for n, f in before.items()} == {
        n: (f.st_ino, f.st_mtime_ns, f.st_ctime_ns) for n, f in after.items()
    }
    both = told(paths, "artifact.publish")
    assert [one["agentId"] for one in both] == ["henry", "nova"]


@pytest.mark.long
def test_fifty_publishers_of_the_same_bytes_make_one_artifact(paths, now):
    data = os.urandom(300_000)

    def publisher(number: int):
        source = data if number % 2 else io.BytesIO(data)
        return lambda: artifacts.put(paths, source, publisher=f"a{number}", now=now)

    assert together([publisher(number) for number in range(50)]) == [0] * 50

    (only,) = artifacts.ids(paths)
    assert artifacts.read(paths, only, now=now) == data
    assert len(stored(paths)) == 2
    published = told(paths, "artifact.publish")
    assert len(published) == 50
    (first,) = [one for one in published if one["data"]["new"]]
    assert artifacts.find(paths, only).publisher == first["agentId"]


def test_publisher_that_is_killed_leaves_nothing_that_anybody_sees(paths, now):
    one = subprocess.Popen([sys.executable, "-c", PUBLISHER, paths.root], stdin=subprocess.PIPE)
    one.stdin.write(os.urandom(artifacts.PIECE_BYTES * 3))
    one.stdin.flush()
    while not (os.path.isdir(paths.artifacts) and stored(paths)):
        assert one.poll() is None
    one.send_signal(signal.SIGKILL)
    one.wait()

    assert list(artifacts.ids(paths)) == []
    assert told(paths, "artifact.publish") == []
    assert [name[:5] for name in stored(paths)] == [".tmp-"]


def test_bytes_whose_publisher_died_before_the_metadata_are_completed(paths, now):
    made = artifacts.publish(paths, b"hello\n", now=now)
    os.unlink(artifacts.metadata_path(paths, HELLO))

    assert artifacts.find(paths, HELLO).content_type == "application/octet-stream"
    assert artifacts.publish(paths, b"hello\n", now=now) == made
    assert len(stored(paths)) == 2


@pytest.mark.req("P8-035")
def test_damaged_bytes_are_refused_and_told_and_mended_by_publishing_again(paths, now):
    artifacts.publish(paths, b"hello\n", now=now)
    path = Path(artifacts.content_path(paths, HELLO))
    path.chmod(0o644)
    path.write_bytes(b"hellO\n")

    with pytest.raises(DamagedArtifactError) as refused:
        artifacts.read(paths, HELLO, now=now)
    with pytest.raises(DamagedArtifactError):
        artifacts.open_verified(paths, HELLO, now=now)
    assert refused.value.exit_code == 3
    assert [one["artifactIds"] for one in told(paths, "artifact.damaged")] == [[HELLO]] * 2

    artifacts.publish(paths, b"hello\n", now=now)
    assert artifacts.read(paths, HELLO, now=now) == b"hello\n"


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("given", ["../x", "/etc/passwd", "art_../../x", "..", ".tmp-1", "a\0b"])
def test_id_that_is_a_path_is_refused(paths, given):
    with pytest.raises(RefusedError) as refused:
        artifacts.find(paths, given)
    assert refused.value.exit_code == 6


@pytest.mark.parametrize("given", ["", "art_12", "art_" + "G" * 64, HELLO + "0", HELLO.upper()])
def test_text_that_is_no_id_is_no_input(paths, given):
    with pytest.raises(InvalidInputError):
        artifacts.find(paths, given)


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("which", [".json", ".meta.json"])
def test_link_in_the_place_of_an_artifact_is_refused(paths, now, tmp_path, which):
    secret = tmp_path / "secret"
    secret.write_bytes(b"hello\n")
    os.makedirs(paths.artifacts)
    os.symlink(secret, Path(paths.artifacts, HELLO + which))

    with pytest.raises(RefusedError):
        artifacts.publish(paths, b"hello\n", now=now)
    if which == ".json":
        with pytest.raises(RefusedError):
            artifacts.read(paths, HELLO, now=now)
    assert secret.read_bytes() == b"hello\n"


def test_folder_of_artifacts_that_is_a_link_is_refused(paths, now, tmp_path):
    os.symlink(tmp_path, paths.shared + "/artifacts")
    with pytest.raises(RefusedError):
        artifacts.publish(paths, b"hello\n", now=now)


def test_pipe_in_the_place_of_an_artifact_holds_nobody_up(paths, now):
    os.makedirs(paths.artifacts)
    os.mkfifo(Path(paths.artifacts, HELLO + ".json"))
    with pytest.raises(InvalidStateError, match="not a regular file"):
        artifacts.read(paths, HELLO, now=now)


def test_what_is_not_there_is_not_found_and_what_is_too_large_not_read(paths, now):
    with pytest.raises(NotFoundError):
        artifacts.read(paths, HELLO, now=now)
    artifacts.publish(paths, b"hello\n", now=now)
    with pytest.raises(InvalidInputError):
        artifacts.read(paths, HELLO, max_bytes=5, now=now)


@pytest.mark.req("P8-042")
def test_text_over_the_limit_is_cut_and_the_whole_is_published(paths, now):
    text = "é" * 5000

    assert shortened("é" * OVERSIZE_CHARS) == ("é" * OVERSIZE_CHARS, "")
    short, whole = artifacts.published_if_long(paths, text, publisher="henry", now=now)

    assert short == "é" * 800
    assert artifacts.read(paths, whole, now=now).decode() == text
    assert artifacts.published_if_long(paths, "short", now=now) == ("short", "")
    assert len(list(artifacts.ids(paths))) == 1


def test_ids_are_found_in_any_text():
    other = "art_" + "0" * 64
    longer = "art_" + "1" * 65
    assert ids_in(f"see #REF:{HELLO}, ({other}) {HELLO} {longer} art_12") == [HELLO, other]
    assert all(map(is_artifact_id, ids_in(HELLO)))


def test_metadata_keep_what_a_later_version_wrote(paths, now):
    artifacts.publish(paths, b"hello\n", now=now)
    path = Path(artifacts.metadata_path(paths, HELLO))
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "red"}))

    assert artifacts.find(paths, HELLO).to_record()["colour"] == "red"
    assert artifacts.publish(paths, b"hello\n", now=now).extra == {"colour": "red"}


def test_metadata_that_cannot_be_understood_are_written_anew(paths, now: datetime):
    artifacts.publish(paths, b"hello\n", now=now)
    Path(artifacts.metadata_path(paths, HELLO)).write_text("{")

    with pytest.raises(InvalidStateError):
        artifacts.find(paths, HELLO)
    assert artifacts.publish(paths, b"hello\n", now=now).size_bytes == 6
    assert artifacts.find(paths, HELLO).size_bytes == 6


@pytest.mark.req("XC-018")
def test_an_id_that_stands_in_parts_in_the_patches_of_a_record_is_found(tmp_path: Path):
    path = str(tmp_path / "kept.jsonl")
    one, other = (f"art_{'ab' * 31}{end}" for end in ("ab", "cd"))
    rest = {str(number): "word " * 20 for number in range(200)}
    put(path, {**rest, "held": one})
    with Stored(path, "") as stored:
        stored.write({**stored.read(), "held": other})

    assert other.encode() not in Path(path).read_bytes()
    assert other in ids_in_file(path)
