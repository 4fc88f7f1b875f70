"""The harness of faults as pytest runs it: only when asked for, with its own report.

`make faults` runs all of it. `FAULTS_EVERY=8` tries every eighth point only.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from council.store.documents import live
from tests.faults.ledger import Ledger, table

_KEY = "faults"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the harness out of every run that does not name its marker."""
    wanted = "faults" in config.option.markexpr and "not faults" not in config.option.markexpr
    return None if wanted else True


@pytest.fixture
def every() -> int:
    """Of how many points one is tried."""
    return int(os.environ.get("FAULTS_EVERY") or "1")


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back what `boot` sets."""
    monkeypatch.setattr(live, "started_ns", live.started_ns)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill does not care, and it is quick."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(
        prefix="council-faults-", dir=memory, ignore_cleanup_errors=True
    ) as made:  # what a command left behind may still be ending
        yield Path(made).resolve()


@pytest.fixture
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """The account of this test; it goes into the summary."""
    part = request.module.PART
    title = f"{part}, {request.node.name.removeprefix('test_').replace('_', ' ')}"
    kept = Ledger(part, title)
    request.node.user_properties.append((_KEY, kept.record))
    kept.tell("begins")
    yield kept
    said = f"{kept.record['points']} points, {kept.record['violations']} violations"
    if kept.record["bad"]:
        said = "the bad store is caught" if kept.record["caught"] else "THE BAD STORE PASSES"
    kept.tell(f"done: {said}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one table over all parts."""
    records, skipped = [], {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport):
                continue
            if report.when == "call":
                records += [value for key, value in report.user_properties if key == _KEY]
            if report.skipped and isinstance(report.longrepr, tuple):
                skipped[report.nodeid.rpartition("/")[2]] = report.longrepr[2]
    if records or skipped:
        sys.stderr.flush()
        terminalreporter.write_line("")
        for line in table(records, skipped):
            terminalreporter.write_line(line)
