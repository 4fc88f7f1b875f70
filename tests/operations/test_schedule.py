"""Clocks: what is printed, and what is put in place, twice, and taken away again."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.errors import CouncilError, InvalidStateError, UsageError
from council.drivers import cron
from council.operations import schedule
from council.operations.examining.doctor import examine
from council.operations.place import Place, council_argv
from council.operations.schedule import CRON, OPENCLAW, SYSTEMD

# Reads its table from a file, like the real one from its spool.
CRONTAB = """#!/bin/sh
[ -z "$CRONTAB_BROKEN" ] || { echo "you may not use cron" >&2; exit 1; }
case "$1" in
-l) [ -e "$HOME/tab" ] || { echo "no crontab for me" >&2; exit 1; }; cat "$HOME/tab" ;;
-) cat > "$HOME/tab"; echo written >> "$HOME/writes" ;;
*) exit 2 ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$HOME/systemctl"
[ -z "$SYSTEMD_BROKEN" ] || { echo "no bus" >&2; exit 1; }
"""
OPENCLAW_PROGRAM = """#!/bin/sh
case "$1 $2" in
"agents list") echo '[{"id":"sage"},{"id":"henry","isDefault":true}]'; exit ;;
esac
case "$2" in
list)
    [ -e "$HOME/job" ] || { echo '{"jobs":[]}'; exit; }
    printf '{"jobs":[{"id":"j1","name":"%s"}]}' "$(cat "$HOME/job")" ;;
