"""What a program has started ends with its supervisor, however that one goes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from council.core.agents import AgentSettings
from council.drivers.command import wake as run_command
from council.drivers.keeper import begin_keeper
from tests.cli.commands import wait_until
from tests.drivers.programs import AGENTS, BASE, PATIENCE_S, Fifo, turn

# Programs sleep for longer than any test is ready to wait for their end.
Supervise = Callable[..., "subprocess.Popen[bytes]"]

# Runs a line of shell as an agent does, and prints how that went.
SUPERVISOR = """
import os, sys
from datetime import timedelta
from pathlib import Path
from council.core.agents import AgentSettings
from council.drivers import keeper
from council.core.agents import AgentSettings
from council.drivers.command import wake as run_command
from council.store.reason_words import reason_words
from tests.drivers.programs import BASE, turn
root, line, time_s, later_s, *keep = sys.argv[1:]
keeper._LATER_S = float(later_s)
run = turn(Path(root), timeout=timedelta(seconds=float(time_s)), keep=tuple(map(int, keep)))
answer = run_command(run, AgentSettings(argv=["/bin/sh", "-c", line]), BASE)
Path(root, "came").write_text(answer.text or reason_words(answer.reason))
"""
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can do this")


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    made = Fifo(tmp_path)
    yield made
    made.close()


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    """Start a process that runs a line of shell; descriptor 9 of that is the FIFO."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(line: str, *, time_s: float = 60, later_s: float = 60, keep: tuple[int, ...] = ()):
        opened = f"exec 9>{tmp_path / 'alive'}; {line}"
        told = [str(tmp_path), opened, str(time_s), str(later_s), *map(str, keep)]
        argv = [sys.executable, "-c", SUPERVISOR, *told]
        at = AGENTS.parent.parent
        begun.append(subprocess.Popen(argv, cwd=at, pass_fds=keep, start_new_session=True))
        return begun[-1]

    yield start
    for one in begun:
        one.kill()
        one.wait(PATIENCE_S)


@pytest.mark.req("C0-076")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT])
def test_all_a_program_has_started_ends_with_its_supervisor(fifo, supervise, number):
    supervisor = supervise("sleep 300 & (sleep 300; :) & printf ! >&9; sleep 300; :")
    assert fifo.next() == b"!"
    supervisor.send_signal(number)
    assert fifo.next() == b""


@pytest.mark.req("C0-076")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_what_ends_all_processes_of_a_terminal_ends_the_program_as_well(fifo, supervise, number):
    supervisor = supervise("sleep 300 & printf ! >&9; sleep 300; :")
    assert fifo.next() == b"!"
    os.killpg(supervisor.pid, number)
    assert fifo.next() == b""


@pytest.mark.req("C0-076")
def test_a_program_is_asked_to_end_before_it_is_ended(fifo, supervise):
    supervisor = supervise('trap "printf T >&9; exit" TERM; printf ! >&9; sleep 300 & wait')
    assert fifo.next() == b"!"
    supervisor.kill()
    assert fifo.next() == b"T"


@pytest.mark.req("XC-016")
def test_the_place_of_a_run_is_taken_until_its_program_is_gone(tmp_path, fifo, supervise):
    with (tmp_path / "place").open("wb") as place:
        fcntl.flock(place, fcntl.LOCK_EX)
        supervisor = supervise(
            'trap "" TERM; printf ! >&9; while :; do sleep 1; done', keep=(place.fileno(),)
        )
    assert fifo.next() == b"!"
    supervisor.kill()
    supervisor.wait(PATIENCE_S)
    with (tmp_path / "place").open("wb") as place:
        fcntl.flock(place, fcntl.LOCK_EX)
    assert os.read(os.open(fifo.path, os.O_RDONLY | os.O_NONBLOCK), 1) == b""


@LINUX
@pytest.mark.req("C0-076")
@pytest.mark.parametrize("apart", ["timeout 300 sleep 300 &", "set -m; sleep 300 &"])
def test_what_has_a_group_of_its_own_ends_with_the_program(tmp_path, fifo, apart):
    line = f"exec 9>{fifo.path}; {apart} printf ! >&9; echo done"
    answer = run_command(turn(tmp_path), AgentSettings(argv=["/bin/sh", "-c", line]), BASE)
    assert answer.text == "done"
    assert fifo.next() == b"!"
    assert fifo.next() == b""


@pytest.mark.long
@pytest.mark.req("C0-076")
def test_a_program_whose_supervisor_is_stopped_has_no_more_time_for_it(tmp_path, fifo, supervise):
    # Enough to say so and to be stopped after it, however busy the machine is.
    supervisor = supervise("printf ! >&9; sleep 300; :", time_s=5, later_s=0.1)
    assert fifo.next() == b"!"
    supervisor.send_signal(signal.SIGSTOP)
    assert fifo.next() == b""
    supervisor.send_signal(signal.SIGCONT)
    assert supervisor.wait(PATIENCE_S) == 0
    assert (tmp_path / "came").read_text() == "timed out after 5s"


def keeper_of(supervisor: subprocess.Popen[bytes]) -> int:
    """Return the keeper, which takes its name once it is deaf to what would end it."""
    children = Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children")
    (keeper,) = wait_until(
        lambda: [
            one
            for one in children.read_text().split()
            if "keeper" in Path(f"/proc/{one}/comm").read_text()
        ]
    )
    return int(keeper)


@LINUX
def test_a_program_ends_where_its_keeper_was_killed_as_well(fifo, supervise):
    supervisor = supervise("printf ! >&9; exec sleep 300")
    assert fifo.next() == b"!"
    supervisor.send_signal(signal.SIGSTOP)  # so it starts no other
    os.kill(keeper_of(supervisor), signal.SIGKILL)
    supervisor.kill()
    assert fifo.next() == b""


@LINUX
def test_a_keeper_does_its_work_also_where_it_was_asked_to_end(fifo, supervise):
    supervisor = supervise("sleep 300 & printf ! >&9; sleep 300; :")
    assert fifo.next() == b"!"
    os.kill(keeper_of(supervisor), signal.SIGTERM)
    supervisor.kill()
    assert fifo.next() == b""


def test_a_supervisor_needs_no_standard_streams(fifo, supervise, monkeypatch):
    closed = f"import os; os.closerange(0, 3)\n{SUPERVISOR}"
    monkeypatch.setitem(globals(), "SUPERVISOR", closed)
    supervisor = supervise("sleep 300 & printf ! >&9; sleep 300; :")
    assert fifo.next() == b"!"
    supervisor.kill()
    assert fifo.next() == b""


def test_a_keeper_goes_when_no_program_came_to_be():
    with begin_keeper(60) as keeper:
        pass
    with pytest.raises(ChildProcessError):
        os.waitpid(keeper.pid, os.WNOHANG)


def test_a_keeper_that_was_killed_costs_its_supervisor_nothing():
    with begin_keeper(60) as keeper:
        os.kill(keeper.pid, signal.SIGKILL)
        os.waitid(os.P_PID, keeper.pid, os.WEXITED | os.WNOWAIT)
        keeper.is_over = True


def test_a_keeper_is_deaf_from_its_first_moment():
    for _ in range(50):
        keeper = begin_keeper(60)
        os.kill(keeper.pid, signal.SIGTERM)
        os.close(keeper.pipe)
        assert os.waitpid(keeper.pid, 0)[1] == 0
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
