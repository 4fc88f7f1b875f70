"""The settings of a workspace: `council.toml` as typed values.

This module decides what a setting may be and what holds when it is missing.
It never writes the file.

Reading TOML costs a short command more than all its other work, so the parsed
file is kept beside the store under the identity of the file it came from. A
copy that cannot be read or written is simply not used.

Source: XC-012, XC-013, `cli.md` sections 4 and 5, `trust.md`, `store.md` section 7.
"""

from __future__ import annotations

import json
import os
import stat
import time
from datetime import timedelta

from council.core.agents import AgentSettings, is_line
from council.core.conversations.procedures import EARLY_STOPS, MAX_ROUNDS, Rules
from council.core.errors import CouncilError, InvalidInputError, UsageError
from council.core.ids import is_name
from council.core.nesting import bounded_toml, read_json
from council.core.protocol.protocol_rules import VERSIONS, ProtocolRules
from council.core.record import Record
from council.core.times import parse_duration
from council.store import files
from council.store.paths import SETTINGS as SETTINGS_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    _Value = TypeVar("_Value")
    _Test = Callable[[Any], bool]
    from typing import Any

SCHEMA_VERSION = 1
LANGUAGES = ("en", "fr")

_VARIABLE_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_VARIABLE_REST = _VARIABLE_START | frozenset("0123456789")


