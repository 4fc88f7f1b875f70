"""The kernel lock between real processes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from council.core.errors import InvalidStateError, LockTimeoutError, StorageError
from council.store.lock import Lock, holder_of, try_lock
from tests.store.processes import Signal, forked, status_of, together


def _is_free(path: Path) -> bool:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _holding(path: Path, held: Signal, go: Signal) -> int:
    def hold() -> None:
        with Lock(str(path)):
            held.send()
            go.wait()

    child = forked(hold)
    held.wait()
    return child


@pytest.mark.req("XC-002")
def test_a_killed_holder_frees_the_lock_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    child = _holding(path, Signal(), Signal())
    assert not _is_free(path)
    os.kill(child, signal.SIGKILL)
    status_of(child)
    with Lock(str(path), timeout_s=0):
        assert not _is_free(path)
    assert _is_free(path)


@pytest.mark.req("XC-002")
def test_waiting_past_the_bound_names_the_holder(tmp_path: Path) -> None:
    path, go = tmp_path / "lock", Signal()
    child = _holding(path, Signal(), go)
    with pytest.raises(LockTimeoutError) as caught, Lock(str(path), timeout_s=0.05):
        pass
    assert caught.value.exit_code == 4
    assert f"pid {child} on {os.uname().nodename} since " in caught.value.message
    go.send()
    assert status_of(child) == 0


@pytest.mark.req("XC-002")
def test_a_live_holder_is_waited_for_and_named_after_a_second(tmp_path: Path) -> None:
    path, go, said = tmp_path / "lock", Signal(), list[str]()

    def heard(line: str) -> None:
        said.append(line)
        go.send()  # only now the holder lets go

    child = _holding(path, Signal(), go)
    with Lock(str(path), say=heard):
        assert status_of(child) == 0
    assert len(said) == 1
    assert f"held by pid {child} " in said[0]


def test_an_alarm_that_was_set_before_still_rings(tmp_path: Path) -> None:
    path, go, rung = tmp_path / "lock", Signal(), list[int]()
    child = _holding(path, Signal(), go)
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rung.append(number))
    try:
        # It rings on and on: a pause that begins just after it rang does not last.
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        with pytest.raises(LockTimeoutError), Lock(str(path), timeout_s=0.05):
            pass
        while not rung:
            signal.pause()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    go.send()
    assert status_of(child) == 0


def test_threads_exclude_each_other_and_are_bounded_too(tmp_path: Path) -> None:
    path, caught = str(tmp_path / "lock"), list[LockTimeoutError]()

    def other() -> None:
        try:
            with Lock(path, timeout_s=0.05):
                pass
        except LockTimeoutError as error:
            caught.append(error)

    with Lock(path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(caught) == 1


@pytest.mark.req("XC-002", "C0-077")
def test_forty_processes_are_in_it_one_at_a_time(tmp_path: Path) -> None:
    path, counter = str(tmp_path / "lock"), tmp_path / "counter"
    counter.write_text("0")

    def add_one() -> None:
        for _ in range(5):
            with Lock(path):
                counter.write_text(str(int(counter.read_text()) + 1))

    assert together([add_one] * 40) == [0] * 40
    assert counter.read_text() == "200"


@pytest.mark.req("XC-002")
def test_a_holder_through_filelock_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    program = (
        "import sys, filelock\n"
        "with filelock.FileLock(sys.argv[1]):\n"
        "    print('held', flush=True); sys.stdin.readline()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(LockTimeoutError) as caught, Lock(str(path), timeout_s=0.05):
        pass
    assert f"pid {other.pid}" in caught.value.message
    with Lock(str(path), say=lambda _line: other.communicate("go\n")):
        assert other.wait() == 0
        assert not _is_free(path)


@pytest.mark.req("XC-002")
def test_filelock_waits_for_us(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    program = (
        "import sys, filelock\n"
        "try:\n"
        "    with filelock.FileLock(sys.argv[1], timeout=0.05): print('got it')\n"
        "except filelock.Timeout: print('waits')\n"
    )
    argv = [sys.executable, "-c", program, str(path)]
    with Lock(str(path)):
        assert subprocess.check_output(argv, text=True) == "waits\n"
    assert subprocess.check_output(argv, text=True) == "got it\n"


def test_a_lock_file_that_was_removed_while_waiting_is_made_again(tmp_path: Path) -> None:
    path, go = tmp_path / "lock", Signal()
    child = _holding(path, Signal(), go)

    def removed(_line: str) -> None:
        path.unlink()
        go.send()

    with Lock(str(path), say=removed):
        assert path.exists()
        assert not _is_free(path)
    assert status_of(child) == 0


@pytest.mark.req("XC-002")
def test_a_forked_child_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    path, forked_off, go = tmp_path / "lock", Signal(), Signal()
    pids_reading, pids_writing = os.pipe()

    def hold_and_fork() -> None:
        with Lock(str(path)):
            grandchild = forked(lambda: (forked_off.send(), go.wait()))
            os.write(pids_writing, str(grandchild).encode())
            forked_off.wait()
            os.kill(os.getpid(), signal.SIGKILL)

    status_of(forked(hold_and_fork))
    grandchild = int(os.read(pids_reading, 20))
    os.kill(grandchild, 0)  # it lives on
    with Lock(str(path), timeout_s=0):
        pass
    go.send()


def test_the_file_is_for_the_owner_alone_stays_and_is_empty_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with Lock(str(path)):
        inode = path.stat().st_ino
        assert holder_of(str(path)).startswith(f"pid {os.getpid()} on ")
    assert path.read_bytes() == b""
    assert (path.stat().st_ino, path.stat().st_mode & 0o777) == (inode, 0o600)


def test_a_link_or_a_pipe_as_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidStateError, match="symbolic"), Lock(str(tmp_path / "link")):
        pass
    with pytest.raises(InvalidStateError), Lock(str(tmp_path / "pipe")):
        pass


@pytest.mark.parametrize("take", [try_lock, lambda path: Lock(path).__enter__()])
def test_a_lock_that_cannot_be_opened_is_said_as_an_error_of_ours(tmp_path: Path, take) -> None:
    with pytest.raises(StorageError, match=r"cannot lock .*nowhere/lock"):
        take(str(tmp_path / "nowhere" / "lock"))
