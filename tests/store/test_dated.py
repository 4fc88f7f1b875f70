"""Files whose time stamp says when what they note was read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from council.core.errors import CouncilError
from council.store.notes import replace_dated
from tests.store.processes import at_call, die, forked, status_of

THEN_NS = 1_700_000_000_123_456_789
LATER_NS = THEN_NS + 10**9


def test_file_bears_the_time_of_the_look_and_not_of_its_writing(tmp_path: Path):
    path = tmp_path / "deep/note"
    assert replace_dated(str(path), b"one", THEN_NS)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (b"one", THEN_NS)
    assert replace_dated(str(path), b"two", LATER_NS)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (b"two", LATER_NS)
    assert os.listdir(path.parent) == ["note"]


def test_same_content_is_dated_anew_and_stays_the_same_file(tmp_path: Path):
    path = tmp_path / "note"
    replace_dated(str(path), b"one", THEN_NS)
    before = path.stat().st_ino
    assert not replace_dated(str(path), b"one", LATER_NS)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before, LATER_NS)


@pytest.mark.req("XC-001")
def test_writer_killed_at_any_call_never_leaves_a_file_that_looks_younger_than_it_is(tmp_path):
    killed, number = True, 0
    while killed:
        number += 1
        path = tmp_path / str(number) / "note"
        path.parent.mkdir()
        replace_dated(str(path), b"one", THEN_NS)

        def dying(path: Path = path, number: int = number) -> None:
            at_call(number, die)
            replace_dated(str(path), b"two", LATER_NS)

        killed = status_of(forked(dying)) != 0
        found = (path.read_bytes(), path.stat().st_mtime_ns)
        assert found in ((b"one", THEN_NS), (b"two", LATER_NS)), f"killed at call {number}"
    assert number > 4


def test_place_that_is_no_file_is_an_error_in_one_line(tmp_path: Path):
    (tmp_path / "note").mkdir()
    with pytest.raises(CouncilError):
        replace_dated(str(tmp_path / "note"), b"one", THEN_NS)
