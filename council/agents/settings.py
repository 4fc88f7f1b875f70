"""The settings of a workspace: `council.toml` as typed values, read anew by every command.

A file that cannot be read, or that holds a wrong value outside of the agents' tables, changes
nothing: the last readable one stays in force and `Settings.fault` says so. Unknown keys and faults
of one agent's table are named in `faults` and stop nobody else.
"""

from __future__ import annotations

import os

from council import __version__
from council.kernel import codec, files, times
from council.kernel.errors import Invalid, Refusal, Usage
from council.kernel.ids import digest, is_name
from council.kernel.record import TYPE_CHECKING, Any, Record, camel

if TYPE_CHECKING:
    from council.agents.souls import Soul

FILE = "council.toml"
LAST = "memory/shared/.council/settings-last.json"
MOST_BYTES = 4 * 1024 * 1024
LONG = 900  # seconds: presets of coding programs and model servers
# Tables that other parts read themselves.
OTHERS = ("tasks", "hooks", "relay", "serve", "paths", "engine", "bindings", "routing", "protocol")


class Facts(Record):
    """What settings and SOUL.md may both say of an agent."""

    id: str = ""
    name: str = ""
    emoji: str = ""
    role: str = ""
    model: str = ""
    capabilities: list[str] = []


class AgentSettings(Facts):
    """All that is known of an agent: its table in `council.toml`, then SOUL.md, then defaults."""

    driver: str = ""
    preset: str = ""
    argv: list[str] = []  # in place of a preset's; `{prompt_file}`, `{agent}`, `{task}` are filled
    output: str = ""  # the reader of what it prints (`readers.py`); "" is that of the preset
    answer: str = "stdout"  # or `tool` where it answers by `council respond` itself
    timeout: int = 0  # seconds a run may take; 0 until `Settings.agent` has filled it
    env: list[str] = []  # names of further variables that its program sees
    base_url: str = ""
    api_key_env: str = ""  # the name of the variable with its key
    context_limit: int = 0  # characters of a prompt that its model reads; 0 is the council's
    faults: list[str] = []  # why it cannot be run as it is, one line each

    def digest(self) -> str:
        """Return what changes when these settings are mended, or the program that is named."""
        named = [one for one in self.argv[:2] if one[:1] == "/" and os.path.isfile(one)]
        return digest(repr((self, [os.stat(one).st_mtime_ns for one in named])))[:16]


class Limits(Record):
    """The table `[limits]`; 0 is no bound. The last six are those of document 004."""

    max_runs_per_council: int = 40
    max_tokens_per_council: int = 1_000_000
    max_usd_per_council: float = 5.0
    max_runs_per_day: int = 0
    max_usd_per_day: float = 0.0
    failures_before_rest: int = 3
    rest_minutes: int = 30
    timeout_ms: int = 120_000
    max_depth: int = 3
    max_calls_per_trace: int = 8
    max_tool_calls: int = 24
    dedupe_window_ms: int = 60_000
    pair_rate_limit_per_minute: int = 6


class Channels(Record):
    """The table `[channels]`; times in seconds."""

    turn_timeout: int = 600
    max_cycles: int = 30
    max_repeats: int = 3
    tail_length: int = 40
    delivery_timeout: int = 15


class Deliberation(Record):
    """The table `[deliberation]`; a threshold of 0 is two thirds, a floor of 0 is off."""

    max_rounds: int = 5
    threshold: int = 0
    confidence_floor: int = 0


class Settings(Record):
    """Everything `council.toml` says; without it the defaults hold. Times are in seconds."""

    schema_version: int = 1
    language: str = ""
    coordinator: str = ""
    trust: str = "open"
    max_runs: int = 4
    run_timeout: int = 120
    retry_backoff: list[int] = [10, 60]
    phase_timeout: int = 3600
    max_text_bytes: int = 1024 * 1024
    context_limit: int = 200_000
    limits: Limits = Limits()
    channels: Channels = Channels()
    deliberation: Deliberation = Deliberation()
    tables: dict[str, Any] = {}  # those that other parts read themselves, as they are
    agents: dict[str, AgentSettings] = {}  # the agents' tables; `agent` completes one
    faults: list[str] = []  # what was not understood and is harmless
    fault: str = ""  # why these are not what the file says now, "" where they are

    def agent(self, ident: str, soul: Soul | None = None) -> AgentSettings:
        """Return the complete settings of an agent; without a table it answers by hand."""
        made = (self.agents.get(ident) or AgentSettings()).copy()
        made.id = ident
        if soul is not None:
            for key in Facts._kinds:
                setattr(made, key, getattr(made, key) or getattr(soul, key))
            made.faults += soul.faults
        made.name = made.name or ident.replace("-", " ").replace("_", " ").title()
        by_program = "command" if made.argv or made.preset else ""
        made.driver = made.driver or by_program or ("openai" if made.base_url else "manual")
        is_long = made.driver in ("openai", "openclaw") or (made.preset and not made.argv)
        made.timeout = made.timeout or (LONG if is_long else self.run_timeout)
        if made.driver == "openai" and not made.model:
            made.faults.append(f"agents.{ident}: the driver openai needs a model")
        return made


