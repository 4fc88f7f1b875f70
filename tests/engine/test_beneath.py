"""The tests of one machine pass with an engine beneath, but for those that are named with a reason.

Every scenario in some files is run each time; `make slow` runs all tests that one machine has, and
holds the list of exceptions: each that is named must fail.

Source: EN-009.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.beneath import OF_ONE_MACHINE

HOUSE = Path(__file__).parents[2]
OURS = ("cli", "operations", "scenarios", "store")
EVERY = int(os.environ.get("FAULTS_EVERY") or "1")

pytestmark = pytest.mark.engine


def beneath(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run tests with an engine beneath; what fails, which may be the load, is run once more."""
    command = [sys.executable, "-m", "pytest", "--engine", "-n", "0", "-rx", "--tb=short"]
    command += ["--show-capture=no", "-o", f"cache_dir={folder / 'cache'}"]
    command += ["-m", "not long and not slow", "--basetemp", str(folder / "base")]
    environ = {**os.environ, "FAULTS_EVERY": "1"}

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        argv = [*command, *more, *words]
        return subprocess.run(
            argv, cwd=HOUSE, env=environ, capture_output=True, text=True, check=False
        )

    ran = run()
    if ran.returncode:
        again = run("--lf")
        assert again.returncode == 0, again.stdout[-20_000:] + again.stderr[-2_000:]
    return ran


@pytest.mark.req("EN-009")
def test_scenarios_of_one_machine_pass_with_an_engine_beneath(server, folder: Path) -> None:
    files = sorted(str(one) for one in (HOUSE / "tests/scenarios").glob("test_*.py"))

    ran = beneath(folder, *files[:: max(1, EVERY // 3)])

    committed = re.search(r"^engine: (\d+) revisions of (\d+) workspaces$", ran.stdout, re.M)
    assert committed is not None
    assert int(committed[1]) > int(committed[2]) > 0


@pytest.mark.slow
@pytest.mark.req("EN-009")
def test_all_tests_of_one_machine_pass_but_for_those_that_are_named(server, folder: Path) -> None:
    ran = beneath(folder, *(f"tests/{name}" for name in OURS))

    failed = set(re.findall(r"^XFAIL ([^\[\s]+(?:\[[^\n]*?\])?)(?: - |$)", ran.stdout, re.M))
    failed |= {one.partition("[")[0] for one in failed}
    named = {one for tests in OF_ONE_MACHINE.values() for one in tests}
    assert named - failed == set(), "no such test fails any more"
