"""The installed command on real conversations, killed or refused by the disk at any system call."""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from council.app import App
from council.councils import page
from council.delegation.row import CALLS
from council.kernel import times
from council.rooms.row import ROOMS
from council.tasks.row import CONTEXTS
from tests.faults.tracing import needs_strace, points, sampled, survive, traced

pytestmark = needs_strace
NOW = "2126-11-28T09:30:00Z"  # runs follow the clock of the machine: they must not be late
COMMAND = [sys.executable, "-m", "council", "--now", NOW]
VERBS = {
    "answer": ["respond", "--as", "ben", "--name", "k", "SAID-ONCE"],
    "edit": ["heartbeat"],
    "minutes": ["stop", "--name", "k", "--now"],
    "post": ["channel", "post", "den", "SAID-ONCE", "--as", "zoe", "--key", "k1"],
    "task": ["msg", "send", "M2|W1>O1|S|T1|P1|D|-|0|S1|B9|result=SAID-ONCE", "--as", "ann"],
    "message": ["agent", "message", "SAID-ONCE", "--as", "ann", "--to", "ben", "--key", "k1"],
    "call": ["agent", "call", "SAID-ONCE", "--as", "ann", "--to", "bot", "--key", "k1", "--json"],
}
AGAIN = {"minutes": [0, 4, 5], "task": [0, 4, 6], "call": [0, 1]}  # over, or its run died
PLACES = ("conversations/k", "rooms/den", "contexts/S1", ".council/calls")


def command(root, *words):
    """Return a command line, and the options of its process."""
    env = {**os.environ, "COUNCIL_ROOT": root, "HOME": root, "PYTHONDONTWRITEBYTECODE": "1"}
    line = [*COMMAND[: 3 if "call" in words else None], *words]  # runs have a clock
    return line, {"cwd": root, "env": env}


def run(root, *words):
    line, options = command(root, *words)
    return subprocess.run(line, capture_output=True, text=True, timeout=60, **options)


def does(root, *words):
    done = run(root, *words)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with a workspace for each verb, in the state in which it has most to do."""
    folder = tmp_path_factory.mktemp("models")
    root = str(folder / "answer")
    os.mkdir(root)
    does(root, "init", root, "--agents", "ann,ben", "--lang", "en")
    does(root, "convene", "Tea?", "--people", "ann,ben", "--name", "k", "--timeout", "9h")
    path = App(root).page_of("k")
    stale = Path(path).read_text()
    does(root, "respond", "--as", "ann", "--name", "k", "ANN-SAID")
    does(root, "channel", "create", "chat", "den", "--participants", "ann,ben")
    for verb in [verb for verb in VERBS if verb != "answer"]:
        shutil.copytree(root, folder / verb)
    own = str(folder / "task")
    does(own, "agent", "join", "ann", "--caps", "plan")
    does(own, "msg", "send", "--user", "Plan it")
    own = str(folder / "call")
    with open(f"{own}/council.toml", "a") as file:
        file.write("[agents.bot]\nargv = ['sh', '-c', 'cat >/dev/null; echo x >> ran; echo Yes']\n")
    does(own, "agent", "add", "bot")
    typed = stale.replace("(agent:ben): WAITING", "(agent:ben): RESPONDED")
    typed = typed.replace("draft 1-ben-->\n", "draft 1-ben-->\n\nSAID-ONCE\n")
    with open(App(str(folder / "edit")).page_of("k") + "~", "w") as file:
        file.write(typed.replace("council:notes-->", "council:notes-->\n\nMY-NOTE\n") + "\nEND\n")
    os.rename(file.name, file.name[:-1])
    return folder


def running(models, root, what):
    """Make a workspace; return what carries out the command there under strace, and a check."""
    shutil.copytree(models / what, root)
    line, options = command(root, *VERBS[what])
    return partial(traced, line, **options), lambda: check(root, what)


def found(models, tmp_path, what):
    return points(running(models, str(tmp_path / "trace"), what)[0], tmp_path / "out", PLACES)


def check(root, what):
    """Do it again, and look whether all is there once."""
    done, app, shared = run(root, *VERBS[what]), App(root), f"{root}/memory/shared"
    assert done.returncode in AGAIN.get(what, [0]), done.stderr
    if what in ("minutes", "task"):
        does(root, "heartbeat")
    if what == "minutes":
        assert len([n for n in os.listdir(f"{root}/conseils") if n.endswith(".md")]) == 1
        assert not os.path.exists(app.page_of("k")) and app.conversations() == []
        assert len(os.listdir(f"{shared}/.council/closed")) == 1
    elif what == "task":
        context = CONTEXTS.document(app, "S1").peek()
        assert (context.answer, context.count) == ("SAID-ONCE", 2) and context.closed_at
        assert os.listdir(f"{shared}/.council/contexts") == []
    elif what == "call":
        calls = CALLS.document(app, "calls").peek()
        assert [one.message for one in calls.calls] == ["SAID-ONCE"] and not calls.open()
        assert done.returncode or Path(f"{root}/ran").read_text() == "x\n"
    elif what == "message":
        messages = CALLS.document(app, "calls").peek().messages
        assert [one.message for one in messages] == ["SAID-ONCE"]
    elif what == "post":
        assert [one.content for one in ROOMS.document(app, "den").read().messages] == ["SAID-ONCE"]
        assert os.listdir(f"{root}/memory/agents/ann/tasks")[0].startswith("den-")
        assert os.listdir(f"{shared}/channels") == ["den.md"]
    else:
        document = App(root, times.instant(NOW)).conversation("k")
        state = document.read()
        assert Path(document.page).read_text() == page.render(document.peek()) == page.render(state)
        assert [entry.text for entry in state.entries] == ["ANN-SAID", "SAID-ONCE"]
        assert state.tour == 2
        counts = [state.notes.count(word) for word in ("MY-NOTE", "END")]
        assert counts == ([1, 1] if what == "edit" else [0, 0])
        assert not [n for n in os.listdir(document.folder) if n.startswith(("old-", "page.new"))]


def injected(models, tmp_path, what, every, injection):
    codes = (1, 3, 6) if what == "call" else (1, 3)  # 6: nobody to call
    for call, count in every:
        root = str(tmp_path / f"{call}-{count}")
        survive(*running(models, root, what), (call, count), injection, codes)
        shutil.rmtree(root, ignore_errors=True)  # a run may end a moment later


@pytest.mark.parametrize("what", ["answer", "edit", "post", "task", "message", "call"])
def test_killed_at_some_calls(models, tmp_path, what):
    injected(models, tmp_path, what, sampled(found(models, tmp_path, what), 3), "signal=KILL")


@pytest.mark.slow
@pytest.mark.parametrize("injection", ["signal=KILL", "error=ENOSPC", "error=EIO"])
@pytest.mark.parametrize("what", VERBS)
def test_at_each_call(models, tmp_path, what, injection):
    injected(models, tmp_path, what, found(models, tmp_path, what), injection)
