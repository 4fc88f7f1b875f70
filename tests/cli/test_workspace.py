"""Setting up, looking after and asking in a workspace: init, doctor, status, demo, ask."""

from __future__ import annotations

import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.cli.commands import tree, wait_until

NO_PROGRAMS = {"PATH": "/usr/bin:/bin"}


def findings(council, *words: str, **given) -> dict[str, dict]:
    """Return the faults that doctor finds, by what they are about."""
    done = council("doctor", "--json", *words, **given)
    faults = {one["what"]: one for one in done.json()["findings"] if not one["ok"]}
    assert done.code == (3 if faults else 0)
    assert done.json()["ok"] is not bool(faults)
    assert all(one["fix"] for one in faults.values())
    return faults


# init


def test_init_makes_a_workspace_and_a_second_time_nothing(council, tmp_path: Path):
    fresh = tmp_path / "deep" / "fresh"

    first = council("init", fresh, "--agents", "owl, gecko", "--json")
    before = tree(fresh)
    again = council("init", fresh, "--agents", "owl,gecko", "--json")

    assert first.code == again.code == 0
    assert {"council.toml", "memory/agents/owl/SOUL.md", "skills/council/SKILL.md"} <= set(
        first.json()["made"]
    )
    assert (fresh / "memory" / "shared").is_dir()
    assert (fresh / "conseils").is_dir()
    assert again.json()["made"] == []
    assert tree(fresh) == before
    assert council("status", cwd=fresh).code == 0


def test_init_never_overwrites_and_adds_what_is_missing(council):
    settings = council.root / "council.toml"
    soul = council.root / "memory" / "agents" / "owl" / "SOUL.md"
    soul.parent.mkdir(parents=True)
    soul.write_text("mine")
    settings.write_text("max_runs = 2\n")

    made = council("init", "--agents", "owl,gecko", "--lang", "fr", "--json").json()["made"]

    assert settings.read_text() == "max_runs = 2\n"
    assert soul.read_text() == "mine"
    assert "memory/agents/gecko/SOUL.md" in made
    assert "memory/agents/owl/SOUL.md" not in made


