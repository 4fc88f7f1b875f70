"""Side-cars: what conversions lost, kept in a file of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.core.errors import CouncilError, InvalidInputError
from council.store.protocol.sidecars import KEYS, add_to_sidecar, read_sidecar

ONE = dict.fromkeys(KEYS, "é")


@pytest.mark.req("PR-609")
def test_records_are_added_to_what_is_there(tmp_path: Path):
    path = str(tmp_path / "aside")
    assert read_sidecar(path) == []

    add_to_sidecar(path, [ONE])
    add_to_sidecar(path, [{**ONE, "text": "a\nb"}])

    assert read_sidecar(path) == [ONE, {**ONE, "text": "a\nb"}]


@pytest.mark.req("PR-609")
@pytest.mark.parametrize("left", [1, 12, 30, -2, -1])
def test_a_line_that_was_cut_short_takes_no_other_with_it(tmp_path: Path, left: int):
    path = tmp_path / "aside"
    second = {**ONE, "version": "V5", "text": "second"}
    add_to_sidecar(str(path), [{**ONE, "version": "V4"}])
    whole = path.read_bytes()
    add_to_sidecar(str(path), [second])
    torn = path.read_bytes()[len(whole) :][:left]
    path.write_bytes(whole + torn)

    add_to_sidecar(str(path), [second, second])

    kept = [second] if left == -1 else []
    assert read_sidecar(str(path)) == [{**ONE, "version": "V4"}, *kept, second, second]


@pytest.mark.parametrize("text", ["a letter\n", "[]\n", "{}\n", '{"version": 1}\n', "\xff"])
def test_what_is_no_side_car_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "aside"
    path.write_text(text, encoding="latin-1")

    with pytest.raises(InvalidInputError, match="aside"):
        read_sidecar(str(path))


def test_a_folder_cannot_be_a_side_car_and_none_is_made_for_it(tmp_path: Path):
    for path in (tmp_path, tmp_path / "none" / "aside"):
        with pytest.raises(CouncilError):
            add_to_sidecar(str(path), [ONE])
    assert not (tmp_path / "none").exists()
