"""A command that is killed, or gets an error, at any system call: the old state or the new one.

Each point runs the command in a process of its own, under strace; the quick tests take a sample.
"""

import os
import shutil
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from council.kernel.errors import Conflict
from council.kernel.ids import digest
from tests.faults.act import ACT, act
from tests.faults.tracing import CHANGING, READING, needs_strace, points, sampled, survive, traced
from tests.kernel import toy
from tests.kernel.toy import AT, begun, document, note

pytestmark = needs_strace
VERBS = {"edit": "read", "segment": "answer"}  # of what is not a verb itself


def prepared(folder, what):
    """Make a document in the state in which `what` has the most to do; return its segment size."""
    if what == "open":
        return 1 << 20
    one = begun(folder)
    if what == "close":
        return 1 << 20
    one.change(toy.answer("bob", "BOB-SAID"), by="bob", at=AT)
    if what == "edit":
        stale = Path(one.page).read_text()
        one.change(note("LATER-NOTE"), by="x", at=AT)
        typed = stale.replace("(agent:ann): WAITING", "(agent:ann): RESPONDED")
        typed = typed.replace("draft 1-ann-->\n", "draft 1-ann-->\n\nSAID-ONCE\n")
        Path(f"{one.page}~").write_text(typed.replace('"kept"', '"k"') + "\nMY-NOTE\n")
        os.rename(f"{one.page}~", one.page)
    for number in range(4) if what == "segment" else ():
        one.change(note(f"note {number}"), by="x", at=AT)
    return 600 if what == "segment" else 1 << 20


def running(folder, what):
    """Prepare a folder; return what carries out the command there under strace, and a check."""
    os.mkdir(folder)
    segment, verb = prepared(folder, what), VERBS.get(what, what)
    command = [sys.executable, "-I", ACT, folder, str(segment), verb]
    return partial(traced, command), lambda: check(folder, segment, what)


def found(tmp_path, what, calls=CHANGING):
    folder = str(tmp_path / "trace")
    return points(running(folder, what)[0], tmp_path / "out", [f"{folder}/"], calls)


def injected(tmp_path, what, every, injection):
    for number, point in enumerate(every):
        folder = str(tmp_path / f"p{number}")
        survive(*running(folder, what), point, injection, (41, 43, 45))
        shutil.rmtree(folder)


def check(folder, segment, what):
    """Do it again, and look whether all is there once."""
    with suppress(*[Conflict][: what == "open"]):  # it is there
        act(folder, segment, VERBS.get(what, what))
    if what == "close":
        assert os.path.exists(f"{folder}/.council/closed/id1/journal.jsonl")
        assert not os.path.exists(f"{folder}/d.md")
        return
    one = document(folder, segment=segment)
    state, history = one.read(), one.history()
    shown = Path(f"{folder}/d.md").read_text()
    assert shown == toy.render(one.peek()) == toy.render(state)
    assert one._folded(history)[0] == state and history[-1].page == digest(shown)
    one.change(lambda state: [], by="x", at=AT)
    assert not [n for n in os.listdir(one.folder) if n.startswith("old-")]
    if what != "open":
        assert [e["text"] for e in state.entries] == ["BOB-SAID", "SAID-ONCE"] and state.tour == 2
    if what == "edit":
        assert state.notes.count("MY-NOTE") == state.notes.count("LATER-NOTE") == 1
        assert len(state.kept_aside) == 1 == len(os.listdir(f"{one.folder}/conflicts"))
    if what == "segment":
        assert len([n for n in os.listdir(one.folder) if n.startswith("journal")]) > 1
        assert state.notes == [f"note {n}" for n in range(4)]


@pytest.mark.parametrize(
    ("what", "injection"),
    [("answer", "signal=KILL"), ("edit", "signal=KILL"), ("answer", "error=ENOSPC")],
)
def test_at_some_calls(tmp_path, what, injection):
    injected(tmp_path, what, sampled(found(tmp_path, what), 6), injection)


@pytest.mark.parametrize("what", ["open", "answer", "edit", "close"])
def test_without_exchange_and_leases(tmp_path, what):
    """A file system that has neither; macOS has no leases."""
    calls = found(tmp_path, what, ("openat", "fcntl", "renameat2"))
    assert what in ("open", "close") or ("renameat2", 1) in calls
    first = [count for call, count in calls if call == "fcntl"]
    run, check_it = running(str(tmp_path / "again"), what)
    options = ["-e", "inject=renameat2:error=EINVAL"]
    options += [f"-einject=fcntl:error=EINVAL:when={first[0]}+"] if first else []
    done = run("-o", "/dev/null", *options)
    assert done.returncode == 0, done.stderr + done.stdout
    check_it()


@pytest.mark.slow
@pytest.mark.parametrize("injection", ["signal=KILL", "error=ENOSPC", "error=EIO"])
@pytest.mark.parametrize("what", ["open", "answer", "edit", "segment", "close"])
def test_at_each_call(tmp_path, what, injection):
    calls = [*CHANGING, *READING] if injection == "error=EIO" else CHANGING
    injected(tmp_path, what, found(tmp_path, what, calls), injection)
