"""Everything that can be checked, what was found, and the cure of each fault."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta

from council.agents import programs, souls
from council.kernel.ids import cut
from council.kernel.record import Any
from council.observe import copies, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.agents.settings import AgentSettings
    from council.app import App

PROBE = "This is a test of your connection. Reply with one word: ready"
PROBE_TIME = timedelta(minutes=2)
MOST_LOOKED_AT = 20_000  # files whose owner is checked


def doctor(app: App, repair: bool = False, probe: bool = False) -> dict[str, Any]:
    """Return the findings about a workspace.

    Args:
        app: The workspace.
        repair: Fix what can be fixed without a decision first.
        probe: Also start the program of each agent once, which may cost money.

    Returns:
        `ok`, and `findings` of `what`, `ok`, `found`, `fix`.
    """
    repaired = list(_repairs(app)) if repair else []
    findings = [*repaired, *_settings(app), *_agents(app, probe), *_clock(app), *_files(app)]
    for one in status.status(app)["problems"]:
        if one["code"] not in ("settings", "conflict-copy"):
            findings.append(_bad(one["name"] or "workspace", one["what"], one["fix"]))
    return {"ok": all(one["ok"] for one in findings), "findings": findings}


def text(found: dict[str, Any]) -> str:
    """Return the findings, one a line, each fault with its cure below it."""
    lines = []
    for one in found["findings"]:
        lines.append(f"{'✓' if one['ok'] else '✗'} {one['what']:<10} {one['found']}")
        lines += [f"    {one['fix']}"] if one["fix"] else []
    return "\n".join([*lines, ""])


def _good(what: str, found: str, fix: str = "") -> dict[str, Any]:
    return {"what": what, "ok": True, "found": found, "fix": fix}


def _bad(what: str, found: str, fix: str) -> dict[str, Any]:
    return {"what": what, "ok": False, "found": found, "fix": fix}


def _settings(app: App) -> Iterator[dict[str, Any]]:
    settings = app.settings
    faults = [settings.fault] * bool(settings.fault) + settings.faults
    for one in faults:
        yield _bad("settings", one, "correct council.toml")
    for event, argv in settings.tables.get("hooks", {}).items():
        program = argv[0] if isinstance(argv, list) and argv else str(argv).split(" ")[0]
        if not programs.which(str(program), app.env.get("PATH", ""), app.root):
            fix = f"install it, or correct {event} under [hooks] in council.toml"
            yield _bad("settings", f"the hook {event} has no program {program}", fix)
    if not faults:
        yield _good("settings", "council.toml is readable")


def _agents(app: App, probe: bool) -> Iterator[dict[str, Any]]:
    known = souls.agents(app.root, app.settings)
    names: dict[str, str] = {}
    for ident, agent in known.items():
        code, words = programs.fault(agent, app.env, app.root)
        key = agent.api_key_env
        if not code and key and key not in app.env:
            code, words = "refused-key", f"the variable {key} is not set"
        first = names.setdefault(agent.name.casefold(), ident)
        if code:
            yield _bad("agent", f"{ident}: {words}", programs.cure(code, agent))
        elif first != ident:
            fix = f"council agent add {ident} --name NAME"
            yield _bad("agent", f"{first} and {ident} have the same name, {agent.name}", fix)
        elif probe and agent.driver != "manual":
            yield _probed(app, agent)
        else:
            how = "answers by hand" if agent.driver == "manual" else "can be started"
            yield _good("agent", f"{ident} {how}")
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
        found = f"{len(known)} agents; a council needs two participants"
        yield _good("agents", found, "council agent add ID --preset PROGRAM")


def _probed(app: App, agent: AgentSettings) -> dict[str, Any]:
    from council.runs import drivers  # late: only a probe starts anything
    from council.runs.drivers.output import RunPlace

    folder = f"{app.state_folder}/runs/probe-{agent.id}"
    place = RunPlace(
        root=app.root, id=f"probe-{agent.id}", agent=agent.id, folder=folder, environ=app.env
    )
    done = drivers.run(agent, PROBE, place, now=app.now, deadline=app.now + PROBE_TIME)
    if done.code:
        words = f"{agent.id} failed ({done.code}): {cut(done.words, 200)}"
        return _bad("agent", words, programs.cure(done.code, agent))
    return _good("agent", f"{agent.id} replied: {cut(done.text, 50)}")


def _clock(app: App) -> Iterator[dict[str, Any]]:
    clocks = getattr(app, "clocks", list)()  # what runs the heartbeat: `setup/clocks.py`
    for one in clocks:
        if one.fault:
            yield _bad("clock", one.fault, one.fix)
        else:
            yield _good("clock", f"run by {one.kind} ({one.when})")
    if not clocks:
        yield _good("clock", "none: deadlines pass unnoticed", "council schedule --install")


def _files(app: App) -> Iterator[dict[str, Any]]:
    state = app.state_folder
    for path in copies.conflict_copies(app.root):
        yield _bad("copy", f"{path} is a conflict copy; it counts nowhere", copies.FIX)
    for path in copies.renamed(state):
        yield _bad("files", f"a sync tool renamed {path}", "council doctor --repair")
    if os.path.isdir(state) and not os.path.exists(f"{state}/.gitignore"):
        fix = "council doctor --repair"
        yield _bad("git", f"git would take what is in {state}", fix)
    owner, others, count = os.stat(app.root).st_uid, [], 0
    for folder, _, names in os.walk(f"{app.root}/memory/shared"):
        count += len(names)
        others += [p for n in names if _owner(p := f"{folder}/{n}") not in (owner, -1)]
        if others or count > MOST_LOOKED_AT:
            break
    if others:
        fix = f"as root: chown -R {owner} {app.root}; run the heartbeat as that user only"
        yield _bad("files", f"{others[0]} belongs to another user", fix)
    if not os.access(app.root, os.W_OK):
        yield _bad("files", f"{app.root} cannot be written", "change its owner or mode")


def _owner(path: str) -> int:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return -1


def _repairs(app: App) -> Iterator[dict[str, Any]]:
    """Fix what needs no decision; every read of a page repairs that page as well."""
    for path in copies.renamed(app.state_folder):
        original = path.rpartition(".conflict")[0]
        if not os.path.exists(original):
            os.rename(path, original)
            yield _good("repaired", f"{original} was restored from {os.path.basename(path)}")
    for name in app.conversations():
        page = app.page_of(name)
        if not os.path.exists(page):
            app.conversation(name).read()
            yield _good("repaired", f"{page} was written again")
    path = f"{app.state_folder}/.gitignore"
    if not os.path.exists(path):
        os.makedirs(app.state_folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("*\n")
        yield _good("repaired", f"{path} was written")
