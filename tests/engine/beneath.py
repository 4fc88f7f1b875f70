"""A plugin of pytest: the tests of one machine, unchanged, with an engine under each workspace.

`python -m pytest --engine tests/scenarios` runs them so. Each process that runs tests has a
server of its own. Subprocesses, and the shells of agents with whatever environment, have the
engine as well, for a file in the virtual environment says so to each Python that starts from it
until the run ends.

Source: EN-009.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from council.store import lock
from tests.engine import laid_under
from tests.engine.servers import Server

_EVERY_FEW = 20

# What is about one machine by its nature, with the reason. It is run, and must fail.
OF_ONE_MACHINE: dict[str, str] = {}


class Aside:
    """A server whose process is no child of the tests, which wait until they have none.

    It ends with the pipe that is held here.
    """

    def __init__(self) -> None:
        theirs, self._line = os.pipe()
        said = subprocess.run(
            [sys.executable, "-m", "tests.engine.beneath", str(theirs)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            pass_fds=[theirs],
            text=True,
            check=True,
        )
        os.close(theirs)
        self.url = said.stdout

    def close(self) -> None:
        """End it."""
        os.close(self._line)


def serve(lifeline: int) -> None:
    """Start a server, say its address, and stop it when the other end of a pipe is closed."""
    says, said = os.pipe()
    if os.fork():
        os.close(said)
        with open(says, encoding="utf-8") as answer:
            print(answer.read(), end="")
        return
    os.setsid()
    server = Server()
    os.close(1)
    with open(said, "w", encoding="utf-8") as answer:
        answer.write(server.url())
    os.read(lifeline, 1)
    server.close()


class Beneath:
    """The plugin.

    Args:
        is_worker: Whether another process of pytest started this one.
    """

    def __init__(self, *, is_worker: bool) -> None:
        self._is_worker = is_worker
        self._server: Aside | None = None
        self._told = Path(sysconfig.get_path("purelib"), f"engine-beneath-{os.getpid()}.pth")
        self._mark = Path()
        self._tests = 0
        self._is_over = False
        self.workspaces = self.revisions = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Start the server, and have it laid under from here on."""
        base: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._mark = base.resolve() / laid_under.MARK
        self._mark.write_text("")
        if not self._is_worker:
            code = Path(laid_under.__file__)
            is_on = f"os.path.exists({str(self._mark)!r})"
            says = f"exec(open({str(code)!r}).read(), {{'__name__': {laid_under.TOLD!r}}})"
            self._told.write_text(f"import os; {is_on} and {says}\n")
        if not session.config.getoption("numprocesses", None):
            self._server = Aside()
            self._mark.write_text(self._server.url)
            laid_under.lay()

    def pytest_sessionfinish(self) -> None:
        """Take everything away again."""
        if not self._is_worker:
            self._told.unlink(missing_ok=True)
        self._mark.unlink(missing_ok=True)
        if self._server is not None:
            self._is_over = True
            self._clear()
            self._server.close()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Expect what is of one machine to fail."""
        for item in items:
            if why := reason(item.nodeid):
                item.add_marker(pytest.mark.xfail(reason=why, strict=True))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Leave no connection of this process open, nor the tables of workspaces that went."""
        yield
        for control, engine in list(lock.engines.items()):
            engine.close()
            if not os.path.isdir(control):
                del lock.engines[control]
        self._tests += 1
        if self._tests % _EVERY_FEW == 0:
            self._clear()

    def _clear(self) -> None:
        """Take away the tables of workspaces that went, and count what was committed in them."""
        if self._server is None:
            return
        with psycopg.connect(self._server.url, autocommit=True) as admin:
            found = admin.execute(
                "SELECT nspname, obj_description(oid) FROM pg_namespace"
                " WHERE obj_description(oid) IS NOT NULL AND nspname LIKE %s",
                [f"{laid_under.PREFIX}%"],
            ).fetchall()
            for schema, root in found:
                if not os.path.isdir(root) or self._is_over:
                    counted = admin.execute(f"SELECT count(*) FROM {schema}.revision").fetchone()
                    self.workspaces += 1
                    self.revisions += counted[0] if counted else 0
                    with suppress(psycopg.Error):
                        admin.execute(f"DROP SCHEMA {schema} CASCADE")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how much went through the engine."""
        if self._server is not None or self.workspaces:
            said = f"engine: {self.revisions} revisions of {self.workspaces} workspaces"
            terminalreporter.write_line(said)


def reason(nodeid: str) -> str:
    """Return why a test is of one machine by its nature, "" for one that is not."""
    for named in (nodeid, nodeid.partition("[")[0], nodeid.partition("::")[0]):
        if named in OF_ONE_MACHINE:
            return OF_ONE_MACHINE[named]
    return ""


if __name__ == "__main__":
    serve(int(sys.argv[1]))
