"""The journal: what is whole counts, what is torn never happened."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.errors import InvalidStateError, NotFoundError
from council.core.ids import sha256_hex
from council.store.documents import journal, lines
from council.store.documents.lines import Line, applied, difference
from tests.examples import examples
from tests.store.processes import at_call, fail, forked, status_of


def _head(rev: int, **more: Any) -> dict[str, Any]:
    return {"rev": rev, "op": f"op-{rev}", "digest": str(rev), **more}


def _next(path: Path, text: bytes, **head: Any) -> tuple[bytes, Line]:
    tail = journal.read_tail(str(path))
    before = b"" if tail is not None else None
    return lines.made(None if tail is None else tail.line, head, before, text)


def _add(path: Path, text: bytes = b"", **head: Any) -> Line:
    data, line = _next(path, text, **head)
    journal.append(str(path), line.start, data)
    return line


def _written(path: Path, count: int) -> int:
    for rev in range(count):
        end = _add(path, **_head(rev)).end
    return end


def _revs(path: Path) -> list[int]:
    return [line.head["rev"] for line in journal.read(str(path))]


def test_the_last_line_is_found_whatever_its_length(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert journal.read_tail(str(path)) is None
    _written(path, 3)
    for size in (10, 20_000, 100_000):
        written = _add(path, b"\xc3\xa9\n" * size, **_head(9))
        found = journal.read_tail(str(path))
        assert found is not None
        assert (found.line, found.torn) == (written, b"")


@pytest.mark.req("XC-001")
def test_a_torn_last_line_is_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    end = _written(path, 2)
    line, _ = _next(path, b"the third", **_head(2))
    whole = path.read_bytes()
    for length in range(len(line)):
        path.write_bytes(whole + line[:length])
        tail = journal.read_tail(str(path))
        assert tail is not None
        assert (tail.head["rev"], tail.end, tail.torn) == (1, end, line[:length])
    _add(path, **_head(7))
    assert _revs(path) == [0, 1, 7]


@pytest.mark.req("XC-001")
def test_lines_of_one_sync_hold_only_if_those_before_them_are_there(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    end = _written(path, 2)
    first, one = _next(path, b"an edit" * 4000, **_head(2))
    second, two = lines.made(one, _head(3, batch=1), b"an edit" * 4000, b"an answer")
    path.write_bytes(path.read_bytes() + first + second)
    tail = journal.read_tail(str(path))
    assert tail is not None
    assert (tail.line, tail.batch) == (two, [one, two])
    (tmp_path / "gap").write_bytes(path.read_bytes()[:end] + second)
    tail = journal.read_tail(str(tmp_path / "gap"))
    assert tail is not None
    assert (tail.head["rev"], tail.end) == (1, end)
    for place in (end, one.end - 5000, one.end - 3):
        torn = bytearray(path.read_bytes())
        torn[place] ^= 1  # the disk had the second before all of the first
        (tmp_path / "torn").write_bytes(torn)
        tail = journal.read_tail(str(tmp_path / "torn"))
        assert tail is not None
        assert (tail.head["rev"], tail.end) == (1, end)


def test_a_line_that_was_altered_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    _written(path, 2)
    _add(path, b"said", **_head(2))
    whole = path.read_bytes()
    for place in range(whole.rfind(b"\n", 0, -1) + 1, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        tail = journal.read_tail(str(path))
        assert tail is not None
        assert tail.head["rev"] == 1


def test_zeros_that_a_power_cut_left_are_no_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    end = _written(path, 2)
    path.write_bytes(path.read_bytes() + bytes(40_000))
    tail = journal.read_tail(str(path))
    assert tail is not None
    assert tail.end == end
    _add(path, **_head(2))
    assert _revs(path) == [0, 1, 2]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_line_that_could_not_be_written_or_synced_is_cut_off(tmp_path: Path, code: int) -> None:
    path = tmp_path / "journal"
    _written(path, 2)
    data, line = _next(path, b"more", **_head(2))
    before, number = path.read_bytes(), 0
    while True:
        number += 1

        def append(at: int = number) -> None:
            at_call(at, fail(code))
            journal.append(str(path), line.start, data)

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
    _written(path, 3)
    _add(path, **_head(3, op=wanted, result={"n": 1}))
    _add(path, **_head(4, events=[{"data": {"op": wanted}}]))
    _add(path, f'"op":"{wanted}"'.encode(), **_head(5))
    found = journal.find_operation(str(path), wanted)
    assert found is not None
    assert found["rev"] == 3
    assert journal.find_operation(str(path), "op-") is None
    two = journal.find_operation(str(path), "op-2")
    assert two is not None
    assert two["rev"] == 2


def test_lines_that_are_written_again_are_the_same_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda *given: written.append(given[2]) or real(*given))
    path = tmp_path / "journal"
    _written(path, 3)
    before = path.read_bytes()
    tail = journal.read_tail(str(path))
    assert tail is not None
    journal.append(str(path), tail.end, b"", tail.end - tail.line.start)
    assert path.read_bytes() == before
    data, _ = _next(path, b"the fourth", **_head(3))
    journal.append(str(path), tail.end, data, tail.end)
    assert path.read_bytes() == before + data
    assert written[-2:] == [tail.line.start, 0]


def test_a_journal_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        journal.append(str(tmp_path / "link"), 0, b"{}\n")
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
_TEXTS = st.lists(st.binary(max_size=40) | st.text(max_size=40).map(str.encode), max_size=6)


@settings(max_examples=examples(100))
@given(st.dictionaries(st.text(), _JSON, max_size=5), st.binary(max_size=200))
def test_what_is_written_is_read(more: dict[str, Any], text: bytes) -> None:
    head = {key: value for key, value in more.items() if key not in ("body", "seq", "spent")}
    data, line = lines.made(None, {**head, **_head(1)}, None, text)
    assert data.count(b"\n") == 1
    assert lines.decode(data[:-1]) == line
    assert lines.text_after(None, line.change) == text


@pytest.mark.req("OP-013")
@settings(max_examples=examples(200))
@given(st.lists(_TEXTS.map(b"\n".join), min_size=1, max_size=8))
def test_every_text_and_every_save_can_be_had_again(
    tmp_path_factory: Any, texts: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("j") / "journal"
    last: Line | None = None
    before: bytes | None = None
    for rev, text in enumerate(texts):
        saved = texts[rev - 1][::-1] if rev else None
        head = {**_head(rev), "digest": sha256_hex(text)}
        head |= {"seen": f"{rev}:{sha256_hex(saved)}"} if saved is not None else {}
        data, last = lines.made(last, head, before, text, saved)
        journal.append(str(path), last.start, data)
        before = text
    past = journal.Past(str(path))
    for rev, text in enumerate(texts):
        assert past.text_at(rev) == text
        if rev:
            saved = texts[rev - 1][::-1]
            assert past.saved(f"{rev}:{sha256_hex(saved)}") == saved


@settings(max_examples=examples(300))
@given(st.text(alphabet="ab\nüx€😀 ", max_size=60), st.text(alphabet="ab\nüx€😀 ", max_size=60))
def test_a_patch_gives_the_text_and_cuts_no_character(old: str, new: str) -> None:
    patch = difference(old.encode(), new.encode())
    assert applied(old.encode(), patch) == new.encode()
    for start, end, text in patch:
        for part in (old.encode()[:start], old.encode()[:end], text):
            part.decode()


def test_a_patch_holds_what_was_changed_and_little_more() -> None:
    old = b"".join(b"line %d of a long text\n" % number for number in range(20_000))
    new = old.replace(b"line 7 of", b"line seven of").replace(
        b"line 9999 of", b"a\nb\nline 9999 of"
    )
    patch = difference(old, new)
    assert applied(old, patch) == new
    assert sum(len(text) + end - start for start, end, text in patch) < 100


def test_a_patch_of_one_part_among_many_alike_leaves_the_others_alone() -> None:
    hint = b"*(to answer: write below, then set the status above)*\n"
    parts = [b"### %d\n%s\n" % (number, hint) for number in range(1000)]
    old = b"".join([b"waits for " + b", ".join(b"%d" % n for n in range(1000)) + b"\n\n", *parts])
    new = old.replace(parts[7], b"### 7\nan answer\n\n").replace(b" 7,", b"")
    patch = difference(old, new)
    assert applied(old, patch) == new
    assert sum(len(text) + end - start for start, end, text in patch) < 100


@pytest.mark.req("OP-016")
def test_a_body_that_was_taken_out_leaves_a_named_hole_and_the_chain_holds(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    last: Line | None = None
    before: bytes | None = None
    for rev, text in enumerate((b"one", b"one secret", b"one other")):
        data, last = lines.made(last, {**_head(rev), "digest": sha256_hex(text)}, before, text)
        journal.append(str(path), last.start, data)
        before = text
    journal.thinned(str(path), "purged", {2})
    assert b"secret" not in path.read_bytes()
    past = journal.Past(str(path))
    assert [one.head["seq"] for one in past.lines] == [1, 2, 3]
    assert [one.head["parent"] for one in past.lines[1:]] == [one.sum for one in past.lines[:-1]]
    assert past.text_at(2) == b"one other"
    with pytest.raises(NotFoundError, match="was taken out"):
        past.text_at(1)
    assert past.lines[1].change == {"hole": "purged"}


@settings(max_examples=examples(100))
@given(st.binary(max_size=300))
def test_any_bytes_are_a_journal_without_lines(tmp_path_factory: Any, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("j") / "journal"
    path.write_bytes(noise)
    assert journal.read_tail(str(path)) is None
    assert list(journal.read(str(path))) == []
