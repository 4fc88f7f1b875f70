"""Presets and scripted answers."""

import json
import os

import pytest

from council.agents import programs
from council.agents.settings import AgentSettings
from council.kernel.errors import Invalid
from council.runs.drivers import Output, RunPlace
from council.runs.supervisor import run_agent
from tests.runs.processes import fake, place_in


def run(agent: AgentSettings, place: RunPlace, prompt: str = "What now?", seconds=20.0) -> Output:
    place.seconds = seconds
    return run_agent(agent, prompt, place)


def lines(*events: dict[str, object]) -> str:
    return "".join(f"echo '{json.dumps(one)}'\n" for one in events)


CODEX = lines(
    {"type": "item.completed", "item": {"type": "agent_message", "text": "Yes."}},
    {"type": "turn.completed", "usage": {"input_tokens": 90, "output_tokens": 10}},
)


@pytest.mark.slow
def test_a_program_that_has_finished_and_never_exits_is_ended(tmp_path):
    fake(tmp_path, "codex", f"cat >/dev/null\n{CODEX}sleep 600")
    output = run(AgentSettings(id="ada", driver="command", preset="codex"), place_in(tmp_path))
    assert (output.code, output.text, output.use.tokens) == ("", "Yes.", 100)


@pytest.mark.slow
def test_a_refused_key_ends_a_program_that_tries_on(tmp_path):
    retry = {"type": "system", "subtype": "api_retry", "error_status": 401, "error": "auth"}
    fake(tmp_path, "claude", lines(retry, retry) + "sleep 600")
    output = run(AgentSettings(id="ada", driver="command", preset="claude"), place_in(tmp_path))
    assert (output.code, output.words) == ("refused-key", "HTTP 401: auth")


def test_opencode_may_not_write(tmp_path):
    fake(tmp_path, "opencode", 'printf "%s" "$OPENCODE_PERMISSION" > seen')
    run(AgentSettings(id="ada", driver="command", preset="opencode"), place_in(tmp_path))
    assert json.loads((tmp_path / "seen").read_text()) == {"bash": "deny", "edit": "deny"}


@pytest.mark.parametrize("name", sorted(programs.presets()))
def test_every_preset_gets_its_prompt_and_its_output_is_read(tmp_path, name):
    """The program notes its arguments and what it can read; one of them is the whole prompt."""
    row = programs.presets()[name]
    notes = 'printf "%s\\n" "$@" > args; cat > read'
    fake(tmp_path, row.argv[0], notes + '; for a; do [ -f "$a" ] && cat "$a" > read; done; true')
    agent = AgentSettings(id="ada", driver="command", preset=name, model="m-1")
    prompt = "/clear is a word, mail me@example.org\nand a second line"
    output = run(agent, place_in(tmp_path), prompt)
    assert output.code == "no-answer"
    with open(tmp_path / "args") as args, open(tmp_path / "read") as read:
        told, given = args.read(), read.read()
    escaped = prompt.replace("@", row.escape or "@")
    expected = f"Task:\n{escaped}"
    assert (expected in told) is (row.prompt == "argument")
    assert (given == expected) is (row.prompt != "argument")
    assert ("m-1" in told) is bool(row.model)


@pytest.mark.parametrize("name", ["claude", "codex", "llm"])
def test_a_program_that_takes_a_schema_gets_it(tmp_path, name):
    schema = {"type": "object", "enum": ["agree"]}
    fake(
        tmp_path, name, 'cat >/dev/null; for a; do [ -f "$a" ] && cat "$a" || echo "$a"; done >args'
    )
    agent = AgentSettings(id="ada", driver="command", preset=name)
    for given in (schema, None):
        run(agent, place_in(tmp_path, schema=given))
        told = (tmp_path / "args").read_text()
        assert (json.dumps(schema, separators=(",", ":")) in told) is (
            bool(given) and name != "llm"
        )
        assert ("schema" in told) is (bool(given) and name != "llm")


def test_prompts_and_presets_that_cannot_be_taken():
    agent = AgentSettings(id="ada", preset="kimi")
    with pytest.raises(Invalid) as refused:
        programs.command(programs.preset_of(agent), agent, "x" * 200_000, {})
    assert refused.value.code == "context-full"
    with pytest.raises(Invalid, match="nonesuch"):
        programs.preset_of(AgentSettings(id="ada", preset="nonesuch"))


def test_known_programs_are_found_and_faults_are_named(tmp_path):
    fake(tmp_path, "codex", "true")
    fake(tmp_path, "claude", "true")
    os.chmod(tmp_path / "bin/claude", 0o644)
    assert programs.found(f"{tmp_path}/bin") == {"codex": f"{tmp_path}/bin/codex"}
    environ = {"PATH": f"{tmp_path}/bin"}
    for preset, code in (("codex", ""), ("claude", "missing-program"), ("odd", "bad-settings")):
        agent = AgentSettings(id="ada", driver="command", preset=preset)
        assert programs.fault(agent, environ, str(tmp_path))[0] == code


def test_every_failure_has_a_cure_in_both_languages():
    agent = AgentSettings(id="ada", preset="claude", model="m")
    import tomllib

    with open(f"{os.path.dirname(programs.__file__)}/failures.toml", "rb") as file:
        codes = [*tomllib.load(file), "missing-program", "bad-settings", "timed-out", "crashed"]
    for lang in ("en", "fr"):
        cures = [programs.cure(code, agent, lang) for code in codes]
        assert all(cures) and not any("{" in one for one in cures)
        assert len(set(cures)) == len(codes)
    assert "claude, then /login" in programs.cure("refused-key", agent)
    assert programs.cure("nonesuch", agent) == ""


SCRIPT = """
## ada COLLECT agreed
For COLLECT.

## ada 3
By number.

### a heading of the text
## * CHALLENGE
From everybody.
## ada VOTE
One.
## ada VOTE
Two.
"""
SCRIPTED = [  # phase, round, then text, code, status
    ("COLLECT", 1, "For COLLECT.", "", "AGREED"),
    ("COLLECT", 3, "By number.\n\n### a heading of the text", "", ""),
    ("CHALLENGE", 4, "From everybody.", "", ""),
    ("RESOLVE", 5, "", "no-answer", ""),
    ("VOTE", 6, "One.", "", ""),
]


@pytest.mark.parametrize(("phase", "tour", "text", "code", "status"), SCRIPTED)
def test_scripted_answers(tmp_path, phase, tour, text, code, status):
    (tmp_path / "memory/agents/ada").mkdir(parents=True)
    (tmp_path / "memory/agents/ada/answers.md").write_text(SCRIPT)
    agent = AgentSettings(id="ada", driver="scripted")
    variables = {"COUNCIL_PHASE": phase, "COUNCIL_TOUR": str(tour)}
    output = run(agent, place_in(tmp_path, variables=variables), seconds=0.01)
    assert (output.text, output.code, output.status) == (text, code, status)


def test_an_agent_with_faults_is_not_run(tmp_path):
    agent = AgentSettings(id="ada", driver="command", argv=["true"], faults=["wrong"])
    output = run(agent, place_in(tmp_path))
    assert (output.code, output.words) == ("bad-settings", "wrong")
    assert run(AgentSettings(id="ada", driver="manual"), place_in(tmp_path)).code == "bad-settings"
