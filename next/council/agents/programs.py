"""Well-known agent programs: how one is started, and what cures its failures."""

from __future__ import annotations

import os

from council.agents.settings import AgentSettings
from council.kernel.errors import Invalid
from council.kernel.record import Any, Record

_HERE = os.path.dirname(os.path.abspath(__file__))
_MOST_ARGUMENT = 120_000  # bytes; Linux takes one argument of 128 KiB at most


class Preset(Record, settled=True):
    """A row of `presets.toml`, which says what each field means."""

    argv: list[str] = []
    model: list[str] = ["--model", "{model}"]
    tail: list[str] = []
    prompt: str = "stdin"
    output: str = "text"
    keys: list[str] = []
    places: list[str] = []
    set: dict[str, str] = {}
    escape: str = ""
    again: list[str] = []
    login: str = ""


class Start(Record):
    """How a run is started: the command, its prompt as the program takes it, the reader."""

    argv: list[str]
    prompt: str
    preset: Preset
    output: str


def presets() -> dict[str, Preset]:
    """Return all presets by name."""
    import tomllib  # late: only runs, init and doctor need the rows

    with open(f"{_HERE}/presets.toml", "rb") as file:
        return {name: Preset.from_json(row) for name, row in tomllib.load(file).items()}


def start(agent: AgentSettings, prompt: str, values: dict[str, str]) -> Start:
    """Return how an agent's program is started, given its `argv` or `preset`.

    `values` are what `{root}`, `{agent}`, `{task}`, `{prompt_file}` stand for.

    Raises:
        Invalid: There is no such preset (`bad-settings`), or the prompt is too long for an
            argument (`context-full`).
    """
    rows = presets() if agent.preset or agent.output else {}
    for name in filter(None, (agent.preset, agent.output)):
        if name not in rows and name != "text":
            known = f"choose one of {', '.join(rows)}, or set argv"
            raise Invalid("bad-settings", f"agents.{agent.id}: no preset is called {name}", known)
    row = Preset() if agent.argv else rows.get(agent.preset, Preset())
    output = agent.output or row.output
    output = rows[output].output if output in rows else output
    if row.escape:
        prompt = prompt.replace("@", row.escape)
    if prompt.lstrip()[:1] in ("/", "-"):  # a command or an option to some programs
        prompt = f"Task:\n{prompt}"
    if row.prompt == "argument" and len(prompt.encode("utf-8", "replace")) > _MOST_ARGUMENT:
        raise Invalid("context-full", "the prompt is too long for an argument of this program")
    model = [part.replace("{model}", agent.model) for part in row.model] if agent.model else []
    argv = agent.argv or [*row.argv, *model, *row.tail]
    if not argv or not argv[0]:
        raise Invalid("bad-settings", f"agents.{agent.id}: no command", "set argv or preset")
    told = {**values, "prompt": prompt}
    argv = [argv[0], *(_filled(part, told) for part in argv[1:])]
    if "/" in argv[0]:
        argv[0] = os.path.join(values["root"], argv[0])
    return Start(argv=argv, prompt=prompt, preset=row, output=output)


def _filled(argument: str, values: dict[str, str]) -> str:
    """Return an argument with its placeholders filled once; other braces stay."""
    first, *others = argument.split("{")
    for other in others:
        name, closed, rest = other.partition("}")
        is_known = closed and name in values
        first += values[name] + rest if is_known else "{" + other
    return first


def answer_of(text: str, preset: Preset) -> str:
    """Return an answer without what was put into its prompt for the program."""
    return text.replace(preset.escape, "@") if preset.escape else text


def which(program: str, path: str, root: str = "/") -> str:
    """Return where a program is, "" where there is none that can be run."""
    where = [root] if "/" in program else path.split(":")
    for folder in where:
        found = os.path.join(folder or ".", program)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""


def found(path: str) -> dict[str, str]:
    """Return the known programs on a search path: preset to file, in the order of the table."""
    places = {name: which(row.argv[0], path) for name, row in presets().items()}
    return {name: place for name, place in places.items() if place}


def fault(agent: AgentSettings, environ: dict[str, str], root: str) -> tuple[str, str]:
    """Return why an agent cannot be run as it is, code and words; ("", "") where it can."""
    if agent.faults:
        return "bad-settings", agent.faults[0]
    if agent.driver == "openai":
        from importlib.util import find_spec  # late: of this driver only

        is_there = find_spec("openai") is not None
        return ("", "") if is_there else ("missing-program", "the Python package openai is missing")
    if agent.driver != "command":
        return "", ""
    try:
        program = start(agent, "", {"root": root}).argv[0]
    except Invalid as error:
        return error.code, error.message
    path = environ.get("PATH") or os.defpath
    return ("", "") if which(program, path, root) else ("missing-program", f"not found: {program}")


def cure(code: str, agent: AgentSettings, lang: str = "en") -> str:
    """Return what a person does about a failure, as one sentence; "" where nothing is known."""
    name = lang if lang in ("en", "fr") else "en"
    with open(f"{_HERE}/../texts/cures-{name}.txt", encoding="utf-8") as file:
        rows = dict(line.rstrip("\n").split(": ", 1) for line in file if ": " in line)
    row: Any = presets().get(agent.preset) if agent.preset else None
    values = {
        "agent": agent.id,
        "program": (agent.argv or (row.argv if row else None) or ["?"])[0],
        "login": row.login if row and row.login else agent.api_key_env or "-",
        "key": agent.api_key_env or (row.keys[0] if row and row.keys else "OPENAI_API_KEY"),
        "model": agent.model or "-",
    }
    return _filled(rows.get(code, ""), values)
