"""Well-known agent programs: how one is started, and what cures its failures."""

from __future__ import annotations

import os
import sys

from council.agents.settings import AgentSettings
from council.kernel.errors import Invalid
from council.kernel.record import Record
from council.kernel.words import load, table

_DRIVERS = ("openai", "openclaw")
_MOST_ARGUMENT = 120_000  # bytes; Linux takes one argument of 128 KiB at most


class Preset(Record, settled=True):
    """A row of `presets.toml`, which says what each field means."""

    argv: list[str] = []
    model: list[str] = ["--model", "{model}"]
    tail: list[str] = []
    schema: list[str] = []
    prompt: str = "stdin"
    output: str = "text"
    keys: list[str] = []
    places: list[str] = []
    set: dict[str, str] = {}
    escape: str = ""
    login: str = ""


def _rows() -> dict[str, Preset]:
    rows = table("agents/presets.toml")
    return {name: Preset.from_json(row) for name, row in rows.items()}


def presets() -> dict[str, Preset]:
    """Return all presets by name."""
    return {name: row for name, row in _rows().items() if name not in _DRIVERS}


def preset_of(agent: AgentSettings) -> Preset:
    """Return how an agent's program is started; its own `argv` and `output` come first.

    Invalid: It names no preset that there is, or no command.
    """
    if agent.driver == "openclaw":
        return _rows()["openclaw"]
    if agent.driver == "openai":
        row, is_own = _rows()["openai"], not agent.base_url
        keys = [agent.api_key_env] if agent.api_key_env else row.keys * is_own
        return row.copy(argv=[sys.executable, *row.argv[1:]], keys=keys, places=row.places * is_own)
    rows = presets() if agent.preset or agent.output else {}
    for name in (agent.preset, agent.output):
        if name not in (*rows, "", "text"):
            known = f"choose one of {', '.join(rows)}, or set argv"
            raise Invalid("bad-settings", f"agents.{agent.id}: no preset is called {name}", known)
    own = Preset(argv=agent.argv, model=[])
    row = own if agent.argv else rows.get(agent.preset, own)
    if not row.argv or not row.argv[0]:
        raise Invalid("bad-settings", f"agents.{agent.id}: no command", "set argv or preset")
    reader = rows[agent.output].output if agent.output in rows else agent.output
    return row.copy(output=reader or row.output)


def command(
    row: Preset, agent: AgentSettings, prompt: str, values: dict[str, str]
) -> tuple[list[str], str]:
    """Return the command of a run, and its prompt as the program takes it.

    `values` are what `{root}`, `{task}`, `{prompt_file}`, `{schema}`, `{schema_file}` and the like
    stand for; without `schema` the answer has no fixed form. A prompt too long for an argument is
    Invalid: `context-full`.
    """
    if row.escape:
        prompt = prompt.replace("@", row.escape)
    if agent.driver not in _DRIVERS and prompt.lstrip()[:1] in ("/", "-"):  # to some a command
        prompt = f"Task:\n{prompt}"
    if row.prompt == "argument" and len(prompt.encode("utf-8", "replace")) > _MOST_ARGUMENT:
        raise Invalid("context-full", "the prompt is too long for an argument of this program")
    told = {"agent": agent.id, "model": agent.model, "base_url": agent.base_url}
    told |= {**values, "prompt": prompt, "key": "".join(row.keys[:1])}
    form = row.schema if values.get("schema") else []
    parts = [*row.argv[1:], *(row.model if agent.model else []), *form, *row.tail]
    return [row.argv[0], *(_filled(part, told) for part in parts)], prompt


def _filled(text: str, values: dict[str, str]) -> str:
    """Return a text with its own placeholders filled; others, and those in values, stay."""
    import re  # late: `re` costs more than what else is here, and `tomllib` has it

    return re.sub(r"\{(\w+)\}", lambda one: values.get(one[1], one[0]), text)


def which(program: str, path: str, root: str = "/") -> str:
    """Return where a program is, "" where there is none that can be run."""
    for folder in [root] if "/" in program else path.split(":"):
        found = os.path.join(folder or ".", program)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""


def found(path: str) -> list[str]:
    """Return the presets of known programs on a search path, in the order of the table."""
    return [name for name, row in presets().items() if which(row.argv[0], path)]


def fault(agent: AgentSettings, environ: dict[str, str], root: str) -> tuple[str, str]:
    """Return why an agent cannot be run as it is, code and words; ("", "") where it can."""
    if agent.faults:
        return "bad-settings", agent.faults[0]
    if agent.driver == "openai":
        from importlib.util import find_spec  # late: of this driver only

        is_there = find_spec("openai") is not None
        return ("", "") if is_there else ("missing-program", "the Python package openai is missing")
    if agent.driver not in ("command", "openclaw"):
        return "", ""
    try:
        program = preset_of(agent).argv[0]
    except Invalid as error:
        return error.code, error.message
    path = environ.get("PATH") or os.defpath
    return ("", "") if which(program, path, root) else ("missing-program", f"not found: {program}")


def cure(code: str, agent: AgentSettings, lang: str = "en") -> str:
    """Return what a person does about a failure, as one sentence; "" where nothing is known."""
    rows, known = load(f"texts/cures-{lang}.txt"), _rows()
    row = known.get(agent.driver) or known.get(agent.preset, Preset())
    program = (agent.argv or row.argv or ["?"])[0]
    values = {"agent": agent.id, "program": program, "asked": agent.base_url or program}
    values |= {"login": row.login or values["asked"], "model": agent.model or "-"}
    values["key"] = agent.api_key_env or "".join((row.keys or agent.env)[:1]) or "its variable"
    return _filled(rows.get(code, ""), values)
