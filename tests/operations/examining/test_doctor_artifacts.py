"""What `doctor` finds in the folders of artifacts and briefs, each with its fix."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.delegation.artifacts import Brief
from council.operations.examining.doctor import examine_artifacts
from council.operations.place import Place
from council.store.delegation import artifacts, briefs
from tests.conftest import NOW

HELLO = "art_5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


@pytest.fixture
def place(workspace: Path) -> Place:
    place = Place(str(workspace), {}, NOW)
    artifacts.publish(place.paths, b"hello\n", now=NOW)
    return place


def faults(place: Place, *, repair: bool = False) -> list[str]:
    found = [one for one in examine_artifacts(place, repair=repair) if not one.ok]
    assert all(one.fix for one in found)
    return [f"{one.what}: {one.found} -> {one.fix}" for one in found]


def test_sound_artifacts_are_said_to_be_so(place: Place, tmp_path: Path):
    (found,) = examine_artifacts(place)
    assert (found.ok, found.found) == (True, "1 verified")
    other = tmp_path / "other"
    (other / "memory/shared").mkdir(parents=True)
    assert examine_artifacts(Place(str(other), {}, NOW)) == []


@pytest.mark.req("P8-035")
@pytest.mark.parametrize("data", [b"hellO\n", b"", b"hello\nhello\n"])
def test_damaged_content_is_found(place: Place, data: bytes):
    path = Path(artifacts.content_path(place.paths, HELLO))
    path.chmod(0o644)
    path.write_bytes(data)
    (said,) = faults(place)
    assert said.startswith(HELLO[:16]) and "damaged" in said and f"rm -f {path}" in said


def test_what_dead_publishers_left_is_found_and_repaired(place: Place):
    folder = Path(place.paths.artifacts)
    lost = folder / f"art_{'0' * 64}.meta.json"
    lost.write_text("{}")
    dead = folder / ".tmp-dead"
    dead.write_text("half")
    long_ago = (NOW - timedelta(days=1)).timestamp()
    os.utime(dead, (long_ago, long_ago))
    at_work = folder / ".tmp-busy"
    at_work.write_text("half")
    os.utime(at_work, (NOW.timestamp(), NOW.timestamp()))

    said = "\n".join(faults(place))

    assert lost.name in said and dead.name in said and at_work.name not in said
    assert faults(place, repair=True) == []
    assert sorted(os.listdir(folder)) == [".tmp-busy", f"{HELLO}.json", f"{HELLO}.meta.json"]


def test_content_without_metadata_and_strangers_are_found_and_left(place: Place):
    os.unlink(artifacts.metadata_path(place.paths, HELLO))
    stranger = Path(place.paths.artifacts, "notes.txt")
    stranger.write_text("mine")

    said = "\n".join(faults(place, repair=True))

    assert "has no metadata" in said and "council artifact publish" in said
    assert "notes.txt: is no artifact" in said
    assert stranger.exists() and os.path.exists(artifacts.content_path(place.paths, HELLO))


def test_damaged_metadata_are_found(place: Place):
    Path(artifacts.metadata_path(place.paths, HELLO)).write_text("{")
    (said,) = faults(place)
    assert "cannot be understood" in said


def test_damaged_briefs_are_found(place: Place):
    good = Brief(trace="t1", from_agent="owl", to_agent="fox", goal="x", created_at=NOW)
    briefs.write(place.paths, good)
    Path(place.paths.briefs, "bad.json").write_text("[]")
    (said,) = faults(place)
    assert "briefs/bad.json is no brief" in said


def test_link_in_the_folder_is_found(place: Place, tmp_path: Path):
    (tmp_path / "secret").write_text("x")
    os.symlink(tmp_path / "secret", Path(place.paths.artifacts, f"art_{'1' * 64}.json"))
    assert any("symbolic link" in said for said in faults(place))
