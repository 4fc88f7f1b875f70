"""Runs with real processes: killed, stopped, too late, several at once."""

import json
import os
import re
import shutil
import signal
import threading
from datetime import UTC, datetime, timedelta

import pytest

from council.kernel import times
from council.runs import starting
from council.runs.processes import Place
from tests.faults.tracing import needs_strace, numbered, traced
from tests.runs.processes import Council, is_alive, until

SLEEPS_ONCE = "[ $(wc -l < {root}/starts.ada) -gt 1 ] || sleep 60\necho Yes, because of the taste."
SPEAKS = "echo Yes, because of the taste."
needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


@pytest.fixture
def council(tmp_path):
    """Return a workspace; whatever was started in it ends with the test."""
    made = Council(tmp_path)
    yield made
    for pid in made.held().values():
        os.kill(pid, signal.SIGKILL)
    for path in tmp_path.glob("starts.*"):
        for line in path.open():
            try:
                os.killpg(int(line.split()[0]), signal.SIGKILL)
            except (OSError, ValueError):
                continue


def sleeps_once(council) -> str:
    return SLEEPS_ONCE.replace("{root}", str(council.root))


def supervisor_of(council, agent: str = "ada") -> int:
    """Return the supervisor of an agent's run, once its program is at work."""
    until(lambda: council.starts(agent))
    return next(pid for run, pid in council.held().items() if f".{agent}." in run)


def beats(council, test) -> None:
    def beaten():
        council.run("heartbeat")
        return test()

    until(beaten)


@needs_proc
@pytest.mark.parametrize("noted", [True, False])  # whether it came to write down whom it started
def test_a_supervisor_killed_while_its_agent_works_is_replaced(council, noted):
    council.begin(ada=sleeps_once(council))
    os.kill(supervisor_of(council), signal.SIGKILL)
    for path in () if noted else council.root.glob("memory/shared/.council/runs/*/pid"):
        path.unlink()
    (first, _), *_ = council.starts("ada")
    beats(council, lambda: council.said("ada") == [1])
    assert not is_alive(int(first)) and len(council.starts("ada")) == 2
    until(lambda: not council.held())


@needs_proc
def test_a_stopped_supervisor_loses_its_run_when_its_lease_is_over(council):
    council.begin(ada=sleeps_once(council))
    pid = supervisor_of(council)
    os.kill(pid, signal.SIGSTOP)
    late = times.text(datetime.now(UTC) + timedelta(minutes=2))
    council.run("heartbeat")
    assert len(council.held()) == 1
    council.run("heartbeat", COUNCIL_NOW=late)
    until(lambda: not is_alive(pid) and not is_alive(int(council.starts("ada")[0][0])))
    later = times.text(datetime.now(UTC) + timedelta(minutes=3))
    council.run("heartbeat", COUNCIL_NOW=later)
    until(lambda: council.said("ada") == [1])
    assert len(council.starts("ada")) == 2
    until(lambda: not council.held())


def test_an_agent_ends_with_its_conversation(council):
    council.begin(ada="sleep 60")
    supervisor_of(council)
    council.run("cancel", "k")
    beats(council, lambda: not council.held())
    assert not is_alive(int(council.starts("ada")[0][0]))
    council.run("channel", "create", "chat", "den", "--participants", "ada,cid")
    for change in ("mode", "report"), ("leave", "ada"):  # its turn in a room is over
        council.run("channel", "mode", "den", "chat")
        council.run("channel", "post", "den", "Go.", "--as", "zoe")
        supervisor_of(council)
        council.run("channel", change[0], "den", change[1])
        until(lambda: not council.held())
    assert not any(is_alive(int(pid)) for pid, *_ in council.starts("ada"))


def test_heartbeats_at_once_start_each_agent_once(council):
    council.begin(ada=SPEAKS, cid=SPEAKS, starts=False)
    many = [threading.Thread(target=council.run, args=("heartbeat",)) for _ in range(4)]
    for one in many:
        one.start()
    for one in many:
        one.join()
    until(lambda: council.said("ada") == council.said("cid") == [1])
    assert len(council.starts("ada")) == len(council.starts("cid")) == 1
    until(lambda: not council.held())


def test_failures_are_tried_again_without_a_heartbeat(council):
    fails_once = f"[ $(wc -l < {council.root}/starts.ada) -gt 1 ] || exit 1\n{SPEAKS}"
    council.begin(ada=fails_once)
    until(lambda: council.said("ada") == [1])
    assert len(council.starts("ada")) == 2
    until(lambda: not council.held())
    assert all(one.isdigit() for one in os.listdir(f"{council.app().state_folder}/places"))


