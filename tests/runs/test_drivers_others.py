"""Presets and scripted answers."""

import json
import os
import tomllib

import pytest

from council.agents import programs
from council.agents.settings import AgentSettings
from council.kernel.errors import Invalid


def lines(*events: dict[str, object]) -> str:
    return "".join(f"echo '{json.dumps(one)}'\n" for one in events)


CODEX = lines(
    {"type": "item.completed", "item": {"type": "agent_message", "text": "Yes."}},
    {"type": "turn.completed", "usage": {"input_tokens": 90, "output_tokens": 10}},
)


RETRY = {"type": "system", "subtype": "api_retry", "error_status": 401, "error": "auth"}
ENDED = [  # what does not end by itself, then code, text, words
    ("codex", f"cat >/dev/null\n{CODEX}", "", "Yes.", ""),  # it has finished
    ("claude", lines(RETRY, RETRY), "refused-key", "", "HTTP 401: auth"),  # it tries on
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "does", "code", "text", "words"), ENDED)
def test_what_would_only_be_waited_for_is_ended(bench, name, does, code, text, words):
    bench.program(f"{does}sleep 600", name)
    output = bench.run(preset=name)
    assert (output.code, output.text, output.words) == (code, text, words)


def test_opencode_may_not_write(bench):
    bench.program('printf "%s" "$OPENCODE_PERMISSION" > seen', "opencode")
    bench.run(preset="opencode")
    assert json.loads(bench.read("seen")) == {"bash": "deny", "edit": "deny"}


@pytest.mark.parametrize("name", sorted(programs.presets()))
def test_every_preset_gets_its_prompt_and_its_output_is_read(bench, name):
    """The program notes its arguments and what it can read; one of them is the whole prompt."""
    row = programs.presets()[name]
    notes = 'printf "%s\\n" "$@" > args; cat > read'
    notes += '; for a; do [ -f "$a" ] && cat "$a" > read; done; true'
    bench.program(notes, row.argv[0])
    prompt = "/clear is a word, mail me@example.org\nand {key} in a second line"
    assert bench.run(prompt, preset=name, model="m-1").code == "no-answer"
    told, given = bench.read("args"), bench.read("read")
    expected = f"Task:\n{prompt.replace('@', row.escape or '@')}"
    assert (expected in told) is (row.prompt == "argument")
    assert (given == expected) is (row.prompt != "argument")
    assert ("m-1" in told) is bool(row.model)


@pytest.mark.parametrize("name", ["claude", "codex", "llm"])
def test_a_program_that_takes_a_schema_gets_it(bench, name):
    schema = {"type": "object", "enum": ["agree"]}
    notes = 'for a; do [ -f "$a" ] && cat "$a" || echo "$a"; done >args'
    bench.program(f"cat >/dev/null; {notes}", name)
    for bench.place.schema in (schema, None):
        bench.run(preset=name)
        told, takes = bench.read("args"), bool(bench.place.schema) and name != "llm"
        assert (json.dumps(schema, separators=(",", ":")) in told) is takes
        assert ("schema" in told) is takes


def test_prompts_and_presets_that_cannot_be_taken():
    agent = AgentSettings(id="ada", preset="kimi")
    with pytest.raises(Invalid) as refused:
        programs.command(programs.preset_of(agent), agent, "x" * 200_000, {})
    assert refused.value.code == "context-full"
    with pytest.raises(Invalid, match="nonesuch"):
        programs.preset_of(AgentSettings(id="ada", preset="nonesuch"))


def test_known_programs_are_found_and_faults_are_named(bench):
    bench.program("true", "codex")
    bench.program("true", "claude")
    folder = f"{bench.root}/bin"
    os.chmod(f"{folder}/claude", 0o644)
    assert programs.found(folder) == ["codex"]
    for preset, code in (("codex", ""), ("claude", "missing-program"), ("odd", "bad-settings")):
        agent = AgentSettings(id="ada", driver="command", preset=preset)
        assert programs.fault(agent, {"PATH": folder}, str(bench.root))[0] == code


def test_every_failure_has_a_cure_in_both_languages():
    agent = AgentSettings(id="ada", preset="claude", model="m")
    with open(f"{os.path.dirname(programs.__file__)}/failures.toml", "rb") as file:
        codes = [*tomllib.load(file), "missing-program", "bad-settings", "timed-out", "crashed"]
    for lang in ("en", "fr"):
        cures = [programs.cure(code, agent, lang) for code in codes]
        assert all(cures) and not any("{" in one for one in cures)
        assert len(set(cures)) == len(codes)
    assert "claude, then /login" in programs.cure("refused-key", agent)
    assert programs.cure("nonesuch", agent) == ""
    own = AgentSettings(id="ada", argv=["prog"])
    assert "(prog), or set a valid key in its variable" in programs.cure("refused-key", own)
    server = AgentSettings(id="ada", driver="openai", base_url="http://s/v1")
    assert "http://s/v1" in programs.cure("no-answer", server)


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
def test_scripted_answers(bench, phase, tour, text, code, status):
    folder = bench.root / "memory/agents/ada"
    folder.mkdir(parents=True)
    (folder / "answers.md").write_text(SCRIPT)
    bench.place.variables = {"COUNCIL_PHASE": phase, "COUNCIL_TOUR": str(tour)}
    output = bench.run(driver="scripted")
    assert (output.text, output.code, output.status) == (text, code, status)


def test_an_agent_with_faults_or_without_a_program_is_not_run(bench):
    output = bench.run(argv=["true"], faults=["wrong"])
    assert (output.code, output.words) == ("bad-settings", "wrong")
    assert bench.run(driver="manual").code == "bad-settings"
