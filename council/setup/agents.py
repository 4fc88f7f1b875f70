"""Adding, changing and removing agents: their folder, their SOUL.md, their settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from council.agents import programs, settings, souls
from council.kernel import files
from council.kernel.errors import Conflict, Invalid, NotFound
from council.kernel.ids import checked_name
from council.kernel.record import TYPE_CHECKING, Any
from council.setup import identities, init

if TYPE_CHECKING:
    from council.app import App

IN_SETTINGS = ("preset", "driver", "base_url", "api_key_env")
IN_SOUL = ("name", "emoji", "role", "model", "capabilities")
SHOWN = ("name", "emoji", "role", "model", "driver", "capabilities", "faults")


def add(
    app: App, agent: str, *, preset: str = "", discord: str = "", from_: str = "", **facts: Any
) -> dict[str, Any]:
    """Add an agent, or change what is named of one; return what is known of it now.

    `facts` are `name`, `emoji`, `role`, `model`, `capability` (SOUL.md), `driver`, `base_url` and
    `api_key_env` (settings); empty ones stay. `discord` and `from_`: see `identities.py`.
    """
    ident = checked_name(agent, "agent id")
    if preset and preset not in programs.presets():
        known = ", ".join(programs.presets())
        raise Invalid("bad-preset", f"no preset is called {preset!r}", f"use one of: {known}")
    facts |= {"preset": preset, "capabilities": facts.pop("capability", None)}
    table: dict[str, Any] = {key: facts[key] for key in IN_SETTINGS if facts.get(key)}
    at, folder = f"agents.{ident}", f"{app.root}/{souls.FOLDER}/{ident}"
    data = _changed(app, ident, lambda text: settings.with_keys(text, at, table)) if table else None
    is_new = not os.path.lexists(folder)
    try:
        init.add_folder(app.root, ident, [])
        if changes := {key: facts[key] for key in IN_SOUL if facts.get(key)}:
            soul = souls.read(app.root, ident) or souls.Soul(id=ident)
            souls.write(app.root, soul.copy(**changes))
        if discord:
            identities.register(app, ident, discord, facts.get("name") or "")
        faults = identities.look(app, from_) if from_ else []
        _save(app, data)
    except BaseException:
        if is_new:  # on a full disk files can be removed, not written
            shutil.rmtree(folder, ignore_errors=True)
        raise
    now = app.agent(ident)
    code, words = programs.fault(now, app.world, app.root)
    faults += [words] * bool(code)
    done = {"outcome": "added" if is_new else "changed", "byHand": now.driver == "manual"}
    return {**shown(now), "faults": faults, **done}


def shown(agent: settings.AgentSettings) -> dict[str, Any]:
    """Return an agent as lists show it."""
    facts = {key: getattr(agent, key) for key in SHOWN}
    facts |= {"accounts": [], "discordUserId": "", "protocolId": ""}
    facts["program"] = agent.preset or os.path.basename(next(iter(agent.argv), "")) or agent.driver
    return {"agentId": agent.id, "agentName": agent.name, **facts}


def remove(app: App, agent: str) -> dict[str, Any]:
    """Remove an agent's settings and put its folder aside, in `memory/agents/.removed`."""
    folder, removed = f"{app.root}/{souls.FOLDER}/{agent}", f"{app.root}/{souls.FOLDER}/.removed"
    if agent not in app.agents():
        raise NotFound("no-agent", f"no agent {agent!r}", "council list agents")
    for name in app.conversations():
        if agent in app.conversation(name).peek().participants:
            hint = f"council cancel --name {name}, or wait until it is over"
            raise Conflict("in-use", f"{agent} takes part in {name}", hint)
    _save(app, _changed(app, agent, lambda text: without_table(text, f"agents.{agent}")))
    aside = ""
    if os.path.isdir(folder):
        places = [f"{removed}/{agent}", *(f"{removed}/{agent}-{at}" for at in range(2, 1000))]
        aside = next(one for one in places if not os.path.lexists(one))
        os.renames(folder, aside)
    return {"agentId": agent, "outcome": "removed", "folder": aside, "faults": []}


def without_table(text: str, table: str) -> str:
    """Return the text of a settings file without a table; all else stays."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = line.split("#")[0].strip() == f"[{table}]"
        kept += [] if inside else [line]
    return "".join(kept)


def _changed(app: App, ident: str, change: Callable[[str], str]) -> bytes:
    """Return council.toml changed, unless the result is not what an agent's table may say."""
    before = settings.content(f"{app.root}/{settings.FILE}") or b""
    data = change(before.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    changed = settings.parsed(data).agents.get(ident)
    if changed and changed.faults:
        raise Invalid("bad-settings", changed.faults[0], "give another value")
    return data


def _save(app: App, data: bytes | None) -> None:
    path = f"{app.root}/{settings.FILE}"
    if data is not None and data != settings.content(path):
        files.replace(path, data, os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644)
    app.again()
