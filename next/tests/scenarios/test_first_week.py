"""What people met in their first week: sentences that were false, waits that were too long."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.scenarios.workspaces import Workspace

Make = Callable[..., Workspace]
pytestmark = pytest.mark.slow


def test_a_call_has_the_time_that_its_limit_says(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.program("ben", "exec sleep 60")
    done = w.run("agent", "call", "Look.", "--to", "ben", "--limit", "timeoutMs=1000", "--json")
    assert done.returncode == 7
    assert '"no answer within 1s"' in done.stdout
