"""Clocks: which lines and timers run the heartbeat of this very workspace, and which do not."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from council.core.errors import NotFoundError
from council.drivers import crontabs
from council.operations import schedule
from council.operations.clocks import CRON, OPENCLAW, SYSTEMD, clocks_of
from council.operations.examining.doctor import examine
from council.operations.place import Place, council_argv
from council.store.paths import Workspace
from tests.cli.commands import wait_until
from tests.conftest import BIN, Council
from tests.operations.test_schedule import CRONTAB, OPENCLAW_PROGRAM

FIVE = timedelta(minutes=5)
COUNCIL = council_argv()[0]
# Says of each unit what a file says, as the real one does.
SYSTEMCTL = """#!/bin/sh
[ "$1" = --user ] && shift
[ -e "$HOME/no-bus" ] && { echo "Failed to connect to bus" >&2; exit 1; }
case "$1" in
is-active) [ -e "$HOME/inactive" ] && { echo inactive; exit 3; }; echo active ;;
is-enabled) [ -e "$HOME/disabled" ] && { echo disabled; exit 1; }; echo enabled ;;
esac
"""


class Machine:
    """A user with a home, a crontab and workspaces."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, programs = folder, folder / "home", folder / "bin"
        self.home.mkdir()
        programs.mkdir()
        for name, text in (
            ("crontab", CRONTAB),
            ("systemctl", SYSTEMCTL),
            ("openclaw", OPENCLAW_PROGRAM),
        ):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{programs}:{BIN}:{os.environ['PATH']}",
        }

    def workspace(self, name: str) -> Place:
        root = self.folder / name
        (root / "memory/shared").mkdir(parents=True)
        return Place(str(root), self.environ, None)

    @property
    def table(self) -> str:
        return (self.home / "tab").read_text()

    @table.setter
    def table(self, text: str) -> None:
        (self.home / "tab").write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch) -> Machine:
    one = Machine(tmp_path)
    monkeypatch.setenv("PATH", one.environ["PATH"])
    return one


def said_of(place: Place, what: str) -> list[tuple[bool, bool, str]]:
    """Return what `doctor` says of something: whether it is well, was seen, and the sentence."""
    return [(one.ok, one.is_seen, one.found) for one in examine(place) if one.what == what]


LINES = {
    "a path": "*/5 * * * * {council} heartbeat --root {root}",
    "an equals sign": "*/5 * * * * {council} heartbeat --root={root}",
    "double quotes": '*/5 * * * * {council} heartbeat --root "{text}"',
    "the option first": "@hourly {council} --root {root} heartbeat --json",
    "a comment behind it": "*/5 * * * * {council} heartbeat --root {root} # the team",
    "a redirection": "*/5 * * * * {council} heartbeat --root {root} >>{root}/log 2>&1",
    "a variable of its own": "*/5 * * * * COUNCIL_ROOT={root} {council} heartbeat",
    "an exported variable": "*/5 * * * * export COUNCIL_ROOT={root}; {council} heartbeat",
    "a variable of the crontab": "COUNCIL_ROOT={text}\n*/5 * * * * {council} heartbeat",
    "a directory": "*/5 * * * * cd {root} && {council} heartbeat",
    "a directory within": "*/5 * * * * cd {root}/memory && {council} heartbeat",
    "a link to it": "*/5 * * * * {council} heartbeat --root {link}",
    "a way with dots": "*/5 * * * * {council} heartbeat --root {root}/../{name}",
    "home": "*/5 * * * * {council} heartbeat --root $HOME/../{name}",
    "a program on the PATH": "PATH={bin}\n*/5 * * * * council heartbeat --root {root}",
    "python": "*/5 * * * * {bin}/python -P -m council heartbeat --root {root}",
    "wrappers": "*/5 * * * * nice -n 5 flock -n /x timeout 60 {council} heartbeat --root {root}",
    "a shell of its own": "*/5 * * * * /bin/sh -c {inner}",
    "a file of variables": "*/5 * * * * . /etc/profile && {council} heartbeat --root {root}",
    "days by name": "0,30 8-18/2 * jan-dec mon-sat {council} heartbeat --root {root}",
    "standard input": "*/5 * * * * {council} heartbeat --root {root} % nothing",
}
NAMES = ["team", "my 100% team's", "équipe", "a#b"]