def on_path(tmp_path: Path, *names: str) -> dict[str, str]:
    """Return an environment that has only these agent programs on its PATH."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    for name in names:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    return {"PATH": f"{programs}:/usr/bin:/bin"}


@pytest.mark.req("CL-001")
def test_init_turns_on_the_agent_programs_that_are_on_the_path(council, tmp_path: Path):
    env = on_path(tmp_path, "claude", "llm", "ollama", "vim")
    (tmp_path / "bin/codex").write_text("not a program")

    made = council("init", "--json", env=env).json()
    settings = (council.root / "council.toml").read_text()
    plan = council("ask", "A bot?", "--dry-run", env=env)
    found = council("doctor", "--json", env=env).json()["findings"]

    assert made["programs"] == ["claude", "ollama", "llm"]
    assert (made["agents"], made["ready"]) == (["claude", "llm"], True)
    assert made["offered"] == {"ollama": "council agent add ollama --preset ollama --model MODEL"}
    assert tomllib.loads(settings)["agents"] == {
        "claude": {"preset": "claude"},
        "llm": {"preset": "llm"},
    }
    assert '# preset = "ollama"\n# model = ' in settings
    assert plan.code == 0
    assert "  claude: " in plan.out and "  llm: " in plan.out
    assert f"runs {tmp_path / 'bin/claude'}" in [one["found"] for one in found]


def test_init_names_openclaw_and_leaves_it_alone(council, tmp_path: Path):
    said = council("init", env=on_path(tmp_path, "openclaw")).out

    assert "council init --openclaw" in said
    assert "agents" not in tomllib.loads((council.root / "council.toml").read_text())


def test_an_agent_that_init_turned_on_may_be_added_again(council, tmp_path: Path):
    env = on_path(tmp_path, "claude", "codex")
    council("init", env=env)

    added = council("agent", "add", "claude", "--preset", "claude", env=env)
    other = council("agent", "add", "claude", "--preset", "codex", env=env)

    assert added.code == 0, added.err
    assert other.code == 4


@pytest.mark.req("CL-001")
def test_init_with_names_turns_on_those_alone(council, tmp_path: Path):
    env = on_path(tmp_path, "claude", "codex", "gemini")
    people, some = council.root / "people", council.root / "some"

    said = council("init", people, "--agents", "ann,bob", env=env).out
    made = council("init", some, "--agents", "claude,codex,ann", "--json", env=env).json()

    assert "agents" not in tomllib.loads((people / "council.toml").read_text())
    assert (
        "also on PATH: claude, codex, gemini; "
        "to use one: council agent add claude --preset claude\n" in said
    )
    assert said.endswith(' && council convene "…" --agents ann,bob\n')
    assert (made["agents"], made["ready"]) == (["claude", "codex"], True)
    plan = council("ask", "A bot?", "--agents", "claude,codex", "--dry-run", env=env, cwd=some)
    assert plan.code == 0


@pytest.mark.req("CL-001")
def test_a_second_init_changes_no_settings_and_turns_on_what_it_is_told(council, tmp_path: Path):
    settings = council.root / "council.toml"
    settings.write_text('[agents.codex]\nargv = ["mine"]\n')
    env = on_path(tmp_path, "claude", "codex", "gemini")

    alone = council("init", "--json", env=env).json()
    named = council("init", "--agents", "claude,codex", "--json", env=env).json()
    again = council("init", "--agents", "claude,codex", "--json", env=env).json()

    assert settings.read_text() == '[agents.codex]\nargv = ["mine"]\n'
    assert (alone["agents"], named["agents"], again["agents"]) == ([], ["claude"], [])
    assert again["made"] == []
    assert "preset: claude\n" in (council.root / "memory/agents/claude/SOUL.md").read_text()
    assert "preset" not in (council.root / "memory/agents/codex/SOUL.md").read_text()
    assert named["offered"] == {"gemini": "council agent add gemini --preset gemini"}


def test_init_that_cannot_be_done_says_so_in_one_line(council, tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("")

    for words, code in (((file,), 3), (("/proc/x",), 1), (("--agents", "Not Legal"), 3)):
        refused = council("init", *words)

        assert refused.code == code
        assert refused.err.startswith("council: ")
        assert refused.err.count("\n") == 1
        assert "unexpected" not in refused.err


# doctor


@pytest.fixture
def sound(council):
    """A workspace in which doctor finds nothing."""
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("heartbeat").code == 0
    assert findings(council) == {}
    return council


def test_doctor_misses_a_folder_and_makes_it(sound):
    (sound.root / "conseils").rmdir()

    assert findings(sound)["conseils/"]["fix"] == "council doctor --repair"
    assert findings(sound, "--repair") == {}
    assert (sound.root / "conseils").is_dir()


def test_doctor_names_a_driver_that_does_not_exist(sound):
    (sound.root / "council.toml").write_text('[agents.owl]\ndriver = "telepathy"\n')

    fault = findings(sound)["owl"]
    assert "telepathy" in fault["found"]
    assert "manual" in fault["fix"]
    assert "[agents.owl]" in fault["fix"]


def test_doctor_names_a_program_that_is_not_on_the_path(sound):
    (sound.root / "council.toml").write_text('[agents.owl]\nargv = ["no-such-program"]\n')

    fault = findings(sound)["owl"]
    assert "no-such-program" in fault["found"]
    assert "[agents.owl]" in fault["fix"]


def test_doctor_names_a_preset_whose_program_is_missing(sound):
    (sound.root / "council.toml").write_text('[agents.owl]\npreset = "codex"\n')

    assert "codex" in findings(sound, env=NO_PROGRAMS | {"PATH": str(sound.home)})["owl"]["found"]


def test_doctor_says_when_python_may_not_keep_bytecode(sound, tmp_path: Path):
    env = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path / "empty")}

    fault = findings(sound, env=env)["start-up"]

    assert "PYTHONDONTWRITEBYTECODE" in fault["found"]
    assert fault["fix"] == "unset PYTHONDONTWRITEBYTECODE"


def test_doctor_says_where_python_cannot_write_bytecode(sound):
    fault = findings(sound, env={"PYTHONPYCACHEPREFIX": "/dev/null"})["start-up"]

    assert "it cannot write in /dev/null/" in fault["found"]
    assert "compileall" in fault["fix"]


def test_doctor_says_nothing_of_start_up_where_bytecode_is_kept(sound, tmp_path: Path):
    assert findings(sound, env={"PYTHONPYCACHEPREFIX": str(tmp_path / "kept")}) == {}


def test_doctor_names_a_broken_soul(sound):
    (sound.root / "memory" / "agents" / "owl" / "SOUL.md").write_text("---\nname: [\n---\n")

    assert "SOUL.md" in findings(sound)["owl"]["found"]


def test_doctor_sees_a_key_that_others_can_read_and_closes_it(sound):
    assert sound("convene", "A bot?").code == 0
    key = sound.root / "memory" / "shared" / ".council" / "key"
    key.chmod(0o644)

    assert findings(sound)["run key"]["fix"] == f"chmod 600 {key}"
    assert findings(sound, "--repair") == {}
    assert key.stat().st_mode & 0o777 == 0o600


def test_doctor_names_a_setting_nobody_knows(sound):
    (sound.root / "council.toml").write_text("max_rums = 2\n")

    assert "max_rums" in findings(sound)["council.toml"]["found"]


@pytest.mark.req("FW-002.2")
@pytest.mark.parametrize("was_read", [True, False])
def test_a_setting_that_cannot_be_is_named_by_every_command(sound, was_read: bool):
    """Where the file was readable before, commands go on by what it said then."""
    if not was_read:
        (sound.root / "memory/shared/.council/settings-cache.json").unlink()
    for text, named in (("max_runs = 0\n", "max_runs"), ("max_runs =\n", "line 1")):
        (sound.root / "council.toml").write_text(text)
        for command in ("doctor", "status", "heartbeat"):
            done = sound(command, "--json")
            assert done.code == (0 if was_read and command != "doctor" else 3)
            assert "council.toml" in done.err
            assert named in done.err
            assert was_read or done.json()["error"]["hint"]


def test_doctor_knows_that_no_heartbeat_runs(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    assert findings(council) == {}

    assert council("heartbeat", now="2026-02-08T20:00:00Z").code == 0
    assert findings(council, now="2026-02-09T20:00:00Z") == {}
    made = council("convene", "A bot?", "--timeout", "5d", now="2026-02-08T20:00:00Z")
    assert made.code == 0
    assert findings(council, now="2026-02-08T20:10:00Z") == {}
    late = findings(council, now="2026-02-09T20:00:00Z")["old-heartbeat"]
    assert "1d" in late["found"]


def test_doctor_says_how_to_add_agents_where_there_are_none(council):
    assert "council init --agents a,b,c" in council("doctor").out


def test_doctor_repairs_a_conversation_whose_file_is_gone(sound):
    assert sound("convene", "A bot?").code == 0
    file = sound.root / "memory" / "shared" / "council-active-conversation.md"
    text = file.read_bytes()
    file.unlink()

    assert "missing" in findings(sound)["active"]["found"]
    assert findings(sound, "--repair") == {}
    assert file.read_bytes().splitlines()[0] == text.splitlines()[0]


# status


def test_status_tells_who_is_owed_and_what_failed(council):
    (council.root / "council.toml").write_text(
        'retry_backoff = ["1h"]\n[agents.owl]\nargv = ["/bin/false"]\n'
    )
    assert council("convene", "A bot?", "--agents", "owl,gecko").code == 0
    events = council.root / "memory/shared/events"
    wait_until(lambda: any('"final":true' in day.read_text() for day in events.glob("*")))

    (one,) = council("status", "--json").json()["conversations"]
    shown = council("status").out

    assert one["waiting"] == ["owl", "gecko"]
    assert list(one["failures"]) == ["owl"]
    gecko = one["participants"]["gecko"]
    assert (gecko["status"], gecko["lastAction"], gecko["doing"]) == ("WAITING", None, "by-hand")
    assert "Gecko" in shown
    assert "failed:" in shown
    assert "left" in shown
    assert "last heartbeat: " in shown


def test_status_names_a_conversation_that_is_not_the_default(council, now):
    assert council("convene", "A bot?", "--name", "bots", "--agents", "a,b", now=now).code == 0

    assert "bots" in council("status", now=now).out


def test_status_shows_a_broken_conversation_and_goes_on(opened, now):
    broken = opened.root / "memory" / "shared" / "council-broken-conversation.md"
    broken.write_text("# Broken\n\n<!--council-state\nnothing\n-->\n")

    seen = opened("status", "--json", now=now)

    assert [one["name"] for one in seen.json()["errors"]] == ["broken"]
    assert [one["name"] for one in seen.json()["conversations"]] == ["active"]
    assert "broken" in opened("status", now=now).out


def test_status_where_nothing_is_open_says_how_to_start(council):
    assert "council convene" in council("status").out
    assert council("status", "--json").json()["conversations"] == []


# ask, demo


def test_ask_waits_and_answers_with_the_verdict_alone(council):
    go = council.root / "go"
    waits = f"cat >/dev/null; until [ -e {go} ]; do sleep 0.02; done; echo Yes, build it."
    said = f'[agents.{{}}]\nargv = ["/bin/sh", "-c", "{waits}"]\n'
    (council.root / "council.toml").write_text(said.format("owl") + said.format("gecko"))
    words = ("--phases", "collect,synthesize", "--synthesizer", "owl")

    asked = council.start("ask", "A bot?", "--agents", "owl,gecko", *words)
    assert b"ceiling 40 runs" in asked.stderr.readline()
    go.touch()
    shown = asked.communicate(timeout=300)[0].decode()
    done = council("ask", "A bot?", "--agents", "owl,gecko", "--json", *words)

    assert done.code == asked.returncode == 0
    assert Path(done.json()["minutes"]).is_file()
    assert done.json()["verdict"]["participants"] == ["owl", "gecko"]
    assert "build it" in shown
    assert Path(shown.rstrip().splitlines()[-1].split(" · ")[-1]).is_file()
    assert council("status", "--json").json()["conversations"] == []


def test_ask_tells_whom_it_waits_for_and_goes_on_without_who_asked(council):
    waiting = subprocess.Popen(
        council.argv("ask", "Tea?", "--name", "tea", "--agents", "owl,gecko"),
        cwd=council.root,
        env=council.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    told = ""
    while "by hand" not in told:
        line = waiting.stderr.readline()
        assert line, told
        told += line
    assert 'owl, gecko answer by hand: council respond --as owl --name tea "…"\n' in told

    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=120)

    assert (waiting.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("tea is paused")
    (left,) = council("status", "--json").json()["conversations"]
    assert left["waiting"] == ["owl", "gecko"]


def test_demo_answers_with_one_document(council, tmp_path: Path):
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()

    done = council("demo", "--json", cwd=nowhere, env={"TMPDIR": str(tmp_path)})

    assert done.code == 0
    assert Path(done.json()["minutes"]).is_file()
    assert list(nowhere.iterdir()) == []


@pytest.mark.long
@pytest.mark.req("FW-006.1")
def test_the_demo_ends_with_the_way_to_ones_own_question(council, tmp_path: Path):
    done = council("demo", cwd=tmp_path, env={"TMPDIR": str(tmp_path)})

    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == 'Now your own question: council ask --rehearse "…"'


def test_demo_in_a_language_we_do_not_speak_exits_2(council):
    refused = council("demo", "--lang", "de", "--json")

    assert refused.code == 2
    assert refused.json()["error"]["code"] == "usage"
