"""Links as the tests start them: `council link` as a process, and what it says."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from council.store.engine import postgres, sessions
from tests.cli.commands import works_in
from tests.engine.machines import Machine
from tests.operations.tables import until


class Linked:
    """A machine while its link runs."""

    def __init__(self, machine: Machine, *words: str) -> None:
        self.machine = machine
        self.process = machine.start(*(words or ("link",)))

    def says(self, words: str) -> str:
        """Wait for a line that has some words; return it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if words in line.decode():
                return line.decode().strip()
        raise AssertionError(f"it ended without {words!r}: {self.process.communicate()}")

    def stop(self) -> None:
        """Stop it at a moment when it holds no lock but its own, and nothing else works there."""
        pid = str(self.process.pid)

        def at_rest() -> bool:
            self.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
            held = Path("/proc/locks").read_text().splitlines()
            works = [one for one in os.listdir("/proc") if works_in(self.machine.root, one)]
            if works == [pid] and [one.split()[4] for one in held].count(pid) == 1:
                return True
            self.process.send_signal(signal.SIGCONT)
            return False

        until(at_rest, "the link is at rest")

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; return its exit code."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        self.process.communicate(timeout=30)
        return self.process.returncode


@contextmanager
def linked(machine: Machine) -> Iterator[Linked]:
    """Start the link of a machine and wait until it reaches the database."""
    made = Linked(machine)
    try:
        made.says("is linked to")
        yield made
    finally:
        if made.process.poll() is None:
            made.end(signal.SIGKILL)


def control_of(machine: Machine) -> Path:
    return Path(machine.place.paths.control)


def session_of(machine: Machine) -> sessions.Linked:
    """Return a session through the link, as a command has it."""
    made = sessions.opened(str(control_of(machine)), said_of(machine))
    assert isinstance(made, sessions.Linked)
    return made


def direct_to(machine: Machine) -> postgres.Session:
    """Return a session of our own, as a command has it where no link runs."""
    return postgres.Session(said_of(machine))


def said_of(machine: Machine) -> dict[str, object]:
    engine = machine.place.engine
    assert engine is not None
    return engine.said


def holder(machine: Machine, key: str) -> subprocess.Popen[bytes]:
    """Start a process that holds a lock through the link until it is killed."""
    code = (
        "import sys; from pathlib import Path; from tests.engine import links;"
        "from tests.engine.machines import Machine;"
        "root = Path(sys.argv[1]);"
        "held = links.session_of(Machine(root, 'm', ''));"
        "held.enter(sys.argv[2], 5); print('held', flush=True); sys.stdin.read()"
    )
    made = subprocess.Popen(
        ["python", "-c", code, str(machine.root), key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent.parent,
        env=machine.env(),
    )
    assert made.stdout is not None and made.stdout.readline() == b"held\n"
    return made