@pytest.mark.slow
@pytest.mark.parametrize("fails", ["exit 1", "echo 'Error: 401 Unauthorized' >&2; exit 1"])
def test_a_further_try_is_made_with_mended_settings(council, fails):
    council.begin(ada=fails, cid="sleep 60", backoff="4s")
    until(lambda: any(one.code for one in council.state().runs.by_id.values()))
    council.run("heartbeat")
    settings = council.root / "council.toml"
    settings.write_text(settings.read_text().replace(f"{council.root}/ada.sh", '/bin/echo", "Yes.'))
    beats(council, lambda: council.said("ada") == [1])
    assert len(council.starts("ada")) == 1


# --- ceilings, halted, resting


def test_what_holds_up_the_start_of_runs(council):
    council.begin(ada=SPEAKS, cid=SPEAKS, starts=False)
    report = json.loads(council.run("heartbeat", "--dry-run", "--json"))
    assert [one["name"] for one in report["conversations"]] == ["k"] and not report["changed"]
    council.run("pause", "--all")
    assert council.waiting() == {"ada": "halted", "cid": "halted"} and not council.held()
    toml = council.root / "council.toml"
    toml.write_text(f"{toml.read_text()}[limits]\nmax_runs_per_day = 1\n")
    council.run("resume", "--all")
    until(lambda: council.said("ada") + council.said("cid") == [1])
    assert set(council.waiting().values()) == {"max_runs_per_day"}
    assert len(council.starts("ada")) + len(council.starts("cid")) == 1
    toml.write_text(toml.read_text().replace("per_day", "per_council"))  # lower than at opening
    assert not council.waiting() and "max_runs = 1 is" in str(council.state().round().absent)


@pytest.mark.slow
def test_an_agent_that_fails_again_and_again_holds_up_nobody(council):
    council.begin("--phases", "collect,challenge", ada="exit 1", cid=SPEAKS, backoff="1s")
    council.run("respond", "--name", "k", "--as", "bob", "No, because of the price.")
    until(lambda: council.state().tour == 2 and council.state().round().absent, 60)
    assert len(council.starts("ada")) >= 3
    assert council.state().rounds[0].absent["ada"].code == "crashed"
    assert council.state().round().absent["ada"].code == "resting"


# --- killed at any call

CALLS = "openat,pwrite64,write,fsync,fdatasync,rename,renameat2,unlink,flock,close,clone,clone3"


def supervised(council, *options: str) -> None:
    """Run the supervisor of ada's run under strace."""
    app, claimed = council.app(), list[Place]()
    row = app.kinds[0]
    starting.start(app, row, "k", council.state(), lambda *given: claimed.extend(given[-1]))
    argv, env = starting.order(app, row, "k", claimed)
    os.set_inheritable(claimed[0].descriptor, True)
    given = {"env": env, "pass_fds": [claimed[0].descriptor]}
    traced(argv, "-o", f"{council.root}/trace", *options, **given)
    claimed[0].leave()


def completes_a_round(council) -> None:
    council.begin(ada=SPEAKS, starts=False)
    council.run("respond", "--name", "k", "--as", "bob", "No, because of the price.")


def points(council) -> list[tuple[str, int]]:
    """Return the calls that a supervisor makes from the end of its agent on."""
    completes_a_round(council)
    supervised(council, "-e", f"trace=wait4,{','.join(f'?{c}' for c in CALLS.split(','))}")
    ended = re.compile(r"wait4\(.* = [1-9]\d*$")
    return [one for one in numbered(council.root / "trace", ended.match) if one[0] != "wait4"]


def check_killed_at(council, call: str, number: int) -> None:
    completes_a_round(council)
    supervised(council, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
    beats(council, lambda: council.said("ada") == [1, 2])
    until(lambda: not council.held())
    tours = [tour for _, tour in council.starts("ada")]
    assert tours.count("1") <= 2 and tours.count("2") <= 2
    runs = list(council.state().runs.by_id.values())
    assert sorted(one.tour for one in runs if one.outcome == "answered") == [1, 2]
    days = council.app().registry().peek().days.values()
    assert sum(day.runs for day in days) == len(runs)


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_supervisor_killed_at_any_call_of_its_end_loses_and_doubles_nothing(tmp_path, part):
    os.mkdir(tmp_path / "trace")
    for call, number in list(points(Council(tmp_path / "trace")))[part::4]:
        folder = tmp_path / f"{call}-{number}"
        os.mkdir(folder)
        check_killed_at(Council(folder), call, number)
        shutil.rmtree(folder, ignore_errors=True)
