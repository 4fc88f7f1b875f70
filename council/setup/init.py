"""Making a workspace: folders, settings, agents, and the skill; sharing it with other machines.

Nothing that exists is overwritten; a second call adds only what is missing.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from contextlib import suppress

from council.agents import programs as presets
from council.agents import settings, souls
from council.kernel import files, shared, times, words
from council.kernel.errors import Conflict, Invalid, NotFound, Refusal, Usage
from council.kernel.ids import checked_name, digest
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from council.app import App

FILES = "setup/files"  # in the package
PARTS = ("skills", "memory", "tasks", "notes")  # of an agent's folder (document 004)
FOLDERS = ("memory/shared/artifacts", "memory/shared/briefs", "memory/agents", "conseils")
# The format, and what git must not take: journals, sealed answers, run logs, prompts, keys.
FIRST = {
    "memory/shared/.council/format": "3\n",
    "memory/shared/.council/.gitignore": "*\n",
    "memory/agents/.gitignore": "*/tasks/\n",
    ".gitignore": "memory/shared/.council/\nmemory/agents/*/tasks/\n*.env\n*.key\n",
}
CHECKLIST = "skills/council/references/COUNCIL.md"
# What this version keeps in `.council`; other names without a `format` are of version 0.2.
_OURS = {"format", "conversations", "registry", "closed", "places", "runs", "due", ".gitignore"}
_OURS |= {"minutes.lock", "settings-last.json", "openclaw", "web-token", "mcp-token", "errors.log"}
_FAMILY = {"henry": "🦉", "sage": "🦎", "nova": "🌟", "blaise": "🧮", "maman": "🏡"}
_EMOJI = "🦊🐢🐝🦜🐙🦔🐬🦋🌵🍀🔭🧭⚓🎻🪁🐞"


def init(root: str, agents: list[str], lang: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Make a workspace in `root`, or complete the one that is there.

    Without ids of `agents`, every agent program on PATH becomes one.

    Returns:
        `root`, `made` (paths below it), `programs` (on PATH), `agents` (those that were given a
        preset now), `known` (all agents), `runnable` (those with a program), `next` (a command).
    """
    names = [checked_name(one, "agent id") for one in agents]
    if os.path.lexists(root) and not os.path.isdir(root):
        raise Invalid("not-a-directory", f"{root} is not a directory", "council init DIR")
    if not os.path.exists(f"{root}/memory/shared/.council/format"):
        refuse_earlier(f"{root}/memory/shared/.council")
    rows, programs = presets.presets(), presets.found(env.get("PATH") or os.defpath)
    # A program of two letters may be another one; one that has to be given a model is no agent yet.
    runs = [one for one in programs if rows[one].model != ["{model}"]]
    usable = [one for one in names or runs if one in runs and (names or len(one) > 2)]
    made = [f"{one}/" for one in FOLDERS if not os.path.isdir(f"{root}/{one}")]
    for folder in made:
        os.makedirs(f"{root}/{folder}")
    toml = words.fill(words.template(f"{FILES}/council.toml"), {"lang": lang, "agents": usable})
    texts = {**FIRST, settings.FILE: toml, **skill()}
    if lang == "fr":  # the checklist that prompts of CHALLENGE carry
        texts[CHECKLIST] = texts[CHECKLIST.replace(".md", ".fr.md")]
    for path, text in texts.items():
        _write(root, path, text, made)
    for ident in names or usable:
        add_folder(root, ident, made)
    everybody = souls.agents(root, settings.load(root))
    known, runnable = list(everybody), [k for k, one in everybody.items() if one.driver != "manual"]
    following = "council agent add ID --preset PROGRAM (a council needs two)"
    if len(known) > 1:
        verb, who = ("ask", runnable) if len(runnable) > 1 else ("convene", known)
        following = f'council {verb} "your question" --agents {",".join(who[:4])}'
    return {
        **{"root": root, "made": made, "programs": programs},
        "agents": usable if settings.FILE in made else [],
        **{"known": known, "runnable": runnable, "next": following},
    }


