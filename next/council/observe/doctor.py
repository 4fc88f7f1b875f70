"""Everything that can be checked, what was found, and the cure of each fault."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

from council.agents import programs, souls
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import copies, status

if TYPE_CHECKING:
    from council.agents.settings import AgentSettings
    from council.app import App

PROBE = "This is a test of your connection. Reply with one word: ready"
PROBE_TIME = timedelta(minutes=2)
MOST_LOOKED_AT = 20_000  # files whose owner is checked
Finding = dict[str, Any]


def doctor(app: App, repair: bool = False, probe: bool = False) -> dict[str, Any]:
    """Return the findings about a workspace: `ok`, `findings` of `what`, `ok`, `found`, `fix`.

    `repair` first fixes what needs no decision; `probe` starts each agent once, which may cost.
    """
    findings = [_good("repaired", one) for one in _repairs(app)] if repair else []
    findings += [*_settings(app), *_agents(app, probe), *_clock(app), *_files(app)]
    findings += [
        _bad(one["name"] or "workspace", one["what"], one["fix"])
        for one in status.status(app)["problems"]
        if one["code"] != "settings"
    ]
    return {"ok": all(one["ok"] for one in findings), "findings": findings}


def text(found: dict[str, Any]) -> str:
    """Return the findings, one a line, each fault with its cure below it."""
    lines = []
    for one in found["findings"]:
        lines.append(f"{'✓' if one['ok'] else '✗'} {one['what']:<10} {one['found']}")
        lines += [f"    {one['fix']}"] if one["fix"] else []
    return "\n".join([*lines, ""])


def _good(what: str, found: str, fix: str = "") -> Finding:
    return {"what": what, "ok": True, "found": found, "fix": fix}


def _bad(what: str, found: str, fix: str) -> Finding:
    return {"what": what, "ok": False, "found": found, "fix": fix}


def _settings(app: App) -> Iterator[Finding]:
    settings = app.settings
    faults = [one for one in (settings.fault, *settings.faults) if one]
    yield from [_bad("settings", one, "correct council.toml") for one in faults]
    for event, argv in settings.tables.get("hooks", {}).items():
        program = str(argv[0]) if isinstance(argv, list) and argv else str(argv).split(" ")[0]
        if not programs.which(program, app.world.get("PATH", ""), app.root):
            fix = f"install it, or correct {event} under [hooks] in council.toml"
            yield _bad("settings", f"the hook {event} has no program {program}", fix)
    if not faults:
        yield _good("settings", "council.toml is readable")


def _agents(app: App, probe: bool) -> Iterator[Finding]:
    known, names = souls.agents(app.root, app.settings), dict[str, str]()
    for ident, agent in known.items():
        yield _agent(app, agent, names.setdefault(agent.name.casefold(), ident), probe)
        path = f"{souls.FOLDER}/{ident}/policy.json"
        try:
            with open(f"{app.root}/{path}", encoding="utf-8") as file:
                json.load(file)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            fix = "correct it, or delete it to allow every agent"
            yield _bad("agent", f"{path} cannot be read ({error}): no agent may call {ident}", fix)
    if len(known) < 2:
        found = f"{len(known)} in this workspace; a council needs two participants"
        yield _good("agents", found, "council agent add ID --preset PROGRAM")


def _agent(app: App, agent: AgentSettings, first: str, probe: bool) -> Finding:
    code, words = programs.fault(agent, app.world, app.root)
    if not code and agent.api_key_env and agent.api_key_env not in app.world:
        code, words = "refused-key", f"the variable {agent.api_key_env} is not set"
    if not code and first != agent.id:
        fix = f"council agent add {agent.id} --name NAME"
        return _bad("agent", f"{first} and {agent.id} have the same name, {agent.name}", fix)
    how = "answers by hand" if agent.driver == "manual" else "can be started"
    if not code and probe and agent.driver != "manual":
        from council.runs import drivers  # late: only a probe starts anything
        from council.runs.drivers.output import RunPlace  # late: see above

        ident = f"probe-{agent.id}"
        folder = f"{app.state_folder}/runs/{ident}"
        place = RunPlace(root=app.root, id=ident, agent=agent.id, folder=folder, environ=app.world)
        done = drivers.run(agent, PROBE, place, now=app.now, deadline=app.now + PROBE_TIME)
        code, words = done.code, f"failed ({done.code}): {cut(done.words, 200)}"
        how = f"replied: {cut(done.text, 50)}"
    if code:
        return _bad("agent", f"{agent.id}: {words}", programs.cure(code, agent))
    return _good("agent", f"{agent.id} {how}")


def _clock(app: App) -> Iterator[Finding]:
    clocks = app.clocks()
    for one in clocks:
        good = _good("clock", f"run by {one.kind} ({one.when})")
        yield _bad("clock", one.fault, one.fix) if one.fault else good
    if not clocks:
        yield _good("clock", *status.NO_CLOCK)


def _files(app: App) -> Iterator[Finding]:
    state, owner = app.state_folder, os.stat(app.root).st_uid
    for path, name in copies.renamed(state).items():
        fix = f"{copies.FIX}: {path}" if os.path.exists(name) else "council doctor --repair"
        yield _bad("files", f"a sync tool renamed {path}", fix)
    if os.path.isdir(state) and not os.path.exists(f"{state}/.gitignore"):
        yield _bad("git", f"git would take what is in {state}", "council doctor --repair")
    for path, facts in _shared(app):
        if facts.st_uid != owner:
            fix = f"as root: chown -R {owner} {app.root}; run the heartbeat as that user only"
            yield _bad("files", f"{path} belongs to another user", fix)
            break
        if facts.st_nlink > 1 and path.endswith("-conversation.md"):
            fix = f"cp {path} {path}.new; mv {path}.new {path}"
            yield _bad(
                "files", f"{path} has a second name (a hard link): edits there are lost", fix
            )
    if not os.statvfs(app.root).f_bavail:
        yield _bad("files", f"the disk of {app.root} is full", "free some space")
    if not os.access(app.root, os.W_OK):
        yield _bad("files", f"{app.root} cannot be written", "change its owner or mode")


def _shared(app: App) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the first files below `memory/shared` with what the system knows of them."""
    count = 0
    for folder, _, names in os.walk(f"{app.root}/memory/shared"):
        count += len(names)
        for name in names if count < MOST_LOOKED_AT else []:
            with suppress(OSError):  # gone meanwhile
                yield f"{folder}/{name}", os.lstat(f"{folder}/{name}")


def _repairs(app: App) -> Iterator[str]:
    """Fix what needs no decision and say so; every read of a page repairs that page as well."""
    for path, name in copies.renamed(app.state_folder).items():
        if not os.path.exists(name):
            os.rename(path, name)
            yield f"{name} was restored from {os.path.basename(path)}"
    for name in app.conversations():
        if not os.path.exists(app.page_of(name)):
            app.conversation(name).read()
            yield f"{app.page_of(name)} was written again"
    path = f"{app.state_folder}/.gitignore"
    if not os.path.exists(path):
        os.makedirs(app.state_folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("*\n")
        yield f"{path} was written"
