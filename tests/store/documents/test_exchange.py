"""Swapping two files in one step."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from council.store.documents import live

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the call")


@pytest.mark.parametrize("way", [live.by_machine, live.by_package])
def test_both_ways_to_the_call_swap_two_files_and_tell_what_went_wrong(tmp_path: Path, way) -> None:
    one, other = tmp_path / "one", tmp_path / "öther"
    one.write_text("1")
    other.write_text("2")
    rename, error = way()
    assert rename is not None

    done = rename(-100, os.fsencode(one), -100, os.fsencode(other), 2)
    missing = rename(-100, os.fsencode(one), -100, b"/no/such/file", 2)

    assert done == 0
    assert (one.read_text(), other.read_text()) == ("2", "1")
    assert missing == -1
    assert error() == errno.ENOENT


def test_a_swap_tells_the_number_of_the_error(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")

    assert live.swap(str(tmp_path / "one"), str(tmp_path / "two")) == errno.ENOENT
    assert (tmp_path / "one").read_text() == "1"


def test_the_package_around_the_machine_is_not_loaded(tmp_path: Path) -> None:
    swapping = f"swap({str(tmp_path / 'a')!r}, 'b')"
    code = f"import sys; from council.store.documents.live import swap; {swapping}"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; sys.exit('ctypes' in sys.modules)"], check=False
    )

    assert done.returncode == 0
