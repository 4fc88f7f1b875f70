"""What may be in the way: how each cause is seen, for everybody who says it.

`status`, `status --problems`, `explain`, `doctor` and the live view say what is found here, in the
words of `texts/causes.txt`. A cause of the whole workspace is a line of `FINDERS`; one of a
conversation, room or context is found by the module that explains it (`reporting/explaining*`),
which calls `Explained.hinder`. Nothing is changed, no lock is taken.

Only what wants an action is a problem, and each says which. That nothing is found wrong does not
mean that agents say anything sensible.

Source: OP-011, `trust.md` (bounds).
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from datetime import timedelta
from importlib.util import cache_from_source

import council
from council.core.bounds import LIMITS
from council.core.delegation.delegation import DEFAULTS
from council.core.errors import CouncilError
from council.core.record import Any, Record
from council.core.rooms.identities import MODERATOR
from council.core.times import render_duration
from council.drivers.waking import look_up
from council.operations.place import Place
from council.operations.reporting.explain_words import say
from council.store.delegation.traces import held_notes
from council.store.extras import command_that_adds, extra_with
from council.store.files import is_shared
from council.store.paths import record_files
from council.store.tally import is_damaged
from council.store.texts import texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.clocks import Clock

STALE_BEAT = timedelta(minutes=45)
LATE_BEAT = timedelta(minutes=15)
AHEAD = timedelta(minutes=5)  # clocks of several machines differ by less
_LITTLE_ROOM_MIB = 64
_LAST_LINE_CHARS = 160

# Whose way out is an extra of council, and the module that is missing where none is named.
_LIBRARIES = {"no-library": "", "discord-library": "hikari"}

# Of these an agent waits in good order: `explain` says so, and they are no problem.
_BY_HAND = ("by-hand", "worker-by-hand", "turn-open", "refused")
_PASSES = ("asleep", "no-turns", "no-place", "busy", "locked", "beat-locked", "discord-limit")
PATIENCE = frozenset((*_BY_HAND, *_PASSES))

# By these a heartbeat should have done something, and none has.
OVERDUE = frozenset(("overdue", "not-woken", "late-task"))


class Cause(Record):
    """Something that is in the way.

    Attributes:
        code: Which one, as `texts/causes.txt` names it.
        where: The conversation, room, context, file or folder it is about, "" for none.
        agent: The agent it is about, "" for none.
        values: What stands in its sentences.
        log: Where to read more, "" for nowhere.
    """

    code: str
    where: str = ""
    agent: str = ""
    values: dict[str, Any] = {}
    log: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether a person has to do something; otherwise it is waited for in good order."""
        return self.code not in PATIENCE

    def said(self, lang: str = "en") -> str:
        """Return the sentence that says it."""
        return say(self.code, lang, self.values)

    def fix(self, lang: str = "en") -> str:
        """Return the way out."""
        values = self.values
        if self.code in _LIBRARIES:
            module = _LIBRARIES[self.code] or str(values.get("program", ""))
            values = {**values, "install": command_that_adds(extra_with(module))}
        return say(f"fix-{self.code}", lang, values)

    def line(self, lang: str = "en", about: str = "") -> str:
        """Return the sentence with what it is about, unless that is `about`."""
        said = self.said(lang)
        return said if self.where in ("", about) else f"{self.where}: {said}"

    def to_record(self, lang: str = "en") -> dict[str, Any]:
        """Return the JSON object of a cause, the same in every command."""
        told = self.as_json("code:what where? agent:agentId?")
        return {**told, "said": self.said(lang), "fix": self.fix(lang), "log": self.log or None}


def cause(code: str, where: str = "", agent: str = "", /, **values: Any) -> Cause:
    """Return a cause; its agent stands in its sentences, too."""
    if agent:
        values["agent"] = agent
    return Cause(code=code, where=where, agent=agent, values=values, log=values.get("log", ""))


