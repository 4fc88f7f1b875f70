"""`doctor --probe`: each agent program is tried once, outside of any conversation."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from council.core import bounds
from council.core.reasons import read_reason
from council.operations.place import Place
from council.store.tally import edit_tally, read_tally
from tests.conftest import BIN


def seat(council, **lines: str) -> None:
    """Let agents be lines of shell; one that is called slow has a second."""
    text = [
        f'[agents.{agent}]\nargv = ["/bin/sh", "-c", {json.dumps(line)}]'
        + ('\ntimeout = "1s"' if agent == "slow" else "")
        for agent, line in lines.items()
    ]
    (council.root / "council.toml").write_text("\n".join(text) + "\n")


def probed(council, **given) -> dict[str, list[dict]]:
    """Return what `doctor --probe` found, by agent."""
    found: dict[str, list[dict]] = {}
    for one in council("doctor", "--probe", "--json", **given).json()["findings"]:
        found.setdefault(one["what"], []).append(one)
    return found


def test_each_agent_program_is_tried_and_what_came_back_is_said(council):
    seat(
        council,
        good="grep -q ready && echo I am ready",
        bad="echo the key is missing >&2; exit 4",
        slow="sleep 30",
        quiet="cat >/dev/null",
    )
    found = probed(council)

    assert found["good"][-1]["found"] == "answered: I am ready"
    assert found["bad"][-1]["found"].startswith("failed: exit 4")
    assert "timed out" in found["slow"][-1]["found"]
    assert not found["quiet"][-1]["ok"]
    for agent in ("bad", "slow", "quiet"):
        assert found[agent][-1]["fix"]
    log = council.root / "memory/shared/.council/runs/probe-bad.log"
    assert "the key is missing" in log.read_text()
    assert council("list", "--json").json() == []


def test_without_the_option_nothing_is_run(council):
    seat(council, good="touch $COUNCIL_ROOT/ran; echo ready")
    council("doctor")
    assert not (council.root / "ran").exists()
    probed(council)
    assert (council.root / "ran").exists()


def test_a_halted_workspace_tries_nobody(council):
    seat(council, good="touch $COUNCIL_ROOT/ran; echo ready")
    council("halt")
    found = probed(council)
    assert found["good"][-1]["found"] == "not tried: halted"
    assert found["halted"][-1]["fix"] == "council resume --all"
    assert not (council.root / "ran").exists()


def test_an_answer_to_the_probe_ends_a_rest(council, now):
    seat(council, good="cat >/dev/null; echo ready")
    place = Place(str(council.root), {}, now)

    def fail(tally: bounds.Tally) -> None:
        for _ in range(3):
            bounds.failure(tally, "good", read_reason("exit 1"), now, {})

    edit_tally(place.paths, fail)
    later = now + timedelta(minutes=1)
    findings = council("doctor", "--json", now=later).json()["findings"]
    (rest,) = [one for one in findings if "failed 3 times in a row" in one["found"]]
    assert "--probe" in rest["fix"]

    assert all(one["ok"] for one in probed(council, now=later)["good"])

    assert read_tally(place.paths).lapses == {}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[limits]\nmax_run_per_day = 3", "no limit is called max_run_per_day"),
        ('[hooks]\nclosed = "rm -rf"', "hooks.closed is not an argv"),
        ('[hooks]\nopened = ["x"]', "no hook is called opened"),
    ],
)
def test_settings_of_running_that_mean_nothing_are_faults_with_a_fix(council, settings, said):
    (council.root / "council.toml").write_text(settings + "\n")
    done = council("doctor", "--json")
    assert done.code == 3
    (fault,) = [one for one in done.json()["findings"] if said in one["found"]]
    assert fault["fix"]


def test_counts_that_cannot_be_read_are_repaired(council):
    assert council("init", "--agents", "owl").code == 0
    (council.root / "memory/shared/.council/tally.json").write_text("{")
    faults = [one for one in council("doctor", "--json").json()["findings"] if not one["ok"]]
    assert "counts" in [one["what"] for one in faults]
    council("doctor", "--repair")
    faults = [one for one in council("doctor", "--json").json()["findings"] if not one["ok"]]
    assert "counts" not in [one["what"] for one in faults]


def test_a_clock_that_is_in_place_is_seen(council):
    programs = council.home / "programs"
    programs.mkdir()
    (programs / "systemctl").write_text("#!/bin/sh\nexit 0\n")  # it is active, and enabled
    (programs / "systemctl").chmod(0o755)
    path = f"{programs}:{council.env()['PATH']}"
    folder = council.home / ".config/systemd/user"
    folder.mkdir(parents=True)
    (folder / "mine.timer").write_text("[Timer]\nOnCalendar=*:0/5\n")
    command = f"{BIN / 'council'} heartbeat --root {council.root}"
    (folder / "mine.service").write_text(f"[Service]\nExecStart={command}\n")
    findings = council("doctor", "--json", env={"PATH": path}).json()["findings"]
    assert [one["found"] for one in findings if one["what"] == "clock"] == [
        "the heartbeat is run by systemd"
    ]


@pytest.mark.req("CL-005")
def test_an_output_that_is_not_what_was_asked_for_proves_nothing(council):
    seat(
        council,
        error="echo 'Exec failed: the server is not ready'",
        repeats="cat",
        polite="echo 'Sure, here it is: **Ready**.'",
    )
    found = probed(council)

    assert found["error"][-1]["found"].startswith("answered something else: Exec failed")
    assert not found["repeats"][-1]["ok"]
    assert found["polite"][-1]["ok"]


@pytest.mark.req("CL-005")
def test_a_variable_that_a_program_needs_and_does_not_get_is_named(council, tmp_path):
    program = council.root / "bin" / "codex"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ncat >/dev/null; [ "$OPENAI_API_KEY" ] && echo ready\n')
    program.chmod(0o755)
    line = f'[agents.own]\nargv = ["{program}"]\n'
    (council.root / "council.toml").write_text(line)
    env = {"OPENAI_API_KEY": "sk-own"}

    before = probed(council, env=env)["own"][-1]
    (council.root / "council.toml").write_text(f'{line}env = ["OPENAI_API_KEY"]\n')
    after = probed(council, env=env)["own"][-1]

    assert 'to pass on: env = ["OPENAI_API_KEY"]' in before["found"]
    assert after["found"] == "answered: ready"
