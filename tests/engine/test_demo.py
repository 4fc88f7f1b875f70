"""The demo on two machines, with a PostgreSQL server of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import at_rest

pytestmark = pytest.mark.engine

TOPIC = "Should we build a weather bot?"


@pytest.fixture
def temporary() -> Iterator[Path]:
    """The folder for temporary files, which the user of the server may enter."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.mark.req("EN-001", "EN-002", "EN-006")
def test_demo_plays_on_two_machines_that_hold_the_same_bytes(council, temporary: Path):
    done = council("demo", "--machines", "2", env={"TMPDIR": str(temporary)})

    assert done.code == 0, done.err
    lines = done.out.splitlines()
    for how, machine in (("init", "north"), ("join", "south")):
        assert any(
            line.startswith(f"$ council engine {how} postgresql://council@127.0.0.1:")
            for line in lines
        )
        assert f"  this machine is called {machine} there" in lines
    assert f"# 3 of 4 agreed: {TOPIC}" in lines
    assert lines[-1].startswith("both machines hold the same bytes: ")

    (root,) = temporary.iterdir()
    north, south = root / "north", root / "south"
    minutes = [
        {one.name: one.read_bytes() for one in (machine / "conseils").iterdir()}
        for machine in (north, south)
    ]
    assert len(minutes[0]) == 2
    assert minutes[0] == minutes[1]
    for machine, agents in ((north, {"henry", "sage", "maman"}), (south, {"nova", "blaise"})):
        places = (machine / "memory/shared/.council/runs/places").glob("agent-*")
        assert {one.name.removeprefix("agent-") for one in places} == agents
        assert "[engine]" not in (machine / "council.toml").read_text()
    at_rest(temporary)


def test_interrupted_demo_leaves_no_server_no_link_and_no_files(council, temporary: Path):
    started = council.start("demo", "--machines", "2", env={"TMPDIR": str(temporary)})
    line = b"-"
    while line and b"sealed" not in line:
        line = started.stdout.readline()

    os.kill(started.pid, signal.SIGINT)
    _, err = started.communicate(timeout=300)

    assert (started.returncode, err.decode().splitlines()[-1:]) == (130, ["interrupted"])
    assert list(temporary.iterdir()) == []
    at_rest(temporary)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide the programs of the system")
def test_demo_without_postgresql_says_what_to_install(council, temporary: Path):
    hide = 'mount -t tmpfs none /usr/lib/postgresql && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hide, "sh", *council.argv("demo", "--machines", "2")],
        cwd=temporary,
        env={**council.env(), "PATH": "/usr/bin:/bin", "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (5, "")
    (line,) = done.stderr.splitlines()
    assert "no PostgreSQL 15 or newer" in line
    assert "apt-get install postgresql" in line
    assert list(temporary.iterdir()) == []


def test_two_machines_play_in_no_folder_of_a_user(council):
    refused = council("demo", "--machines", "2", "--root", "here", "--json")

    assert refused.code == 2
    assert not (council.root / "here").exists()
