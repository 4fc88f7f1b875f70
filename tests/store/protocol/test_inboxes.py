"""Inboxes and the log of messages: only ever added to, each line once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from council.core.errors import InvalidInputError, InvalidStateError
from council.store import added_lines
from council.store.paths import Workspace
from council.store.protocol import protocol_log
from council.store.protocol.inboxes import Letter, deliver, inbox_path, inbox_size, read_inbox
from tests.store.processes import together


def _letter(number: int, **changes: str) -> Letter:
    given = {"sender": "O1", "receiver": "W1", "text": f"M{number}|O1>W1|…", **changes}
    return Letter(id=f"S1:{number}", at=f"2026-02-08T20:00:{number % 60:02}Z", **given)


def test_what_was_delivered_is_read_again_with_everything_it_said(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    letter = Letter(
        id="x",
        at="2026-02-08T20:00:00Z",
        sender="O1",
        receiver="*",
        text="two\nlines",
        priority="P0",
        context="S1",
        task="T1",
        trace="a" * 32,
        refs=("art_1",),
    )
    deliver(workspace, "W1", [letter])
    assert read_inbox(workspace, ["W1"]) == [letter]
    assert read_inbox(workspace, ["W2"]) == []


def test_a_letter_that_is_delivered_again_stands_there_once(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    deliver(workspace, "W1", [_letter(0)])
    since = inbox_size(workspace, "W1")
    both = [_letter(1), _letter(2)]
    deliver(workspace, "W1", both[:1], since=since)
    deliver(workspace, "W1", both, since=since)
    deliver(workspace, "W1", both, since=since)
    assert len(Path(inbox_path(workspace, "W1")).read_bytes().splitlines()) == 3
    assert [one.id for one in read_inbox(workspace, ["W1"])] == ["S1:0", "S1:1", "S1:2"]


def test_a_line_that_was_torn_is_closed_and_made_whole_beside_it(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    deliver(workspace, "W1", [_letter(1)])
    path = Path(inbox_path(workspace, "W1"))
    since = path.stat().st_size
    with path.open("ab") as file:
        file.write(_letter(2).to_line()[:30])  # killed in the middle of the write
    deliver(workspace, "W1", [_letter(2)], since=since)
    assert [one.id for one in read_inbox(workspace, ["W1"])] == ["S1:1", "S1:2"]


def test_an_inbox_that_was_begun_anew_is_looked_through_from_its_beginning(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    deliver(workspace, "W1", [_letter(1)])
    deliver(workspace, "W1", [_letter(1)], since=10_000)
    assert len(read_inbox(workspace, ["W1"])) == 1
    assert len(Path(inbox_path(workspace, "W1")).read_bytes().splitlines()) == 1


def test_letters_of_several_inboxes_come_in_the_order_of_time_each_once(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    deliver(workspace, "W1", [_letter(3), _letter(5)])
    deliver(workspace, "henry", [_letter(4), _letter(3)])
    assert [one.id for one in read_inbox(workspace, ["W1", "henry"])] == ["S1:3", "S1:4", "S1:5"]


def test_twenty_who_deliver_at_once_lose_nothing(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))

    def sender(number: int) -> Callable[[], object]:
        def send() -> None:
            for step in range(5):
                deliver(workspace, "User", [_letter(number * 100 + step)])

        return send

    assert together([sender(number) for number in range(20)]) == [0] * 20
    found = {one.id for one in read_inbox(workspace, ["User"])}
    assert found == {f"S1:{n * 100 + s}" for n in range(20) for s in range(5)}


@pytest.mark.parametrize("name", ["../W1", "w 1", "", "W0", "*", "W*", "a/b"])
def test_a_name_that_nobody_can_have_has_no_inbox(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError):
        inbox_path(Workspace(str(tmp_path)), name)


def test_lines_that_are_no_letters_are_left_out(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    deliver(workspace, "W1", [_letter(1)])
    with Path(inbox_path(workspace, "W1")).open("ab") as file:
        file.write(b'[1]\n{"id": 3}\n\xff\xfe\n{"id": "half')
    assert [one.id for one in read_inbox(workspace, ["W1"])] == ["S1:1"]


def test_a_pipe_in_the_place_of_an_inbox_is_refused_and_nobody_hangs(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    path = Path(inbox_path(workspace, "W1"))
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(InvalidStateError):
        deliver(workspace, "W1", [_letter(1)])


def test_the_log_has_a_file_for_each_day_and_each_line_once(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    protocol_log.log(workspace, "2026-02-08", ["one", "two"], since=0)
    protocol_log.log(workspace, "2026-02-08", ["one", "two", "one"], since=0)
    protocol_log.log(workspace, "2026-02-09", ["three"])
    everything = list(protocol_log.read_log(workspace))
    assert [line for _, line in everything] == ["one", "two", "one", "three"]
    assert list(protocol_log.read_log(workspace, since="2026-02-09")) == [("2026-02-09", "three")]
    assert added_lines.read_lines(str(tmp_path / "nothing")) == []
