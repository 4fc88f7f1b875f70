"""A command that is killed, or gets an error, at any system call: the old state or the new one.

Each point runs the command in a process of its own, under strace; the quick tests take a sample.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from council.kernel.errors import Conflict
from council.kernel.ids import digest
from tests.faults.act import AT, act, document
from tests.kernel import toy
from tests.kernel.toy import note

ACT = os.path.join(os.path.dirname(__file__), "act.py")
CHANGING = (
    *("openat", "pwrite64", "write", "ftruncate", "fsync", "fdatasync", "rename", "renameat2"),
    *("link", "linkat", "unlink", "mkdir", "flock", "fcntl", "fchmod", "fchown"),
)
READING = ("read", "pread64", "fstat", "newfstatat", "lstat", "stat", "getdents64", "close")
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")


def prepared(folder, what):
    """Make a document in the state in which `what` has the most to do; return its segment size."""
    segment = 600 if what == "segment" else 1 << 20
    if what == "open":
        return segment
    act(folder, 1 << 20, "open")
    if what == "close":
        return segment
    document(folder).change(toy.answer("bob", "BOB-SAID"), by="bob", at=AT)
    if what == "edit":
        stale = Path(f"{folder}/d.md").read_text()
        document(folder).change(note("LATER-NOTE"), by="x", at=AT)
        typed = stale.replace("(agent:ann): WAITING", "(agent:ann): RESPONDED")
        typed = typed.replace("draft 1-ann-->\n", "draft 1-ann-->\n\nSAID-ONCE\n").replace(
            '"kept"', '"k"'
        )
        Path(f"{folder}/d.md~").write_text(typed + "\nMY-NOTE\n")
        os.rename(f"{folder}/d.md~", f"{folder}/d.md")
    elif what == "segment":
        for number in range(4):
            document(folder).change(note(f"note {number}"), by="x", at=AT)
    return segment


def traced(folder, segment, what, *options):
    verb = {"edit": "read", "segment": "answer"}.get(what, what)
    command = [sys.executable, "-I", ACT, folder, str(segment), verb]
    return subprocess.run(
        ["strace", "-qq", *options, *command], capture_output=True, text=True, timeout=60
    )


def points(tmp_path, what, calls):
    """Return (call, number) of each call from the first touch of the document on."""
    folder = str(tmp_path / "trace")
    os.mkdir(folder)
    segment = prepared(folder, what)
    out = str(tmp_path / "out")
    done = traced(
        folder, segment, what, "-o", out, "-e", "trace=" + ",".join(f"?{c}" for c in calls)
    )
    assert done.returncode == 0, done.stderr
    counts, found, touched = {}, [], False
    with open(out) as file:
        for line in file:
            name = re.match(r"(\w+)\(", line)
            touched = touched or f"{folder}/" in line
            if name:
                counts[name[1]] = counts.get(name[1], 0) + 1
                if touched:
                    found.append((name[1], counts[name[1]]))
    assert len(found) > 10
    return found


def check(folder, segment, what):
    """Do it again, and look whether all is there once."""
    verb = {"edit": "read", "segment": "answer"}.get(what, what)
    if what == "open":
        try:
            act(folder, segment, verb)
        except Conflict as refusal:
            assert refusal.code == "exists"
    else:
        act(folder, segment, verb)
    if what == "close":
        closed = f"{folder}/.council/closed/id1"
        assert os.path.exists(f"{closed}/journal.jsonl") and not os.path.exists(f"{folder}/d.md")
        return
    one = document(folder, segment)
    state, history = one.read(), one.history()
    shown = Path(f"{folder}/d.md").read_text()
    assert shown == toy.render(one.peek()) == toy.render(state)
    assert one._folded(history)[0] == state and history[-1].page == digest(shown)
    one.change(lambda state: [], by="x", at=AT)
    assert not [n for n in os.listdir(one.folder) if n.startswith("old-")]
    if what != "open":
        assert [e["text"] for e in state.entries].count("SAID-ONCE") == 1
        assert [e["text"] for e in state.entries].count("BOB-SAID") == 1
        assert state.tour == 2
    if what == "edit":
        assert state.notes.count("MY-NOTE") == state.notes.count("LATER-NOTE") == 1
        assert len(state.kept_aside) == 1 == len(os.listdir(f"{one.folder}/conflicts"))
    if what == "segment":
        assert len([n for n in os.listdir(one.folder) if n.startswith("journal")]) > 1
        assert state.notes == [f"note {n}" for n in range(4)]


def injected(tmp_path, what, number, call, count, injection):
    folder = str(tmp_path / f"p{number}")
    os.mkdir(folder)
    segment = prepared(folder, what)
    options = ["-o", "/dev/null", "-e", f"trace={call}"]
    done = traced(folder, segment, what, *options, "-e", f"inject={call}:{injection}:when={count}")
    where = f"{what}: {injection} at {call} {count}: exit {done.returncode} {done.stdout}"
    assert "Traceback" not in done.stderr, f"{where}\n{done.stderr}"
    assert done.returncode in (0, -9, 41, 43, 45), f"{where}\n{done.stderr}"
    try:
        check(folder, segment, what)
    except Exception as fault:
        raise AssertionError(where) from fault
    shutil.rmtree(folder)


def sampled(found, count):
    return found[:: max(1, len(found) // count)]


@needs_strace
@pytest.mark.parametrize("what", ["answer", "edit"])
def test_killed_at_some_calls(tmp_path, what):
    for n, (call, count) in enumerate(sampled(points(tmp_path, what, CHANGING), 6)):
        injected(tmp_path, what, n, call, count, "signal=KILL")


@needs_strace
def test_disk_full_at_some_calls(tmp_path):
    for n, (call, count) in enumerate(sampled(points(tmp_path, "answer", CHANGING), 6)):
        injected(tmp_path, "answer", n, call, count, "error=ENOSPC")


@needs_strace
@pytest.mark.parametrize("what", ["open", "answer", "edit", "close"])
def test_without_exchange_and_leases(tmp_path, what):
    """A file system that has neither; macOS has no leases."""
    first = [
        count for call, count in points(tmp_path, what, ("openat", "fcntl")) if call == "fcntl"
    ]
    folder = str(tmp_path / "again")
    os.mkdir(folder)
    segment = prepared(folder, what)
    options = ["-e", "inject=renameat2:error=EINVAL"]
    options += [f"-einject=fcntl:error=EINVAL:when={first[0]}+"] if first else []
    done = traced(folder, segment, what, "-o", "/dev/null", *options)
    assert done.returncode == 0, done.stderr + done.stdout
    check(folder, segment, what)


@needs_strace
def test_pages_are_exchanged(tmp_path):
    assert ("renameat2", 1) in points(tmp_path, "answer", CHANGING)


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize("what", ["open", "answer", "edit", "segment", "close"])
def test_killed_at_each_call(tmp_path, what):
    for n, (call, count) in enumerate(points(tmp_path, what, CHANGING)):
        injected(tmp_path, what, n, call, count, "signal=KILL")


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("what", ["open", "answer", "edit", "segment", "close"])
def test_error_at_each_call(tmp_path, what, error):
    calls = CHANGING if error == "ENOSPC" else [*CHANGING, *READING]
    for n, (call, count) in enumerate(points(tmp_path, what, calls)):
        injected(tmp_path, what, n, call, count, f"error={error}")
