import hashlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.archive import artifacts
from council.kernel.errors import Invalid, NotFound

AT = "2026-11-28T09:00:00Z"


def publish(root, data, publisher="ada"):
    return artifacts.publish(str(root), data, "text/plain", publisher, "t1", AT)


@given(st.binary(max_size=300))
def test_bytes_come_back_under_their_digest(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("root")
    made = publish(root, data)
    assert made.artifact_id == f"art_{hashlib.sha256(data).hexdigest()}"
    assert (root / artifacts.FOLDER / f"{made.artifact_id}.json").read_bytes() == data
    assert artifacts.fetch(str(root), made.artifact_id) == data
    assert artifacts.about(str(root), made.artifact_id) == made
    assert artifacts.known(str(root)) == [made.artifact_id]


def test_publishing_again_keeps_the_first_facts_and_writes_nothing(tmp_path):
    first = publish(tmp_path, b"words")
    folder = tmp_path / artifacts.FOLDER
    before = {one.name: one.stat().st_mtime_ns for one in folder.iterdir()}
    assert publish(tmp_path, b"words", "bea") == first
    assert {one.name: one.stat().st_mtime_ns for one in folder.iterdir()} == before
    assert len(before) == 2


def test_a_damaged_artifact_is_refused_and_mended_by_its_bytes(tmp_path):
    ident = publish(tmp_path, b"words").artifact_id
    path = tmp_path / artifacts.FOLDER / f"{ident}.json"
    path.write_bytes(b"other")
    with pytest.raises(Invalid) as refused:
        artifacts.fetch(str(tmp_path), ident)
    assert (refused.value.code, refused.value.exit_code) == ("damaged-artifact", 3)
    publish(tmp_path, b"words")
    assert artifacts.fetch(str(tmp_path), ident) == b"words"


@pytest.mark.parametrize("ident", ["", "art_", "art_" + "A" * 64, "../x", "art_" + "a" * 63])
def test_what_is_no_id_opens_nothing(tmp_path, ident):
    for ask in (artifacts.fetch, artifacts.about):
        with pytest.raises(Invalid, match="not an artifact id"):
            ask(str(tmp_path), ident)


@pytest.mark.parametrize("make", [lambda p, t: p.symlink_to(t), lambda p, t: os.mkfifo(p)])
def test_links_and_pipes_are_refused(tmp_path, make):
    secret = tmp_path / "secret"
    secret.write_bytes(b"words")
    ident = f"art_{hashlib.sha256(b'words').hexdigest()}"
    path = tmp_path / artifacts.FOLDER / f"{ident}.json"
    path.parent.mkdir(parents=True)
    make(path, secret)
    with pytest.raises(Invalid):
        artifacts.fetch(str(tmp_path), ident)
    with pytest.raises(Invalid):
        publish(tmp_path, b"words")


def test_missing_facts_leave_id_and_size(tmp_path):
    ident = publish(tmp_path, b"words").artifact_id
    (tmp_path / artifacts.FOLDER / f"{ident}.meta.json").write_text("{")
    assert artifacts.about(str(tmp_path), ident) == artifacts.Artifact(artifact_id=ident, size=5)
    with pytest.raises(NotFound):
        artifacts.about(str(tmp_path), "art_" + "0" * 64)