def line_for(form: str, place: Place, link: Path) -> str:
    """Return a crontab with a line of that form for a workspace; cron takes `\\%` for a percent."""
    root = shlex.quote(place.root)
    inner = shlex.quote(f"{COUNCIL} heartbeat --root {root}")
    known = {"council": COUNCIL, "bin": str(BIN), "link": shlex.quote(str(link)), "inner": inner}
    name = shlex.quote(os.path.basename(place.root))
    lines = form.split("\n")
    filled = [one.format(root=root, text=place.root, name=name, **known) for one in lines]
    commands = [
        one.replace("%", "\\%").replace(" \\% nothing", " % nothing") for one in filled[-1:]
    ]
    return "\n".join([*filled[:-1], *commands]) + "\n"


@pytest.mark.req("FW-008.1")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", LINES.values(), ids=LINES)
def test_a_line_that_runs_the_heartbeat_here_counts_however_it_is_written(
    machine: Machine, form: str, name: str
):
    place, link = machine.workspace(name), machine.folder / "link"
    link.symlink_to(place.root)
    machine.table = line_for(form, place, link)

    assert schedule.clocks(place) == [CRON]
    assert said_of(machine.workspace("another"), "clock")[0][:2] == (True, False)


DEAD = {
    "commented out": ("#*/5 * * * * {council} heartbeat --root {root}", "is commented out"),
    "commented out, a space": ("# */5 * * * * {council} heartbeat --root {root}", "commented out"),
    "at boot": ("@reboot {council} heartbeat --root {root}", "only when the machine starts"),
    "no program": ("*/5 * * * * /gone/council heartbeat --root {root}", "program is not there"),
    "not on cron's PATH": (
        "PATH=/nowhere\n*/5 * * * * council heartbeat --root {root}",
        "program is not there",
    ),
    "no interpreter": ("*/5 * * * * {broken} heartbeat --root {root}", "/gone/python"),
    "not executable": ("*/5 * * * * {closed} heartbeat --root {root}", "is not executable"),
    "a shell that runs nothing": (
        "SHELL=/bin/false\n*/5 * * * * {council} heartbeat --root {root}",
        "shell cannot run",
    ),
    "a condition": (
        "*/5 * * * * [ -e /tmp/on ] && {council} heartbeat --root {root}",
        "depends on a command before",
    ),
    "another way out": (
        "*/5 * * * * true || {council} heartbeat --root {root}",
        "depends on a command before",
    ),
}


@pytest.mark.req("FW-008.1")
@pytest.mark.parametrize(("line", "why"), DEAD.values(), ids=DEAD)
def test_a_line_that_does_not_run_is_named_with_why_and_the_way_out_works(
    machine: Machine, line: str, why: str
):
    place = machine.workspace("team")
    programs = {"broken": machine.folder / "b/council", "closed": machine.folder / "c/council"}
    for path in programs.values():
        path.parent.mkdir()
        path.write_text("#!/gone/python\n")
    programs["broken"].chmod(0o755)
    programs["closed"].chmod(0o644)
    machine.table = line.format(council=COUNCIL, root=place.root, **programs) + "\n"

    assert schedule.clocks(place) == []
    ((ok, _, said),) = said_of(place, "clock")
    assert not ok and said.startswith("cron does not run the heartbeat here") and why in said

    machine.table = machine.table.replace("SHELL=/bin/false", "SHELL=/bin/sh")
    schedule.install(place, CRON, FIVE)

    assert schedule.clocks(place) == [CRON]
    assert [ok for ok, _, _ in said_of(place, "clock")] == [True]


