"""What every test of the server may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.forks import Forks
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


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Iterator[Served]:
    """One server for all tests of a module that begin with nothing, each with `begun_again`."""
    folder = tmp_path_factory.mktemp("empty")
    for name in ("home", "workspace/memory/shared"):
        (folder / name).mkdir(parents=True)
    council = Council(folder / "workspace", folder / "home", forks)
    assert council("init").code == 0
    with serving(council, folder) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Iterator[Served]:
    """One server for all tests of a module that leave it, its log and its councils as they are."""
    folder = tmp_path_factory.mktemp("shared")
    for name in ("home", "workspace/memory/shared"):
        (folder / name).mkdir(parents=True)
    council = Council(folder / "workspace", folder / "home", forks)
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Shall we build it?", "--agents", "owl,gecko").code == 0
    with serving(council, folder) as found:
        yield found
