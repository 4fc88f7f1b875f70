"""The settings of a workspace: `council.toml` as typed values, read anew by every command.

A file that cannot be read, or that holds a wrong value outside of the agents' tables, changes
nothing: the last readable one stays in force and `Settings.fault` says so. Unknown keys and faults
of one agent's table are named in `faults` and stop nobody else.
"""

from __future__ import annotations

from council import __version__
from council.kernel import codec, files, times
from council.kernel.errors import Invalid, Refusal
from council.kernel.ids import digest, is_name
from council.kernel.record import Any, Record, camel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.agents.souls import Soul

FILE = "council.toml"
LAST = "memory/shared/.council/settings-last.toml"
MOST_BYTES = 4 * 1024 * 1024
_MARK = f"# council {__version__} read this: "
DRIVERS = ("command", "openai", "manual", "scripted")
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
    """All that is known of an agent: its table in `council.toml`, then its SOUL.md, then defaults.

    Attributes:
        driver: One of `DRIVERS`; what its other keys mean where it is not named.
        argv: The command, in place of a preset's; `{prompt_file}`, `{agent}`, `{task}` are filled.
        output: The reader of what it prints (`readers.py`); "" is that of the preset.
        answer: `stdout`, or `tool` where it answers by `council respond` itself.
        answers: The file of a `scripted` agent, relative to the workspace.
        timeout: Seconds a run may take; 0 until `Settings.agent` has filled it.
        env: Names of further variables that its program sees.
        api_key_env: The variable that holds the key of its server.
        faults: Why it cannot be run as it is, one line each.
    """

    driver: str = ""
    preset: str = ""
    argv: list[str] = []
    output: str = ""
    answer: str = "stdout"
    answers: str = ""
    timeout: int = 0
    env: list[str] = []
    base_url: str = ""
    api_key_env: str = ""
    faults: list[str] = []

    def digest(self) -> str:
        """Return what changes when these settings are mended."""
        return digest(repr(self))[:16]


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


class Top(Record):
    """The keys above all tables; times in seconds."""

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


class Settings(Top):
    """Everything `council.toml` says; without it the defaults hold.

    Attributes:
        tables: The tables that other parts read themselves, as they are.
        agents: The agents' tables; `agent` completes one.
        faults: What was not understood and is harmless.
        fault: Why these are not what the file says now, "" where they are.
    """

    limits: Limits = Limits()
    channels: Channels = Channels()
    deliberation: Deliberation = Deliberation()
    tables: dict[str, Any] = {}
    agents: dict[str, AgentSettings] = {}
    faults: list[str] = []
    fault: str = ""

    def agent(self, ident: str, soul: Soul | None = None) -> AgentSettings:
        """Return the complete settings of an agent; without a table it answers by hand."""
        made = (self.agents.get(ident) or AgentSettings()).copy()
        made.id = ident
        if soul is not None:
            for key in Facts._kinds:
                setattr(made, key, getattr(made, key) or getattr(soul, key))
            made.faults += soul.faults
        made.name = made.name or ident.replace("-", " ").replace("_", " ").title()
        if not made.driver:
            by_program = "command" if made.argv or made.preset else ""
            made.driver = by_program or ("openai" if made.base_url else "")
            made.driver = made.driver or ("scripted" if made.answers else "manual")
        is_long = made.driver == "openai" or (made.preset and not made.argv)
        made.timeout = made.timeout or (LONG if is_long else self.run_timeout)
        if made.driver == "command" and not made.argv and not made.preset:
            made.faults.append(f"agents.{ident}: the driver command needs argv or preset")
        if made.driver == "openai" and not made.model:
            made.faults.append(f"agents.{ident}: the driver openai needs a model")
        return made


def load(root: str) -> Settings:
    """Return the settings in force.

    The last readable file is kept with what was read from it, as JSON in a first line: the parser
    of TOML is slow to import, so it is asked only about a file that has changed.

    Raises:
        Invalid: The file cannot be read, and there is no earlier one (`bad-settings`).
    """
    read, last = _kept(f"{root}/{LAST}")
    try:
        text = content(f"{root}/{FILE}")
        if text is not None and text == last and read is not None:
            return read
        if text is None and last is not None:
            raise _invalid("is missing")
        settings = parsed(text or b"")
    except Invalid as error:
        if last is None:
            raise _invalid(error.message) if error.code == "not-a-file" else error from None
        settings = read or parsed(last)
        settings.fault = f"{error.message}; the last readable settings are in force ({error.hint})"
        return settings
    if text is not None and (read is None or text != last):
        try:
            head = _MARK.encode() + codec.encoded(settings.to_json()) + b"\n"
        except (AttributeError, TypeError, ValueError):  # a date, say, in a table of others
            head = b""
        if head or text != last:
            _keep(f"{root}/{LAST}", head + text)
    return settings


