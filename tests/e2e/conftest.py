"""What tests with real clients may ask for: the clients, a model server, rows of a table.

They run only where the marker `e2e` is asked for: `make e2e`. A client that is not
installed, or not chosen with ONLY, has its tests skipped.

    @pytest.mark.e2e
    def test_claude_says_something(clients, model_server, row):
        with row("claude", "an answer") as told:
            program = clients.need("claude")
            …
            told.came_out = "its text stands in the minutes"
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.clients import CLIENTS, Clients, folder
from tests.e2e.model_server import ModelServer
from tests.e2e.model_server import model_server as serving

_WIDTH = 80


@dataclass
class Row:
    """One line of the table at the end."""

    client: str
    scenario: str
    came_out: str = "as expected"
    seconds: float = 0.0
    passed: bool = True


_ROWS = pytest.StashKey[list[Row]]()
_WHERE = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--only", default="", help=f"these clients alone, of {','.join(CLIENTS)}")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_WHERE] = folder()  # before the tests hide the outer settings


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave real clients out of every run that does not name their marker."""
    if "e2e" in config.option.markexpr:
        return
    left_out = [one for one in items if one.get_closest_marker("e2e")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [one for one in items if one not in left_out]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash.get(_ROWS, [])
    if rows:
        terminalreporter.write_line("\n" + table(rows))


def table(rows: list[Row]) -> str:
    """Return the table client × scenario × what came out × seconds, at most 80 columns wide."""
    head = ("client", "scenario", "what came out")
    client = max(len(head[0]), *(len(one.client) for one in rows))
    scenario = max(len(head[1]), *(len(one.scenario) for one in rows))
    came_out = max(20, _WIDTH - client - scenario - 15)
    lines = [
        f"   {head[0]:{client}}  {head[1]:{scenario}}  {head[2]:{came_out}}  seconds",
        f"   {'-' * client}  {'-' * scenario}  {'-' * came_out}  -------",
    ]
    for one in rows:
        words, told = one.came_out.split(), [""]
        for word in words:
            if told[-1] and len(told[-1]) + 1 + len(word) > came_out:
                told.append("")
            told[-1] = f"{told[-1]} {word}".strip()
        mark = "✓" if one.passed else "✗"
        lines.append(
            f" {mark} {one.client:{client}}  {one.scenario:{scenario}}  "
            f"{told[0]:{came_out}}  {one.seconds:7.1f}"
        )
        lines += [f"   {'':{client}}  {'':{scenario}}  {more}" for more in told[1:]]
    failed = sum(not one.passed for one in rows)
    lines.append(f"   {len(rows)} scenarios, {failed} of them failed")
    return "\n".join(lines)


class InstalledClients(Clients):
    """The clients of this machine, as far as the run chose them."""

    def __init__(self, where: Path, only: str) -> None:
        super().__init__(where)
        self._only = [one for one in only.split(",") if one]

    def need(self, name: str) -> Path:
        """Return the program of a client; skip the test where it cannot be tried."""
        if self._only and name not in self._only:
            pytest.skip("not chosen")
        fault = self.why_not(name)
        if fault:
            pytest.skip(f"{name}: {fault}")
        return self.program(name)

    def chosen(self, *names: str, least: int = 1) -> list[str]:
        """Return those of some clients that the run chose and that can be tried.

        Where there are fewer than `least`, the test is skipped.
        """
        chosen = [one for one in names if not self._only or one in self._only]
        there = [one for one in chosen if not self.why_not(one)]
        if len(there) < least:
            pytest.skip(f"needs {least} of {', '.join(names)}" if chosen else "not chosen")
        return there


@pytest.fixture(scope="session")
def clients(pytestconfig: pytest.Config) -> InstalledClients:
    """The real clients; `clients.need(NAME)` skips a test whose client is not there."""
    where = pytestconfig.stash.get(_WHERE, None) or folder()
    return InstalledClients(where, pytestconfig.getoption("--only", default=""))


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A scripted model server of its own for each test."""
    with serving() as server:
        yield server


@pytest.fixture
def row(pytestconfig: pytest.Config) -> Callable[[str, str], AbstractContextManager[Row]]:
    """A block whose outcome becomes a row of the table at the end."""
    rows = pytestconfig.stash.setdefault(_ROWS, [])

    @contextmanager
    def told(client: str, scenario: str) -> Iterator[Row]:
        one, began = Row(client, scenario), time.monotonic()
        try:
            yield one
        except pytest.skip.Exception as why:
            if why.msg != "not chosen":
                rows.append(one)
            one.came_out = f"not tried: {why.msg}"
            raise
        except BaseException as error:
            rows.append(one)
            first = (str(error) or type(error).__name__).strip().splitlines()[0]
            one.passed, one.came_out = False, f"FAILED: {first}"
            raise
        else:
            rows.append(one)
        finally:
            one.seconds = one.seconds or time.monotonic() - began

    return told
