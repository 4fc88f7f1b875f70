"""The outbox: the id of what is asked for is noted before the change, and kept until it is said."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from council.core.errors import CouncilError
from council.store import outbox
from council.store.outbox import Operation
from tests.store.processes import forked, status_of

pytestmark = pytest.mark.req("OP-008")
WORDS = ["extend", "1h"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of this user's notes, in a `.council` that is there."""
    (tmp_path / ".council").mkdir()
    return tmp_path / ".council" / "outbox" / str(os.getuid())


@pytest.fixture(autouse=True)
def nobody_asks():
    """Let no test leave a request behind for the next one."""
    yield
    outbox.told()
    outbox.asked([])


def asked_and_died(folder: Path, *facts: str, words: list[str] | None = None) -> str:
    """Have a process ask for something and end before it tells its caller; return the id."""
    reading, writing = os.pipe()

    def ask() -> None:
        outbox.asked(WORDS if words is None else words)
        os.write(writing, outbox.operation(str(folder.parent), *facts).id.encode())

    assert status_of(forked(ask)) == 0
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def ask(folder: Path, *facts: str, words: list[str] | None = None) -> Operation:
    outbox.asked(WORDS if words is None else words)
    return outbox.operation(str(folder.parent), *facts)


def test_what_is_asked_is_noted_until_it_is_told(folder: Path):
    operation = ask(folder, "active")

    assert [one.name.partition(".")[2] for one in folder.iterdir()] == [operation.id]
    assert not operation.is_repeat
    outbox.told()
    assert list(folder.iterdir()) == []


def test_nobody_else_may_look_at_what_somebody_asks(folder: Path):
    ask(folder, "active")

    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_id_of_a_process_that_died_is_taken_over(folder: Path):
    drawn = asked_and_died(folder, "active")

    assert ask(folder, "active") == Operation(id=drawn, is_repeat=True)
    outbox.told()
    assert not ask(folder, "active").is_repeat


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (("other",), WORDS),
        (("active", ""), WORDS),
        (("active",), ["extend", "2h"]),
    ],
)
def test_what_differs_in_facts_or_words_is_another_request(
    folder: Path, facts: tuple[str, ...], words: list[str]
):
    drawn = asked_and_died(folder, "active")

    operation = ask(folder, *facts, words=words)

    assert not operation.is_repeat
    assert operation.id != drawn


def test_how_the_answer_is_printed_makes_no_other_request(folder: Path):
    drawn = asked_and_died(folder, "active", words=["--json", *WORDS])

    assert ask(folder, "active").id == drawn


def test_two_live_processes_that_ask_the_same_have_ids_of_their_own(folder: Path):
    operation = ask(folder, "active")

    drawn = asked_and_died(folder, "active")

    assert drawn not in ("", operation.id)
    assert len(list(folder.iterdir())) == 2


def test_of_two_who_ask_again_at_once_one_takes_the_id_over(folder: Path):
    drawn = asked_and_died(folder, "active")

    first, second = ask(folder, "active"), ask(folder, "active")

    assert first == Operation(id=drawn, is_repeat=True)
    assert not second.is_repeat
    assert second.id != drawn


def test_a_note_of_yesterday_is_swept_and_taken_over_by_nobody(folder: Path):
    drawn = asked_and_died(folder, "active")
    note = next(folder.iterdir())
    old = f"{int(time.time()) - outbox.KEPT_S - 60:08x}{drawn[8:]}"
    note.rename(note.with_name(f"{note.name.partition('.')[0]}.{old}"))

    operation = ask(folder, "something else")

    assert [one.name.partition(".")[2] for one in folder.iterdir()] == [operation.id]


def test_without_a_caller_who_is_told_nothing_is_noted(folder: Path):
    assert outbox.operation(str(folder.parent), "active") == Operation()
    assert not folder.exists()


def test_a_forked_child_neither_holds_nor_takes_away_what_its_parent_noted(folder: Path):
    operation = ask(folder, "active")

    assert status_of(forked(outbox.told)) == 0

    assert [one.name.partition(".")[2] for one in folder.iterdir()] == [operation.id]
    assert not ask(folder, "active").is_repeat


@pytest.mark.parametrize("hindrance", ["no control folder", "a file in its place"])
def test_what_cannot_be_noted_is_left_to_the_change_to_complain_of(tmp_path: Path, hindrance: str):
    control = tmp_path / "memory" / ".council"
    if hindrance == "a file in its place":
        control.parent.mkdir()
        control.touch()

    assert ask(control / "outbox" / "own", "active") == Operation()


def test_a_folder_that_is_a_loop_of_links_is_told_as_an_error(folder: Path):
    folder.parent.symlink_to(folder.parent)

    with pytest.raises(CouncilError):
        ask(folder, "active")
