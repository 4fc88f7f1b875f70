"""What the tests of set-up share."""

import pytest

from council.app import App
from council.setup import init

BARE = {"PATH": "/nonexistent"}


@pytest.fixture
def app(tmp_path):
    """Return a workspace with one agent, of a user in whose folder it is."""
    init.init(str(tmp_path / "w"), ["ann"], "", BARE)
    return App(str(tmp_path / "w"), env={**BARE, "HOME": str(tmp_path)})
