"""Looking at everything in a workspace: what is well, and the causes of what is not.

What keeps anything from going on is found by `problems`, as for every command. `doctor` alone
reads also what is costly to read or in no one's way yet: contents of artifacts, policies,
ledgers, what is closed. With `--probe` it tries agents with one line of prompt, outside of any
conversation: a probe takes a place like any run and obeys a halt, it counts against no cap, and
an agent that answers is cured of its rest.

Source: OP-011, `cli.md` sections 2 and 5 (`doctor`, `doctor --probe`), P8-035, P8-059, P8-075,
DG-007, DG-012, DG-018, PR-422.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

from council.core.agents import ANSWER_TOOL, DRIVERS, Agent
from council.core.bounds import Usage
from council.core.conversations.conversation import Conversation, Step
from council.core.delegation.policies import EVERYBODY
from council.core.errors import CouncilError, DamagedArtifactError, NotFoundError
from council.core.plain_text import shortened
from council.core.protocol.registry import EntryStatus
from council.core.times import render_duration
from council.drivers.runs import REFUSED, Run
from council.drivers.waking import look_up, run_driver
from council.operations.examining.apart import apart
from council.operations.examining.causes import (
    Cause,
    Finding,
    cause,
    folders,
    free_mib,
    key_mode,
    refusal,
    secrets,
    wrong,
)
from council.operations.examining.version_control import exposed, renew_secrets
from council.operations.heartbeat.gate import is_halted, note_success
from council.operations.page_server import running_server
from council.operations.place import Place
from council.operations.protocol.exchanging import contexts
from council.operations.reporting.explaining import find_problems
from council.operations.reporting.run_logs import reason_with_output
from council.operations.reporting.usage import used_words
from council.operations.rooms import rooms
from council.operations.schedule import clocks
from council.store import extras, files
from council.store.agent_folders import policy_path, read_policy
from council.store.delegation import artifact_care, artifacts, briefs
from council.store.delegation.traces import damaged_notes, read_trace, traces
from council.store.files import TO_SHARE, make_folder, remove, replace, user_name
from council.store.paths import record_files
from council.store.protocol import protocol_registry
from council.store.reason_words import reason_words
from council.store.rooms import identities
from council.store.sharing import group_of, misfits
from council.store.slots import Slots
from council.store.tally import edit_tally, is_damaged

_OF_HEARTBEAT = ("old-heartbeat", "no-heartbeat", "beat-ahead")


def examine(
    place: Place, *, repair: bool = False, probe: bool = False, new_keys: bool = False
) -> list[Finding]:
    """Examine everything that can be wrong.

    Args:
        place: The workspace.
        repair: Mend what can be mended safely.
        probe: Try each agent that its driver can try once; it costs what its answer costs.
        new_keys: Draw the key of runs and the tokens of servers anew.
    """
    drawn = renew_secrets(place) if new_keys else []
    unmended = _repair(place) if repair else []
    named = {name for name, one in DRIVERS.items() if one.is_tried}
    agents = map(place.agent, place.agents() if probe else ())
    tried = [_probed(place, one) for one in agents if one.driver in named]
    found = [*find_problems(place, thorough=True).found, *exposed(place), *apart(place), *unmended]
    bad = {(one.code, one.where or one.agent, one.said()): one for one in found}
    about = {where for _, where, _ in bad}
    about |= {"heartbeat" for code, _, _ in bad if code in _OF_HEARTBEAT}
    looks = (_workspace, _engine, _sharing, _agents, _running, _rooms, _protocol)
    well = [one for look in looks for one in look(place)]
    return [
        *(Finding(what=what, found="drawn anew") for what in drawn),
        *(one for one in well if not one.ok or one.what not in about),
        *map(wrong, bad.values()),
        *examine_delegation(place),
        *examine_artifacts(place, repair=repair),
        *tried,
    ]


def _repair(place: Place) -> list[Cause]:
    """Mend what can be mended without loss; return what refused."""
    for folder in folders(place):
        if not os.path.isdir(folder):
            files.make_folder(folder)
    for path in secrets(place).values():
        os.chmod(path, key_mode(place))
    if is_damaged(place.paths):
        for path in record_files(place.paths.tally):
            files.remove(path)
        edit_tally(place.paths, lambda tally: tally.councils.clear())

    def unchanged(state: Conversation) -> Step:
        return Step(state=state.copy())

    refused = []
    for name in place.conversations.names():
        try:
            place.conversations.edit(name, unchanged, actor="doctor", now=place.now())
        except CouncilError as error:
            kind = "not-adopted" if error.code == "not-adopted" else "broken-file"
            refused.append(cause(kind, name, message=error.message, name=name))
    return refused


def _sharing(place: Place) -> Iterator[Finding]:
    """Check whether all members of a group can work here; what one user has alone is hers."""
    what, group = "sharing", group_of(place.paths)
    if group is None:
        there = os.path.isdir(place.paths.shared)
        uid = os.stat(place.paths.shared).st_uid if there else os.geteuid()
        if os.geteuid() not in (0, uid):
            owner = user_name(uid)
            said = f"this workspace belongs to {owner} and is not shared"
            yield wrong(cause("sharing", what, message=said, hint=f"{owner} runs: {TO_SHARE}"))
        return
    astray = misfits(place.paths, group)
    if not astray:
        yield Finding(what=what, found=f"all members of group {group} can work here")
        return
    owners = " and ".join(sorted({user_name(one.uid) for one in astray}))
    more = f", and {len(astray) - 1} more do not fit" if len(astray) > 1 else ""
    said = f"{os.path.relpath(astray[0].path, place.root)} {astray[0].what}{more}"
    yield wrong(cause("sharing", what, message=said, hint=f"{owners} (or root) runs: {TO_SHARE}"))


# --- What is well


def _workspace(place: Place) -> Iterator[Finding]:
    for folder in folders(place):
        where = f"{os.path.relpath(folder, place.root)}/"
        if os.path.isdir(folder):
            yield Finding(what=where, found="is there")
        else:  # what writes there first makes it: in the way of nothing, but not as it was set up
            yield wrong(cause("folder-missing", where))
    free = free_mib(place)
    if free is not None:
        yield Finding(what="disk", found=f"{free} MiB free")
    for what, path in secrets(place).items():
        yield Finding(what=what, found=f"mode {stat.S_IMODE(os.stat(path).st_mode):o}")
    if place.settings.unread is None:
        there = os.path.exists(place.paths.settings)
        yield Finding(what="council.toml", found="read" if there else "none, defaults hold")
    for name in place.conversations.names():
        yield Finding(what=name, found="well formed")


def _engine(place: Place) -> Iterator[Finding]:
    """Check the engine of a workspace that has one: its machines, and how it is replicated."""
    if place.engine is None:
        return
    from council.operations.engine.membership import standing
    from council.operations.engine.pulled import was_missed

    found = standing(place)
    if found.reached:
        count = len(found.machines)
        joined = "1 machine has joined" if count == 1 else f"{count} machines have joined"
        yield Finding(what="engine", found=f"reached by {found.machine}, {joined}")
    elif not was_missed(place):  # of which the causes tell
        yield wrong(cause("engine-away", "engine", url=found.url, machine=found.machine))
    if found.asynchronous:
        yield wrong(cause("engine-loose", "engine"))


def _agents(place: Place) -> Iterator[Finding]:
    known = place.agents()
    if not known:
        yield Finding(what="agents", found="none yet (add some: council init --agents a,b,c)")
    for agent in map(place.agent, known):
        if not place.has(agent.id):
            yield _elsewhere(place, agent.id)
            continue
        path = look_up(agent, place.root, place.environ)[1].get("path")
        yield Finding(what=agent.id, found=f"runs {path}" if path else f"driver {agent.driver}")
    if place.settings.bindings or place.settings.routing:
        from council.operations.delegation.routing import rules

        with suppress(CouncilError):  # it is among the causes
            count = len(rules(place))
            yield Finding(what="routing", found="1 rule" if count == 1 else f"{count} rules")


def _elsewhere(place: Place, agent: str) -> Finding:
    """Say where an agent lives that does not live here, or that no machine is its home."""
    from council.operations.engine.living import homes_of, is_homeless

    machines = ", ".join(homes_of(place, agent))
    if is_homeless(place, agent):
        url = place.settings.engine.url
        return wrong(cause("homeless", agent, agent, machines=machines, url=url))
    return Finding(what=agent, found=f"lives on {machines}")


def _running(place: Place) -> Iterator[Finding]:
    last = place.last_beat()
    ran = f"ran {render_duration(max(place.now() - last, timedelta(0)))} ago" if last else ""
    yield Finding(what="heartbeat", found=ran or "has not run yet", is_seen=bool(last))
    found = clocks(place)
    said = f"the heartbeat is run by {', '.join(found)}" if found else "none is known"
    said = said if found else f"{said} (see: council schedule)"
    yield Finding(what="clock", found=said, is_seen=bool(found))
    yield Finding(what="page", found=_page(place), is_seen=running_server(place) is not None)
    if place.settings.hooks:
        from council.operations.reporting.hooks import plan_of

        named = ", ".join(plan_of(place.settings.hooks).commands) or "none"
        yield Finding(what="hooks", found=named)


def _page(place: Place) -> str:
    if extras.missing("web"):
        return f"cannot be served (if you want it: {extras.command_that_adds('web')})"
    if server := running_server(place):
        return f"served at {server.url} by process {server.process}"
    return f"not served (council serve, port {place.settings.serve.port})"


# --- Rooms and messages: what is well, and what is over and cannot be read


def _rooms(place: Place) -> Iterator[Finding]:
    """Examine channels, and the accounts that are known."""
    if place.is_slave:
        asks = f"slave of {place.settings.relay.url}"
        yield Finding(what="relay", found=f"{asks} (see: council relay get-channel-state ROOM)")
    seen, _ = rooms.each(place, lambda here, one: rooms.channels(here).see(one))
    if seen:
        yield Finding(what="channels", found=f"{len(seen)} can be read")
    if os.path.lexists(place.paths.identities):
        with suppress(CouncilError):
            count = len(identities.load(place.paths).identities)
            yield Finding(what="identities", found=f"{count} accounts are known")
    if os.path.lexists(place.paths.ego):
        yield Finding(what="identity source", found=f"read from {place.paths.ego}")


def _protocol(place: Place) -> Iterator[Finding]:
    """Examine the registry of the protocol, and contexts that are over."""
    store = contexts(place)
    if record_files(protocol_registry.registry_path(place.paths)):
        with suppress(CouncilError):
            here = protocol_registry.load(place.paths).here()
            active = [one for one in here if one.status is EntryStatus.ACTIVE and one.seen_at]
            yield Finding(what="protocol", found=f"{len(active)} agents can be given work")
    try:
        closed = store.closed_ids()
    except CouncilError as error:
        yield wrong(refusal("context", "contexts", error))
        return
    for name in closed:
        try:
            store.read(name)
        except NotFoundError:
            continue  # forgotten meanwhile
        except CouncilError as error:
            yield wrong(refusal("context", name, error))


# --- Delegation: who may call whom, and what was counted


def examine_delegation(place: Place) -> list[Finding]:
    """Examine who may call whom, and what was counted."""
    return [wrong(one) for one in (*_policies(place), *_ledgers(place))]


def _policies(place: Place) -> Iterator[Cause]:
    known = place.agents()
    for agent in known:
        if not os.path.lexists(policy_path(place.paths, agent)):
            continue
        where = f"policy of {agent}"
        try:
            policy = read_policy(place.paths, agent)
        except CouncilError as error:
            yield refusal("policy", where, error)
            continue
        named = {one for side in (policy.call, policy.message) for one in (*side.allow, *side.deny)}
        strangers = sorted(named - {*known, EVERYBODY})
        for odd in (*policy.odd, *(f"it names {one}, who is no agent here" for one in strangers)):
            yield cause("policy", where, message=odd, hint="correct it, if that is a slip")


def _ledgers(place: Place) -> Iterator[Cause]:
    for trace in traces(place.paths):
        try:
            read_trace(place.paths, trace)
        except CouncilError as error:
            yield refusal("calls", "calls", error)
    for path in damaged_notes(place.paths):
        shown = os.path.relpath(path, place.root)
        said = f"{shown} tells of a call and cannot be understood"
        yield cause("calls", "calls", message=said, hint="read it, then remove it")


# --- What is stored for all to fetch: by its sizes, and its bytes up to a limit

_READ_BYTES = 512 * 2**20


def examine_artifacts(place: Place, *, repair: bool = False) -> list[Finding]:
    """Examine what is stored for all to fetch, and what publishers that died left behind."""
    try:
        return [*_contents(place), *map(wrong, (*_remains(place, repair), *_briefs(place)))]
    except CouncilError as error:
        return [wrong(refusal("artifact", "artifacts", error))]


def _contents(place: Place) -> list[Finding]:
    found: list[Finding] = []
    count, left_bytes, unread = 0, _READ_BYTES, 0
    for wanted in artifacts.ids(place.paths):
        count += 1
        path = f"{place.paths.artifacts}/{wanted}{artifacts.CONTENT}"
        try:
            one = artifacts.find(place.paths, wanted)
            size = os.lstat(path).st_size
            if size != one.size_bytes:
                raise DamagedArtifactError(wanted, path, f"another file, of {size} bytes")
            if size > left_bytes:
                unread += 1
                continue
            left_bytes -= size
            artifacts.open_verified(place.paths, wanted, now=place.now()).close()
        except CouncilError as error:
            fix = f"publish the same bytes again, or remove it: rm -f {path}"
            found.append(wrong(cause("artifact", wanted[:16], message=error.message, hint=fix)))
    if count and not found:
        rest = f", {unread} by size alone: council artifact verify --all" if unread else ""
        found.append(Finding(what="artifacts", found=f"{count} verified{rest}"))
    return found


def _remains(place: Place, repair: bool) -> Iterator[Cause]:
    left = artifact_care.remains(place.paths, place.now())
    if repair and (left.abandoned or left.nameless):
        artifact_care.clear(place.paths, [*left.abandoned, *left.nameless])
        left = artifact_care.remains(place.paths, place.now())
    fix = "council doctor --repair, or council gc --artifacts"
    undescribed = [artifacts.content_path(place.paths, one) for one in left.undescribed]
    for paths, said, hint in (
        (left.nameless, "metadata of content that is gone", fix),
        (left.abandoned, "left by a publisher that died", fix),
        (left.foreign, "is no artifact", "move it elsewhere"),
        (undescribed, "has no metadata: its publisher died", "council artifact publish {}"),
    ):
        for path in paths:
            shown = f"{os.path.basename(path)}: {said}"
            yield cause("artifact", "artifacts", message=shown, hint=hint.format(path))


def _briefs(place: Place) -> Iterator[Cause]:
    for path in briefs.damaged(place.paths):
        said = f"{os.path.relpath(path, place.root)} is no brief"
        yield cause("brief", "briefs", message=said, hint="correct it, or move it elsewhere")


# --- Trying agents: one line of prompt, outside of any conversation


PROMPT = "This is a test of the connection. Answer with the single word: ready\n"
_SHOWN_CHARS = 60
_MOST_WORDS = 8  # fewer than the prompt has: one that repeats it has not understood it


def _probed(place: Place, agent: Agent) -> Finding:
    """Wake an agent by its driver once and say what came back."""
    if is_halted(place):
        return _failed(agent, "not tried: halted", "council resume --all, then try again")
    if place.host_guard:
        return _failed(agent, f"not tried: {place.host_guard}", "try from another shell")
    slot = Slots(place.paths.places, place.settings.max_runs).take(agent.id)
    if slot is None:
        return Finding(what=agent.id, found="not tried: it runs, or all places are taken")
    try:
        return _run(place, agent)
    finally:
        slot.release()


def _failed(agent: Agent, said: str, fix: str) -> Finding:
    return wrong(cause("probe", "", agent.id, message=said, hint=fix))


def _run(place: Place, agent: Agent) -> Finding:
    task = f"probe-{agent.id}"
    log, prompt_file = place.paths.run_file(task, "log"), place.paths.run_file(task, "prompt.md")
    limit = min(place.settings.timeout_of(agent.settings), place.settings.run_timeout)
    try:
        make_folder(place.paths.runs, mode=0o700)
        replace(prompt_file, PROMPT.encode("utf-8"), mode=0o600)
    except CouncilError as error:
        return _failed(agent, error.message, error.hint)
    remove(log)
    wanted = Run(
        agent=agent.id,
        conversation="probe",
        name="probe",
        task=task,
        phase="PROBE",
        tour=0,
        prompt=PROMPT,
        prompt_file=prompt_file,
        cwd=place.root,
        root=place.root,
        workspace=agent.workspace,
        timeout=limit,
        max_text_bytes=place.settings.max_text_bytes,
        model=agent.model,
        log_file=log,
    )
    answer = run_driver(agent.driver, wanted, agent.settings, place.environ)
    remove(prompt_file)
    if not answer.ok:
        shown = os.path.relpath(log, place.root)
        reason = reason_with_output(place, task, answer.reason)
        fix = f"see {shown}; correct [agents.{agent.id}], or its program, keys and network"
        if answer.reason.code == REFUSED:
            fix = f"set the right key, or log in with its program; see {shown}"
        if answer.timed_out:
            fix = f"it had {render_duration(limit)}; {fix}"
        return _failed(agent, f"failed: {reason_words(reason)}", fix)
    if agent.settings.answer == ANSWER_TOOL:
        note_success(place, agent.id, "")
        said = "ran; whether it can hand in an answer by tool shows in a council"
        return Finding(what=agent.id, found=said)
    shown = shortened(answer.text, _SHOWN_CHARS)
    if not _is_wanted(answer.text):
        fix = (
            "it is to answer what it is asked: see if its program gets the prompt, and which model"
        )
        return _failed(agent, f"answered something else: {shown}", fix)
    note_success(place, agent.id, "")
    used = Usage.of_run(answer.tokens, answer.usd)
    told = f" ({used_words(used, 'en')})" if used.tokens else ""
    return Finding(what=agent.id, found=f"answered: {shown}{told}")


def _is_wanted(answer: str) -> bool:
    """Return true if an answer is the word that was asked for, perhaps in a few others."""
    words = re.findall(r"[^\W_]+", answer.casefold())
    return len(words) <= _MOST_WORDS and words[-1:] == ["ready"] and "not" not in words
