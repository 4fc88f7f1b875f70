"""A rating changes one line of the minutes and no byte besides."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.errors import InvalidStateError, LockTimeoutError
from council.operations.reporting.minutes import render_minutes
from council.store import maintenance
from council.store.conversations.minutes import (
    add_rating,
    ratings_in,
    read_minutes,
    with_ratings,
)
from council.store.maintenance import alone
from council.store.paths import Workspace
from tests.core.debates import START, soft_debate
from tests.examples import examples


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "conseils").mkdir()
    (tmp_path / "memory/shared").mkdir(parents=True)
    return Workspace(str(tmp_path))


@pytest.fixture
def path(workspace: Workspace) -> Path:
    path = Path(workspace.minutes) / "2026-02-08-a-bot.md"
    path.write_text(render_minutes(soft_debate().state, now=START), encoding="utf-8")
    return path


def without_line(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if not line.startswith(b"ratings:")]


@pytest.mark.req("DL-093")
def test_ratings_are_kept_in_order_and_the_rest_byte_for_byte(
    workspace: Workspace, path: Path
) -> None:
    before = path.read_bytes()
    os.chmod(path, 0o640)
    assert add_rating(workspace, str(path), 4) == [4]
    assert add_rating(workspace, str(path), 5) == [4, 5]
    after = path.read_bytes()
    assert after.count(b"\nratings: [4, 5]\n") == 1
    assert without_line(after) == without_line(before)
    assert ratings_in(read_minutes(after.decode())) == [4, 5]
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.req("DL-093")
def test_a_person_has_one_rating_and_a_later_one_takes_its_place(
    workspace: Workspace, path: Path
) -> None:
    assert add_rating(workspace, str(path), 4, "ann") == [4]
    assert add_rating(workspace, str(path), 2, "Élise: B.") == [4, 2]
    assert add_rating(workspace, str(path), 5, "ann") == [5, 2]
    assert ratings_in(read_minutes(path.read_text(encoding="utf-8"))) == [5, 2]


@pytest.mark.req("DL-093")
@pytest.mark.parametrize(
    ("given_head", "expected_head"),
    [
        ("a: 1\nratings: [2]\nb: 2\n", "a: 1\nratings: [2, 3]\nb: 2\n"),
        ("ratings:\n- 2\n- 1\nb: 2\n", "ratings: [2, 1, 3]\nb: 2\n"),
        ("ratings:\n  - 2\nb: 2\n", "ratings: [2, 3]\nb: 2\n"),
        ("a: 1\r\n", "a: 1\r\nratings: [3]\r\n"),
        ("a: 1\n", "a: 1\nratings: [3]\n"),
    ],
)
def test_front_matter_as_people_write_it_is_kept(
    workspace: Workspace, path: Path, given_head: str, expected_head: str
) -> None:
    end = "\r\n" if "\r" in given_head else "\n"
    rest = f"---{end}{end}# Title\n\nratings: 5\n---\nend"
    path.write_bytes(f"---{end}{given_head}{rest}".encode())
    add_rating(workspace, str(path), 3)
    assert path.read_bytes() == f"---{end}{expected_head}{rest}".encode()


@pytest.mark.parametrize(
    "text", ["# No front matter\n", "---\nnever: closed\n", "---\na: 1\nratings: good\n---\n", ""]
)
def test_what_cannot_hold_a_rating_stays_untouched(
    workspace: Workspace, path: Path, text: str
) -> None:
    path.write_text(text)
    with pytest.raises(InvalidStateError):
        add_rating(workspace, str(path), 3)
    assert path.read_text() == text


def test_it_waits_for_whoever_maintains_the_workspace(
    workspace: Workspace, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "alone", lambda place: alone(place, timeout_s=0.05))
    refused: list[BaseException] = []

    def rate() -> None:
        try:
            add_rating(workspace, str(path), 3)
        except LockTimeoutError as error:
            refused.append(error)

    before = path.read_bytes()
    with alone(workspace):
        thread = threading.Thread(target=rate)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert path.read_bytes() == before


def test_many_who_rate_at_once_lose_no_rating(workspace: Workspace, path: Path) -> None:
    threads = [
        threading.Thread(target=add_rating, args=(workspace, str(path), 1 + number % 5))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = ratings_in(read_minutes(path.read_text(encoding="utf-8")))
    assert sorted(kept) == sorted(1 + number % 5 for number in range(8))


@given(st.binary(max_size=60), st.lists(st.integers(1, 5), min_size=1, max_size=4))
@settings(max_examples=examples(100), deadline=None)
def test_no_byte_behind_the_front_matter_changes(body: bytes, stars: list[int]) -> None:
    data = b"---\ntitle: x\n---\n" + body
    changed = with_ratings(data, stars)
    assert changed == f"---\ntitle: x\nratings: {stars}\n---\n".encode() + body
    assert with_ratings(changed, stars) == changed


def test_ratings_that_are_none_count_for_nothing() -> None:
    assert ratings_in({"ratings": [5, 0, 6, "4", True, 3.5, 2]}) == [5, 2]
    assert ratings_in({"ratings": "5"}) == ratings_in({}) == []
