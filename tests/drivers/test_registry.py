"""The table of drivers."""

from __future__ import annotations

import pytest

from council.core.agents import DRIVERS, AgentSettings
from council.drivers.programs import PRESETS
from council.drivers.waking import run_driver as run
from council.store.reason_words import reason_words
from tests.drivers.programs import BASE, program, turn


@pytest.mark.req("XC-011")
def test_a_manual_agent_is_handed_its_turn_and_nothing_runs(tmp_path):
    answer = run("manual", turn(tmp_path), AgentSettings(argv=["touch", "ran"]), BASE)
    assert answer.ok
    assert answer.waits
    assert answer.text == ""
    assert list(tmp_path.iterdir()) == []


def test_each_driver_is_found_by_its_name(tmp_path):
    (tmp_path / "a.md").write_text("## henry COLLECT\nscripted\n")
    settings = program("echo", answers="a.md")
    assert run("command", turn(tmp_path, prompt="run"), settings, BASE).text == "run"
    assert run("scripted", turn(tmp_path), settings, BASE).text == "scripted"
    assert set(DRIVERS) >= {"command", "manual", "openai", "openclaw", "scripted"}


def test_an_unknown_driver_is_a_failed_attempt(tmp_path):
    answer = run("telepathy", turn(tmp_path), AgentSettings(), BASE)
    assert not answer.ok
    assert (
        reason_words(answer.reason) == f"no driver 'telepathy', only {', '.join(sorted(DRIVERS))}"
    )


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_runs_the_tool_of_its_name_and_asks_for_a_model_only_if_told(name):
    preset = PRESETS[name]
    assert preset.command("")[0] == name
    assert preset.command("some-model").count("some-model") == 1
    assert not any("{" in part for part in preset.command("some-model"))
    assert preset.command("") == [*preset.argv, *preset.tail]


def test_a_preset_gets_the_prompt_the_model_and_the_key_of_its_provider(tmp_path):
    tool = tmp_path / "bin" / "llm"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$@"\necho "$OPENAI_API_KEY,$OTHER_KEY,$EXTRA"\ncat\n')
    tool.chmod(0o755)
    base = {
        "PATH": f"{tool.parent}:{BASE['PATH']}",
        "OPENAI_API_KEY": "own",
        "OTHER_KEY": "foreign",
        "EXTRA": "added",
    }
    settings = AgentSettings(preset="llm", env=["EXTRA"])
    answer = run("command", turn(tmp_path, prompt="the prompt", model="opus"), settings, base)
    command, keys, prompt = answer.text.splitlines()
    assert command == "prompt --no-stream --no-log --usage --model opus"
    assert keys == "own,,added"
    assert prompt == "the prompt"