class Settings(Record):
    """Everything `council.toml` may say; each field has the value that holds without it.

    `faults` names what was not understood and is harmless. `hooks`, `paths`,
    `channels`, `bindings`, `routing`, `tasks` and `limits` are kept as they stand for those
    who use them.
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
    limits: dict[str, int] = {}
    hooks: dict[str, Any] = {}
    channels: dict[str, Any] = {}
    bindings: list[Any] = []
    routing: dict[str, Any] = {}
    tasks: dict[str, Any] = {}
    deliberation: Rules = Rules()
    protocol: ProtocolRules = ProtocolRules()
    agents: dict[str, AgentSettings] = {}
    faults: list[str] = []

    def agent(self, agent_id: str) -> AgentSettings:
        """Return what the file says of an agent, the defaults when it says nothing."""
        return self.agents.get(agent_id) or AgentSettings()

    def timeout_of(self, agent: AgentSettings) -> timedelta:
        """Return the time limit of one run of an agent.

        Source: C0-076, `cli.md` section 5.
        """
        if agent.timeout is not None:
            return agent.timeout
        return self.preset_timeout if agent.preset and not agent.argv else self.run_timeout


def load_settings(root: str) -> Settings:
    """Read the settings of the workspace at `root`; no file means the defaults.

    Raises:
        InvalidInputError: The file is no TOML, or a value cannot be what it is.
    """
    document = read_settings_file(root)
    return Settings() if document is None else settings_of(document)


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
        schema_version=read.whole("schemaVersion", SCHEMA_VERSION, 1),
        language=read.choice("language", "", LANGUAGES),
        coordinator=read.name("coordinator"),
        trust=read.choice("trust", "open", ("open", "strict")),
        max_runs=read.whole("max_runs", 4, 1),
        run_timeout=read.duration("run_timeout") or timedelta(seconds=120),
        preset_timeout=read.duration("preset_timeout") or timedelta(minutes=15),
        phase_timeout=read.duration("phase_timeout") or timedelta(hours=1),
        retry_backoff=read.durations("retry_backoff", ["10s", "60s"]),
        max_text_bytes=read.whole("max_text_bytes", 1024 * 1024, 1),
        force_network_fs=read.flag("force_network_fs", False),
        paths=read.text_table("paths"),
        limits=read.whole_table("limits"),
        hooks=read.table("hooks"),
        channels=read.table("channels"),
        bindings=read.tables("bindings"),
        routing=read.table("routing"),
        tasks=read.table("tasks"),
        deliberation=_rules(read),
        protocol=_protocol(read),
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


def _rules(read: _Reader) -> Rules:
    """Read `[deliberation]`: what holds for every deliberation that says nothing else."""
    table = _Reader(read.table("deliberation"), "deliberation", read)
    usual = Rules()
    rules = Rules(
        max_rounds=table.whole("max_rounds", usual.max_rounds, 1, MAX_ROUNDS),
        threshold=table.whole("threshold", usual.threshold, 0),
        early_stop=table.choice("early_stop", usual.early_stop, EARLY_STOPS),
        stability=table.flag("stability_stop", usual.stability),
        alike=table.number("alike", usual.alike, 1),
        domination=table.number("domination", usual.domination, 1000),
        confidence_floor=table.whole("confidence_floor", 0, 0, 5),
        anonymous=table.flag("anonymous", False),
        search=table.flag("search", False),
        verify=table.flag("verify", False),
    )
    read.odd.extend(f"no setting is called deliberation.{key}" for key in table.left)
    return rules


def _protocol(read: _Reader) -> ProtocolRules:
    """Read `[protocol]`: what holds for agents that exchange messages of document 002."""
    table = _Reader(read.table("protocol"), "protocol", read)
    usual = ProtocolRules()
    versions = tuple(table.texts("versions")) or usual.versions
    if set(versions) - set(VERSIONS):
        table.fail("versions", f"a list of {' and '.join(VERSIONS)}")
    rules = ProtocolRules(
        threshold=table.number("threshold", usual.threshold, 1),
        liveness_cycle=table.duration("liveness_cycle") or usual.liveness_cycle,
        liveness_timeout=table.duration("liveness_timeout") or usual.liveness_timeout,
        versions=versions,
        signed=table.flag("signed", usual.signed),
    )
    read.odd.extend(f"no setting is called protocol.{key}" for key in table.left)
    return rules


def _agents(read: _Reader) -> dict[str, AgentSettings]:
    agents = {}
    for agent_id, table in read.table("agents").items():
        where = f"agents.{agent_id}"
        if not is_name(agent_id):
            read.wrong.append(f"{where} is not a legal agent id")
        elif not isinstance(table, dict):
            read.wrong.append(f"{where} is not a table")
        else:
            agents[agent_id] = _agent(_Reader(table, where, read))
    return agents


def _agent(read: _Reader) -> AgentSettings:
    settings = AgentSettings(
        driver=read.name("driver"),
        argv=read.texts("argv"),
        preset=read.name("preset"),
        answer=read.choice("answer", "stdout", ("stdout", "tool")),
        timeout=read.duration("timeout"),
        env=read.texts("env"),
        answers=read.text("answers"),
        workspace=read.text("workspace"),
        name=read.line("name"),
        emoji=read.line("emoji"),
        role=read.line("role"),
        model=read.line("model"),
        persona=read.text("persona"),
        capabilities=read.texts("capabilities"),
        handles=read.texts("handles"),
    )
    for name in settings.env:
        if not name or name[0] not in _VARIABLE_START or set(name) - _VARIABLE_REST:
            read.fail("env", f"a list of names of variables (it has {name!r})")
    if settings.argv and not settings.argv[0]:
        read.fail("argv", "a command and its arguments (the command is empty)")
    settings.extra = dict(read.left)
    read.odd.extend(f"no setting is called {read.where}.{key}" for key in read.left)
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

    def _take(
        self, key: str, default: _Value, expected: str, good: Callable[[Any], bool]
    ) -> _Value:
        if key not in self.left:
            return default
        value: _Value = self.left.pop(key)
        if good(value):
            return value
        shown = repr(value)
        self.fail(key, f"{expected} (it is {shown if len(shown) < 60 else shown[:57] + '...'})")
        return default

    def text(self, key: str) -> str:
        return self._take(key, "", "a text", _is_text)

    def line(self, key: str) -> str:
        return self._take(key, "", "a text of one line", _is_line).strip()

    def name(self, key: str) -> str:
        return self._take(
            key, "", "a name", lambda one: one == "" or (_is_text(one) and is_name(one))
        )

    def choice(self, key: str, default: str, allowed: tuple[str, ...]) -> str:
        return self._take(key, default, f"one of {', '.join(allowed)}", lambda one: one in allowed)

    def whole(self, key: str, default: int, least: int, most: int = 2**53 - 1) -> int:
        bounds = f"from {least}" + (f" to {most}" if most < 2**53 - 1 else "")
        return self._take(
            key,
            default,
            f"a whole number {bounds}",
            lambda one: _is_number(one) and isinstance(one, int) and least <= one <= most,
        )

    def number(self, key: str, default: float, most: float) -> float:
        expected = f"a number from 0 to {most:g}"
        return float(
            self._take(key, default, expected, lambda one: _is_number(one) and 0 <= one <= most)
        )

    def flag(self, key: str, default: bool) -> bool:
        return self._take(key, default, "true or false", lambda one: isinstance(one, bool))

    def duration(self, key: str) -> timedelta | None:
        expected = "a duration like 90s, 15m or 1h"
        value: str | None = self._take(key, None, expected, _is_duration)
        return None if value is None else parse_duration(value)

    def durations(self, key: str, default: list[str]) -> tuple[timedelta, ...]:
        values = self._take(key, default, "a list of durations like 10s", _all(_is_duration))
        return tuple(map(parse_duration, values))

    def texts(self, key: str) -> list[str]:
        return list(self._take(key, list[str](), "a list of texts", _all(_is_text)))

    def table(self, key: str) -> dict[str, Any]:
        value: dict[str, Any] = self._take(key, {}, "a table", _is_table)
        return dict(value)

    def tables(self, key: str) -> list[Any]:
        expected = f"a list of tables, each headed [[{key}]]"
        value: list[Any] = self._take(key, [], expected, _all(_is_table))
        return list(value)

    def text_table(self, key: str) -> dict[str, str]:
        table = _Reader(self.table(key), key, self)
        return {one: table.text(one) for one in tuple(table.left)}

    def whole_table(self, key: str) -> dict[str, int]:
        table = _Reader(self.table(key), key, self)
        return {one: table.whole(one, 0, 0) for one in tuple(table.left)}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_line(value: object) -> bool:
    return isinstance(value, str) and is_line(value)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _all(good: _Test) -> _Test:
    return lambda many: isinstance(many, list) and all(map(good, many))


def _is_duration(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parse_duration(value)
    except CouncilError:
        return False
    return True


CACHE_FILE = "memory/shared/.council/settings-cache.json"

_CACHE_FORMAT = 1
_MAX_FILE_BYTES = 4 * 1024 * 1024
# A file changed twice within one tick of the file system's clock looks unchanged the second time.
_CLOCK_TICK_NS = 20_000_000


def read_settings_file(root: str) -> dict[str, Any] | None:
    """Return what `council.toml` under `root` says, None where there is none.

    Raises:
        InvalidInputError: It cannot be read, or is no TOML.
    """
    path = os.path.join(root, SETTINGS_FILE)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(error) from None
    cache = os.path.join(root, CACHE_FILE)
    document = _cached(cache, _key(found))
    if document is None:
        document, key = _parsed(path)
        _remember(cache, key, document)
    return document


def _unreadable(error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"{SETTINGS_FILE} cannot be read: {error.strerror or error}",
        "it must be a plain file that this user may read",
    )


def _key(found: os.stat_result) -> list[int]:
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]


def _parsed(path: str) -> tuple[dict[str, Any], list[int]]:
    """Parse the file itself, and say to which state of it the result belongs."""
    import tomllib

    try:
        # Without O_NONBLOCK a FIFO of that name would hold every command for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise InvalidInputError(f"{SETTINGS_FILE} is not a plain file")
            content = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _unreadable(error) from None
    if len(content) > _MAX_FILE_BYTES:
        raise InvalidInputError(f"{SETTINGS_FILE} is larger than {_MAX_FILE_BYTES} bytes")
    try:
        document = tomllib.loads(bounded_toml(content.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise InvalidInputError(f"{SETTINGS_FILE} is not UTF-8", "save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{SETTINGS_FILE} is not TOML: {error}", f"correct it in {SETTINGS_FILE}"
        ) from None
    # TOML knows dates and JSON does not: both ways in must give the same values.
    normal: dict[str, Any] = json.loads(json.dumps(document, default=str))
    return normal, _key(found)


def _cached(cache: str, key: list[int]) -> dict[str, Any] | None:
    try:
        with open(os.open(cache, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            kept = read_json(file.read())
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict) or kept.get("format") != _CACHE_FORMAT or kept.get("key") != key:
        return None
    document = kept.get("document")
    return document if isinstance(document, dict) else None


def _remember(cache: str, key: list[int], document: dict[str, Any]) -> None:
    content = json.dumps({"format": _CACHE_FORMAT, "key": key, "document": document})
    temporary = ""
    # A file written twice within a tick of the clock may look the same: wait the tick out.
    young_ns = _CLOCK_TICK_NS - (time.time_ns() - max(key[:2]))
    if 0 < young_ns <= _CLOCK_TICK_NS:
        time.sleep(young_ns / 1e9 + 0.005)
    try:
        temporary, descriptor = files.open_temporary(
            os.path.dirname(cache), content.encode("utf-8"), mode=0o600, like=None
        )
        with open(descriptor, "rb") as file:
            settled = os.fstat(file.fileno()).st_mtime_ns - max(key[:2]) > _CLOCK_TICK_NS
        if settled:
            os.replace(temporary, cache)
        else:
            files.remove(temporary)
    except OSError:
        files.remove(temporary)
