"""Artifacts of any size go in and out in flat memory."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Council

MIB = 2**20
MOST_BYTES = 64 * MIB

# Runs a command and prints the most memory it had. It is small itself: what a
# process had before it became another one counts, too.
MEASURED = """
import json, resource, subprocess, sys
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as target:
    code = subprocess.run(sys.argv[3:], stdin=source, stdout=target).returncode
print(json.dumps([code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))
"""


def measured(council: Council, *words: str | Path, stdin: Path, stdout: Path) -> int:
    """Run a command that must succeed; return the most memory it had, in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(stdin), str(stdout), *council.argv(*words)],
        capture_output=True,
        cwd=council.root,
        env=council.env(),
        check=True,
    )
    code, most = json.loads(done.stdout)
    assert code == 0, done.stderr.decode()
    return most


def make_large(path: Path, size: int) -> str:
    """Make a file with holes that is as large as is asked for; return its digest."""
    with path.open("wb") as file:
        file.write(os.urandom(MIB))
        file.truncate(size)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.req("P8-031", "P8-032", "P8-035")
@pytest.mark.parametrize(
    "size",
    [
        100 * MIB,
        pytest.param(200 * MIB, marks=pytest.mark.long),
        pytest.param(2048 * MIB, marks=pytest.mark.slow),
    ],
    ids=["100M", "200M", "2G"],
)
def test_large_artifact_is_published_and_fetched_in_flat_memory(council: Council, size: int):
    given, out, nothing = (council.root / name for name in ("given", "out", "nothing"))
    nothing.touch()
    artifact = f"art_{make_large(given, size)}"

    used = {
        "publish FILE": measured(
            council, "artifact", "publish", given, stdin=nothing, stdout=council.root / "id"
        )
    }
    assert (council.root / "id").read_text().strip() == artifact
    kept = council.root / f"memory/shared/artifacts/{artifact}.json"
    assert subprocess.run(["cmp", given, kept], check=False).returncode == 0
    used["publish -"] = measured(
        council, "artifact", "publish", "-", stdin=given, stdout=council.root / "id"
    )
    assert (council.root / "id").read_text().strip() == artifact
    os.unlink(given)
    for where, words in (("fetch --out", ("--out", out)), ("fetch", ())):
        used[where] = measured(
            council, "artifact", "fetch", artifact, *words, stdin=nothing, stdout=council.root / "o"
        )
        got = out if words else council.root / "o"
        assert subprocess.run(["cmp", got, kept], check=False).returncode == 0
        os.unlink(got)
    used["verify"] = measured(
        council, "artifact", "verify", artifact, stdin=nothing, stdout=council.root / "said"
    )
    (council.root / "memory/shared/note.md").write_text(f"see {artifact}")
    used["gc"] = measured(council, "artifact", "gc", stdin=nothing, stdout=council.root / "said")

    assert {name: most for name, most in used.items() if most >= MOST_BYTES} == {}
