"""Set up .venv once, and again when what it was made from has changed.

Called by make as `set_up_venv.py [EXTRA]`. It needs Python 3.11 and pip, and
nothing else. A virtual environment counts only with its stamp, which is
written last: an interrupted set-up is thrown away by the next one. Two at once
take turns.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "made-from"
# The Python that makes it: the one outside, where it was started from within what it makes anew.
OUTSIDE = getattr(sys, "_base_executable", sys.executable)
OLDEST = (3, 11)
# The version stands in the last one.
SOURCES = ("pyproject.toml", "constraints.txt", "council/__init__.py")


def main() -> int:
    """Bring .venv to what pyproject.toml and constraints.txt ask for; return the exit code."""
    extra = sys.argv[1] if len(sys.argv) > 1 else ""
    if sys.version_info < OLDEST:
        return with_newer_python()
    try:
        with taking_turns():
            if not is_ready(stamp_text(), extra, read_stamp()):
                build(extra)
            run([str(PYTHON), os.path.join(".ci", "make_prompts.py")])  # a template may be newer
    except subprocess.CalledProcessError as error:
        print(f"setting up .venv failed: {shown(error.cmd)}", file=sys.stderr)
        return 1
    return 0


def with_newer_python() -> int:
    """Start again under a Python that is new enough, if one is on PATH."""
    for minor in range(OLDEST[1], OLDEST[1] + 8):
        found = shutil.which(f"python3.{minor}")
        if found:
            os.execv(found, [found, *sys.argv])
    print("council needs Python 3.11 or newer: make PYTHON=/path/to/python3.11", file=sys.stderr)
    return 1


@contextlib.contextmanager
def taking_turns():
    """Hold the one lock of all set-ups of this folder; it ends with the process."""
    with (ROOT / "pyproject.toml").open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another set-up of .venv", file=sys.stderr)
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def stamp_text() -> str:
    """Return what .venv is made from as one word: the pins, and the place it stands in."""
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((ROOT / name).read_bytes())
    # A virtual environment holds absolute paths: a moved folder needs a new one.
    digest.update(str(VENV).encode())
    return digest.hexdigest()


def read_stamp() -> list[str]:
    """Return the words of the stamp, or none when the environment is not complete."""
    # A symbolic link: gone when the interpreter that it was made with was removed.
    if not PYTHON.exists():
        return []
    try:
        return STAMP.read_text().split()
    except OSError:
        return []


def is_ready(wanted: str, extra: str, stamp: list[str]) -> bool:
    """Return true if an environment with this stamp serves: same sources, and the extra is in."""
    return stamp[:1] == [wanted] and (not extra or extra in stamp[1:])


def build(extra: str) -> None:
    """Make .venv anew, or add the extra to a complete one, and stamp it."""
    wanted, stamp = stamp_text(), read_stamp()
    print(f"setting up .venv with {OUTSIDE} (once; a minute or two)", file=sys.stderr)
    STAMP.unlink(missing_ok=True)
    if stamp[:1] != [wanted]:
        shutil.rmtree(VENV, ignore_errors=True)
        create()
    target = f".[{extra}]" if extra else "."
    pip("install", "--quiet", "--constraint", "constraints.txt", "--editable", target)
    draft = VENV / "made-from.draft"
    draft.write_text(" ".join([wanted, *filter(None, [extra])]) + "\n")
    draft.replace(STAMP)


def create() -> None:
    """Create an empty virtual environment that has pip, with whatever this machine offers."""
    if attempt("-m", "venv", str(VENV)):
        return
    # Debian leaves ensurepip out of python3: let the pip outside fill the environment.
    if attempt("-m", "venv", "--clear", "--without-pip", str(VENV)) and attempt(
        "-m", "pip", "--python", str(PYTHON), "install", "--quiet", "pip"
    ):
        return
    if attempt("-m", "virtualenv", "--quiet", "--clear", str(VENV)):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        run(["apt-get", "install", "--yes", "--quiet", f"{version}-venv"])
        run([OUTSIDE, "-m", "venv", "--clear", str(VENV)])
        return
    print("install the venv module of Python (Debian: python3-venv), then again", file=sys.stderr)
    raise subprocess.CalledProcessError(1, [OUTSIDE, "-m", "venv", str(VENV)])


def pip(*words: str) -> None:
    """Run the pip of .venv in the project's folder; relative names keep spaces in paths safe."""
    run([str(PYTHON), "-m", "pip", *words])


def attempt(*words: str) -> bool:
    """Run this Python with `words` and return true if it worked; its output is kept back."""
    done = subprocess.run(
        [OUTSIDE, *words], cwd=ROOT, env=environment(), capture_output=True, check=False
    )
    return done.returncode == 0


def run(command: list[str]) -> None:
    """Run a command in the project's folder.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    subprocess.run(command, cwd=ROOT, env=environment(), check=True)


def environment() -> dict[str, str]:
    """Return our environment without what would lead pip or venv elsewhere."""
    dropped = ("PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def shown(command: object) -> str:
    """Return a command as one line for people."""
    return " ".join(map(str, command)) if isinstance(command, list | tuple) else str(command)


if __name__ == "__main__":
    sys.exit(main())