def in_order(found: list[Cause]) -> list[Cause]:
    """Return causes sorted: what keeps most things from going on comes first."""
    codes = list(texts("causes")) if found else []
    return sorted(found, key=lambda one: (codes.index(one.code), one.where, one.agent))


def refusal(code: str, where: str, error: CouncilError, hint: str = "") -> Cause:
    """Return the cause that an unreadable file is; `hint` where it says no way out itself."""
    return cause(code, where, message=error.message, hint=error.hint or hint)


class Finding(Record):
    """One thing that was looked at.

    `cause` is what is wrong with it, None for nothing. What is not there and need not be is not
    `is_seen`: nothing is wrong, and nothing was seen to work.
    """

    what: str
    found: str
    cause: Cause | None = None
    is_seen: bool = True

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.cause is None

    @property
    def fix(self) -> str:
        """What to do where something is wrong."""
        return self.cause.fix() if self.cause else ""

    def to_record(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        code = self.cause.code if self.cause else None
        return {**self.as_json("what ok found fix?"), "cause": code}


def wrong(one: Cause) -> Finding:
    """Return the finding that a cause is."""
    return Finding(what=one.where or one.agent or one.code, found=one.said(), cause=one)


def of_workspace(place: Place) -> list[Cause]:
    """Return everything that is in the way of the whole workspace, or of one of its agents.

    The clock is not among it: that is in the way only of what is open (`of_clock`).
    """
    return [one for find in FINDERS for one in find(place)]


def of_clock(
    place: Place,
    *,
    overdue: bool,
    is_open: bool = True,
    known: list[Clock] | None = None,
    thorough: bool = False,
) -> list[Cause]:
    """Return what is wrong with the clock.

    Args:
        place: The workspace.
        overdue: Whether a heartbeat should have done something since.
        is_open: Whether anything is open: without that nobody waits for a heartbeat.
        known: The clocks that are meant for it, None to find them.
        thorough: Whether clocks are looked for also where a heartbeat of late shows one.
    """
    beat = place.last_beat()
    age = place.now() - beat if beat is not None else timedelta.max
    if not thorough and (not is_open or (age <= LATE_BEAT and not overdue)):
        return []
    from council.operations.clocks import clocks_of, is_late, live, removal, stale

    found = clocks_of(place) if known is None else known
    running = live(found)
    causes = []
    if is_late(place, running, STALE_BEAT) if running else is_open and (overdue or age > LATE_BEAT):
        told = {"clock": "" if running else "@no-clock", "age": max(age, timedelta(0))}
        causes.append(cause("old-heartbeat" if beat else "no-heartbeat", **told))
    for one in () if running else found:
        told = {"kind": one.kind, "why": f"@{one.fault}", **one.values}
        causes.append(cause("broken-clock", "clock", **told))
    for one in stale(place):
        told = {"kind": one.kind, "root": one.root, "old": removal(one)}
        new = "" if running else "council schedule --install"
        causes.append(cause("old-clock", "clock", new=new, **told))
    return causes


# --- Causes of the whole workspace, a function each


def free_mib(place: Place) -> int | None:
    """Return how many MiB are left for the workspace, None where that is unknown."""
    try:
        return shutil.disk_usage(place.paths.shared).free // 2**20
    except OSError:
        return None


def folders(place: Place) -> tuple[str, ...]:
    """Return the folders that every workspace has."""
    return place.paths.shared, place.paths.minutes, place.paths.agents


def _workspace(place: Place) -> Iterator[Cause]:
    from council.operations.heartbeat.gate import read_halt

    beat = place.last_beat()
    if beat is not None and beat - place.now() > AHEAD:
        yield cause("beat-ahead", at=beat)

    halt = read_halt(place)
    if halt is not None:
        yield cause("halted", since=halt.at, reason=halt.reason)
    free = free_mib(place)
    if free is not None and free < _LITTLE_ROOM_MIB:
        yield cause("disk-full", free=str(free))
    for folder in folders(place):
        if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
            where = f"{os.path.relpath(folder, place.root)}/"
            yield cause("folder-closed", where, path=shlex.quote(folder))
    for what, path in secrets(place).items():
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & ~key_mode(place) or not mode & 0o400:
            modes = {"mode": f"{mode:o}", "wanted": f"{key_mode(place):o}"}
            yield cause("key", what, **modes, path=shlex.quote(path))


def secrets(place: Place) -> dict[str, str]:
    """Return the files that are there and hold a secret of ours, by what they are called."""
    control = place.paths.control
    named = {"run key": place.paths.key, "page token": place.paths.web_token}
    named["mcp token"] = f"{control}/mcp-token"
    return {what: path for what, path in named.items() if os.path.exists(path)}


def key_mode(place: Place) -> int:
    """Return which rights the key may have: its owner's, in a shared workspace its group's, too."""
    return 0o660 if is_shared(os.path.dirname(place.paths.key)) else 0o600


def _settings(place: Place) -> Iterator[Cause]:
    from council.core.rooms.channels import floor_rules
    from council.operations.reporting.hooks import plan_of, troubles
    from council.store.protocol.task_settings import task_rules

    unread = place.settings.unread
    if unread is not None:
        message = unread.message.removeprefix("council.toml: ").replace("council.toml", "it", 1)
        told = {"message": message, "hint": unread.hint, "at": unread.at}
        yield cause("unread-settings", "council.toml", **told)
    faults = [*place.settings.faults]
    for read in (lambda: task_rules(place.settings), lambda: floor_rules(place.settings.channels)):
        try:
            read()
        except CouncilError as error:
            faults.append(error.message)
    for fault in faults:
        yield cause("setting", "council.toml", message=fault.removeprefix("council.toml: "))
    for name in place.settings.limits:
        if name not in LIMITS and name not in DEFAULTS:
            yield cause("no-such-limit", "limits", limit=name, known=[*LIMITS, *DEFAULTS])
    if place.settings.hooks:
        for fault in plan_of(place.settings.hooks).faults:
            yield cause("hook", "hooks", message=fault, hint="correct it in council.toml")
        for code, values in troubles(place):
            yield cause(code, "hooks", **values)


_ROUTING_FIXES = {
    "ambiguous": "make one more specific, or take one out; see: council route explain",
    "missing-agent": "correct agent in ‹‹bindings›› of council.toml, or: council agent add ID",
    "dm-scope": "name account or channel in the rule, or set dm_scope under ‹routing›",
}


def _routing(place: Place) -> Iterator[Cause]:
    if not place.settings.bindings and not place.settings.routing:
        return
    from council.operations.delegation.routing import rules, warnings

    try:
        rules(place)
        for one in warnings(place):
            yield cause("routing", "routing", message=one.said, hint=_ROUTING_FIXES[one.kind])
    except CouncilError as error:
        yield refusal("routing", "routing", error)


def _agents(place: Place) -> Iterator[Cause]:
    known = place.agents()
    for agent in map(place.agent, known):
        for fault in agent.faults:
            yield cause("soul", "", agent.id, message=fault)
        code, values = look_up(agent, place.root, place.environ)
        if code:
            yield cause(code, "", agent.id, **values)
    if MODERATOR in known:
        yield cause("moderator", MODERATOR, path=os.path.relpath(place.paths.agents, place.root))


def _bounds(place: Place) -> Iterator[Cause]:
    from council.operations.heartbeat.gate import reached_today, resting_agents

    for agent, lapse in resting_agents(place).items():
        told = {"until": lapse.until, "reason": lapse.reason}
        often = {"once": "@once"} if lapse.failures == 1 else {"failures": lapse.failures}
        yield cause("rests", "", agent, **told, **often)
    for cap in reached_today(place):
        yield cause("cap", cap=cap)
    if is_damaged(place.paths):
        yield cause("counts", "counts", path=os.path.relpath(place.paths.tally, place.root))


def _calls(place: Place) -> Iterator[Cause]:
    """Say which calls and messages their processes left behind."""
    for note in held_notes(place.paths, held=False):
        line = note.get("line")
        where = str(note.get("trace") or (line.get("trace") if isinstance(line, dict) else ""))
        yield cause("left-over", where, kind=note.get("kind"))


def _registry(place: Place) -> Iterator[Cause]:
    """Say who of those that exchange messages fell silent, or what is wrong with their list."""
    if not record_files(f"{place.paths.protocol}/registry.jsonl"):
        return
    from council.core.protocol.registry import EntryStatus
    from council.store.protocol.protocol_registry import load

    hint = "put back a copy of memory/shared/protocol/registry.jsonl, or move it away"
    try:
        entries = load(place.paths).here()
    except CouncilError as error:
        yield refusal("registry", "protocol", error, hint)
        return
    for one in entries:
        if one.status is EntryStatus.UNAVAILABLE and one.seen_at is not None:
            where = f"{one.id} ({one.agent})" if one.agent else one.id
            age = render_duration(place.now() - one.seen_at)
            yield cause("silent", where, one.agent, age=age, id=one.id)


def _identities(place: Place) -> Iterator[Cause]:
    from council.store.rooms import ego, identities

    where = os.path.relpath(place.paths.identities, place.root)
    try:
        for fault in identities.load(place.paths).faults:
            said = f"{where}: {fault}"
            yield cause("identities", "identities", message=said, hint="correct that entry")
    except CouncilError as error:
        yield refusal("identities", "identities", error)
    if os.path.lexists(place.paths.ego):
        try:
            ego.read(place.paths.ego)
        except CouncilError as error:
            hint = "correct it there; what was taken over stays"
            yield refusal("identity-source", "identity source", error, hint)


def _failures(place: Place) -> Iterator[Cause]:
    log = place.paths.failure_log
    try:
        if os.path.getsize(log):
            shown = os.path.relpath(log, place.root)
            yield cause("work-failed", "detached work", last=_last_line(log), log=shown)
    except OSError:
        return  # nothing has failed


def _last_line(path: str) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:_LAST_LINE_CHARS] if lines else ""


