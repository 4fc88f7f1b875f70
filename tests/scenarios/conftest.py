"""What the scenarios share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.workspaces import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Callable[..., Workspace]:
    """Return what makes a workspace with agents that answer by hand."""

    def made(*agents: str) -> Workspace:
        found = Workspace(tmp_path)
        done = found.run("init", str(tmp_path), "--agents", ",".join(agents), "--lang", "en")
        assert done.returncode == 0, done.stderr
        return found

    return made
