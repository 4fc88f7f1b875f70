"""Adding, changing and removing agents: their folder, their SOUL.md, their settings."""

from __future__ import annotations

import os

from council.agents import programs, settings, souls
from council.kernel import files
from council.kernel.errors import Conflict, Invalid, NotFound, Usage
from council.kernel.ids import checked_name
from council.kernel.record import TYPE_CHECKING, Any
from council.setup import init

if TYPE_CHECKING:
    from council.app import App

IN_SOUL = {"name": "name", "role": "role", "model": "model", "capability": "capabilities"}
IN_SETTINGS = ("preset", "base_url", "api_key_env")
SHOWN = ("name", "emoji", "role", "model", "driver", "capabilities")


def add(
    app: App, agent: str, *, preset: str = "", discord: str = "", from_: str = "", **facts: Any
) -> dict[str, Any]:
    """Add an agent, or change what is named of one; return what is known of it now.

    `facts` are `name`, `role`, `model`, `capability` (SOUL.md), `base_url` and `api_key_env`
    (settings); empty ones stay. `discord` and `from_` are for rooms.

    Raises:
        Invalid: The id or preset is not one.
        Usage: Something for rooms is asked for (`no-rooms`).
    """
    ident = checked_name(agent, "agent id")
    if discord or from_:
        raise Usage("no-rooms", "this version has no rooms yet", "leave out --discord and --from")
    if preset and preset not in programs.presets():
        known = ", ".join(programs.presets())
        raise Invalid("bad-preset", f"no preset is called {preset!r}", f"use one of: {known}")
    facts = {key: one for key, one in {"preset": preset, **facts}.items() if one}
    table = {key: facts[key] for key in IN_SETTINGS if key in facts}
    if table:
        _change(app, ident, lambda text: settings.with_keys(text, f"agents.{ident}", dict(table)))
    made: list[str] = []
    init.add_folder(app.root, ident, made)
    if changes := {IN_SOUL[key]: one for key, one in facts.items() if key in IN_SOUL}:
        soul = souls.read(app.root, ident) or souls.Soul(id=ident)
        souls.write(app.root, soul.copy(**changes))
    now = app.settings.agent(ident, souls.read(app.root, ident))
    code, words = programs.fault(now, app.world, app.root)
    shown: dict[str, Any] = {key: getattr(now, key) for key in SHOWN}
    shown |= {"agentId": ident, "agentName": now.name, "faults": [words] if code else []}
    return {**shown, "outcome": "added" if made else "changed"}


def remove(app: App, agent: str) -> dict[str, Any]:
    """Remove an agent's settings and put its folder aside, in `memory/agents/.removed`.

    Raises:
        NotFound: There is no such agent (`no-agent`).
        Conflict: It takes part in an open conversation (`in-use`).
    """
    ident, folder = agent, f"{app.root}/{souls.FOLDER}/{agent}"
    if ident not in souls.agents(app.root, app.settings):
        raise NotFound("no-agent", f"no agent {ident!r}", "council list agents")
    for name in app.conversations():
        if ident in app.conversation(name).peek().participants:
            hint = f"council cancel --name {name}, or wait until it is over"
            raise Conflict("in-use", f"{ident} takes part in {name}", hint)
    _change(app, ident, lambda text: without_table(text, f"agents.{ident}"))
    aside = ""
    if os.path.isdir(folder):
        aside = first = f"{app.root}/{souls.FOLDER}/.removed/{ident}"
        count = 1
        while os.path.lexists(aside):
            count += 1
            aside = f"{first}-{count}"
        os.renames(folder, aside)
    return {"agentId": ident, "outcome": "removed", "folder": aside, "faults": []}


def text(made: dict[str, Any]) -> str:
    """Return what `agent add` and `agent remove` print."""
    lines = [f"{made['agentId']}: {made['outcome']}"]
    if made["outcome"] != "removed":
        how = "answers by hand" if made["driver"] == "manual" else f"driver {made['driver']}"
        lines.append(f"  {made['emoji']} {made['name']}, {how}")
    elif made["folder"]:
        lines.append(f"  its folder is now {made['folder']}")
    return "\n".join([*lines, *[f"! {one}" for one in made["faults"]], ""])


def without_table(text: str, table: str) -> str:
    """Return the text of a settings file without a table; all else stays."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = line.split("#")[0].strip() == f"[{table}]"
        kept += [] if inside else [line]
    return "".join(kept)


def _change(app: App, ident: str, change: Any) -> None:
    """Change council.toml, unless the result is not what an agent's table may say."""
    path = f"{app.root}/{settings.FILE}"
    before = settings.content(path) or b""
    data = change(before.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    changed = settings.parsed(data).agents.get(ident)
    if changed and changed.faults:
        raise Invalid("bad-settings", changed.faults[0], "give another value")
    if data != before:
        files.replace(path, data, os.stat(path).st_mode & 0o777 if before else 0o644)
    app.again()
