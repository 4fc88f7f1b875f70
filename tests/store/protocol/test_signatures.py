"""The key of signed messages, and the nonces that were used."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.core.errors import InvalidStateError, NewerVersionError, NotFoundError
from council.store.paths import Workspace
from council.store.protocol.signatures import Nonces, key_path, make_key, read_key
from tests.store.records import put, value_in


@pytest.fixture
def place(workspace: Path) -> Workspace:
    return Workspace(str(workspace))


def test_a_key_is_made_once_and_read_from_then_on(place: Workspace):
    path = key_path(place)
    with pytest.raises(NotFoundError):
        read_key(path)

    key = make_key(path)

    assert len(key) == 64
    assert make_key(path) == read_key(path) == key


def test_a_key_that_both_sides_agreed_on_is_taken_as_it_stands(place: Workspace, tmp_path: Path):
    agreed = tmp_path / "agreed"
    agreed.write_bytes(b"a key \xff\r\n")

    assert read_key(str(agreed)) == b"a key \xff"
    agreed.write_bytes(b"\n")
    with pytest.raises(InvalidStateError):
        read_key(str(agreed))


@pytest.mark.req("PR-589")
def test_nonces_are_remembered_for_each_session(place: Workspace):
    with Nonces(place) as nonces:
        for number in (5, 3, 4, 0xA3F2, 4):
            nonces.add("S1", f"{number:04X}")

    with Nonces(place) as again:
        used = [number for number in range(0x10000) if ("S1", f"{number:04x}") in again]
        assert used == [3, 4, 5, 0xA3F2]
        assert ("S2", "0003") not in again
        assert (again.last("S1"), again.last("S2")) == ("A3F2", None)
    assert "0003" in Path(place.control, "signatures.jsonl").read_text()
    assert "0004" not in Path(place.control, "signatures.jsonl").read_text()


def test_a_nonce_that_was_given_out_is_not_one_that_was_used(place: Workspace):
    with Nonces(place) as nonces:
        nonces.give("S1", "0007")

    with Nonces(place) as again:
        assert ("S1", "0007") not in again
        assert again.last("S1") == "0007"


def test_what_fails_inside_the_block_leaves_the_note_as_it_was(place: Workspace):
    with pytest.raises(KeyError), Nonces(place) as nonces:
        nonces.add("S1", "0001")
        raise KeyError

    with Nonces(place) as again:
        assert ("S1", "0001") not in again


@pytest.mark.parametrize(
    "note",
    [
        "{",
        "[]",
        '{"schemaVersion":"x","given":{},"seen":{}}',
        '{"schemaVersion":1,"given":{"S1":"FFFFF"},"seen":{}}',
        '{"schemaVersion":1,"given":{},"seen":{"S1":[["0001"]]}}',
    ],
)
@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_note_that_cannot_be_read_is_refused_and_left_alone(
    place: Workspace, note: str, form: str
):
    Path(place.control).mkdir(parents=True)
    file = Path(place.control, f"signatures.{form}")
    file.write_text(note)

    with pytest.raises(InvalidStateError, match=r"signatures\.json"), Nonces(place):
        pass

    assert file.read_text() == note
    file.unlink()
    with Nonces(place) as nonces:  # the lock is free again
        assert nonces.last("S1") is None


@pytest.mark.req("XC-013")
def test_a_note_of_a_newer_version_is_not_written_and_unknown_fields_are_kept(place: Workspace):
    Path(place.control).mkdir(parents=True)
    Path(place.control, "signatures.json").write_text(
        '{"schemaVersion":1,"given":{},"seen":{},"later":[1]}'
    )
    with Nonces(place) as nonces:
        nonces.add("S1", "0001")
    file = Path(place.control, "signatures.jsonl")
    assert value_in(file)["later"] == [1]

    put(file, {**value_in(file), "schemaVersion": 2})
    newer = file.read_text()
    with pytest.raises(NewerVersionError), Nonces(place):
        pass
    assert file.read_text() == newer
