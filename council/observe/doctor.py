"""Everything that can be checked, what was found, and the cure of each fault."""

from __future__ import annotations

import os

from council.agents import programs
from council.agents.settings import AgentSettings
from council.archive import minutes
from council.councils import service
from council.councils.row import write_minutes
from council.delegation import service as delegation
from council.kernel import files
from council.kernel.errors import Invalid, Refusal
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.words import unknown
from council.observe import status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App

PROBE = "This is a test of your connection. Reply with one word: ready"
PROBE_SECONDS = 120.0
Finding = dict[str, Any]


def doctor(app: App, repair: bool = False, probe: bool = False) -> dict[str, Any]:
    """Return the findings about a workspace: `ok`, `findings` of `what`, `ok`, `found`, `fix`.

    `repair` first fixes what needs no decision; `probe` starts each agent once, which may cost.
    """
    findings = list(_repairs(app)) if repair else []
    findings += [*_settings(app), *_agents(app, probe)]
    clocks = [_finding("clock.runs", ok=True, **one) for one in app.clocks()]
    findings += [*(clocks or [_finding("clock.none", ok=True)]), *_files(app)]
    for one in [*status.status(app)["problems"], *map(status.unfiled, service.unfiled(app))]:
        if one["code"] != "settings":
            found = {"found": one["what"], "fix": one["fix"]}
            findings.append({"what": one["name"] or "workspace", "ok": False, **found})
    return {"ok": all(one["ok"] for one in findings), "findings": findings}


def check(app: App, which: str = "") -> dict[str, Any]:
    """Return `name`, `ok`, `findings` (broken) and `notices` (look) of a page as it was until now.

    Nothing is lost by either; looking mends the page.
    """
    name = app.find(which)
    document, findings = app.conversation(name), list[str]()
    beside = status.conflict_copies(app.root, app.conversations())
    notices = [f"{one} is a copy that counts nowhere" for one in beside]
    try:
        known = document.peek().rev if document.exists() else 0
        for ident in document.read().drafts:
            words = "typed an answer, but the status is still WAITING: it does not count yet"
            notices.append(f"{ident} {words}")
        for line in document.history():
            for event in [one for one in line.events if one["type"] == "kept"]:
                into = findings if line.rev > known else notices
                into.append(status.problem(name, "kept", **event)["what"])
    except Refusal as error:
        findings.append(f"{error.message} ({error.hint})")
    return {"name": name, "ok": not findings, "findings": findings, "notices": notices}


def _finding(key: str, ok: bool = False, **values: Any) -> Finding:
    """Return a row of `texts/problems.txt` as a finding."""
    found = status.problem("", key, **values)
    return {"what": key.partition(".")[0], "ok": ok, "found": found["what"], "fix": found["fix"]}


def _settings(app: App) -> Iterator[Finding]:
    faults = [one for one in (app.settings.fault, *app.settings.faults) if one]
    faults += delegation.route(app, check="faults")["faults"]
    yield from [_finding("settings", fault=one) for one in faults]
    for event, argv in app.settings.tables.get("hooks", {}).items():
        program = str(argv[0]) if isinstance(argv, list) and argv else str(argv).split(" ")[0]
        if not programs.which(program, app.world.get("PATH", ""), app.root):
            yield _finding("settings.hook", event=event, program=program)
    if not faults:
        yield _finding("settings.read", ok=True)


def _agents(app: App, probe: bool) -> Iterator[Finding]:
    known, names = app.agents(), dict[str, str]()
    for ident, agent in known.items():
        code, how = programs.fault(agent, app.world, app.root)
        if not code and agent.api_key_env and agent.api_key_env not in app.world:
            code, how = "refused-key", f"the variable {agent.api_key_env} is not set"
        if not code and agent.driver == "manual":
            how = "answers by hand"
        elif not code:
            code, how = _probed(app, agent) if probe else ("", "can be started")
        first = names.setdefault(agent.name.casefold(), ident)
        if code:
            yield _finding("agent.fault", agent=ident, words=how, fix=programs.cure(code, agent))
        elif first != ident:
            yield _finding("agent.name", agent=ident, first=first, name=agent.name)
        else:
            yield _finding("agent.ready", ok=True, agent=ident, how=how)
        try:
            yield from _policy(app, ident)
        except Invalid as error:
            yield {"what": "agent", "ok": False, "found": error.message, "fix": error.hint}
    if len(known) < 2:
        yield _finding("agents.few", ok=True, count=len(known))


