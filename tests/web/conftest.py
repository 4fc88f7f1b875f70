"""What every test of the server may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.forks import Forks
from tests.web.serving import Served, serving

_OPENED = (
    ("init", "--agents", "owl,gecko"),
    ("convene", "Shall we build it?", "--agents", "owl,gecko"),
)


@pytest.fixture
def opened(council: Council) -> Council:
    """A workspace in which two agents who answer by hand have begun a council."""
    for words in _OPENED:
        assert council(*words).code == 0
    return council


@pytest.fixture
def served(opened: Council, tmp_path: Path) -> Iterator[Served]:
    """A server in that workspace, a process of its own."""
    with serving(opened, tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Iterator[Served]:
    """One server for all tests of a module that begin with nothing, each with `begun_again`."""
    with _served_together(tmp_path_factory.mktemp("empty"), forks, ("init",)) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Iterator[Served]:
    """One server for all tests of a module that leave it, its log and its councils as they are."""
    with _served_together(tmp_path_factory.mktemp("shared"), forks, *_OPENED) as found:
        yield found


@contextmanager
def _served_together(
    folder: Path, forks: Forks | None, *commands: tuple[str, ...]
) -> Iterator[Served]:
    for name in ("home", "workspace/memory/shared"):
        (folder / name).mkdir(parents=True)
    council = Council(folder / "workspace", folder / "home", forks)
    for words in commands:
        assert council(*words).code == 0
    with serving(council, folder) as found:
        yield found
