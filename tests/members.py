"""Users of one group for tests: numbers that stand in no table of accounts. Needs root."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.commands import at_rest
from tests.conftest import BIN, Council, Ran

GROUP = 61_000
ANNA, BERT, STRANGER = 61_001, 61_002, 61_003
_SOURCE = Path(__file__).resolve().parent.parent
_PROBE = "import council.cli.edge, filelock, frontmatter, jinja2, jsonschema, rich, typer, watchdog"


class Member(Council):
    """The command, run as another user; the umask is one that lets no other user in."""

    def __init__(self, root: Path, home: Path, uid: int, gid: int = GROUP) -> None:
        super().__init__(root, home)
        self.uid, self.gid, self.umask = uid, gid, 0o077

    def __call__(self, *words: str | Path, stdin: bytes = b"") -> Ran:  # type: ignore[override]
        """Run `council WORDS` as this user."""
        done = self.run(*self.argv(*words), stdin=stdin)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: str | Path) -> subprocess.Popen[bytes]:  # type: ignore[override]
        """Start `council WORDS` as this user."""
        return subprocess.Popen(
            self.argv(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self._as_user()
        )

    def run(self, *argv: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run any program as this user."""
        return subprocess.run(
            argv, input=stdin, capture_output=True, timeout=120, check=False, **self._as_user()
        )

    def _as_user(self) -> dict[str, Any]:
        return {
            "cwd": self.root,
            "env": {**self.env(), "PYTHONPATH": _path(), "PYTHONDONTWRITEBYTECODE": "1"},
            "user": self.uid,
            "group": self.gid,
            "extra_groups": [],
            "umask": self.umask,
        }

    def argv(self, *words: str | Path) -> list[str]:
        """Return the argv of the command for an interpreter that this user can read."""
        return [interpreter(), "-m", "council", *map(str, words)]


def _path() -> str:
    return os.pathsep.join([str(_SOURCE), sysconfig.get_path("purelib")])


@functools.cache
def interpreter() -> str:
    """Return an interpreter that other users can run with what is installed here, "" for none."""
    number = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in (
        str(BIN / "python"),
        *(f"{one}/{number}" for one in ("/usr/bin", "/usr/local/bin")),
    ):
        try:
            done = subprocess.run(
                [found, "-c", _PROBE],
                user=STRANGER,
                group=STRANGER,
                extra_groups=[],
                env={"PYTHONPATH": _path(), "PYTHONDONTWRITEBYTECODE": "1"},
                cwd="/",
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return found
    return ""


def missing() -> str:
    """Return why no users can be had here, "" when they can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "running as two users needs root on Linux"
    return "" if interpreter() else "no interpreter that other users may read"


@contextmanager
def members(mode: int = 0o2775) -> Iterator[tuple[Member, Member]]:
    """Make an empty folder of the group, and two members of it."""
    above = Path(tempfile.mkdtemp(prefix="members-"))
    try:
        above.chmod(0o755)
        root = above / "workspace"
        root.mkdir()
        os.chown(root, ANNA, GROUP)
        root.chmod(mode)
        made = []
        for uid in (ANNA, BERT):
            home = above / f"home-{uid}"
            home.mkdir(mode=0o700)
            os.chown(home, uid, GROUP)
            made.append(Member(root, home, uid))
        yield made[0], made[1]
        at_rest(above)
    finally:
        shutil.rmtree(above)
