"""The system calls of a command, and the same command killed or refused at one of them."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

CHANGING = (
    *("openat", "pwrite64", "write", "ftruncate", "fsync", "fdatasync", "rename", "renameat2"),
    *("link", "linkat", "unlink", "mkdir", "flock", "fcntl", "fchmod", "fchown"),
)
READING = ("read", "pread64", "fstat", "newfstatat", "lstat", "stat", "getdents64", "close")
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")


def traced(command, *options, **more):
    words = ["strace", "-qq", *options, *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **more)


def points(run, out, places, calls=CHANGING):
    """Return (call, number) of each call from the first touch of a place on.

    `run` carries out the command under strace with some options.
    """
    done = run("-o", str(out), "-e", "trace=" + ",".join(f"?{call}" for call in calls))
    assert done.returncode == 0, done.stderr
    return numbered(out, lambda line: any(place in line for place in places))


def numbered(out, begins):
    """Return (call, number) of each call of a trace from the first line on that begins it."""
    counts, found, is_begun = Counter(), [], False
    for line in Path(out).read_text(errors="replace").splitlines():
        is_begun = is_begun or bool(begins(line))
        if name := re.match(r"(\w+)\(", line):
            counts[name[1]] += 1
            found += [(name[1], counts[name[1]])] * is_begun
    assert len(found) > 10
    return found


def sampled(found, count):
    return found[:: max(1, len(found) // count)]


def survive(run, check, point, injection, codes):
    """Let something happen at a call; the command says it in a line, and `check` finds no harm."""
    call, count = point
    inject = f"inject={call}:{injection}:when={count}"
    done = run("-o", "/dev/null", "-e", f"trace={call}", "-e", inject)
    where = f"{inject}: exit {done.returncode} {done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr and done.returncode in (0, -9, *codes), where
    try:
        check()
    except Exception as fault:
        raise AssertionError(where) from fault
