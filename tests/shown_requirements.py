"""What a run of a whole suite shows: for each test that passed, the requirements it cites.

`pytest --suite NAME` keeps it for `tests/coverage_of_requirements.py`, together
with a digest of the files it was made with. A run of a part keeps nothing; one of what failed the
last time (`--lf`) adds to what the run before it kept.
"""

from __future__ import annotations

import json

import pytest

from tests.coverage_of_requirements import read_record, record_path, tree_state

_KEY = "req"


def note_citations(item: pytest.Item) -> None:
    """Put the requirements that a test cites where its reports carry them to every process."""
    rows = sorted({row for mark in item.iter_markers("req") for row in mark.args})
    if rows:
        item.user_properties.append((_KEY, rows))


class ShownRequirements:
    """Collects the outcome of each test that cites something, and keeps it at the end."""

    def __init__(self, config: pytest.Config, suite: str) -> None:
        self._house = config.rootpath
        self._suite = suite
        self._path = record_path(self._house, suite)
        self._is_again = config.getoption("lf", default=False)
        self._tree = ""
        self._rows: dict[str, list[str]] = {}
        self._passed: set[str] = set()
        self._skipped: set[str] = set()
        self._failed: set[str] = set()

    def pytest_sessionstart(self) -> None:
        if not self._is_again:
            self._path.unlink(missing_ok=True)
        self._tree = tree_state(self._house)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        rows = dict(report.user_properties).get(_KEY)
        if not isinstance(rows, list):
            return
        self._rows[report.nodeid] = rows
        if report.skipped or hasattr(report, "wasxfail"):
            self._skipped.add(report.nodeid)
        elif report.failed:
            self._failed.add(report.nodeid)
        elif report.when == "call":
            self._passed.add(report.nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        passed = self._passed - self._failed - self._skipped
        # Files that changed meanwhile: the record holds for no state of them.
        is_one_state = tree_state(self._house) == self._tree
        before = read_record(self._house, self._suite) if self._is_again else None
        if before is not None and before.tree != self._tree:
            before = None
        shown = {test: self._rows[test] for test in sorted(passed)}
        skipped = {test: self._rows[test] for test in sorted(self._skipped - self._failed)}
        record = {
            "tree": self._tree if is_one_state else "",
            "passed": {**(before.passed if before else {}), **shown},
            "skipped": {**(before.skipped if before else {}), **skipped},
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
