"""Finding faults of a workspace before they hurt, each with its fix.

Source: `cli.md` section 2 (`doctor`), P8-075, P8-059.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from datetime import timedelta
from importlib.util import cache_from_source

import council
from council.core.conversations.conversation import Conversation
from council.core.delegation.policies import EVERYBODY
from council.core.errors import CouncilError
from council.core.step import Step
from council.core.times import render_duration
from council.drivers.presets import PRESETS
from council.drivers.registry import DRIVERS
from council.operations.conversations.checking import check
from council.operations.examining.finding import Finding
from council.operations.place import Place
from council.store.agents import agent as agent_of
from council.store.agents import known_agents
from council.store.delegation.policies import policy_path, read_policy
from council.store.delegation.traces import damaged_notes, read_trace, traces
from council.store.files import TO_SHARE, is_shared, make_folder, user_name
from council.store.sharing import group_of, misfits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.agents import Agent

# --- What `doctor` says of delegation: policies and ledgers


def examine_delegation(place: Place) -> list[Finding]:
    """Look at who may call whom, and at what was counted."""
    return [*_policies(place), *_ledgers(place)]


def _policies(place: Place) -> list[Finding]:
    known = known_agents(place.root, place.settings)
    found = []
    for agent in known:
        if not os.path.lexists(policy_path(place.paths, agent)):
            continue
        what = f"policy of {agent}"
        try:
            policy = read_policy(place.paths, agent)
        except CouncilError as error:
            found.append(Finding(what=what, ok=False, found=error.message, fix=error.hint))
            continue
        named = {*policy.call.allow, *policy.call.deny, *policy.message.allow}
        named |= set(policy.message.deny)
        strangers = sorted(named - {*known, EVERYBODY})
        odd = [*policy.odd, *(f"it names {one}, who is no agent here" for one in strangers)]
        fix = "correct it, if that is a slip"
        found += [Finding(what=what, ok=False, found=one, fix=fix) for one in odd]
    return found


def _ledgers(place: Place) -> list[Finding]:
    found = []
    for trace in traces(place.paths):
        try:
            read_trace(place.paths, trace)
        except CouncilError as error:
            finding = Finding(what="calls", ok=False, found=error.message, fix=error.hint)
            found.append(finding)
    found += [
        Finding(
            what="calls",
            ok=False,
            found=f"{os.path.relpath(path, place.root)} tells of a call and cannot be understood",
            fix="read it, then remove it",
        )
        for path in damaged_notes(place.paths)
    ]
    return found


# --- Faults of the rules that choose agents: for `doctor`

_WHAT = "routing"
_AMBIGUOUS = "make one more specific, or take one out; see: council route explain"
_FIXES = {
    "ambiguous": _AMBIGUOUS,
    "missing-agent": "correct agent in [[bindings]] of council.toml, or: council agent add ID",
    "dm-scope": "name account or channel in the rule, or set dm_scope under [routing]",
}


def examine_routing(place: Place) -> list[Finding]:
    """Return what is wrong with `[[bindings]]`; nothing where there are none."""
    if not place.settings.bindings and not place.settings.routing:
        return []
    from council.operations.delegation.routing import rules, warnings

    try:
        known, found = rules(place), warnings(place)
    except CouncilError as error:
        return [Finding(what=_WHAT, ok=False, found=error.message, fix=error.hint)]
    if not found:
        told = "1 rule" if len(known) == 1 else f"{len(known)} rules"
        return [Finding(what=_WHAT, ok=True, found=told)]
    return [Finding(what=_WHAT, ok=False, found=one.said, fix=_FIXES[one.kind]) for one in found]


STALE_BEAT = timedelta(minutes=45)


def examine(place: Place, *, repair: bool = False, probe: bool = False) -> list[Finding]:
    """Look at everything that can be wrong.

    Args:
        place: The workspace.
        repair: Mend what can be mended safely.
        probe: Run each agent that is a program once; it costs what its answer costs.
    """
    from council.operations.examining.doctor_running import examine_running
    from council.operations.examining.doctor_stores import (
        examine_artifacts,
        examine_protocol,
        examine_rooms,
    )

    findings = []
    if probe:
        from council.operations.examining.probe import probe as try_agents

        findings = try_agents(place)
    return [
        *_folders(place, repair),
        *_settings(place),
        *_agents(place),
        *examine_routing(place),
        *_conversations(place, repair),
        *examine_rooms(place),
        *examine_protocol(place),
        *_heartbeat(place),
        *examine_running(place, repair=repair),
        *examine_delegation(place),
        *examine_artifacts(place, repair=repair),
        *_failures(place),
        *_bytecode(),
        *findings,
    ]


def _folders(place: Place, repair: bool) -> list[Finding]:
    findings = []
    for folder in (place.paths.shared, place.paths.minutes, place.paths.agents):
        name = os.path.relpath(folder, place.root)
        if not os.path.isdir(folder) and repair:
            make_folder(folder)
        there = os.path.isdir(folder)
        writable = there and os.access(folder, os.W_OK | os.X_OK)
        found = "is there" if writable else "cannot be written" if there else "is missing"
        fix = "" if writable else f"chmod u+rwx {folder}" if there else "council doctor --repair"
        findings.append(Finding(what=f"{name}/", ok=writable, found=found, fix=fix))
    free = shutil.disk_usage(place.root).free
    findings.append(
        Finding(
            what="disk",
            ok=free > 64 * 2**20,
            found=f"{free // 2**20} MiB free",
            fix="" if free > 64 * 2**20 else "make room: a full disk stops every answer",
        )
    )
    findings += _key(place, repair)
    findings += _sharing(place)
    return findings


def _sharing(place: Place) -> list[Finding]:
    """Look whether all members of a group can work here; what one user has alone is hers."""
    what, group = "sharing", group_of(place.paths)
    if group is None:
        there = os.path.isdir(place.paths.shared)
        uid = os.stat(place.paths.shared).st_uid if there else os.geteuid()
        if os.geteuid() in (0, uid):
            return []
        owner = user_name(uid)
        found = f"this workspace belongs to {owner} and is not shared"
        return [Finding(what=what, ok=False, found=found, fix=f"{owner} runs: {TO_SHARE}")]
    wrong = misfits(place.paths, group)
    if not wrong:
        return [Finding(what=what, ok=True, found=f"all members of group {group} can work here")]
    first = wrong[0]
    owners = " and ".join(sorted({user_name(one.uid) for one in wrong}))
    more = f", and {len(wrong) - 1} more do not fit" if len(wrong) > 1 else ""
    found = f"{os.path.relpath(first.path, place.root)} {first.what}{more}"
    return [Finding(what=what, ok=False, found=found, fix=f"{owners} (or root) runs: {TO_SHARE}")]


def _key(place: Place, repair: bool) -> list[Finding]:
    try:
        mode = stat.S_IMODE(os.stat(place.paths.key).st_mode)
    except FileNotFoundError:
        return []
    wanted = 0o660 if is_shared(os.path.dirname(place.paths.key)) else 0o600
    if mode & ~wanted and repair:
        os.chmod(place.paths.key, wanted)
        mode = wanted
    private = not mode & ~wanted
    fix = "" if private else f"chmod {wanted:o} {place.paths.key}"
    return [Finding(what="run key", ok=private, found=f"mode {mode:o}", fix=fix)]


def _settings(place: Place) -> list[Finding]:
    faults = place.settings.faults
    if not faults:
        there = os.path.exists(place.paths.settings)
        found = "read" if there else "none, defaults hold"
        return [Finding(what="council.toml", ok=True, found=found)]
    return [
        Finding(what="council.toml", ok=False, found=fault, fix="correct or delete that line")
        for fault in faults
    ]


def _agents(place: Place) -> list[Finding]:
    findings = []
    for agent_id in known_agents(place.root, place.settings):
        agent = agent_of(place.root, place.settings, agent_id)
        findings += [
            Finding(what=agent_id, ok=False, found=fault, fix="correct it there")
            for fault in agent.faults
        ]
        findings.append(_driver(place, agent))
    if not findings:
        fix = "council init --agents a,b,c, or add [agents.ID] tables to council.toml"
        findings.append(Finding(what="agents", ok=False, found="none are known", fix=fix))
    return findings


def _driver(place: Place, agent: Agent) -> Finding:
    if agent.driver not in DRIVERS:
        known = ", ".join(DRIVERS)
        return Finding(
            what=agent.id,
            ok=False,
            found=f"no driver {agent.driver!r}",
            fix=f"set driver to one of {known} under [agents.{agent.id}]",
        )
    if agent.driver != "command":
        return Finding(what=agent.id, ok=True, found=f"driver {agent.driver}")
    argv = agent.settings.argv
    if not argv and agent.settings.preset in PRESETS:
        argv = PRESETS[agent.settings.preset].command(agent.model)
    program = argv[0] if argv else ""
    path = shutil.which(program, path=place.environ.get("PATH")) if program else None
    if path:
        return Finding(what=agent.id, ok=True, found=f"runs {path}")
    found = f"program {program!r} is not on PATH" if program else "no argv and no known preset"
    fix = f"install it, or give its absolute path in [agents.{agent.id}] argv"
    return Finding(what=agent.id, ok=False, found=found, fix=fix)


def _unchanged(state: Conversation) -> Step:
    return Step(state=state.copy())


def _conversations(place: Place, repair: bool) -> list[Finding]:
    findings = []
    for name in place.conversations.names():
        try:
            if repair:
                place.conversations.edit(name, _unchanged, actor="doctor", now=place.now())
            faults = check(place, name).faults
        except CouncilError as error:
            findings.append(Finding(what=name, ok=False, found=error.message, fix=error.hint))
            continue
        findings += [
            Finding(what=name, ok=False, found=fault, fix=f"council check --name {name}")
            for fault in faults
        ] or [Finding(what=name, ok=True, found="well formed")]
    return findings


def _heartbeat(place: Place) -> list[Finding]:
    last = place.last_beat()
    fix = "council schedule --install (systemd or cron), or by hand: council heartbeat"
    if last is None:
        return [Finding(what="heartbeat", ok=False, found="has never run", fix=fix)]
    age = max(place.now() - last, timedelta(0))
    late = bool(place.conversations.names()) and age > STALE_BEAT
    found = f"ran {render_duration(age)} ago"
    return [Finding(what="heartbeat", ok=not late, found=found, fix=fix if late else "")]


def _failures(place: Place) -> list[Finding]:
    path = place.paths.failure_log
    if not os.path.exists(path) or not os.path.getsize(path):
        return []
    fix = f"read {path}, report it, then delete it"
    return [Finding(what="detached work", ok=False, found="has failed", fix=fix)]


def _bytecode() -> list[Finding]:
    """Say when Python cannot keep what it compiled; where it can, it kept this module just now."""
    kept = cache_from_source(__file__)
    if os.path.exists(kept):
        return []
    why = f"it cannot write in {os.path.dirname(kept)}"
    source = shlex.quote(os.path.dirname(council.__file__))
    fix = f"as a user that may write there: {sys.executable} -m compileall -q {source}"
    if sys.dont_write_bytecode:
        why, fix = "PYTHONDONTWRITEBYTECODE or -B forbids it", "unset PYTHONDONTWRITEBYTECODE"
    found = (
        f"Python compiles council anew for each command, which takes several times as long: {why}"
    )
    return [Finding(what="start-up", ok=False, found=found, fix=fix)]