def _engine(place: Place) -> Iterator[Cause]:
    """Whether the engine is reached, and what waited for it or stood here and is not in it."""
    if place.engine is None:
        return
    from council.operations.engine.outgoing import refused
    from council.operations.engine.pulled import was_missed
    from council.store.engine.differing import kept_aside

    if was_missed(place):
        url = place.settings.engine.url
        yield cause("engine-away", "engine", url=url, machine=place.engine.machine)
    for file, why in refused(place):
        yield cause("kept-refused", "engine", why=why, file=os.path.relpath(file, place.root))
    for file in kept_aside(place.paths):
        yield cause("engine-parted", "engine", file=os.path.relpath(file, place.root))


def _bytecode(_place: Place) -> Iterator[Cause]:
    """Say when Python cannot keep what it compiled; where it can, it kept this module just now."""
    kept = cache_from_source(__file__)
    if os.path.exists(kept):
        return
    why = f"it cannot write in {os.path.dirname(kept)}"
    source = shlex.quote(os.path.dirname(council.__file__))
    fix = f"as a user that may write there: {sys.executable} -m compileall -q {source}"
    if sys.dont_write_bytecode:
        why, fix = "PYTHONDONTWRITEBYTECODE or -B forbids it", "unset PYTHONDONTWRITEBYTECODE"
    yield cause("bytecode", "start-up", why=why, fix=fix)


FINDERS = (
    _workspace,
    _settings,
    _routing,
    _agents,
    _bounds,
    _calls,
    _registry,
    _identities,
    _failures,
    _engine,
    _bytecode,
)
