"""Leaving `ask` before the council is over: the spending stops, and the last line says so."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from council.operations.place import Place
from tests.cli.commands import wait_until

SHORT = ("--phases", "collect,synthesize", "--synthesizer", "owl", "--name", "tea")
ASKED = ("ask", "Tea?", "--agents", "owl,gecko", *SHORT)
LAST = (
    "tea is paused and its runs end now; continue: council ask --resume tea; "
    "end it: council cancel tea"
)
# Says who it is, starts something, and answers once it is let go.
WAITS = """echo "half a thought"
echo $$ >> "$COUNCIL_ROOT/started"
[ -e "$COUNCIL_ROOT/go" ] || { sleep 600 & sleep 600; }
echo "Postgres."
"""
# Cannot be asked to end.
STAYS = f"trap '' TERM\n{WAITS}"


def settle(council, **programs: str) -> None:
    """Declare agents by what their shell does once it has read the prompt."""
    lines = ["retry_backoff = []\n"]
    for agent, program in programs.items():
        argv = json.dumps(["/bin/sh", "-c", f"cat >/dev/null\n{program}"])
        lines.append(f"[agents.{agent}]\nargv = {argv}\n")
    (council.root / "council.toml").write_text("".join(lines), encoding="utf-8")


def started(council) -> list[int]:
    """Return the processes of the programs that were started."""
    with suppress(FileNotFoundError):
        return [int(one) for one in (council.root / "started").read_text().split()]
    return []


def starts(council) -> int:
    """Return how many runs the events tell of."""
    days = (council.root / "memory" / "shared" / "events").glob("*.jsonl")
    return sum(day.read_text().count('"task.started"') for day in days)


def is_gone(leader: int) -> bool:
    """Return true if no process of a session is left."""
    for one in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if one.name.isdigit() and os.getsid(int(one.name)) == leader:
                return (one / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    return True


def is_paused(council) -> bool:
    (standing,) = council("status", "--json").json()["conversations"]
    return standing["paused"] and not standing["running"]


@pytest.mark.req("FW-003.1")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_whoever_leaves_ask_pauses_the_council_and_ends_its_runs(council, number: int, code: int):
    settle(council, owl=WAITS, gecko=WAITS)
    asked = council.start(*ASKED)
    wait_until(lambda: len(started(council)) == 2)

    asked.send_signal(number)
    out, err = asked.communicate(timeout=60)

    assert (asked.returncode, out) == (code, b"")
    assert err.decode().splitlines()[-1] == LAST
    assert all(map(is_gone, started(council)))
    assert is_paused(council)
    before = starts(council)
    assert [one["woken"] for one in council("heartbeat", "--json").json()["conversations"]] == [[]]
    assert starts(council) == before == 2
    logs = list((council.root / "memory" / "shared" / ".council" / "runs").glob("*.log"))
    assert ["\nhalf a thought\n" in one.read_text() for one in logs] == [True, True]
    assert all('outcome: "interrupted"' in one.read_text() for one in logs)


@pytest.mark.req("FW-003.1")
def test_what_was_left_goes_on_as_the_last_line_says_and_no_agent_has_failed(council):
    settle(council, owl=WAITS, gecko=WAITS)
    asked = council.start(*ASKED)
    wait_until(lambda: len(started(council)) == 2)
    asked.send_signal(signal.SIGINT)
    asked.communicate(timeout=60)
    (council.root / "go").touch()

    done = council("ask", "--resume", "tea")

    assert done.code == 0, done.err
    assert "Postgres." in done.err
    assert "no answer" not in done.err + done.out
    assert "agent.rested" not in council("events", "tail", "--lines", "0").out


@pytest.mark.req("FW-003.1")
def test_what_was_left_ends_as_the_last_line_says(council):
    settle(council, owl=WAITS, gecko=WAITS)
    asked = council.start(*ASKED)
    wait_until(lambda: len(started(council)) == 2)
    asked.send_signal(signal.SIGINT)
    asked.communicate(timeout=60)

    assert council("cancel", "tea").code == 0

    assert council("list", "--json").json() == []


@pytest.mark.req("FW-003.1")
def test_a_second_ctrl_c_ends_ask_at_once_with_the_same_line(council):
    settle(council, owl=STAYS, gecko=STAYS)
    asked = council.start(*ASKED)
    wait_until(lambda: len(started(council)) == 2)

    asked.send_signal(signal.SIGINT)
    wait_until(lambda: council("status", "--json").json()["conversations"][0]["paused"])
    asked.send_signal(signal.SIGINT)
    err = asked.communicate(timeout=60)[1]
    were_there = [one for one in started(council) if not is_gone(one)]

    assert asked.returncode == 130
    assert err.decode().splitlines()[-1] == LAST
    assert were_there, "nothing was waited for"
    wait_until(lambda: all(map(is_gone, started(council))))
    assert is_paused(council)


def on_own_terminal(council, *words: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command on the terminal that controls it, as a shell does."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        council.argv(*words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=council.root,
        env=council.env(env={"TERM": "xterm"}),
        start_new_session=True,
        preexec_fn=take_terminal,
    )
    os.close(theirs)
    return process, ours


def rest_of(terminal: int) -> str:
    """Return what a terminal shows until it is closed, as one line."""
    seen = b""
    with suppress(OSError):
        while piece := os.read(terminal, 65536):
            seen += piece
    return " ".join(seen.decode(errors="replace").split())


@pytest.mark.req("FW-003.1")
def test_ctrl_c_at_a_terminal_stops_the_spending_and_says_it_in_whole_words(council):
    settle(council, owl=WAITS, gecko=WAITS)
    process, terminal = on_own_terminal(council, *ASKED)
    wait_until(lambda: len(started(council)) == 2)

    os.write(terminal, b"\x03")
    shown = rest_of(terminal)

    assert process.wait(60) == 130
    assert shown.endswith(LAST)
    assert is_paused(council)


@pytest.mark.req("FW-003.1")
def test_a_terminal_that_is_closed_stops_the_spending(council):
    settle(council, owl=WAITS, gecko=WAITS)
    process, terminal = on_own_terminal(council, *ASKED)
    wait_until(lambda: len(started(council)) == 2)

    os.close(terminal)

    assert process.wait(60) == 129
    assert is_paused(council)
    assert all(map(is_gone, started(council)))


@pytest.mark.req("FW-003.1")
def test_who_started_it_to_outlive_its_terminal_is_not_taken_to_leave(council):
    settle(council, owl=WAITS, gecko=WAITS)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asked = council.start(*ASKED)
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_until(lambda: len(started(council)) == 2)

    asked.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        asked.wait(1)

    asked.send_signal(signal.SIGINT)
    asked.communicate(timeout=60)
    assert asked.returncode == 130


@pytest.mark.req("FW-003.1")
@pytest.mark.parametrize("moment", ["at once", "made", "claimed", "between phases"])
def test_at_whatever_moment_one_leaves_no_run_is_started_afterwards(council, moment: str):
    told = 'echo x >> "$COUNCIL_ROOT/$COUNCIL_PHASE"\necho "Postgres."\n'
    settle(council, owl=told, gecko=told)
    shared = council.root / "memory" / "shared"
    reached = {
        "at once": lambda: True,
        "made": lambda: (shared / "council-tea-conversation.md").exists(),
        "claimed": lambda: starts(council) > 0,
        "between phases": lambda: (council.root / "COLLECT").exists(),
    }
    asked = council.start("ask", "Tea?", "--agents", "owl,gecko", "--name", "tea")
    while not reached[moment]():
        assert asked.poll() is None

    asked.send_signal(signal.SIGINT)
    err = asked.communicate(timeout=60)[1].decode()
    before = starts(council)

    council("heartbeat")
    left = council("status", "--json").json()["conversations"]
    assert starts(council) == before
    assert [one["running"] for one in left] in ([], [[]])
    assert [one["paused"] for one in left] in ([], [True])
    if left:
        assert err.splitlines()[-1] == LAST


@pytest.mark.req("FW-003.1")
def test_whoever_still_watches_is_told_that_it_is_paused_and_sees_it_go_on(council):
    settle(council, owl=WAITS, gecko=WAITS)
    asked = council.start(*ASKED)
    wait_until(lambda: len(started(council)) == 2)
    watching = council.start("ask", "--resume", "tea")
    while b"COLLECT" not in watching.stderr.readline():
        pass

    asked.send_signal(signal.SIGINT)
    asked.communicate(timeout=60)

    assert watching.stderr.readline().decode().strip() == (
        "tea is paused; continue: council resume tea"
    )
    (council.root / "go").touch()
    assert council("resume", "tea").code == 0
    watching.communicate(timeout=120)
    assert watching.returncode == 0


@pytest.mark.req("FW-003.1")
def test_a_program_reads_that_it_is_paused(council):
    settle(council, owl=WAITS, gecko=WAITS)
    asked = council.start(*ASKED, "--json")
    wait_until(lambda: len(started(council)) == 2)

    asked.terminate()
    out, err = asked.communicate(timeout=60)

    told = json.loads(out)
    assert (told["name"], told["paused"], told["message"]) == ("tea", True, LAST)
    assert err.decode().splitlines()[-1] == LAST


@pytest.mark.req("FW-003.1")
def test_where_it_cannot_be_paused_the_last_line_does_not_say_that_it_is(council):
    settle(council, owl=WAITS, gecko=WAITS)
    asked = council.start(*ASKED)
    wait_until(lambda: len(started(council)) == 2)
    place = Place(str(council.root), council.env(), None)
    state = place.conversations.read("tea")

    with place.conversations.session("tea", state.conversation_id, place.now()):
        for _ in range(3):
            asked.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                asked.wait(1)
        err = asked.communicate(timeout=60)[1].decode().splitlines()

    assert asked.returncode == 130
    assert err[-1].startswith("tea could not be paused and continues (")
    assert "pause it: council pause tea" in err[-1]
    assert council("cancel", "tea").code == 0


@pytest.mark.req("FW-003.2")
def test_detach_leaves_it_running_on_purpose_and_says_how_to_watch_and_stop_it(council):
    settle(council, owl=WAITS, gecko=WAITS)

    done = council(*ASKED, "--detach")

    assert done.code == 0, done.err
    opened = council("convene", "Coffee?", "--agents", "owl,gecko", "--name", "coffee")
    told = [one.partition(":")[0] for one in opened.out.splitlines()]
    shown = [one.partition(":")[0] for one in done.out.splitlines()]
    assert shown[:2] == ["tea", "file"]
    assert told[:2] == ["coffee", "file"]
    assert done.out.splitlines()[-2:] == [
        "watch: council ask --resume tea (or: council status --watch tea)",
        "stop: council pause tea; end: council cancel tea",
    ]
    wait_until(lambda: len(started(council)) == 2)
    assert council(*ASKED, "--detach", "--page").code == 2
    assert council("cancel", "tea").code == 0
    wait_until(lambda: all(map(is_gone, started(council))))


@pytest.mark.req("FW-007.1")
def test_resume_without_a_name_takes_the_only_paused_one_and_lists_several(council):
    settle(council, owl="echo Yes.", gecko="echo Yes.")
    for name in ("tea", "coffee", "milk"):
        people = ("--agents", "ann,bob", "--people", "ann,bob")
        assert council("convene", f"{name}?", *people, "--name", name, "--max-runs", "3").code == 0
    several = council("ask", "--resume")
    council("pause", "tea")
    council("pause", "coffee")

    paused = council("ask", "--resume")

    assert several.code == paused.code == 2
    assert "several conversations are open: coffee (coffee?), milk (milk?)" in several.err
    assert "several conversations are paused: coffee (coffee?), tea (tea?)" in paused.err
    assert "council ask --resume coffee" in paused.err
    council("cancel", "coffee")
    watching = council.start("ask", "--resume")
    wait_until(
        lambda: (
            [
                one["paused"]
                for one in council("status", "--json").json()["conversations"]
                if one["name"] == "tea"
            ]
            == [False]
        )
    )
    watching.kill()
    watching.communicate()
