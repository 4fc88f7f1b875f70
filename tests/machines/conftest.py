"""What the tests of many machines share."""

import glob
import os
import signal
from contextlib import suppress

import pytest

from council.runs import processes
from tests.machines.workspaces import Machine


@pytest.fixture
def machines(server, tmp_path):
    database = server.database()
    made = [Machine(tmp_path, number, server, database) for number in (0, 1)]
    yield made
    for one in made:
        for path in glob.glob(f"{one.state}/runs/*/pid"):
            processes.kill_noted(path)
        for pid in one.supervisors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        one.net.close()
