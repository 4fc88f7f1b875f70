"""A scan by itself: only when the source has changed, and never at the cost of anything else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from council.core.errors import InvalidInputError, InvalidStateError, NotFoundError
from council.operations.place import Place
from council.operations.rooms.scanning import scan, scan_if_changed, source_is_there
from council.store.rooms import ego, identities

SCOPE = {"owl": {"discord-id": "1"}}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "ego.json"


@pytest.fixture
def place(workspace: Path, source: Path, now) -> Place:
    (workspace / "council.toml").write_text(f'[paths]\nego = "{source}"\n')
    return Place(str(workspace), {}, now)


def write(source: Path, scope: dict, *columns: str) -> None:
    """Write a source that is older than the clock can mistake."""
    source.write_text(json.dumps({"columns": list(columns), "agentScope": scope}))


def until_nothing_is_new(place: Place) -> int:
    """Scan until the state of the source is remembered; how many scans that took."""
    for times in range(1000):
        if scan_if_changed(place) is None:
            return times
    raise AssertionError("the source was read again and again")


@pytest.mark.req("DG-017")
def test_a_source_is_taken_over_once_and_again_when_it_changes(place: Place, source: Path):
    write(source, SCOPE, "discord-id")

    first = scan_if_changed(place)
    until_nothing_is_new(place)
    write(source, {**SCOPE, "fox": {"discord-id": "22"}}, "discord-id")
    second = scan_if_changed(place)

    assert [one.agent for one in first.done.added] == ["owl"]
    assert [one.agent for one in second.done.added] == ["fox"]


@pytest.mark.req("DG-002", "DG-017")
def test_without_a_source_nothing_is_done_and_nothing_is_written(place: Place, workspace: Path):
    before = sorted(workspace.rglob("*"))

    assert scan_if_changed(place) is None
    assert scan(place).done is None

    assert sorted(workspace.rglob("*")) == before


@pytest.mark.req("DG-007")
def test_a_registry_that_was_removed_is_built_again(place: Place, source: Path):
    write(source, SCOPE, "discord-id")
    scan_if_changed(place)
    until_nothing_is_new(place)

    os.unlink(place.paths.identities)
    scan_if_changed(place)

    assert identities.load(place.paths).account_of("owl") == "1"


def test_an_entry_that_a_person_took_out_stays_out_while_the_source_is_the_same(
    place: Place, source: Path
):
    write(source, {**SCOPE, "fox": {"discord-id": "22"}}, "discord-id")
    scan_if_changed(place)
    until_nothing_is_new(place)
    Path(place.paths.identities).write_text("[]")

    assert scan_if_changed(place) is None
    assert identities.load(place.paths).items == []


def test_a_source_of_another_kind_is_read_once(place: Place, source: Path):
    write(source, SCOPE, "slack-id")
    scan_if_changed(place)
    until_nothing_is_new(place)

    assert ego.was_taken(place.paths, str(source), ego.look(str(source)))
    assert not os.path.exists(place.paths.identities)


def test_a_broken_source_is_reported_once_for_each_state(place: Place, source: Path):
    source.write_text("{")
    reported = 0
    for _ in range(1000):
        try:
            scan_if_changed(place)
            break
        except InvalidInputError:
            reported += 1

    assert reported > 0
    assert scan_if_changed(place) is None
    with pytest.raises(InvalidInputError):
        scan(place)


def test_a_broken_registry_is_reported_and_the_scan_comes_later(place: Place, source: Path):
    write(source, SCOPE, "discord-id")
    Path(place.paths.identities).write_text("{")

    for _ in range(2):
        with pytest.raises(InvalidStateError):
            scan_if_changed(place)
    Path(place.paths.identities).write_text("[]")

    assert [one.agent for one in scan_if_changed(place).done.added] == ["owl"]


def test_a_note_that_is_torn_counts_for_nothing(place: Place, source: Path):
    write(source, SCOPE, "discord-id")
    scan_if_changed(place)
    until_nothing_is_new(place)
    Path(place.paths.scan_mark).write_text("[")

    assert scan_if_changed(place) is not None


@pytest.mark.req("DG-022")
def test_a_source_is_there_only_if_it_has_the_column(place: Place, source: Path):
    seen = [source_is_there(place)]
    for text in ("{", '{"columns": ["slack-id"]}', '{"columns": ["discord-id"]}'):
        source.write_text(text)
        seen.append(source_is_there(place))

    assert seen == [False, False, False, True]


def test_a_file_that_was_named_must_be_there(place: Place, tmp_path: Path):
    with pytest.raises(NotFoundError):
        scan(place, str(tmp_path / "none.json"))