def _keep(path: str, data: bytes) -> None:
    try:
        files.replace(path, data, 0o600)
    except OSError:
        return  # where nothing can be kept it is read in full each time


def _kept(path: str) -> tuple[Settings | None, bytes | None]:
    """Return the last readable settings, if this version kept them, and their file."""
    try:
        data = content(path, 4 * MOST_BYTES)
        head, _, text = (data or b"").partition(b"\n")
        if not head.startswith(_MARK.encode()):
            return None, data
        return Settings.from_json(codec.loads(head[len(_MARK) :])), text
    except Refusal:
        return None, None


def parsed(content: bytes) -> Settings:
    """Return the settings that the bytes of `council.toml` say.

    Raises:
        Invalid: They are no TOML, or a value cannot be what it is; each is named.
    """
    import tomllib  # late: quick commands need no parser

    try:
        text = content.decode("utf-8-sig")
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"is no TOML: {error}") from None
    made, wrong = Settings(), list[str]()
    agents = found.pop("agents", {})
    own = {name: found.pop(name, {}) for name in ("limits", "channels", "deliberation")}
    for name in [name for name in OTHERS if name in found]:
        made.tables[name] = found.pop(name)
    for name, table in [("agents", agents), *own.items(), *made.tables.items()]:
        if not isinstance(table, list if name == "bindings" else dict):
            raise _invalid(f"[{name}] is not a table")
    unknown = _take(made, Top, found, "", wrong)
    for name, table in own.items():
        unknown += _take(getattr(made, name), None, table, f"{name}.", wrong)
    for ident, table in agents.items():
        if not is_name(ident) or not isinstance(table, dict):
            unknown.append(f"agents.{ident}")
            continue
        agent = made.agents[ident] = AgentSettings()
        unknown += _take(agent, None, table, f"agents.{ident}.", agent.faults)
    if wrong:
        raise _invalid("; ".join(_lined(text, one) for one in wrong))
    made.faults = [f"{FILE}: unknown setting {_lined(text, key)}" for key in unknown]
    made.faults += [f"{FILE}: {_lined(text, f)}" for a in made.agents.values() for f in a.faults]
    return made


def _invalid(words: str) -> Invalid:
    return Invalid("bad-settings", f"{FILE} {words}", f"correct it in {FILE}")


def _take(
    made: Record, kind: type[Record] | None, found: dict[str, Any], where: str, wrong: list[str]
) -> list[str]:
    """Set the fields of a record from a table; return the keys that it does not know.

    Wrong values are named in `wrong` and leave the default.
    """
    unknown, kinds = [], (kind or type(made))._kinds
    names = {camel(name): name for name in kinds}
    for key, value in found.items():
        name = names.get(key, key)
        if name not in kinds or name in ("id", "faults"):
            unknown.append(f"{where}{key}")
            continue
        expected, make = KINDS.get(name) or KINDS[kinds[name]]
        try:
            setattr(made, name, make(value))
        except (ValueError, Refusal):
            wrong.append(f"{where}{key} must be {expected}, not {repr(value)[:60]}")
    return unknown


def _lined(text: str, words: str) -> str:
    """Return `words`, which begin with a key, with the line that alone has this key."""
    key = words.split(" ")[0].rpartition(".")[2]
    keys = [line.partition("=")[0].strip() for line in text.splitlines()]
    return f"{words} (line {keys.index(key) + 1})" if keys.count(key) == 1 else words


def _test(test: Any) -> Any:
    def made(value: Any) -> Any:
        if not test(value):
            raise ValueError
        return value

    return made


def _list(make: Any) -> Any:
    return lambda many: [make(one) for one in _test(lambda one: isinstance(one, list))(many)]


