"""Records: one value each, one line and one sync a change, whatever happens in between."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from council.core.errors import InvalidStateError, NewerVersionError
from council.core.ids import sha256_hex
from council.store.documents import journal, lines
from council.store.documents.stored import Stored, lock_path
from tests.store.looking import as_written
from tests.store.processes import at_call, die, forked, status_of, together
from tests.store.records import of_version_one, put, value_in


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "kept.jsonl")


def change(path: str, word: str, *, op_id: str = "") -> None:
    with Stored(path, "mend it") as stored:
        value = stored.read() or {"words": []}
        if not stored.has(op_id):
            stored.write({"words": [*value["words"], word]}, op_id=op_id)


def words(path: str) -> list[str]:
    value = value_in(path)
    return [] if value is None else value["words"]


def calls_of(work: Callable[[], object], name: str) -> int:
    """Return how often `os.<name>` is called by `work`, in this process."""
    seen, real = [], getattr(os, name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, name, lambda *args, **more: seen.append(1) or real(*args, **more))
        work()
    return len(seen)


@pytest.mark.req("XC-001")
def test_a_value_is_read_as_it_was_written_and_a_change_is_one_line_and_one_sync(path: str):
    change(path, "é\ud800\n<!--")
    assert calls_of(lambda: change(path, "more"), "fdatasync") == 1
    assert calls_of(lambda: change(path, "most"), "fsync") == 0

    assert words(path) == ["é\ud800\n<!--", "more", "most"]
    assert len(list(journal.read(path))) == 3
    assert os.stat(path).st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_small_change_of_a_large_value_is_a_small_line(path: str):
    large = {str(number): "word " * 20 for number in range(500)}
    put(path, large)
    size = os.stat(path).st_size
    with Stored(path, "") as stored:
        stored.write({**stored.read(), "250": "another"})

    assert value_in(path) == {**large, "250": "another"}
    assert os.stat(path).st_size - size < 1000


@pytest.mark.req("XC-001", "OP-008")
def test_killed_at_any_call_and_repeated_a_change_stands_once(tmp_path: Path):
    for number in count(1):
        path = str(tmp_path / f"{number}.jsonl")
        change(path, "before")

        def dying(path: str = path, call: int = number) -> None:
            at_call(call, die)
            change(path, "now", op_id="op-1")

        survived = status_of(forked(dying)) == 0
        assert words(path) in (["before"], ["before", "now"])
        change(path, "now", op_id="op-1")
        assert words(path) == ["before", "now"]
        if survived:
            break
    assert number > 4


@pytest.mark.req("XC-001")
@pytest.mark.parametrize("call", [1, 2])
def test_a_line_that_may_not_be_on_the_disk_is_synced_before_it_is_answered(path: str, call: int):
    change(path, "before")

    def dying() -> None:
        real = os.fdatasync

        def dies(_: int) -> None:
            die()

        os.fdatasync = dies
        change(path, "now", op_id="op-1")
        os.fdatasync = real

    assert status_of(forked(dying)) != 0
    assert words(path) == ["before", "now"]
    for _ in range(call):
        syncs = calls_of(lambda: change(path, "now", op_id="op-1"), "fdatasync")
    assert syncs == (1 if call == 1 else 0)


@pytest.mark.req("XC-001")
@pytest.mark.parametrize("torn", [b'{"sum":"', b"\0" * 900, b"\0" * 10 + b'"}\n'])
def test_a_line_that_was_not_written_to_its_end_never_was(path: str, torn: bytes):
    change(path, "before")
    with open(path, "ab") as file:
        file.write(torn)

    assert words(path) == ["before"]
    change(path, "after")

    assert words(path) == ["before", "after"]
    assert b"\0" not in Path(path).read_bytes()


def test_a_line_that_was_changed_is_refused_and_not_passed_over(path: str):
    change(path, "before")
    change(path, "acknowledged")
    broken = Path(path).read_bytes().replace(b"acknowledged", b"acknowlEdged")
    Path(path).write_bytes(broken)

    with pytest.raises(InvalidStateError, match=r"kept\.jsonl ends with a line") as refused:
        change(path, "after")

    assert refused.value.hint == "mend it"
    assert Path(path).read_bytes() == broken


@pytest.mark.req("XC-013")
def test_what_version_1_wrote_is_read_and_goes_with_the_first_change(path: str):
    change(path, "before")
    old = of_version_one(path)
    os.chmod(old, 0o640)
    before = as_written(old)

    assert words(path) == ["before"]
    assert as_written(old) == before
    change(path, "after")

    assert words(path) == ["before", "after"]
    assert not old.exists()
    assert os.stat(path).st_mode & 0o777 == 0o640


@pytest.mark.req("XC-001", "XC-013")
def test_killed_while_a_file_of_version_1_is_brought_over_it_is_gone_on_with(tmp_path: Path):
    for number in count(1):
        path = str(tmp_path / str(number) / "kept.jsonl")
        put(path, {"words": ["before"]})
        old = of_version_one(path)

        def dying(path: str = path, call: int = number) -> None:
            at_call(call, die)
            change(path, "now", op_id="op-1")

        survived = status_of(forked(dying)) == 0
        assert words(path) in (["before"], ["before", "now"])
        change(path, "now", op_id="op-1")
        change(path, "after")
        assert words(path) == ["before", "now", "after"]
        assert not old.exists()
        if survived:
            break
    assert number > 6


@pytest.mark.req("XC-013")
def test_a_newer_value_and_a_newer_journal_are_refused_and_left(path: str):
    put(path, {"schemaVersion": 2})
    newer = [Path(path).read_bytes()]
    _, line = lines.made(None, {"digest": ""}, None, b"{}")
    head = lines.dumped({**line.head, "v": lines.VERSION + 1, "digest": sha256_hex(b"{}")})
    newer.append(lines.joined(sha256_hex(head), head, line.body))

    for content in newer:
        Path(path).write_bytes(content)
        with pytest.raises(NewerVersionError):
            change(path, "now")
        assert Path(path).read_bytes() == content


@pytest.mark.req("OP-008")
def test_a_journal_stays_short_and_an_operation_is_found_after_it_was_folded(path: str):
    sizes = []
    with Stored(path, "") as stored:
        for number in range(400):
            stored.write({"words": ["w" * 1000], "number": number}, op_id=f"op-{number}")
            sizes.append(os.stat(path).st_size)

    assert max(sizes) < 64 * 1024 + 4096
    assert any(later < sooner for sooner, later in pairwise(sizes))
    assert value_in(path)["number"] == 399
    shrunk = max(at for at in range(1, 400) if sizes[at] < sizes[at - 1])
    assert all(Stored(path, "").has(f"op-{number}") for number in range(shrunk - 30, 400))


@pytest.mark.req("XC-018")
def test_written_anew_nothing_of_what_stood_there_is_left(path: str):
    change(path, "heron")
    change(path, "cow")
    with Stored(path, "") as stored:
        stored.read()
        stored.write({"words": ["cow"]}, anew=True)

    assert words(path) == ["cow"]
    assert b"heron" not in Path(path).read_bytes()


@pytest.mark.req("XC-018")
def test_edited_anew_what_went_before_is_gone_even_if_the_value_stays(path: str):
    change(path, "heron")
    with Stored(path, "") as stored:
        stored.read()
        stored.write({"words": ["cow"]})
    assert b"heron" in Path(path).read_bytes()

    def nothing(_: object) -> None:
        return None

    Stored(path, "").edit(Stored.read, lambda value: value, nothing)
    assert b"heron" in Path(path).read_bytes()
    Stored(path, "").edit(Stored.read, lambda value: value, nothing, anew=True)

    assert words(path) == ["cow"]
    assert b"heron" not in Path(path).read_bytes()


@pytest.mark.req("XC-002")
def test_twenty_who_change_it_at_once_are_all_kept_and_readers_see_whole_values(path: str):
    def read_often() -> None:
        for _ in range(200):
            assert len(words(path)) <= 20

    works: list[Any] = [lambda at=at: change(path, f"w{at}") for at in range(20)]
    assert together([*works, read_often]) == [0] * 21
    assert sorted(words(path)) == sorted(f"w{at}" for at in range(20))
    assert lock_path(path) == path.removesuffix("l") + ".lock"


@pytest.mark.parametrize("content", ["", "{", "\ufeff", "null", "[" * 100_000])
def test_a_file_of_version_1_that_says_nothing_is_left(path: str, content: str):
    old = Path(path.removesuffix("l"))
    old.write_text(content)

    with pytest.raises(InvalidStateError) as refused:
        change(path, "now")

    assert "\n" not in refused.value.message
    assert old.read_text() == content
    assert not Path(path).exists()
    old.write_text(json.dumps({"words": []}))
    change(path, "now")
    assert words(path) == ["now"]
