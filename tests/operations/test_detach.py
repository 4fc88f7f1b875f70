"""Work that goes on after the command has returned."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from council.operations.detach import detach
from tests.operations.tables import until


def _told_to_end():
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(SystemExit))
    os.kill(os.getpid(), signal.SIGTERM)


def _breaks():
    raise ValueError("this is broken")


def _run(work, log):
    """Have something done, and wait until the process that does it is gone."""
    heard, kept = os.pipe()
    os.set_inheritable(kept, True)
    detach(work, log_file=str(log), keep=(kept,))
    assert os.read(heard, 1) == b""
    os.close(heard)


@pytest.mark.parametrize(
    ("work", "told"), [(_breaks, "ValueError: this is broken"), (_told_to_end, "")]
)
def test_a_failure_is_written_down_and_being_told_to_end_is_none(tmp_path, work, told):
    log = tmp_path / "failures.log"
    _run(work, log)
    assert (log.read_text().splitlines()[-1] if log.exists() else "") == told


def _no_room():
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _leaves_what_follows(told, then):
    """Return a work that wants two things done after it and fails; each is written to `told`."""

    def note(word):
        with told.open("a") as file:
            file.write(word)

    def work():
        for word in "ab":
            detach(
                lambda word=word: note(word),
                log_file=os.devnull,
                otherwise=lambda error, word=word: note(f"{word} not: {error.errno}\n"),
            )
        note("own\n")
        then()

    return work


@pytest.mark.req("OP-001")
def test_what_follows_a_detached_work_begins_after_it_whatever_becomes_of_it(tmp_path):
    told = tmp_path / "told"
    _run(_leaves_what_follows(told, _breaks), tmp_path / "failures.log")
    until(lambda: len(told.read_text()) == len("own\nab"), "both have begun")
    assert sorted(told.read_text().removeprefix("own\n")) == ["a", "b"]


@pytest.mark.req("OP-001")
def test_who_wants_something_to_follow_is_told_that_it_cannot_be_started(tmp_path):
    def full():
        os.fork = _no_room

    told = tmp_path / "told"
    _run(_leaves_what_follows(told, full), tmp_path / "failures.log")
    assert told.read_text() == f"own\na not: {errno.EAGAIN}\nb not: {errno.EAGAIN}\n"


@pytest.mark.req("OP-001")
def test_start_that_finds_room_for_one_more_process_only_is_said_to_have_failed(
    tmp_path, monkeypatch
):
    fork, parent = os.fork, os.getpid()
    monkeypatch.setattr(os, "fork", lambda: fork() if os.getpid() == parent else _no_room())
    with pytest.raises(OSError, match="unavailable"):
        detach(lambda: None, log_file=str(tmp_path / "failures.log"))