def _whole(least: int, most: int = 2**53) -> tuple[str, Any]:
    words = f"a whole number from {least}" + (f" to {most}" if most < 2**53 else "")
    return words, _test(lambda one: type(one) is int and least <= one <= most)


def _one_of(*words: str) -> tuple[str, Any]:
    return f"one of {', '.join(filter(None, words))}", _test(lambda one: one in words)


def _is_url(one: Any) -> bool:
    scheme, _, rest = one.partition("://") if isinstance(one, str) else ("", "", "")
    host = rest.partition("/")[0]
    is_plain = rest.isascii() and rest.isprintable() and not set(rest) & set(" ?#")
    return scheme in ("http", "https") and bool(host) and is_plain and "@" not in host


def _is_variable(one: Any) -> bool:
    return isinstance(one, str) and one.isascii() and one.isidentifier()


_line = _test(lambda one: isinstance(one, str) and len(one) < 4096 and not set(one) & set("\n\0"))
_name = "a name", _test(lambda one: isinstance(one, str) and (not one or is_name(one)))
_seconds = _test(lambda one: isinstance(one, str))
_time = (
    "a duration such as 90s, 15m or 1h",
    lambda one: int(times.duration(_seconds(one)).total_seconds()),
)
# What a value has to be, by the field's name, else by its kind.
KINDS: dict[str, tuple[str, Any]] = {
    "str": ("a text of one line", _line),
    "int": _whole(0),
    "float": ("an amount in dollars", _test(lambda one: type(one) in (int, float) and one >= 0)),
    "list[str]": ("a list of texts", _list(_line)),
    "language": _one_of("", "en", "fr"),
    "trust": _one_of("open", "strict"),
    "driver": _one_of(*DRIVERS),
    "answer": _one_of("stdout", "tool"),
    "env": ("a list of names of variables", _list(_test(_is_variable))),
    "api_key_env": ("the name of a variable", _test(_is_variable)),
    "base_url": ("a URL such as http://127.0.0.1:11434/v1, without a key in it", _test(_is_url)),
    "retry_backoff": ('a list of durations such as ["10s", "60s"]', _list(_time[1])),
    "max_rounds": _whole(1, 20),
    "confidence_floor": _whole(0, 5),
    **dict.fromkeys(("coordinator", "preset", "output"), _name),
    **dict.fromkeys(("max_runs", "max_text_bytes", "max_cycles", "tail_length"), _whole(1)),
    **dict.fromkeys(("run_timeout", "phase_timeout", "timeout"), _time),
    **dict.fromkeys(("turn_timeout", "delivery_timeout"), _time),
}


def content(path: str, most: int = MOST_BYTES) -> bytes | None:
    """Return a file's bytes, None where there is none; pipes, folders and links are refused.

    Raises:
        Invalid: It cannot be read, or is larger than `most` bytes (`not-a-file`).
    """
    try:
        found = files.read(path, most)
    except (OSError, Invalid) as error:
        why = error.message if isinstance(error, Invalid) else f"{path}: {error.strerror}"
        raise Invalid("not-a-file", why, "put a file there") from None
    return found[0] if found else None


def with_keys(text: str, table: str, keys: dict[str, Any]) -> str:
    """Return the text of a settings file in which a table says `keys`; all else stays.

    The table, e.g. `agents.ada`, is made at the end where it is not there. Values are texts,
    numbers, booleans, lists of these; None removes a key.

    Raises:
        Invalid: The result would be no TOML, e.g. where a value goes over several lines.
    """
    import json  # late: of such values JSON is TOML as well
    import tomllib  # late: only edits need it here

    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("[")]
    start = next((i for i in heads if lines[i].split("#")[0].strip() == f"[{table}]"), None)
    if start is None:
        lines += ["", f"[{table}]"] if lines and lines[-1].strip() else [f"[{table}]"]
        start = len(lines) - 1
    end = next((i for i in heads if i > start), len(lines))
    body = [s for s in lines[start + 1 : end] if s.partition("=")[0].strip() not in keys]
    own = [f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in keys.items() if v is not None]
    made = "\n".join([*lines[: start + 1], *own, *body, *lines[end:]]).rstrip("\n") + "\n"
    try:
        tomllib.loads(made)
    except ValueError:
        raise _invalid(f"cannot be edited: write [{table}] by hand: {'; '.join(own)}") from None
    return made