def _policy(app: App, ident: str) -> Iterator[Finding]:
    """Yield the keys of an agent's policy that nothing reads; Invalid where it cannot be read."""
    policy, limits = delegation.policy_of(app, ident), [*delegation.usual(app)]
    keys = [("limits.", key, limits) for key in policy.limits if key not in limits]
    for where, one in (("", policy), ("call.", policy.call), ("message.", policy.message)):
        keys += [(where, key, [*one._names]) for key in one.extra if key != "schemaVersion"]
    yield from [_finding("agent.policy", agent=ident, name=unknown(*one)) for one in keys]


def _probed(app: App, agent: AgentSettings) -> tuple[str, str]:
    """Start an agent's program once; return the code of its failure, "" for none, and words."""
    from council.runs.drivers import RunPlace  # late: only a probe starts anything
    from council.runs.supervisor import run_agent  # late: see above

    ident = f"probe-{agent.id}"
    folder = f"{app.state_folder}/runs/{ident}"
    place = RunPlace(root=app.root, id=ident, agent=agent.id, folder=folder, environ=app.world)
    place.seconds = PROBE_SECONDS
    done = run_agent(agent, PROBE, place)
    failure = f"failed ({done.code}): {cut(done.words, 200)}"
    return done.code, failure if done.code else f"replied: {cut(done.text, 50)}"


def _files(app: App) -> Iterator[Finding]:
    state, root = app.state_folder, app.root
    for path, name in renamed(state).items():
        yield _finding("files.both" if os.path.exists(name) else "files.renamed", path=path)
    if os.path.isdir(state) and not os.path.exists(f"{state}/.gitignore"):
        yield _finding("files.git", path=state)
    for path in filter(os.path.exists, map(app.page_of, app.conversations())):
        if os.stat(path).st_nlink > 1:
            yield _finding("files.link", path=path)
    if not os.path.exists(f"{root}/skills/council/SKILL.md"):
        yield _finding("files.skill")
    if not os.statvfs(root).f_bavail or not os.access(root, os.W_OK):
        yield _finding("files.closed", root=root)


def renamed(folder: str) -> dict[str, str]:
    """Return the files below `folder` that a sync tool renamed on both sides, and their names."""
    paths = [f"{inside}/{name}" for inside, _, names in os.walk(folder) for name in names]
    parts = {path: path.rpartition(".conflict") for path in sorted(paths)}
    return {path: name for path, (name, _, number) in parts.items() if name and number.isdigit()}


def _repairs(app: App) -> Iterator[Finding]:
    """Fix what needs no decision and say so; every read of a page repairs that page as well."""
    for path, name in renamed(app.state_folder).items():
        if not os.path.exists(name):
            os.rename(path, name)
            yield _finding("repaired", ok=True, path=name)
    for name in app.conversations():
        if not os.path.exists(app.page_of(name)):
            app.conversation(name).read()
            yield _finding("repaired", ok=True, path=app.page_of(name))
    for state in service.unfiled(app):
        path = f"{app.root}/{state.minutes}"
        if os.path.lexists(path) and not minutes.block(path):
            os.replace(path, f"{path}.damaged")  # somebody may miss what is left in it
        yield _finding("repaired", ok=True, path=write_minutes(app, state))
    path = f"{app.state_folder}/.gitignore"
    if not os.path.exists(path):
        files.replace(path, b"*\n")
        yield _finding("repaired", ok=True, path=path)
