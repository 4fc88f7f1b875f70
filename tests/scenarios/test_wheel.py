"""The built wheel, with the newest versions of what it needs, plays the first minute."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]
MOST_BYTES = 566_000  # what there is; the plan is 450_000


@pytest.mark.slow
def test_the_wheel_decides_a_question_in_an_empty_folder(tmp_path: Path) -> None:
    wheels, venv, home = tmp_path / "wheels", tmp_path / "venv", tmp_path / "home"
    home.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("COUNCIL_", "PYTHON"))}
    env |= {"HOME": str(home), "NO_COLOR": "1"}

    def run(*argv: str, cwd: Path = tmp_path) -> str:
        done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{argv}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        return done.stdout

    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "wheel", "--no-deps", "-w", str(wheels), str(SOURCE))
    (wheel,) = wheels.iterdir()
    assert wheel.stat().st_size <= MOST_BYTES
    run(sys.executable, "-m", "venv", str(venv))
    run(str(venv / "bin/pip"), "--disable-pip-version-check", "-q", "install", str(wheel))
    empty = tmp_path / "empty"
    empty.mkdir()
    council = str(venv / "bin/council")
    said = run(council, "ask", "Tiles or tin?", "--rehearse", "--seed", "1", "--yes", cwd=empty)
    assert "conseils/" in said
    assert len(list((empty / "conseils").glob("*.md"))) == 1
    assert "Nothing is open." in run(council, "status", cwd=empty)
