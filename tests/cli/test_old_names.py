"""What was said in two ways is said in one; the old way does the same."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess

from tests.cli.commands import wait_until

IN_RUN = {"COUNCIL_TASK_ID": "6f8d2b1e-0000-4000-8000-000000000000.1.owl.1"}


def test_a_halt_is_a_pause_of_all(opened):
    halted = opened("pause", "--all", "--reason", "the bill", "--json").json()
    assert "the bill" in opened("status", "--problems").out
    again = opened("halt", "--json").json()
    assert halted.keys() == again.keys()
    assert opened("resume", "--all").code == 0

    for words in (("pause", "--all", "active"), ("pause", "--reason", "x")):
        refused = opened(*words)
        assert refused.code == 2, refused.out
        assert "--all" in refused.err


def test_gc_takes_artifacts_too(council, now):
    file = council.root / "a.txt"
    file.write_text("a text")
    assert council("artifact", "publish", "a.txt", now=now).code == 0
    later = "2027-01-01T00:00:00Z"

    planned = council("gc", "--artifacts", "--dry-run", "--json", now=later)
    old = council("artifact", "gc", "--dry-run", "--json", now=later)

    assert planned.json() == old.json()
    assert planned.json()["artifacts"]
    assert council("gc", "--artifacts", now=later).code == 0
    assert council("artifact", "list", "--json").json() == []
    assert council("gc", "--artifacts", "--dry-run", env=IN_RUN).code == 6


def test_a_prompt_of_a_kind_is_the_context_of_that_kind(council, now):
    assert council("convene", "A bot?", "--agents", "owl,gecko", "--name", "kitchen").code == 0
    assert council("convene", "Two?", "--agents", "owl,gecko").code == 0

    for name in ((), ("--name", "kitchen"), ("kitchen",)):
        words = (*name, "--as", "owl", "--json")
        old = council("prompt", "turn", *words, now=now)
        new = council("context", "--kind", "turn", *words, now=now)
        assert (old.code, new.code) == (0, 0), old.err + new.err
        assert old.json() == new.json()
        assert old.json()["kind"] == "turn"


def test_a_run_sees_its_own_context_and_no_prompt_of_others(opened):
    refused = opened("context", "--kind", "turn", "--as", "gecko", env=IN_RUN)

    assert refused.code == 6
    assert opened("status", "--watch", "--advance", env=IN_RUN).code == 6


def test_say_without_a_target_speaks_to_the_conversation_that_is_meant(council):
    for name in ("one", "two"):
        words = ("convene", "A bot?", "--agents", "owl,gecko", "--name", name)
        assert council(*words).code == 0

    assert council("say", "Mind the cost.", "--name", "two").out == "two: said; all will read it\n"
    assert council("say", "Mind the cost.").code == 2

    guidance = {one: council("show", one, "--json").json()["guidance"] for one in ("one", "two")}
    assert [one["text"] for one in guidance["two"]] == ["Mind the cost."]
    assert guidance["one"] == []


def test_status_shows_what_is_named(council):
    for name in ("one", "two"):
        words = ("convene", f"Topic {name}?", "--agents", "owl,gecko", "--name", name)
        assert council(*words).code == 0
    words = ("channel", "create", "chat", "lobby", "--participants", "owl,gecko", "--as", "owl")
    assert council(*words).code == 0

    said = council("status", "two", "--json").json()
    assert [one["name"] for one in said["conversations"]] == ["two"]
    assert said["channels"] == []
    assert "Topic one" not in council("status", "--name", "two").out
    room = council("status", "lobby", "--json").json()
    assert (room["conversations"], len(room["channels"])) == ([], 1)
    assert council("cancel", "two").code == 0
    assert "its minutes" in council("status", "two").err
    assert council("status", "--advance").code == 2


def test_numbers_in_names_are_sorted_as_numbers(council, now):
    for name in ("q10", "q2", "q1"):
        words = ("convene", "A bot?", "--agents", "owl,gecko", "--name", name)
        assert council(*words, now=now).code == 0

    for words in (("list", "--json"), ("status", "--json")):
        found = council(*words, now=now).json()
        found = found if isinstance(found, list) else found["conversations"]
        assert [one["name"] for one in found] == ["q1", "q2", "q10"]


def test_the_live_view_shows_paths_of_logs_whole_and_its_clock_goes_on(council):
    (council.root / "council.toml").write_text('[agents.owl]\nargv = ["/bin/false"]\n')
    words = ("convene", "A bot?", "--agents", "owl,gecko", "--name", "a" * 60)
    assert council(*words).code == 0
    (log,) = wait_until(
        lambda: [
            path
            for one in council("status", "--json").json()["conversations"]
            for path in re.findall(r"[^ ]+/runs/[^ ]+[.]2[.]log", council("status").out)
            if one
        ][:1]
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        council.argv("status", "--watch"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=council.root,
        env=council.env(env={"TERM": "xterm", "COLUMNS": "80", "LINES": "40", "NO_COLOR": "1"}),
    )
    os.close(theirs)
    shown = ""

    def left() -> set[str]:
        return set(re.findall(r"· ([0-9hms]+) left", shown))

    try:
        while len(left()) < 2:
            shown += os.read(ours, 65536).decode("utf-8", "replace")
    finally:
        process.send_signal(signal.SIGINT)
        while process.poll() is None:
            try:
                os.read(ours, 65536)
            except OSError:
                process.wait(timeout=300)
        os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert log in "".join(line.rstrip() for line in plain.splitlines())
