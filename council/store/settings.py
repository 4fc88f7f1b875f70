"""The settings of a workspace: `council.toml` as typed values.

This module decides what a setting may be and what holds when it is missing. It reads the
copy of the last good reading; where the file has changed since, `settings_reading` reads that.

Source: XC-012, XC-013, `cli.md` sections 4 and 5, `trust.md`, `store.md` section 7.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from council.core.agents import (
    DRIVERS,
    AgentSettings,
    is_base_url,
    is_engine_url,
    is_line,
    is_origin,
    is_private_url,
    is_rehearser,
    is_variable,
    with_default_port_left_out,
)
from council.core.bounds import MONEY, VERSIONS, ProtocolRules
from council.core.conversations.procedures import EARLY_STOPS, MAX_ROUNDS, Rules
from council.core.errors import CouncilError, InvalidInputError, UsageError
from council.core.ids import is_name
from council.core.record import Any, Record
from council.core.times import parse_duration, render_instant
from council.store import files
from council.store.paths import SETTINGS as SETTINGS_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Kind = tuple[str, Callable[[Any], bool], Callable[[Any], Any]]

SCHEMA_VERSION = 1
_REHEARSAL = os.path.join(os.path.dirname(os.path.dirname(__file__)), "demo", "rehearsal.md")
LANGUAGES = ("en", "fr")


class Relay(Record):
    """The table `[relay]`: whether rooms and accounts are kept here, or by a master elsewhere.

    Args:
        role: `master`; or `slave`, which asks the master about every turn.
        url: Where `council serve` of the master answers, "" for a master.
        token_env: The variable that holds the token which that wants.

    Source: DG-151, DG-152.
    """

    role: str = "master"
    url: str = ""
    token_env: str = "COUNCIL_RELAY_TOKEN"


class Serve(Record):
    """The table `[serve]`: the port of the pages, and where else than there a proxy shows them.

    Source: DL-066.
    """

    port: int = 8420
    origins: list[str] = []


class EngineSettings(Record):
    """The table `[engine]`: the database that several machines share a council by.

    Args:
        url: Where it is, as PostgreSQL writes it and without a password; "" for none.
        schema: The schema in which the council lies.
        machine: What this machine is called there, "" for its host name.

    Source: EN-002.
    """

    url: str = ""
    schema: str = "council"
    machine: str = ""


class Unread(Record):
    """Why `council.toml` cannot be read now, what to do, and of when the settings in force are.

    `at` is "" where that is not known.
    """

    message: str
    hint: str
    at: str = ""

    @property
    def words(self) -> str:
        """Return it in one line, as each command says it."""
        since = f", from {self.at}" if self.at else ""
        return f"{self.message}; using the last readable settings{since} ({self.hint})"


class Settings(Record):
    """Everything `council.toml` may say; each field has the value that holds without it.

    `faults` names what was not understood and is harmless. `unread` says why these are not what
    the file says now, None where they are. `hooks`, `paths`, `channels`, `bindings`, `routing`,
    `tasks` and `limits` are kept as they stand for those who use them.
    """

    schema_version: int = SCHEMA_VERSION
    language: str = ""
    coordinator: str = ""
    trust: str = "open"
    max_runs: int = 4
    run_timeout: timedelta = timedelta(seconds=120)
    preset_timeout: timedelta = timedelta(minutes=15)
    phase_timeout: timedelta = timedelta(hours=1)
    retry_backoff: tuple[timedelta, ...] = (timedelta(seconds=10), timedelta(seconds=60))
    max_text_bytes: int = 1024 * 1024
    force_network_fs: bool = False
    paths: dict[str, str] = {}
    limits: dict[str, Any] = {}
    hooks: dict[str, Any] = {}
    channels: dict[str, Any] = {}
    bindings: list[Any] = []
    routing: dict[str, Any] = {}
    tasks: dict[str, Any] = {}
    deliberation: Rules = Rules()
    protocol: ProtocolRules = ProtocolRules()
    relay: Relay = Relay()
    serve: Serve = Serve()
    engine: EngineSettings = EngineSettings()
    agents: dict[str, AgentSettings] = {}
    faults: list[str] = []
    unread: Unread | None = None

    def agent(self, agent_id: str) -> AgentSettings:
        """Return what the file says of an agent, the defaults when it says nothing."""
        if is_rehearser(agent_id) and agent_id not in self.agents:
            name = agent_id.capitalize().replace("-", " ")
            return AgentSettings(driver="scripted", answers=_REHEARSAL, name=name)
        return self.agents.get(agent_id) or AgentSettings()

    def timeout_of(self, agent: AgentSettings) -> timedelta:
        """Return the time limit of one run of an agent.

        Source: C0-076, `cli.md` section 5.
        """
        if agent.timeout is not None:
            return agent.timeout
        driver = DRIVERS.get(agent.implied_driver)
        takes_long = (driver and driver.takes_long) or (agent.preset and not agent.argv)
        return self.preset_timeout if takes_long else self.run_timeout


def load_settings(root: str) -> Settings:
    """Read the settings of the workspace at `root`; no file means the defaults.

    While the file cannot be read, those that it said last stay in force.

    Raises:
        InvalidInputError: The file is no TOML, or a value cannot be what it is, and no earlier
            settings are known.

    Source: FW-002.
    """
    copy, stamp = copy_in(root), stamp_of(root)
    if copy is not None and stamp and copy.stamp == stamp:
        with suppress(InvalidInputError):  # an earlier version may have allowed more
            return settings_of(copy.document)
    # What parses is loaded where the file has changed alone: nearly no command needs it.
    from council.store.settings_reading import read_settings

    settings, unread = read_settings(root, settings_of, copy)
    settings.unread = unread
    return settings


def language(settings: Settings, option: str, env: Mapping[str, str]) -> str:
    """Choose the language: the option, else the settings, else a French locale, else English.

    Raises:
        UsageError: The option names a language we do not speak.

    Source: XC-012.
    """
    if option:
        if option not in LANGUAGES:
            raise UsageError(f"no language {option!r}", f"choose one of: {', '.join(LANGUAGES)}")
        return option
    if settings.language:
        return settings.language
    locale = env.get("LC_ALL") or env.get("LC_MESSAGES") or env.get("LANG") or ""
    for mark in "_.@":
        locale = locale.partition(mark)[0]
    return "fr" if locale.lower() == "fr" else "en"


def settings_of(document: dict[str, Any]) -> Settings:
    """Turn the parsed file into values, all its faults found at once.

    Raises:
        InvalidInputError: At least one value cannot be what it is; each is named.
    """
    read = _Reader(document, "")
    settings = Settings(
        schema_version=read.take("schemaVersion", whole(1), SCHEMA_VERSION),
        **read.fields(Settings(), _SETTINGS),
        paths=read.inner("paths").each(_TEXT, ""),
        limits=_limits(read.inner("limits")),
        deliberation=_rules(read),
        protocol=_protocol(read),
        relay=_relay(read),
        serve=_serve(read),
        engine=_engine(read),
        agents=_agents(read),
    )
    newer = settings.schema_version > SCHEMA_VERSION
    if read.wrong and not newer:
        raise InvalidInputError(
            f"{SETTINGS_FILE}: {'; '.join(read.wrong)}", f"correct it in {SETTINGS_FILE}"
        )
    if newer:  # it may mean what we do not know: what can be read is, and nothing is written
        read.odd.append(
            f"schemaVersion is {settings.schema_version}; this council knows {SCHEMA_VERSION}"
        )
        read.odd += read.wrong
    settings.faults = [
        *(f"{SETTINGS_FILE}: {fault}" for fault in read.odd),
        *(f"{SETTINGS_FILE}: no setting is called {key}" for key in read.left),
    ]
    return settings


def _limits(read: _Reader) -> dict[str, Any]:
    """Read `[limits]`: whole numbers, but for the caps in dollars."""
    money = {name: read.take(name, _DOLLARS, 0.0) for name in MONEY if name in read.left}
    return money | read.each(whole(0), 0)


def _rules(read: _Reader) -> Rules:
    """Read `[deliberation]`: what holds for every deliberation that says nothing else."""
    table = read.inner("deliberation")
    stability = table.take("stability_stop", _FLAG, Rules().stability)
    rules = Rules(stability=stability, **table.fields(Rules(), _RULES))
    table.leave()
    return rules


def _protocol(read: _Reader) -> ProtocolRules:
    """Read `[protocol]`: what holds for agents that exchange messages of document 002."""
    table = read.inner("protocol")
    usual = ProtocolRules()
    versions = tuple(table.take("versions", _TEXTS, [])) or usual.versions
    if set(versions) - set(VERSIONS):
        table.fail("versions", f"a list of {' and '.join(VERSIONS)}")
    rules = ProtocolRules(versions=versions, **table.fields(usual, _PROTOCOL))
    table.leave()
    return rules


def _relay(read: _Reader) -> Relay:
    """Read `[relay]`, and the name that document 001 has for its role (DG-152)."""
    table, role = read.inner("relay"), read.take("dirigentRole", _RELAY["role"], "")
    relay = Relay(**table.fields(Relay(role=role or Relay().role), _RELAY))
    if role and role != relay.role:
        read.fail("dirigentRole", f"{relay.role}, as relay.role is")
    if relay.role == "slave" and not relay.url and not read.wrong:
        table.fail("url", "given, and a slave needs it: where council serve of its master answers")
    table.leave()
    return relay


def _serve(read: _Reader) -> Serve:
    table = read.inner("serve")
    serve = Serve(**table.fields(Serve(), _SERVE))
    table.leave()
    return serve


def _engine(read: _Reader) -> EngineSettings:
    table = read.inner("engine")
    engine = EngineSettings(**table.fields(EngineSettings(), _ENGINE))
    table.leave()
    return engine


def _agents(read: _Reader) -> dict[str, AgentSettings]:
    agents = {}
    for agent_id, table in read.take("agents", _TABLE, {}).items():
        where = f"agents.{agent_id}"
        if not is_name(agent_id):
            read.wrong.append(f"{where} is not a legal agent id")
        elif not isinstance(table, dict):
            read.wrong.append(f"{where} is not a table")
        else:
            agents[agent_id] = _agent(_Reader(table, where, read))
    return agents


def _agent(read: _Reader) -> AgentSettings:
    settings = AgentSettings(**read.fields(AgentSettings(), _AGENT))
    for name in settings.env:
        if not is_variable(name):
            read.fail("env", f"a list of names of variables (it has {name!r})")
    if settings.argv and not settings.argv[0]:
        read.fail("argv", "a command and its arguments (the command is empty)")
    settings.extra = dict(read.left)
    read.leave()
    return settings


class _Reader:
    """Takes typed values out of one table and collects what is wrong instead of stopping."""

    def __init__(self, table: Mapping[str, Any], where: str, parent: _Reader | None = None) -> None:
        self.left: dict[str, Any] = dict(table)
        self.where = where
        self.wrong: list[str] = parent.wrong if parent else []
        self.odd: list[str] = parent.odd if parent else []

    def fail(self, key: str, expected: str) -> None:
        place = f"{self.where}.{key}" if self.where else key
        self.wrong.append(f"{place} is not {expected}")

    def take(self, key: str, kind: _Kind, default: Any) -> Any:
        """Take a value of a kind, the default where there is none or a wrong one."""
        if key not in self.left:
            return default
        value = self.left.pop(key)
        expected, good, made = kind
        if good(value):
            return made(value)
        shown = repr(value)
        self.fail(key, f"{expected} (it is {shown if len(shown) < 60 else shown[:57] + '...'})")
        return default

    def fields(self, usual: Record, kinds: dict[str, _Kind | None]) -> dict[str, Any]:
        """Take fields by name, of the kind that is named or follows from the annotation.

        What is missing is as `usual`. A field with None for its kind is not taken.
        """
        by_name = {name: _BY_TYPE.get(type_) for name, type_ in usual._kinds.items()} | kinds
        taken = [(name, by_name[name]) for name in usual._fields]
        return {name: self.take(name, kind, getattr(usual, name)) for name, kind in taken if kind}

    def each(self, kind: _Kind, default: Any) -> dict[str, Any]:
        """Take whatever stands here, all of one kind."""
        return {key: self.take(key, kind, default) for key in tuple(self.left)}

    def inner(self, key: str) -> _Reader:
        return _Reader(self.take(key, _TABLE, {}), key, self)

    def leave(self) -> None:
        """Name what was not taken."""
        self.odd.extend(f"no setting is called {self.where}.{key}" for key in self.left)


def _is_duration(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(parse_duration(value))
    except CouncilError:
        return False


def _same(value: Any) -> Any:
    return value


def whole(least: int, most: int = 2**53 - 1) -> _Kind:
    """Return the kind of a whole number within bounds."""
    bounds = f"from {least}" + (f" to {most}" if most < 2**53 - 1 else "")
    return (
        f"a whole number {bounds}",
        lambda one: isinstance(one, int) and not isinstance(one, bool) and least <= one <= most,
        int,
    )


def _number(most: float) -> _Kind:
    return (
        f"a number from 0 to {most:g}",
        lambda one: isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= most,
        float,
    )


def one_of(*allowed: str) -> _Kind:
    """Return the kind of one of some words."""
    return f"one of {', '.join(allowed)}", lambda one: one in allowed, _same


def _list_of(what: str, kind: _Kind, made: Callable[[Any], Any]) -> _Kind:
    return what, lambda many: isinstance(many, list) and all(map(kind[1], many)), made


# What a value may be: said in words, asked of it, and what is made of it.
_TEXT: _Kind = ("a text", lambda one: isinstance(one, str) and "\0" not in one, _same)
_LINE: _Kind = ("a text of one line", lambda one: isinstance(one, str) and is_line(one), str.strip)
_NAME: _Kind = ("a name", lambda one: isinstance(one, str) and (not one or is_name(one)), _same)
_FLAG: _Kind = ("true or false", lambda one: isinstance(one, bool), _same)
_TABLE: _Kind = ("a table", lambda one: isinstance(one, dict), dict)
DURATION: _Kind = ("a duration like 90s, 15m or 1h", _is_duration, parse_duration)
_TEXTS = _list_of("a list of texts", _TEXT, list)

# What a field may be that is not named below, by its annotation.
_BY_TYPE = {
    "str": _TEXT,
    "bool": _FLAG,
    "list[str]": _TEXTS,
    **dict.fromkeys(("timedelta", "timedelta | None"), DURATION),
}
_SETTINGS: dict[str, _Kind | None] = {
    "language": one_of(*LANGUAGES),
    "coordinator": _NAME,
    "trust": one_of("open", "strict"),
    "max_runs": whole(1),
    "retry_backoff": _list_of(
        "a list of durations like 10s", DURATION, lambda many: tuple(map(parse_duration, many))
    ),
    "max_text_bytes": whole(1),
    "bindings": _list_of("a list of tables, each headed [[bindings]]", _TABLE, list),
    **dict.fromkeys(("hooks", "channels", "routing", "tasks"), _TABLE),
    **dict.fromkeys(("faults", "unread")),
}
_RULES: dict[str, _Kind | None] = {
    **dict.fromkeys(("stability", "advocate")),
    "max_rounds": whole(1, MAX_ROUNDS),
    "threshold": whole(0),
    "early_stop": one_of(*EARLY_STOPS),
    "alike": _number(1),
    "domination": _number(1000),
    "confidence_floor": whole(0, 5),
}
_DOLLARS: _Kind = (*_number(1_000_000)[:2], _same)
_PROTOCOL: dict[str, _Kind | None] = {"threshold": _number(1)}
_URL: _Kind = (
    "a URL such as http://127.0.0.1:11434/v1, without a key in it",
    lambda one: isinstance(one, str) and (not one or is_base_url(one)),
    _same,
)
_VARIABLE: _Kind = (
    "the name of a variable",
    lambda one: isinstance(one, str) and (not one or is_variable(one)),
    _same,
)
_RELAY: dict[str, Any] = {
    "role": one_of("master", "slave"),
    "url": (
        "a URL such as https://master.example, http only to this machine, without a key in it",
        lambda one: isinstance(one, str) and (not one or is_private_url(one)),
        _same,
    ),
    "token_env": ("the name of a variable", lambda one: bool(one) and _VARIABLE[1](one), _same),
}
_ORIGIN: _Kind = ("", lambda one: isinstance(one, str) and is_origin(one), _same)
_SERVE: dict[str, _Kind | None] = {
    "port": whole(0, 65535),
    "origins": _list_of(
        'a list such as ["https://council.example.org"]',
        _ORIGIN,
        lambda many: list(map(with_default_port_left_out, many)),
    ),
}
_LEGAL: _Kind = ("a legal name", lambda one: isinstance(one, str) and is_name(one), _same)
_ENGINE: dict[str, _Kind | None] = {
    "url": (
        "a URL such as postgresql://council@db.example/council, without a password in it",
        lambda one: isinstance(one, str) and (not one or is_engine_url(one)),
        _same,
    ),
    "schema": _LEGAL,
    "machine": _LEGAL,
}
_AGENT: dict[str, _Kind | None] = {
    **dict.fromkeys(("driver", "preset", "output"), _NAME),
    "answer": one_of("stdout", "tool"),
    **dict.fromkeys(("base_url", "gateway"), _URL),
    "api_key_env": _VARIABLE,
    **dict.fromkeys(("name", "emoji", "role", "model"), _LINE),
}


# --- The copy of what the file said when it was last read and good

CACHE_FILE = "memory/shared/.council/settings-cache.json"
CACHE_FORMAT = 1
# A file changed twice within one tick of the file system's clock seems unchanged the second time.
CLOCK_TICK_NS = 20_000_000


class Copy(Record):
    """The last good reading of the file; its stamp is [] where that proves nothing.

    As long as the stamp is that of the file the copy is read instead of it: parsing TOML costs a
    short command more than all its other work.
    """

    stamp: list[int]
    document: dict[str, Any]

    @property
    def since(self) -> str:
        """Return when the file was changed to what it says; "" where that is not known."""
        if not self.stamp:
            return ""
        return render_instant(datetime.fromtimestamp(self.stamp[0] // 10**9, UTC))


def stamp_of(root: str) -> list[int]:
    """Return what shows that `council.toml` has changed: times, size and inode; [] without one."""
    try:
        return stamp_from(os.stat(os.path.join(root, SETTINGS_FILE)))
    except OSError:
        return []


def is_settled(stamp: list[int]) -> bool:
    """Return true if a file with this stamp was not changed just now; so is one that is not there.

    A second change within the same tick of the clock leaves the stamp as it is.
    """
    return not stamp or not 0 <= age_s(*stamp[:2]) <= CLOCK_TICK_NS / 1e9


def is_kept(root: str) -> bool:
    """Return true if there is a copy, or no file to keep one of."""
    return os.path.lexists(os.path.join(root, CACHE_FILE)) or is_missing(root)


def stamp_from(found: os.stat_result) -> list[int]:
    """Return the stamp of a file."""
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]


def age_s(*instants_ns: int) -> float:
    """Return how long ago the last of some instants was."""
    return (time.time_ns() - max(instants_ns)) / 1e9


def is_missing(root: str) -> bool:
    """Return true if nothing at all is called `council.toml`."""
    return not os.path.lexists(os.path.join(root, SETTINGS_FILE))


def copy_in(root: str) -> Copy | None:
    """Return the last good reading, None where none is kept."""
    kept = files.json_object(files.content_of(os.path.join(root, CACHE_FILE))) or {}
    stamp, document = kept.get("key"), kept.get("document")
    if kept.get("format") != CACHE_FORMAT or not isinstance(document, dict):
        return None
    return Copy(stamp=stamp if isinstance(stamp, list) else [], document=document)