def refuse_earlier(control: str) -> None:
    """Refuse a `.council` folder without `format` that version 0.2 made; it is never adopted."""
    if set(files.names(control)) - _OURS:
        fix = "use council 0.2 (its last commit is cda4bd19), or begin in a new folder"
        what = f"{control} is of version 0.2, which this version cannot read"
        raise Invalid("old-format", what, fix)


def add_folder(root: str, ident: str, made: list[str]) -> None:
    """Make what is missing of an agent's folder; add the paths of new files to `made`."""
    folder = f"memory/agents/{ident}"
    for part in PARTS:
        os.makedirs(f"{root}/{folder}/{part}", exist_ok=True)
    taken = {one.emoji for one in souls.souls(root).values()}
    first = int(digest(ident)[:2], 16) % len(_EMOJI)  # the same for one id, if it is free
    order = _FAMILY.get(ident, "") + _EMOJI[first:] + _EMOJI[:first]
    emoji = next((one for one in order if one not in taken), order[0])
    facts = {"name": ident.capitalize(), "emoji": emoji}
    soul = words.fill(words.template(f"{FILES}/SOUL.md"), facts)
    _write(root, f"{folder}/SOUL.md", soul, made)
    _write(root, f"{folder}/policy.json", words.template(f"{FILES}/policy.json"), made)


def skill() -> dict[str, str]:
    """Return the files of the skill: paths below the workspace, and texts."""
    found = glob.glob("skills/**/*.md", root_dir=f"{words.PACKAGE}/{FILES}", recursive=True)
    return {path: words.template(f"{FILES}/{path}") for path in sorted(found)}


def _write(root: str, path: str, text: str, made: list[str]) -> None:
    """Write a new file and note it as `made`; one that is there stays."""
    os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
    with suppress(FileExistsError), open(f"{root}/{path}", "x", encoding="utf-8") as file:
        file.write(text)
        made.append(path)


def engine_join(app: App, url: str, begins: str = "") -> dict[str, Any]:
    """Let this workspace take part in the council of a database, or begin one with all its own.

    What is returned of the server has no secrets.
    """
    if "://" not in url and "=" not in url:
        raise Usage("usage", "no URL", "write it like postgresql://USER@HOST/DATABASE")
    if shared.facts(app.state_folder).get("ready"):
        raise Conflict("engine-there", "this workspace has an engine", "council engine status")
    engine = shared.driver().join(app.state_folder, url, bool(begins), shared.FOLDERS)
    return {"server": engine.server.name, "machine": engine.machine, "begins": bool(begins)}


def engine_status(app: App) -> dict[str, Any]:
    """Return `server`, `machine`, `ok`, `away` (why it is not available) and `machines`.

    These are `number`, `name`, `joined` and `wrote` (the newest change, "" for none).
    """
    facts, machines, away = _engine_of(app), list[Any](), ""
    server = shared.driver().Server(facts["url"])
    query = """SELECT m.number, m.name, m.joined, max(l.at)
        FROM council.machines m LEFT JOIN council.log l ON l.machine = m.number
        GROUP BY m.number ORDER BY m.number"""
    try:
        for number, name, *instants in server.ask(query):
            joined, wrote = (times.text(at) if at else "" for at in instants)
            machines.append({"number": number, "name": name, "joined": joined, "wrote": wrote})
        app.fetch()
    except Refusal as refusal:
        away = f"{refusal.message} ({refusal.hint})"
    made = {"server": server.name, "machine": facts["machine"], "ok": not away, "away": away}
    return {**made, "machines": machines}


def engine_leave(app: App) -> dict[str, Any]:
    """Go on alone with what is here; `missing` says why that may not be the newest."""
    facts = _engine_of(app)
    return {"machine": facts["machine"], "missing": shared.driver().leave(app.state_folder, facts)}


def _engine_of(app: App) -> dict[str, Any]:
    if not (facts := shared.facts(app.state_folder)):
        raise NotFound("no-engine", "this workspace has no engine", "council engine init URL")
    return facts
