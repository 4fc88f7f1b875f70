"""Artifacts under faults: killed, failed or raced at every call, they are whole or not there."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.delegation.artifacts import Brief
from council.core.errors import CouncilError
from council.operations.delegation.artifacts import collect, fetch
from council.operations.examining.doctor import examine_artifacts
from council.operations.place import Place
from council.store import events
from council.store.delegation import artifact_care, artifacts, briefs
from council.store.paths import Workspace
from tests.conftest import NOW
from tests.store.processes import at_call, die, fail, forked, status_of, together

DATA = b"what is published " * 5000
WANTED = "art_" + hashlib.sha256(DATA).hexdigest()
SOON = timedelta(days=1)
LATER = NOW + timedelta(days=400)  # later than any time stamp of this machine


def place(root: Path, now=NOW) -> Place:
    (root / "memory/shared").mkdir(parents=True, exist_ok=True)
    return Place(str(root), {}, now)


def publish(paths: Workspace, how: str) -> None:
    artifacts.publish(paths, io.BytesIO(DATA) if how == "stream" else DATA, now=NOW)


def is_sound(paths: Workspace) -> bool:
    """Return true if all that can be seen is whole; whether it is there at all."""
    found = list(artifacts.ids(paths))
    assert found in ([], [WANTED])
    if found:
        assert artifacts.read(paths, WANTED, now=NOW) == DATA
        assert artifacts.find(paths, WANTED).size_bytes == len(DATA)
    return bool(found)


@pytest.mark.long
@pytest.mark.req("XC-001", "P8-034")
@pytest.mark.parametrize("how", ["bytes", "stream"])
def test_publisher_killed_at_any_call_leaves_it_whole_or_not_there(tmp_path: Path, how: str):
    killed, number, seen = True, 0, set()
    while killed:
        number += 1
        paths = place(tmp_path / str(number)).paths

        def dying(paths: Workspace = paths, number: int = number) -> None:
            at_call(number, die)
            publish(paths, how)

        killed = status_of(forked(dying)) != 0
        seen.add(is_sound(paths))

        publish(paths, how)
        assert is_sound(paths), f"killed at call {number}"
        later = place(tmp_path / str(number), LATER)
        (paths_note := Path(paths.shared, "note.md")).write_text(WANTED)
        collect(later, SOON)
        assert sorted(os.listdir(paths.artifacts)) == [f"{WANTED}.json", f"{WANTED}.meta.json"]
        assert [one.ok for one in examine_artifacts(later)] == [True]
        paths_note.unlink()
    assert seen == {False, True} and number > 8


@pytest.mark.long
@pytest.mark.req("XC-001")
@pytest.mark.parametrize(("how", "code"), [("bytes", errno.ENOSPC), ("stream", errno.EIO)])
def test_disk_that_fails_at_any_call_publishes_nothing_half(tmp_path: Path, how: str, code: int):
    statuses = []
    for number in range(1, 50):  # a failure to clear up fails nothing: no first success ends it
        paths = place(tmp_path / str(number)).paths

        def failing(paths: Workspace = paths, number: int = number) -> None:
            at_call(number, fail(code))
            try:
                publish(paths, how)
            except CouncilError as error:
                os._exit(10 + error.exit_code)

        statuses.append(status_of(forked(failing)))
        is_sound(paths)
        left = os.listdir(paths.artifacts) if os.path.isdir(paths.artifacts) else []
        assert not [name for name in left if name.startswith(".tmp-")], "it clears up after itself"
        publish(paths, how)
        assert is_sound(paths)
    assert set(statuses) == {0, 11}
    assert statuses.count(11) > 20 and statuses[-1] == 0


@pytest.mark.req("XC-001", "XC-018")
def test_gc_killed_at_any_call_leaves_nothing_damaged(tmp_path: Path):
    killed, number = True, 0
    ready = tmp_path / "ready"
    publish(place(ready).paths, "bytes")
    while killed:
        number += 1
        root = tmp_path / str(number)
        shutil.copytree(ready, root)

        def dying(root: Path = root, number: int = number) -> None:
            here = place(root, LATER)
            at_call(number, die)
            collect(here, SOON)

        killed = status_of(forked(dying)) != 0
        paths = place(root).paths
        is_sound(paths)
        # One more: what lost its metadata is as old as its time stamp says, and goes, too.
        collect(place(root, LATER), SOON)
        assert os.listdir(paths.artifacts) == [], f"killed at call {number}"
    assert number > 4


@pytest.mark.req("XC-001")
def test_fetch_killed_at_any_call_leaves_the_old_file_or_the_whole_new_one(tmp_path: Path):
    here = place(tmp_path)
    publish(here.paths, "bytes")
    killed, number, seen = True, 0, set()
    while killed:
        number += 1
        out = tmp_path / "out"
        out.write_bytes(b"older")

        def dying(number: int = number, out: Path = out) -> None:
            at_call(number, die)
            fetch(here, WANTED, str(out))

        killed = status_of(forked(dying)) != 0
        seen.add(out.read_bytes())
        assert seen <= {b"older", DATA}
    assert seen == {b"older", DATA}


@pytest.mark.req("P8-036", "XC-001")
def test_brief_whose_writer_is_killed_at_any_call_is_whole_or_not_there(tmp_path: Path):
    brief = Brief(trace="t1", from_agent="owl", to_agent="fox", goal="x" * 700, created_at=NOW)
    killed, number = True, 0
    while killed:
        number += 1
        paths = place(tmp_path / str(number)).paths

        def dying(paths: Workspace = paths, number: int = number) -> None:
            at_call(number, die)
            briefs.write(paths, brief)

        killed = status_of(forked(dying)) != 0
        assert briefs.damaged(paths) == []
        assert all(one.brief == brief for one in briefs.briefs(paths))


@pytest.mark.req("P8-034", "XC-018")
def test_what_is_published_again_while_gc_runs_is_there_afterwards(tmp_path: Path):
    here = place(tmp_path)
    many = [f"text {number}".encode() for number in range(40)]
    for data in many:
        artifacts.publish(here.paths, data, now=NOW)

    def publisher(part: list[bytes]) -> None:
        for data in part:
            artifacts.publish(here.paths, data, now=LATER)

    works = [lambda n=number: publisher(many[n::4]) for number in range(4)]
    works += [lambda: collect(place(tmp_path, LATER), SOON)] * 2

    assert together(works) == [0] * len(works)

    for data in many:
        wanted = "art_" + hashlib.sha256(data).hexdigest()
        assert artifacts.read(here.paths, wanted, now=NOW) == data


@pytest.mark.req("XC-018")
def test_what_is_used_between_the_look_and_the_removal_stays(tmp_path: Path):
    paths = place(tmp_path).paths
    publish(paths, "bytes")
    doomed = [one for one, _ in artifact_care.unneeded(paths, LATER - SOON)]
    assert doomed == [WANTED]
    artifacts.publish(paths, DATA, now=LATER)

    gone = artifact_care.remove(paths, doomed, since=LATER - SOON, now=LATER, reason="unused")

    assert gone == [] and is_sound(paths)
    assert "artifact.removed" not in {one["type"] for one in events.tail(paths)}


@pytest.mark.req("XC-018")
def test_young_artifact_stays_though_the_event_log_is_gone(tmp_path: Path):
    paths = place(tmp_path).paths
    publish(paths, "bytes")
    shutil.rmtree(paths.events)
    assert artifact_care.unneeded(paths, NOW - SOON) == []
    assert [one for one, _ in artifact_care.unneeded(paths, NOW + SOON)] == [WANTED]


def test_publisher_that_is_at_work_for_long_is_not_cleared_away(tmp_path: Path):
    paths = place(tmp_path).paths

    class Slow(io.BytesIO):
        def read(self, size: int = -1) -> bytes:
            found = super().read(size)
            (temporary,) = [one for one in os.listdir(paths.artifacts) if one.startswith(".tmp-")]
            left = artifact_care.remains(paths, NOW)
            assert left.abandoned == [], temporary
            return found

    artifacts.publish(paths, Slow(DATA), now=NOW)
    assert is_sound(paths)