OTHERS = {
    "a longer path": "*/5 * * * * {council} heartbeat --root {root}2",
    "a path within": "*/5 * * * * {council} heartbeat --root {root}/memory",
    "the same name elsewhere": "*/5 * * * * {council} heartbeat --root {other}/team",
    "another command": "*/5 * * * * {council} status --root {root}",
    "what is only said": "*/5 * * * * echo {council} heartbeat --root {root}",
    "a dry run": "*/5 * * * * {council} heartbeat --root {root} --dry-run",
    "one conversation": "*/5 * * * * {council} heartbeat active --root {root}",
    "a time that stands": "*/5 * * * * {council} heartbeat --root {root} --now 2026-01-01",
    "a line of the system": "*/5 * * * * root {council} heartbeat --root {root}",
    "behind an exit": "*/5 * * * * exit 0; {council} heartbeat --root {root}",
    "behind a percent sign": "*/5 * * * * cat % {council} heartbeat --root {root}",
    "a choice": "*/5 * * * * if true; then {council} heartbeat --root {root}; fi",
    "no time": "sometimes {council} heartbeat --root {root}",
    "a time that is none": "61 * * * * {council} heartbeat --root {root}",
    "a quotation without an end": "*/5 * * * * {council} heartbeat --root '{root}",
    "the marker alone": "# >>> council schedule: {root}",
}


@pytest.mark.req("FW-008.1")
@pytest.mark.parametrize("line", OTHERS.values(), ids=OTHERS)
def test_a_line_that_runs_no_heartbeat_here_is_no_clock(machine: Machine, line: str):
    place = machine.workspace("team")
    other = machine.folder / "elsewhere"
    (other / "team/memory/shared").mkdir(parents=True)
    (machine.folder / "team2/memory/shared").mkdir(parents=True)
    machine.table = line.format(council=COUNCIL, root=place.root, other=other) + "\n"

    assert schedule.clocks(place) == []
    assert [seen for ok, seen, _ in said_of(place, "clock") if ok] == [False]


@pytest.mark.req("FW-008.1")
@pytest.mark.parametrize("state", ["inactive", "disabled", "no-bus"])
def test_a_timer_counts_only_while_it_is_active_and_enabled(machine: Machine, state: str):
    place = machine.workspace("my 100% team's")
    schedule.install(place, SYSTEMD, FIVE)
    assert schedule.clocks(place) == [SYSTEMD]

    (machine.home / state).touch()

    assert schedule.clocks(place) == []
    ((ok, _, said),) = said_of(place, "clock")
    assert not ok and said.startswith("systemd does not run the heartbeat here")
    (machine.home / state).unlink()
    assert [ok for ok, _, _ in said_of(place, "clock")] == [True]


@pytest.mark.req("FW-008.1")
def test_a_service_without_its_timer_is_no_clock(machine: Machine):
    place = machine.workspace("team")
    made = schedule.install(place, SYSTEMD, FIVE)
    (timer,) = [path for path in made.files if path.endswith(".timer")]

    os.unlink(timer)

    assert schedule.clocks(place) == []


@pytest.mark.req("FW-008.1")
def test_a_job_that_openclaw_no_longer_has_is_no_clock(machine: Machine):
    place = machine.workspace("team")
    schedule.install(place, OPENCLAW, FIVE)
    assert schedule.clocks(place) == [OPENCLAW]

    (machine.home / "job").unlink()

    assert schedule.clocks(place) == []
    ((ok, _, said),) = said_of(place, "clock")
    assert not ok and "its job is gone" in said


@pytest.mark.req("FW-008.1")
@pytest.mark.parametrize(
    ("when", "late"), [("*/5 * * * *", 12), ("0 * * * *", 130), ("30 4 * * *", 60 * 50)]
)
def test_a_heartbeat_is_recent_by_the_interval_of_its_clock(machine: Machine, when: str, late: int):
    place = machine.workspace("team")
    machine.table = f"{when} {COUNCIL} heartbeat --root {place.root}\n"
    place.mark_beat()
    mark = place.paths.beat_mark

    os.utime(mark, (time.time() - late * 60,) * 2)
    assert [ok for ok, _, _ in said_of(place, "old-heartbeat")] == [False]
    assert said_of(place, "heartbeat") == []  # never well and wrong at once

    due = clocks_of(place)[0].due
    assert due is not None
    os.utime(mark, (due.timestamp() + 1,) * 2)
    assert said_of(place, "old-heartbeat") == []
    assert [(ok, seen) for ok, seen, _ in said_of(place, "heartbeat")] == [(True, True)]


