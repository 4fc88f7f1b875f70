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


def test_what_is_forgotten_is_nowhere(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Zanzibar?", "--name", "place")
    w.run("channel", "create", "chat", "den", "--participants", "ann,ben")
    w.run("channel", "post", "den", "To Zanzibar!", "--as", "anna")
    w.run("heartbeat")
    board = w.root / "memory/shared/BOARD.md"
    assert "Zanzibar?" in board.read_text()
    w.run("stop", "--now", "place")
    w.run("heartbeat")
    assert "Zanzibar?" not in board.read_text()
    for name in ("place", "den"):
        assert w.run("forget", name, "--yes").returncode == 0
    assert not [one for one in w.root.rglob("*") if one.is_file() and b"Zanzi" in one.read_bytes()]
