"""Fuzzing the codec: led by the coverage of the code where `atheris` is there, else by chance."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import bad_stores
from tests.faults.ledger import Ledger

PART = "fuzzed codec"
_SECONDS = 60
_HOUSE = Path(__file__).parents[2]

pytestmark = pytest.mark.faults


def fuzz(folder: Path, seconds: int, worse: str = "") -> subprocess.CompletedProcess[str]:
    """Fuzz in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tests.faults.fuzz_codec", str(seconds), *filter(None, [worse])],
        cwd=_HOUSE,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20 * seconds + 120,
        check=False,
    )


@pytest.mark.req("XC-010", "C0-078")
def test_codec_keeps_its_promises_for_any_bytes(tmp_path: Path, ledger: Ledger, every: int):
    done = fuzz(tmp_path, max(10, _SECONDS // every))

    tried = [int(line.split()[1]) for line in done.stdout.splitlines() if line[:7] == "inputs:"]
    for _ in range(max(tried, default=0)):
        ledger.point([])
    if done.returncode:
        ledger.point([done.stderr[-2000:]], "an input")
    led = importlib.util.find_spec("atheris") is not None
    ledger.note("led by coverage (atheris)" if led else "by chance: atheris is not installed")
    ledger.assert_clean()
    assert tried


@pytest.mark.parametrize(
    "worse", [bad_stores.escapes_nothing, bad_stores.trusts_edits], ids=lambda one: one.__name__
)
def test_bad_store_is_caught(tmp_path: Path, ledger: Ledger, worse):
    done = fuzz(tmp_path, 20, worse.__name__)
    ledger.bad_store(done.returncode != 0)
    assert done.returncode != 0