def load(root: str) -> Settings:
    """Return the settings in force.

    The last readable file is kept with what it says, as JSON: the parser of TOML is slow to import,
    so it is asked only about a file that has changed. Faults without an earlier file are Invalid.
    """
    text, last = "", None
    try:
        row = codec.loads(content(f"{root}/{LAST}", 8 * MOST_BYTES) or b"{}")
        text, is_ours = row["text"], row["version"] == __version__
        last = Settings.from_json(row["settings"]) if is_ours else parsed(text.encode())
    except (Refusal, LookupError, TypeError):
        pass  # nothing was kept
    try:
        data = content(f"{root}/{FILE}")
        if last is None:
            made = parsed(data or b"")
        elif data is None:
            raise _invalid("is missing")
        elif data == text.encode():
            return last
        else:
            made = parsed(data)
    except Refusal as error:
        if last is None:
            raise
        last.fault = f"{error.message}; the last readable settings are in force"
        return last
    row = {"version": __version__, "text": (data or b"").decode(), "settings": made.to_json()}
    try:
        if data is not None:
            files.replace(f"{root}/{LAST}", codec.encoded(row), 0o600)
    except OSError:
        return made  # where nothing can be kept it is read in full each time
    return made


def parsed(content: bytes) -> Settings:
    """Return the settings that `council.toml` says; Invalid names each value that cannot be."""
    import re  # late: the parser of TOML has it already
    import tomllib  # late: quick commands need no parser

    from council.kernel import words  # late: as above

    made, unknown, wrong = Settings(), list[str](), list[str]()
    checks = words.table("agents/values.toml")
    try:
        found = tomllib.loads(content.decode("utf-8-sig"))
        made.tables = {name: found.pop(name) for name in OTHERS if name in found}
        codec.encoded(made.tables)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"is no TOML: {error}") from None
    except TypeError:
        raise _invalid("has a date, which no setting is: write it as a text") from None
    agents, parts = found.pop("agents", {}), ("limits", "channels", "deliberation")
    own = {name: found.pop(name, {}) for name in parts}
    for name, table in [("agents", agents), *own.items(), *made.tables.items()]:
        if not isinstance(table, list if name == "bindings" else dict):
            raise _invalid(f"[{name}] is not a table")

    def take(to: Record, table: dict[str, Any], where: str, wrong: list[str]) -> None:
        """Set the fields of a record from a table; wrong values are named and leave the default."""
        names = {camel(name): name for name in to._kinds}
        for key, value in table.items():
            name = names.get(key, key)
            kind = checks["fields"].get(name, to._kinds.get(name, ""))
            if name not in to._kinds or kind not in checks["values"]:
                unknown.append(words.unknown(where, key, [*to._kinds, *OTHERS * (not where)]))
                continue
            said, form = checks["values"][kind]
            try:
                if not re.fullmatch(form, codec.dumps(value), re.A):
                    raise ValueError
                many = [_seconds(one) for one in value] if kind == "durations" else value
                setattr(to, name, _seconds(value) if kind == "duration" else many)
            except (TypeError, ValueError, Usage):
                wrong.append(f"{where}{key} must be {said}, not {repr(value)[:60]}")

    take(made, found, "", wrong)
    for name, table in own.items():
        take(getattr(made, name), table, f"{name}.", wrong)
    for ident, table in agents.items():
        if not is_name(ident) or not isinstance(table, dict):
            unknown.append(f"agents.{ident}")
            continue
        agent = made.agents[ident] = AgentSettings()
        take(agent, table, f"agents.{ident}.", agent.faults)
        if agent.faults and {"argv", "preset", "base_url"} & table.keys():
            agent.driver = agent.driver or "command"  # it is no person
    for name, keys in checks["keys"].items():
        odd = [key for key in made.tables.get(name, {}) if key not in keys]
        unknown += [words.unknown(f"{name}.", key, keys) for key in odd]
    for key in ("role", "dirigentRole"):  # a slave with a slip here would decide by itself
        if made.tables.get("relay", {}).get(key, "master") not in ("master", "slave"):
            wrong.append(f"relay.{key} must be one of master, slave")
    if wrong:
        raise _invalid("; ".join(wrong))
    made.faults = [f"{FILE}: unknown setting {key}" for key in unknown]
    made.faults += [f"{FILE}: {fault}" for a in made.agents.values() for fault in a.faults]
    return made


def _invalid(words: str) -> Invalid:
    return Invalid("bad-settings", f"{FILE} {words}", f"correct it in {FILE}")


def _seconds(text: str) -> int:
    return int(times.duration(text).total_seconds())


def content(path: str, most: int = MOST_BYTES) -> bytes | None:
    """Return a file's bytes, None where there is none; pipes, folders and links are refused."""
    return files.content(path, most)


def with_keys(text: str, table: str, keys: dict[str, Any]) -> str:
    """Return the text of a settings file in which a table says `keys`; all else stays.

    The table, e.g. `agents.ada`, is made at the end where it is not there. Values are texts,
    numbers, booleans, lists of these. Invalid: the result would be no TOML, e.g. where a value
    goes over several lines.
    """
    import json  # late: of such values JSON is TOML as well
    import tomllib  # late: only edits need it here

    lines, head = text.splitlines(), f"[{table}]"
    names = [line.split("#")[0].strip() for line in lines]
    if head not in names:
        return with_keys(f"{text.rstrip()}\n\n{head}\n".lstrip(), table, keys)
    at = names.index(head) + 1
    end = next((i for i in range(at, len(lines)) if lines[i].startswith("[")), len(lines))
    body = [line for line in lines[at:end] if line.partition("=")[0].strip() not in keys]
    own = [f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in keys.items()]
    made = "\n".join([*lines[:at], *own, *body, *lines[end:]]).rstrip("\n") + "\n"
    try:
        tomllib.loads(made)
    except ValueError:
        raise _invalid(f"cannot be edited: write {head} by hand: {'; '.join(own)}") from None
    return made
