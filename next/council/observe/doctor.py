"""Everything that can be checked, what was found, and the cure of each fault."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta

from council.agents import programs, souls
from council.agents.settings import AgentSettings, content
from council.kernel import codec
from council.kernel.errors import Invalid
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import copies, status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App

PROBE = "This is a test of your connection. Reply with one word: ready"
PROBE_TIME = timedelta(minutes=2)
MOST_LOOKED_AT = 20_000  # files whose owner is checked
Finding = dict[str, Any]


def doctor(app: App, repair: bool = False, probe: bool = False) -> dict[str, Any]:
    """Return the findings about a workspace: `ok`, `findings` of `what`, `ok`, `found`, `fix`.

    `repair` first fixes what needs no decision; `probe` starts each agent once, which may cost.
    """
    findings = [_finding("repaired", ok=True, what=one) for one in _repairs(app)] if repair else []
    findings += [*_settings(app), *_agents(app, probe), *_clock(app), *_files(app)]
    for one in status.status(app)["problems"]:
        if one["code"] != "settings":
            what, where = {"what": one["what"], "fix": one["fix"]}, one["name"] or "workspace"
            findings.append({**_finding("refused", **what), "what": where})
    return {"ok": all(one["ok"] for one in findings), "findings": findings}


def _finding(key: str, ok: bool = False, **values: Any) -> Finding:
    """Return a row of `texts/problems.txt` as a finding."""
    found = status.problem("", key, **values)
    return {"what": key.partition(".")[0], "ok": ok, "found": found["what"], "fix": found["fix"]}


def _settings(app: App) -> Iterator[Finding]:
    faults = [one for one in (app.settings.fault, *app.settings.faults) if one]
    yield from [_finding("settings", fault=one) for one in faults]
    for event, argv in app.settings.tables.get("hooks", {}).items():
        program = str(argv[0]) if isinstance(argv, list) and argv else str(argv).split(" ")[0]
        if not programs.which(program, app.world.get("PATH", ""), app.root):
            yield _finding("settings.hook", event=event, program=program)
    if not faults:
        yield _finding("settings.read", ok=True)


def _agents(app: App, probe: bool) -> Iterator[Finding]:
    known, names = souls.agents(app.root, app.settings), dict[str, str]()
    for ident, agent in known.items():
        code, words = programs.fault(agent, app.world, app.root)
        if not code and agent.api_key_env and agent.api_key_env not in app.world:
            code, words = "refused-key", f"the variable {agent.api_key_env} is not set"
        how = "answers by hand" if agent.driver == "manual" else "can be started"
        if not code and probe and agent.driver != "manual":
            code, words = _probed(app, agent)
            how = words
        first = names.setdefault(agent.name.casefold(), ident)
        if code:
            fix = programs.cure(code, agent)
            yield _finding("agent.fault", agent=ident, words=words, fix=fix)
        elif first != ident:
            yield _finding("agent.name", agent=ident, first=first, name=agent.name)
        else:
            yield _finding("agent.ready", ok=True, agent=ident, how=how)
        path = f"{souls.FOLDER}/{ident}/policy.json"
        try:
            codec.loads(content(f"{app.root}/{path}") or b"{}")
        except Invalid as error:
            yield _finding("agent.policy", path=path, agent=ident, why=error.message)
    if len(known) < 2:
        yield _finding("agents.few", ok=True, count=len(known))


def _probed(app: App, agent: AgentSettings) -> tuple[str, str]:
    """Start an agent's program once; return the code of its failure, "" for none, and words."""
    from council.runs import drivers  # late: only a probe starts anything
    from council.runs.drivers.output import RunPlace  # late: see above

    ident = f"probe-{agent.id}"
    folder = f"{app.state_folder}/runs/{ident}"
    place = RunPlace(root=app.root, id=ident, agent=agent.id, folder=folder, environ=app.world)
    done = drivers.run(agent, PROBE, place, now=app.now, deadline=app.now + PROBE_TIME)
    failure = f"failed ({done.code}): {cut(done.words, 200)}"
    return done.code, failure if done.code else f"replied: {cut(done.text, 50)}"


def _clock(app: App) -> Iterator[Finding]:
    clocks = app.clocks()
    for one in clocks:
        key = "clock.fault" if one.fault else "clock.runs"
        yield _finding(key, ok=not one.fault, **one.__dict__)
    if not clocks:
        yield _finding("clock.none", ok=True)


def _files(app: App) -> Iterator[Finding]:
    state, root, owner = app.state_folder, app.root, os.stat(app.root).st_uid
    for path, name in copies.renamed(state).items():
        yield _finding("files.both" if os.path.exists(name) else "files.renamed", path=path)
    if os.path.isdir(state) and not os.path.exists(f"{state}/.gitignore"):
        yield _finding("files.git", path=state)
    for path, facts in _shared(app):
        if facts.st_uid != owner:
            yield _finding("files.owner", path=path, owner=owner, root=root)
            break
        if facts.st_nlink > 1 and path.endswith("-conversation.md"):
            yield _finding("files.link", path=path)
    if not os.statvfs(root).f_bavail:
        yield _finding("files.full", root=root)
    if not os.access(root, os.W_OK):
        yield _finding("files.read-only", root=root)


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
