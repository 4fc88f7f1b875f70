"""The note of the heartbeat as a file: read whole and under its own rules, or not at all."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from council.store.heartbeat.note import Note, keep_note, read_note
from council.store.heartbeat.survey import STAMP_BYTES, stamps_of

RULES = ["council-", "-conversation.md", 10.0, 60.0]
NOW = "2026-02-08T20:00:00Z"
LATER = "2026-02-08T21:00:00Z"
TAKEN_NS = 1_700_000_000 * 10**9


def line(number: int = 1, due: str = LATER) -> tuple[str, str, list[object], bytes]:
    return f"id-{number}", due, ["ACTIVE", "COLLECT", number % 2], bytes([number]) * 2 * STAMP_BYTES


def a_note(
    lines: dict[str, tuple[str, str, list[object], bytes]] | None = None, taken_ns: int = TAKEN_NS
) -> Note:
    found = {"b": line(2), "a": line(1, "never"), "c": line(3)} if lines is None else lines
    return Note.of(found, since=NOW, taken_ns=taken_ns)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "deadlines.json")


def test_what_is_kept_is_read_again(path: str):
    note = a_note()
    keep_note(path, RULES, note, before=None)

    again = read_note(path, RULES, LATER)

    assert again is not None
    assert again.names == ["a", "b", "c"]
    assert [again.line(at) for at in range(3)] == [line(1, "never"), line(2), line(3)]
    assert (again.since, again.taken_ns, again.body) == (NOW, TAKEN_NS, note.body)


def test_note_of_nobody_is_read_again(path: str):
    keep_note(path, RULES, a_note({}), before=None)

    again = read_note(path, RULES, NOW)

    assert again is not None
    assert (again.names, again.stamps) == ([], b"")


@pytest.mark.parametrize("rules", [[], RULES[:-1], [*RULES[:-1], 61.0], ["chat-", *RULES[1:]]])
def test_note_made_under_other_rules_is_not_used(path: str, rules: list[object]):
    keep_note(path, RULES, a_note(), before=None)

    assert read_note(path, rules, NOW) is None


def test_note_of_the_future_is_not_used(path: str):
    keep_note(path, RULES, a_note(), before=None)

    assert read_note(path, RULES, "2026-02-08T19:59:59Z") is None


def test_note_with_any_byte_changed_or_cut_off_is_not_used(path: str):
    keep_note(path, RULES, a_note(), before=None)
    data = Path(path).read_bytes()
    for at in range(0, len(data), 3):
        Path(path).write_bytes(data[:at])
        assert read_note(path, RULES, NOW) is None, at
        Path(path).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        changed = read_note(path, RULES, NOW)
        assert changed is None or changed.body == a_note().body, at


def test_note_that_is_a_link_is_not_followed(path: str, tmp_path: Path):
    elsewhere = str(tmp_path / "elsewhere.json")
    keep_note(elsewhere, RULES, a_note(), before=None)
    os.symlink(elsewhere, path)

    assert read_note(path, RULES, NOW) is None


def test_what_says_the_same_is_not_written_and_only_its_time_moves(path: str):
    keep_note(path, RULES, a_note(), before=None)
    inode = os.stat(path).st_ino
    read = read_note(path, RULES, LATER)

    keep_note(path, RULES, a_note(taken_ns=TAKEN_NS + 5), before=read)

    assert (os.stat(path).st_ino, os.stat(path).st_mtime_ns) == (inode, TAKEN_NS + 5)


def test_time_of_a_note_that_another_heartbeat_wrote_meanwhile_is_left_alone(path: str):
    keep_note(path, RULES, a_note(), before=None)
    read = read_note(path, RULES, LATER)
    keep_note(path, RULES, a_note({"a": line(9)}), before=read)

    keep_note(path, RULES, a_note(taken_ns=TAKEN_NS + 5), before=read)

    assert os.stat(path).st_mtime_ns == TAKEN_NS


def test_of_two_who_write_at_once_one_gives_way(path: str):
    Path(f"{path}.new").write_bytes(b"half of it")
    keep_note(path, RULES, a_note(), before=None)
    assert not os.path.exists(path)

    long_ago = time.time() - 3600
    os.utime(f"{path}.new", (long_ago, long_ago))
    keep_note(path, RULES, a_note(), before=None)
    assert read_note(path, RULES, NOW) is not None
    assert not os.path.exists(f"{path}.new")


def test_note_that_cannot_be_written_hurts_nobody(path: str, tmp_path: Path):
    os.mkdir(path)
    keep_note(path, RULES, a_note(), before=None)
    assert os.listdir(tmp_path) == ["deadlines.json"]

    keep_note(str(tmp_path / "no" / "such" / "folder"), RULES, a_note(), before=None)


def test_look_tells_every_change_of_either_file(tmp_path: Path):
    control = tmp_path / ".council"
    (control / "an-id").mkdir(parents=True)
    live, journal = tmp_path / "council-a-conversation.md", control / "an-id" / "revisions.jsonl"

    def look() -> bytes:
        files = ("council-a-conversation.md", ".council/an-id/revisions.jsonl")
        return stamps_of(str(tmp_path), [files], 2, 2)[0]

    assert not any(look())
    live.write_text("one")
    assert not any(look())
    journal.write_text("one")
    seen = [look()]
    for file in (live, journal):
        file.write_text("two!")
        seen.append(look())
        os.utime(file, (1, 1))
        seen.append(look())
        file.rename(tmp_path / "aside")
        file.write_text("two!")
        os.utime(file, (1, 1))
        seen.append(look())
    assert all(map(any, seen))
    assert len(set(seen)) == len(seen)
    os.utime(live, (2**34, 2**34))
    assert not any(look()), "a time that fits nowhere is no look"
    assert not any(stamps_of(str(tmp_path), [("council-a-conversation.md", "\0")], 2, 2)[0])
    assert not any(stamps_of(str(tmp_path / "none"), [("a", "an-id")], 2, 2)[0])
