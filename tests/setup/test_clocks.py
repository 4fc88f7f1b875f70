"""What runs the heartbeat: lines and units that are written, and those that are read."""

import os
import shlex
import shutil
import stat
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.app import App
from council.kernel.errors import Invalid, Refusal, Usage
from council.setup import keys, schedule
from tests.vectors.rows import tables_of

CRONTABS = tables_of("crontabs")


@pytest.fixture
def machine(tmp_path):
    """A user with a small `crontab` program that has no table yet, and a workspace."""
    here, root = tmp_path / "bin", tmp_path / "my 100% team"
    here.mkdir()
    root.mkdir()
    shutil.copy(f"{os.path.dirname(__file__)}/crontab", here)
    (here / "words").write_text("no crontab for root")
    (here / "code").write_text("1")
    env = {"HOME": str(tmp_path), "PATH": f"{here}:{os.environ['PATH']}"}
    return here, str(root), env


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), min_size=1))
def test_a_shell_reads_an_escaped_word_as_it_was_whatever_the_cron_makes_of_percent(word):
    escaped = schedule.escaped(word)
    assert shlex.split(escaped) == [word]
    assert shlex.split(escaped.replace("\\%", "%")) == [word] or "\\\\%" in escaped
    assert "%" not in escaped.replace("\\%", "")


@pytest.mark.parametrize(
    ("seconds", "fields"),
    [(60, "* * * * *"), (300, "*/5 * * * *"), (3600, "0 * * * *"), (6 * 3600, "0 */6 * * *"),
     (86400, "0 0 * * *"), (7 * 60, None), (90 * 60, None), (5 * 3600, None)],
)  # fmt: skip
def test_an_interval_is_five_fields_or_refused(seconds, fields):
    with nullcontext() if fields else pytest.raises(Usage):
        assert schedule.fields(seconds) == fields


@pytest.mark.parametrize(("code", "words", "writes"), CRONTABS["first"])
def test_a_first_crontab_is_made_only_where_there_surely_is_none(machine, code, words, writes):
    here, root, env = machine
    (here / "words").write_text(words)
    (here / "code").write_text(str(code))
    with nullcontext() if writes else pytest.raises(Refusal):
        schedule.schedule(App(root, env=env), cron=True, install=True)
    assert (here / "tab").exists() is os.path.exists(keys.path_of(root, env)) is writes


def test_install_change_and_remove_leave_other_lines_alone(machine):
    here, root, env = machine
    others = "MAILTO=x\r\n# a remark\n0~59 * * * * other"  # no line end at the end
    (here / "tab").write_text(others)
    schedule.schedule(App(root, env=env), cron=True, install=True)
    schedule.schedule(App(root, env=env), cron=True, every="15m", install=True)
    lines = (here / "tab").read_text().splitlines()
    assert [one.split()[0] for one in lines if " heartbeat " in one] == ["*/15"]
    assert schedule.clocks(root, env) == [{"kind": "cron", "when": "*/15 * * * *"}]
    done = schedule.schedule(App(root, env=env), cron=True, remove=True)
    assert (here / "tab").read_bytes().decode() == others + "\n"
    assert not os.path.exists(done["envFile"])


def test_a_lost_marker_stops_every_change(machine):
    here, root, env = machine
    (here / "tab").write_text(f"{schedule.BEGIN}{root}\n1 1 * * * mine\n")
    with pytest.raises(Invalid):
        schedule.schedule(App(root, env=env), cron=True, remove=True)
    assert "mine" in (here / "tab").read_text()


@pytest.mark.parametrize(
    ("line", "runs"),
    [(line, kind == "runs") for kind in ("runs", "rests") for line in CRONTABS[kind]],
)
def test_a_line_written_by_hand(machine, line, runs, monkeypatch):
    here, root, env = machine
    monkeypatch.setenv("HOME", env["HOME"])
    command = f"/opt/bin/council heartbeat --root {schedule.escaped(root)}"
    (here / "tab").write_text(line.format(root=root, c=command) + "\n")
    assert len(schedule.clocks(root, env)) == runs
    assert not schedule.clocks(os.path.dirname(root), env)


KILLS = "420s; without KillMode=process it ends runs"


@pytest.mark.parametrize(
    ("gone", "when"),
    [("", ["420s"]), ("OnActiveSec=", []), ("KillMode=", [KILLS]), ("WantedBy=", [])],
)
def test_units_that_are_enabled_are_clocks(machine, gone, when):
    _, root, env = machine
    made = schedule.schedule(App(root, env=env), systemd=True, every="7m")
    for path, unit in made["files"].items():
        os.makedirs(f"{os.path.dirname(path)}/timers.target.wants", exist_ok=True)
        with open(f"{path}.mine", "w") as file:
            file.writelines(one for one in unit.splitlines(True) if not gone or gone not in one)
        os.symlink(f"{path}.mine", path)
    if gone != "WantedBy=":
        wants = f"{keys.config(env)}/systemd/user/timers.target.wants"
        os.symlink("../x", f"{wants}/{keys.unit(root)}.timer")
    found = schedule.clocks(root, env)
    assert found == [{"kind": "systemd", "when": one} for one in when]
    assert not schedule.clocks(os.path.dirname(root), env)


def test_one_reader_takes_keys_as_they_are_written(tmp_path):
    path = tmp_path / "keys.env"
    path.write_text(
        'KEY_A=sk-1$2x\nKEY_B=two words\nKEY_C="in marks"\nKEY_D=a#b;c\n# no\n'
        "export KEY_E=`date`\nnonsense\n1BAD=x\n"
    )
    values = ["sk-1$2x", "two words", "in marks", "a#b;c", "`date`"]
    assert keys.read(str(path)) == {f"KEY_{'ABCDE'[at]}": one for at, one in enumerate(values)}


def test_agents_get_home_and_path_where_the_clock_gives_none(machine):
    _, root, env = machine
    app = App(root, env={**env, "PATH": f"{env['PATH']}:/only/here"})
    schedule.schedule(app, cron=True, install=True)
    assert keys.environment(root, {})["PATH"]
    assert keys.environment(root, {})["HOME"]
    bare = keys.environment(root, {"HOME": env["HOME"], "PATH": "/usr/bin:/bin"})
    assert bare["PATH"].startswith("/usr/bin:/bin:") and bare["PATH"].endswith("/only/here")
    with open(keys.path_of(root, env), "a") as file:
        file.write("MINE=\\1\n")
    app = App(root, env={**env, "PATH": f"/new/one:{env['PATH']}"})
    schedule.schedule(app, cron=True, install=True)
    again = keys.read(keys.path_of(root, env))
    assert again["PATH"].startswith("/new/one:") and again["PATH"].endswith("/only/here")
    assert again["MINE"] == "\\1"
    mode = os.stat(keys.path_of(root, env)).st_mode
    assert stat.S_IMODE(mode) == 0o600