add) shift 2; while [ "$1" != --name ]; do shift; done; echo "$2" | tr -d '\\n' > "$HOME/job" ;;
rm) rm "$HOME/job" ;;
esac
"""
FIVE = timedelta(minutes=5)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A workspace in a folder with difficult letters, and programs that stand for the clocks."""
    root = tmp_path / "my 100% team's"
    (root / "memory/shared").mkdir(parents=True)
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    for name, text in (
        ("crontab", CRONTAB),
        ("systemctl", SYSTEMCTL),
        ("openclaw", OPENCLAW_PROGRAM),
    ):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environ = {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
    return Place(str(root), environ, None)


@pytest.fixture
def programs_first(place: Place, monkeypatch) -> None:
    monkeypatch.setenv("PATH", place.environ["PATH"])


def home(place: Place) -> Path:
    return Path(place.environ["HOME"])


def run_line(table: str, place: Place, program: str) -> str:
    """Run the command of our crontab line as cron does, with another program for council."""
    (line,) = [one for one in table.splitlines() if one.startswith("*/5 ")]
    command = line.split(" ", 5)[5].replace("\\%", "%")
    before, _, after = command.partition("exec ")
    words = after.split(" heartbeat", 1)
    done = subprocess.run(
        ["/bin/sh", "-c", f"{before}exec {program} heartbeat{words[1].replace('>/dev/null', '')}"],
        env={"HOME": str(home(place)), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_crontab_line_names_absolute_paths_and_the_workspace_and_runs(place: Place):
    plan = schedule.install(place, CRON, FIVE)
    echoes = place.root + "/show"
    Path(echoes).write_text('#!/bin/sh\nprintf "%s|" "$@"; echo "$PATH"\n')
    Path(echoes).chmod(0o755)

    import shlex

    said = run_line((home(place) / "tab").read_text(), place, shlex.quote(echoes))

    assert said.strip() == f"heartbeat|--root|{place.root}|{place.environ['PATH']}"
    assert plan.changed


def test_installing_twice_writes_once_and_leaves_other_lines_alone(place: Place):
    others = "# mine\nMAILTO=me\n0 3 * * * backup  # nightly\n\n"
    (home(place) / "tab").write_text(others)

    assert schedule.install(place, CRON, FIVE).changed
    assert not schedule.install(place, CRON, FIVE).changed
    table = (home(place) / "tab").read_text()
    assert table.startswith(others)
    assert len((home(place) / "writes").read_text().splitlines()) == 1
    assert schedule.clocks(place) == [CRON]

    assert schedule.install(place, CRON, timedelta(minutes=10)).changed
    assert (home(place) / "tab").read_text().count("heartbeat --root") == 1

    assert schedule.remove(place, CRON).changed
    assert not schedule.remove(place, CRON).changed
    assert (home(place) / "tab").read_text() == others
    assert schedule.clocks(place) == []


def test_two_workspaces_have_a_line_each(place: Place, tmp_path: Path):
    other = tmp_path / "other"
    (other / "memory/shared").mkdir(parents=True)
    second = Place(str(other), place.environ, None)
    schedule.install(place, CRON, FIVE)
    schedule.install(second, CRON, FIVE)
    schedule.remove(place, CRON)

    assert schedule.clocks(place) == []
    assert schedule.clocks(second) == [CRON]


def test_a_crontab_that_cannot_be_read_is_not_written(place: Place):
    (home(place) / "tab").write_text("0 3 * * * backup\n")
    place.environ["CRONTAB_BROKEN"] = "yes"
    with pytest.raises(CouncilError, match="may not use cron"):
        schedule.install(place, CRON, FIVE)
    assert (home(place) / "tab").read_text() == "0 3 * * * backup\n"


def test_markers_that_lost_their_other_half_are_not_touched(place: Place):
    schedule.install(place, CRON, FIVE)
    table = (home(place) / "tab").read_text().splitlines(keepends=True)
    for broken in ("".join(table[:2]), "".join(table[1:])):
        with pytest.raises(InvalidStateError):
            cron.without_lines(broken, place.root)


def test_a_line_that_somebody_wrote_by_hand_counts_as_a_clock(place: Place):
    (home(place) / "tab").write_text("* * * * * council heartbeat --root /elsewhere\n")
    assert schedule.clocks(place) == []
    root = place.root.replace("%", "\\%")
    program = council_argv()[0]
    (home(place) / "tab").write_text(f'* * * * * {program} heartbeat --root "{root}"\n')
    assert schedule.clocks(place) == [CRON]


@pytest.mark.parametrize("minutes", [7, 90, 1.5, 60 * 48])
def test_an_interval_that_cron_cannot_keep_is_refused(minutes: float):
    with pytest.raises(UsageError):
        cron.cron_when(timedelta(minutes=minutes))


def test_the_file_for_keys_is_private_outside_the_workspace_and_never_overwritten(place: Place):
    plan = schedule.install(place, CRON, FIVE)
    file = Path(plan.env_file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.is_relative_to(place.root)
    file.write_text("KEY=secret\n")

    schedule.install(place, SYSTEMD, FIVE)
    schedule.remove(place, SYSTEMD)

    assert file.read_text() == "KEY=secret\n"


def test_units_are_installed_once_and_removed(place: Place):
    plan = schedule.install(place, SYSTEMD, FIVE)
    service, timer = (Path(path).read_text() for path in plan.files)
    assert "KillMode=process" in service
    assert "Type=oneshot" in service
    assert f"EnvironmentFile=-{plan.env_file.replace('%', '%%')}" in service
    assert "OnUnitActiveSec=300s" in timer
    assert any("enable-linger" in warning for warning in plan.warnings)
    assert not schedule.install(place, SYSTEMD, FIVE).changed
    assert schedule.clocks(place) == [SYSTEMD]

    assert schedule.remove(place, SYSTEMD).changed
    assert not schedule.remove(place, SYSTEMD).changed
    assert not any(Path(path).exists() for path in plan.files)
    calls = (home(place) / "systemctl").read_text()
    name = schedule.unit_name(place.root)
    assert f"--user enable --now {name}.timer" in calls
    assert f"--user disable --now {name}.timer" in calls


def test_without_a_user_manager_no_unit_is_left_behind(place: Place):
    place.environ["SYSTEMD_BROKEN"] = "yes"
    with pytest.raises(CouncilError, match="no bus"):
        schedule.install(place, SYSTEMD, FIVE)
    assert schedule.clocks(place) == []
    assert schedule.best_kind(place) == CRON


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_finds_no_fault_in_the_units(place: Place, tmp_path: Path):
    plan = schedule.plan(place, SYSTEMD, FIVE)
    paths = []
    for path, text in plan.files.items():
        paths.append(tmp_path / Path(path).name)
        paths[-1].write_text(text)
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", *map(str, paths)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_automation_of_openclaw_is_the_one_that_calls_no_model(place: Place):
    plan = schedule.plan(place, OPENCLAW, FIVE)
    words = dict(zip(plan.command, plan.command[1:], strict=False))
    assert plan.command[:3] == ["openclaw", "cron", "add"]
    assert words["--every"] == "5m"
    argv = json.loads(words["--command-argv"])
    assert os.path.isabs(argv[0])
    assert argv[1:] == ["heartbeat", "--root", place.root, "--reply-token", "NO_REPLY"]
    assert words["--command-cwd"] == place.root
    assert words["--agent"] == "henry"
    assert "--no-deliver" in plan.command


@pytest.mark.req("CL-001")
@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ('coordinator = "sage"\n', "sage"),
        ('coordinator = "ann"\n', "henry"),
        ('coordinator = "ann"\n[agents.nova]\ndriver = "openclaw"\n', "nova"),
        ('coordinator = "ann"\n[agents.nova]\n[agents.ann]\nargv = ["x"]\n', "henry"),
    ],
)
def test_the_automation_belongs_to_an_agent_that_openclaw_has(place: Place, text: str, owner: str):
    Path(place.root, "council.toml").write_text(text)
    plan = schedule.plan(Place(place.root, place.environ, None), OPENCLAW, FIVE)
    assert plan.command[plan.command.index("--agent") + 1] == owner


@pytest.mark.usefixtures("programs_first")
def test_the_automation_of_openclaw_is_there_once_and_goes(place: Place):
    for _ in range(2):
        assert schedule.install(place, OPENCLAW, FIVE).changed
    assert (home(place) / "job").read_text().startswith("council-heartbeat")
    assert schedule.clocks(place) == [OPENCLAW]
    assert schedule.remove(place, OPENCLAW).changed
    assert not schedule.remove(place, OPENCLAW).changed
    assert schedule.clocks(place) == []


@pytest.mark.req("OP-010")
@pytest.mark.parametrize("kind", [CRON, SYSTEMD])
def test_doctor_tells_of_a_clock_that_names_the_old_place_of_a_moved_workspace(
    place: Place, programs_first, kind: str
):
    schedule.install(place, kind, FIVE)
    assert schedule.astray(place) == []
    moved = Path(place.root).rename(Path(place.root).with_name("elsewhere"))
    there = Place(str(moved), place.environ, None)
    assert schedule.astray(there) == [(kind, place.root)]
    (told,) = [one for one in examine(there) if one.cause and one.cause.code == "old-clock"]
    assert f"{kind} runs the heartbeat of {place.root}, where no workspace is" in told.found
    assert "council schedule --install" in told.fix