@pytest.mark.req("FW-008.1")
def test_a_clock_that_was_just_installed_has_time_for_its_first_heartbeat(machine: Machine):
    place = machine.workspace("team")
    place.mark_beat()
    os.utime(place.paths.beat_mark, (0, 0))

    made = schedule.install(place, CRON, FIVE)
    assert said_of(place, "old-heartbeat") == []

    os.utime(made.env_file, (time.time() - 1000,) * 2)
    assert len(said_of(place, "old-heartbeat")) == 1


@pytest.mark.req("FW-008.1")
def test_a_heartbeat_ahead_of_the_clock_is_not_called_recent(machine: Machine):
    place = machine.workspace("team")
    place.mark_beat()
    os.utime(place.paths.beat_mark, (time.time() + 9000,) * 2)

    ((ok, _, said),) = said_of(place, "beat-ahead")
    assert not ok and "ahead of the clock" in said and said_of(place, "heartbeat") == []

    place.mark_beat()  # as a heartbeat does once the clock of the machine is right
    assert said_of(place, "beat-ahead") == []


@pytest.mark.req("FW-008.2")
@pytest.mark.parametrize("kind", [CRON, SYSTEMD])
def test_what_names_the_old_place_is_told_beside_a_new_clock_and_removed(
    machine: Machine, kind: str
):
    schedule.install(machine.workspace("old"), kind, FIVE)
    old = str(machine.folder / "old")
    moved = Path(old).rename(machine.folder / "new")
    place = Place(str(moved), machine.environ, None)
    schedule.install(place, kind, FIVE)
    assert schedule.clocks(place) == [kind]

    ((ok, _, said),) = said_of(place, "clock")
    assert not ok and old in said

    done = schedule.remove_gone(old, machine.environ)

    assert done.stale == [f"{kind}: {old}"]
    assert [ok for ok, _, _ in said_of(place, "clock")] == [True]
    assert schedule.clocks(place) == [kind]


@pytest.mark.req("FW-008.2")
@pytest.mark.parametrize("is_ghost", [False, True], ids=["gone", "ghost"])
def test_removing_a_clock_removes_what_is_stale_with_it(machine: Machine, is_ghost: bool):
    schedule.install(machine.workspace("old"), CRON, FIVE)
    old = machine.folder / "old"
    place = Place(str(old.rename(machine.folder / "new")), machine.environ, None)
    if is_ghost:  # as an earlier version left it
        (old / "memory/shared/.council/runs").mkdir(parents=True)
    other = machine.workspace("other")
    schedule.install(other, CRON, FIVE)

    done = schedule.remove(place, CRON)

    assert done.stale == [f"cron: {old}"]
    assert schedule.clocks(other) == [CRON]
    assert str(old) not in machine.table


@pytest.mark.req("FW-008.2")
def test_a_file_of_variables_goes_with_its_clock_unless_somebody_wrote_in_it(machine: Machine):
    place = machine.workspace("team")
    file = Path(schedule.install(place, CRON, FIVE).env_file)
    schedule.install(place, SYSTEMD, FIVE)

    assert (schedule.remove(place, SYSTEMD).left, file.exists()) == ([], True)  # cron reads it
    assert (schedule.remove(place, CRON).left, file.exists()) == ([], False)

    schedule.install(place, CRON, FIVE)
    with file.open("a") as more:
        more.write("KEY=secret\n")
    assert schedule.remove(place, CRON).left == [str(file)]
    assert "KEY=secret" in file.read_text()


@pytest.mark.req("FW-008.1")
def test_nothing_is_made_where_a_workspace_was(tmp_path: Path):
    root = tmp_path / "old"
    (root / "memory/shared").mkdir(parents=True)
    place = Place(str(root), {}, None)
    place.mark_beat()
    held = Workspace(str(root))
    assert held.shared

    shutil.move(root, tmp_path / "new")

    place.mark_beat()
    for name in ("control", "runs", "shared", "agents", "minutes", "events", "failure_log"):
        for paths in (held, place.paths):
            with pytest.raises(NotFoundError, match="is gone"):
                getattr(paths, name)
    assert not root.exists()


