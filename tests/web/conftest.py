"""What every test of the server may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.web.serving import Served, serving


@pytest.fixture
def opened(council: Council) -> Council:
    """A workspace in which two agents who answer by hand have begun a council."""
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Shall we build it?", "--agents", "owl,gecko").code == 0
    return council


@pytest.fixture
def served(opened: Council, tmp_path: Path) -> Iterator[Served]:
    """A server in that workspace, a process of its own."""
    with serving(opened, tmp_path) as found:
        yield found
