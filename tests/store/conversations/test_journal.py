"""The journal: what is whole counts, what is torn never happened."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.errors import InvalidStateError
from council.store.conversations import journal
from tests.store.processes import at_call, fail, forked, status_of


def _record(rev: int, **more: Any) -> dict[str, Any]:
    return {"rev": rev, "opId": f"op-{rev}", **more}


def _written(path: Path, count: int, **more: Any) -> int:
    end = 0
    for rev in range(count):
        end = journal.append(str(path), end, _record(rev, **more)).end
    return end


def test_the_last_line_is_found_whatever_its_length(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert journal.read_tail(str(path)) is None
    end = _written(path, 3)
    for size in (10, 20_000, 100_000):
        written = journal.append(str(path), end, _record(9, text="é\n" * size))
        found = journal.read_tail(str(path))
        assert found == written
        assert found is not None
        end = found.end


@pytest.mark.req("XC-001")
def test_a_torn_last_line_is_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    end = _written(path, 2)
    line = journal.encode(_record(2, text="the third"))
    whole = path.read_bytes()
    for length in range(len(line)):
        path.write_bytes(whole + line[:length])
        tail = journal.read_tail(str(path))
        assert tail is not None
        assert (tail.record["rev"], tail.end, tail.torn) == (1, end, line[:length])
    journal.append(str(path), end, _record(7))
    assert [record["rev"] for record in journal.records(str(path))] == [0, 1, 7]


def test_a_line_that_was_altered_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    _written(path, 3)
    whole = path.read_bytes()
    for place in range(whole.rfind(b"\n", 0, -1) + 1, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        tail = journal.read_tail(str(path))
        assert tail is not None
        assert tail.record["rev"] == 1


def test_zeros_that_a_power_cut_left_are_no_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    end = _written(path, 2)
    path.write_bytes(path.read_bytes() + bytes(40_000))
    tail = journal.read_tail(str(path))
    assert tail is not None
    assert tail.end == end
    journal.append(str(path), tail.end, _record(2))
    assert [record["rev"] for record in journal.records(str(path))] == [0, 1, 2]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_line_that_could_not_be_written_or_synced_is_cut_off(tmp_path: Path, code: int) -> None:
    path = tmp_path / "journal"
    end = _written(path, 2)
    before, number = path.read_bytes(), 0
    while True:
        number += 1

        def append(at: int = number) -> None:
            at_call(at, fail(code))
            journal.append(str(path), end, _record(2))

        if status_of(forked(append)) == 0:
            break
        assert path.read_bytes() == before
    assert number == 4  # open, pwrite and fdatasync failed once each


def test_an_operation_is_found_by_its_id_and_by_nothing_that_looks_like_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal"
    wanted = 'answer:1:henry:"quoted"'
    assert journal.find_operation(str(path), wanted) is None
    end = _written(path, 3)
    end = journal.append(str(path), end, _record(3, opId=wanted, result={"n": 1})).end
    end = journal.append(str(path), end, _record(4, events=[{"data": {"opId": wanted}}])).end
    journal.append(str(path), end, _record(5, text=f'"opId":"{wanted}"'))
    found = journal.find_operation(str(path), wanted)
    assert found is not None
    assert found["rev"] == 3
    assert journal.find_operation(str(path), "op-") is None
    assert journal.find_operation(str(path), "op-2") == next(
        record for record in journal.records(str(path)) if record["rev"] == 2
    )


def test_a_reaffirmed_line_is_the_same_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    _written(path, 3)
    before = path.read_bytes()
    tail = journal.read_tail(str(path))
    assert tail is not None
    journal.reaffirm(str(path), tail)
    assert path.read_bytes() == before


def test_a_journal_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        journal.append(str(tmp_path / "link"), 0, _record(1))
    assert not (tmp_path / "target").exists()


def test_a_journal_that_the_system_will_not_read_is_named_in_the_refusal(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(InvalidStateError, match=r"cannot read .*/link"):
        journal.read_tail(str(tmp_path / "link"))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100)
@given(st.dictionaries(st.text(), _JSON, min_size=1, max_size=5))
def test_what_is_encoded_is_decoded(record: dict[str, Any]) -> None:
    record.pop("sum", None)
    record["rev"] = 1
    line = journal.encode(record)
    assert line.count(b"\n") == 1
    found = journal.decode(line[:-1])
    assert found is not None
    assert found == record


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_journal_without_lines(tmp_path_factory: Any, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("j") / "journal"
    path.write_bytes(noise)
    assert journal.read_tail(str(path)) is None
    assert list(journal.records(str(path))) == []