@pytest.mark.req("FW-008.1", "OP-010")
def test_a_council_goes_on_in_its_new_place_and_leaves_nothing_in_the_old_one(
    council: Council, tmp_path: Path
):
    os.mkfifo(council.home / "go")
    waits = f'cat >/dev/null; touch "$HOME/began"; cat {council.home}/go; echo Yes.'
    argv = json.dumps(["/bin/sh", "-c", waits])
    (council.root / "council.toml").write_text(f"[agents.ann]\nargv = {argv}\nenv = ['HOME']\n")
    assert council("convene", "Yes?", "--agents", "ann,bob").code == 0
    wait_until((council.home / "began").exists)
    old, new = council.root, tmp_path / "new"
    council.root = old.rename(new)

    (council.home / "go").write_text("")
    wait_until(lambda: not _holds_places(new))

    assert not old.exists()
    done = council("heartbeat", "--root", old)
    assert (done.code, len(done.err.splitlines())) == (5, 1)
    assert f"council schedule --remove --root {old}" in done.err
    assert not old.exists()


def _holds_places(root: Path) -> bool:
    from council.store.slots import Slots

    return bool(Slots(f"{root}/memory/shared/.council/runs/places", 4).taken())


@pytest.mark.req("FW-008.1")
def test_a_heartbeat_in_what_a_run_left_behind_fails_and_names_the_way_out(council: Council):
    ghost = council.root.parent / "old"
    (ghost / "memory/shared/.council/runs").mkdir(parents=True)
    before = sorted(ghost.rglob("*"))

    done = council("heartbeat", "--root", ghost)

    assert (done.code, len(done.err.splitlines())) == (5, 1)
    assert f"council schedule --remove --root {ghost}" in done.err
    assert sorted(ghost.rglob("*")) == before


@pytest.mark.req("FW-008.1")
def test_the_commands_that_doctor_names_after_a_move_work(council: Council, tmp_path: Path):
    (tmp_path / "machine").mkdir()
    machine = Machine(tmp_path / "machine")
    env = {**machine.environ, "PATH": f"{machine.folder}/bin:{BIN}:{os.environ['PATH']}"}
    council.home = machine.home
    assert council("schedule", "--cron", "--install", env=env).code == 0
    old = council.root
    council.root = old.rename(tmp_path / "new place")
    problems = council("status", "--problems", "--json", env=env).json()["problems"]
    (stale,) = [one for one in problems if one["what"] == "old-clock"]
    first, _, second = stale["fix"].partition(" here; then take the old one out: ")

    for command in (f"{first} --cron", second):
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=council.root,
            env={**council.env(), **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    left = council("status", "--problems", "--json", env=env).json()["problems"]
    assert [one["what"] for one in left if "clock" in one["what"]] == []
    assert str(old) not in machine.table and "new place" in machine.table


@pytest.mark.req("FW-008.1")
@pytest.mark.parametrize(
    ("when", "latest"),
    [
        ("*/5 * * * *", "2026-02-08 20:00"),
        ("7 * * * *", "2026-02-08 19:07"),
        ("30 4 * * *", "2026-02-08 04:30"),
        ("0 0 * * 0", "2026-02-08 00:00"),
        ("0 0 * * 7", "2026-02-08 00:00"),
        ("0 0 1,15 * *", "2026-02-01 00:00"),
        ("0 0 1 * fri", "2026-02-06 00:00"),
        ("@monthly", "2026-02-01 00:00"),
        ("5/20 9-17 * feb mon-fri", "2026-02-06 17:45"),
    ],
)
def test_when_a_line_ran_last_is_worked_out_as_cron_does(when: str, latest: str):
    (line,) = crontabs.parse(f"{when} council heartbeat\n")
    assert line.latest(datetime(2026, 2, 8, 20, 3), 1) == datetime.fromisoformat(latest)
