"""Logs in which much was added that says no number: counted right, in pieces, from a note."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from council.core.rooms.channels import Message
from council.store.rooms import channel_messages as log
from council.store.rooms import long_log

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
OURS = '{"id":%d,"at":"2026-02-08T21:%02d:00Z","author":"owl","content":"ours"}'


def in_pieces(path: Path, after: int, note: str) -> list[log.Tail]:
    found = []
    while True:
        found.append(log.read_tail(str(path), NOW, after=after, note=note, keeps=True))
        if not found[-1].more:
            return found
        assert found[-1].last_id > after
        after = found[-1].last_id


def facts(messages: list[Message], after: int = 0) -> list[tuple[int, str]]:
    return list({one.id: (one.id, one.content) for one in messages if one.id > after}.values())


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything that is long be short."""
    monkeypatch.setattr(log, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(log, "_NEAR_BYTES", 256)
    monkeypatch.setattr(long_log, "_BLOCK_BYTES", 512)
    monkeypatch.setattr(long_log, "_PIECE_BYTES", 2000)
    monkeypatch.setattr(long_log, "PIECE_LINES", 40)
    monkeypatch.setattr(long_log, "_MARK_EVERY", 16)
    monkeypatch.setattr(long_log, "_WORTH_A_NOTE_BYTES", 200)


def some_log(seed: int) -> str:
    draw = random.Random(seed)
    number, lines = 0, []
    for _ in range(draw.randrange(300, 900)):
        kind = draw.choices(("ours", "plain", "foreign", "blank", "timed"), (1, 6, 9, 1, 1))[0]
        number += kind != "blank"
        if kind == "ours":
            number += draw.choice((0, 0, 7))
            lines.append(OURS % (number, draw.randrange(60)))
        elif kind == "timed":
            minute = draw.randrange(10, 60)
            lines.append(json.dumps({"at": f"2026-02-08T22:{minute}:00Z", "content": "then"}))
        else:
            lines.append(
                {"plain": "x" * draw.randrange(1, 80), "blank": " "}.get(
                    kind, json.dumps({"content": "é" * draw.randrange(30)})
                )
            )
    return "\n".join(lines) + draw.choice(("\n", "", "\nopen", '\n{"id":77,"at'))


@pytest.mark.parametrize("seed", range(40))
def test_a_log_is_the_same_read_at_once_in_pieces_and_from_a_note(tmp_path, seed):
    path, note = tmp_path / "some.jsonl", str(tmp_path / "counted")
    path.write_text(some_log(seed))
    whole = log.read_tail(str(path), NOW, count=2**53)

    for after in (0, whole.last_id // 3, whole.last_id - 5):
        pieces = in_pieces(path, after, note)
        told = [one for piece in pieces for one in piece.messages if one.id > after]

        assert facts(told, after) == facts(whole.messages, after)
        assert len(pieces) > 1 or whole.last_id - after < 60
        end = pieces[-1]
        assert (end.last_id, end.said_id) == (whole.last_id, whole.said_id)
        assert (end.torn, end.open_line) == (whole.torn, whole.open_line)
        newest = log.read_tail(str(path), NOW, count=9, note=note).messages
        assert facts(newest) == facts(whole.messages[-9:])


def test_a_place_that_was_counted_is_remembered_until_the_log_is_another(tmp_path):
    path, note = tmp_path / "some.jsonl", tmp_path / "counted"
    lines = [f"word {number}" for number in range(1, 601)]
    path.write_text("\n".join(lines) + "\n")
    in_pieces(path, 0, str(note))
    place = int(note.read_text().split()[0])
    assert place > path.stat().st_size * 0.9

    # What was counted is not looked at again: of that the note is trusted.
    changed = path.read_bytes().replace(b"word 7\n", b"w\nrd 7\n")
    path.write_bytes(changed)
    assert log.read_tail(str(path), NOW, note=str(note)).last_id == 600

    path.write_bytes(changed[7:])
    assert log.read_tail(str(path), NOW, note=str(note)).last_id == 600
    for text in ("", "1 1 1", "9" * 200, "5 4 0 2026-02-08T20:00:00Z 0000000000000000"):
        note.write_text(text)
        assert log.read_tail(str(path), NOW, note=str(note)).last_id == 600


@pytest.mark.parametrize("near", [256, 4096])
def test_lines_of_another_log_are_heard_whatever_numbers_they_bear(tmp_path, monkeypatch, near):
    monkeypatch.setattr(log, "_NEAR_BYTES", near)
    path = tmp_path / "some.jsonl"
    lines = [OURS % (number, 0) for number in range(1, 101)]
    path.write_text("\n".join([*lines, *lines[:80]]) + "\n")

    found = [one for piece in in_pieces(path, 100, "") for one in piece.messages]

    assert [number for number, _ in facts(found, 100)] == list(range(101, 181))
