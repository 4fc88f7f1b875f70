"""Setting up a workspace: folders, settings, agents, what agents read.

It never overwrites anything; calling it again adds only what is missing.

Source: C0-024, C0-053, C0-054, P8-002, P8-003, `cli.md` section 2 (`init`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from council.core.errors import InvalidInputError, UsageError
from council.core.ids import checked_name
from council.core.record import Record
from council.core.rooms.identities import check_is_not_moderator
from council.drivers.programs import PRESETS
from council.operations.conversations.kept_prompts import SKILL
from council.operations.place import Place
from council.operations.reporting.board import render_board
from council.store import agent_folders
from council.store.agent_folders import new_page
from council.store.agents import agent as known_agent
from council.store.agents import default_emoji, is_woken, known_agents
from council.store.conversations.naming import prepare_control
from council.store.files import explaining, make_folder, shared_mode, write_new
from council.store.paths import Workspace, personal_root
from council.store.settings import LANGUAGES, load_settings
from council.store.sharing import share_all

AGENT_PROGRAMS = ("openclaw", "claude", "codex", "gemini", "opencode", "ollama", "llm")


class SetUp(Record):
    """What `init` made, and what it proposes.

    `programs` are the agent programs on PATH, `agents` those of them that it turned on; `offered`
    has by others the commands that turn them on. `ready`: two agents or more run by themselves.
    """

    root: str
    made: list[str]
    programs: list[str]
    agents: list[str]
    offered: dict[str, str]
    ready: bool


def found_programs(environ: Mapping[str, str]) -> list[str]:
    """Return the agent programs on PATH that a preset runs as they are (OP-003)."""
    found = _on_path(environ)
    return [name for name in found if name in PRESETS and not PRESETS[name].needs_model]


def _on_path(environ: Mapping[str, str]) -> list[str]:
    return [name for name in AGENT_PROGRAMS if shutil.which(name, path=environ.get("PATH"))]


def set_up(
    directory: str,
    agents: tuple[str, ...],
    lang: str,
    environ: Mapping[str, str],
    programs: tuple[str, ...] | None = None,
    *,
    shared: bool = False,
    facts: Mapping[str, Mapping[str, str]] | None = None,
) -> SetUp:
    """Make a workspace in `directory`, or complete the one that is there.

    Args:
        directory: Its root.
        agents: Who gets a folder.
        lang: The language of a new workspace, "" for none that is chosen.
        environ: The environment.
        programs: What new settings declare, each by its preset; None for those of `agents`
            that are on PATH, or all on PATH where no agent is named (CL-001).
        facts: What is known of agents, by their ids: their names and emoji.
        shared: Whether all users of the group of `directory` are to work in it (OP-009).

    Raises:
        RefusedError: It cannot be shared: some of it belongs to other users.
        InvalidInputError: An agent's id is not legal, or the directory cannot be one.
        RefusedError: An agent's id is the moderator's.
        UsageError: There is no such language.
    """
    if lang and lang not in LANGUAGES:
        raise UsageError(f"no language {lang!r}", f"choose one of: {', '.join(LANGUAGES)}")
    for agent in agents:
        check_is_not_moderator(checked_name(agent, "agent id"), "id")
    root = os.path.abspath(directory)
    if os.path.exists(root) and not os.path.isdir(root):
        raise InvalidInputError(f"{root} is not a directory", "name another one: council init DIR")
    with explaining("write", root):
        make_folder(root)
        if shared and os.stat(root).st_uid == os.geteuid():
            os.chmod(root, shared_mode(os.stat(root).st_mode))  # all that is made now follows it
        made: list[str] = []
        found, usable = _on_path(environ), found_programs(environ)
        wanted = tuple(one for one in agents or usable if one in usable)
        declared = wanted = wanted if programs is None else programs
        _write(root, f"{root}/council.toml", settings_text(lang, found, declared), made)
        fresh = "council.toml" in made
        paths = _paths(root)
        turned_on = _complete(paths, agents, facts or {}, made, () if fresh else wanted)
        if not os.path.lexists(paths.board):
            place = Place(root, environ, None)
            render_board(place, place.now())
            made.append(os.path.relpath(paths.board, root))
        prepare_control(paths)
        if shared:
            share_all(_paths(root))
        settings = load_settings(root)
        known = known_agents(root, settings)
        return SetUp(
            root=root,
            made=made,
            programs=found,
            agents=list(declared) if fresh else turned_on,
            offered={one: _offer(one) for one in found if one in PRESETS and one not in known},
            ready=len([one for one in known if is_woken(root, settings, one)]) > 1,
        )


def _offer(program: str) -> str:
    model = " --model MODEL" if PRESETS[program].needs_model else ""
    return f"council agent add {program} --preset {program}{model}"


def _complete(
    paths: Workspace,
    agents: tuple[str, ...],
    facts: Mapping[str, Mapping[str, str]],
    made: list[str],
    programs: tuple[str, ...],
) -> list[str]:
    """Make the folders, agents and pages for agents that are missing; add them to `made`.

    Returns:
        Which of `programs` a new page turns on: settings that stand are not touched.
    """
    settings = load_settings(paths.root)
    turned_on, told = [], settings.agents
    others = set(known_agents(paths.root, settings)) - set(agents)
    taken = {known_agent(paths.root, settings, one).emoji for one in others}
    root, live = paths.root, os.path.dirname(paths.control)
    shared = (paths.shared, live, paths.artifacts, paths.briefs)
    for folder in (*shared, paths.minutes, paths.agents):
        if not os.path.isdir(folder):
            make_folder(folder)
            made.append(os.path.relpath(folder, root) + "/")
    for agent in agents:
        shown = {"name": agent.capitalize(), "emoji": default_emoji(agent, taken)}
        known = {key: value for key, value in facts.get(agent, {}).items() if value}
        taken.add({**shown, **known}["emoji"])
        runs = {"preset": agent} if agent in programs and agent not in told else {}
        page, before = new_page(agent, {**shown, **known, "role": "", **runs}), len(made)
        _write(root, f"{paths.agent(agent)}/SOUL.md", page, made)
        turned_on += [agent] if runs and len(made) > before else []
        made += [os.path.relpath(path, root) for path in agent_folders.make(paths, agent)]
    for folder, _, names in os.walk(SKILL):
        for name in sorted(names):
            source = os.path.join(folder, name)
            if name.endswith(".md"):
                with open(source, encoding="utf-8") as file:
                    text = file.read()
                inside = os.path.relpath(source, SKILL)
                _write(root, os.path.join(paths.skills, inside), text, made)
    return turned_on


def _paths(root: str) -> Workspace:
    """Return where everything lies; on the way the settings are read once and kept."""
    make_folder(Workspace(root).control)
    return Workspace(root, load_settings(root).paths)


def personal_directory(environ: Mapping[str, str]) -> str:
    """Return the folder of the personal workspace.

    Raises:
        InvalidInputError: The environment names no home.
    """
    found = personal_root(environ)
    if not found:
        raise InvalidInputError("no home directory is known", "set HOME or XDG_DATA_HOME")
    return found


def _write(root: str, path: str, text: str, made: list[str]) -> None:
    if os.path.lexists(path):
        return
    make_folder(os.path.dirname(path))
    if write_new(path, text.encode("utf-8")):
        made.append(os.path.relpath(path, root))


def settings_text(lang: str, programs: list[str], declared: tuple[str, ...]) -> str:
    """Return new settings; the `declared` programs are agents, the others are proposed."""
    lines = [
        "# The settings of this council workspace; every line may be left out.",
        "schemaVersion = 1",
        f'language = "{lang}"' if lang else '# language = "en"        # or "fr"',
        '# coordinator = "maman"    # is notified, and writes the synthesis',
        '# phase_timeout = "1h"     # how long a phase may take',
        "# max_runs = 4             # how many agents may run at once",
        '# run_timeout = "120s"     # how long one run of an agent may take',
        "",
        "# An agent without a table here answers by hand, with: council respond --as ID",
        "#",
        "# [agents.henry]",
        '# argv = ["my-agent", "--prompt", "{prompt_file}"]   # its standard output is the answer',
    ]
    for name in declared:
        lines += ["", f"[agents.{name}]", f'preset = "{name}"']
    presets = [name for name in programs if name != "openclaw" and name not in declared]
    if presets:
        lines += ["", f"# Found on this machine: {', '.join(presets)}. To use one:"]
    for name in presets:
        lines += ["#", f"# [agents.{name}]", f'# preset = "{name}"']
        lines += ['# model = "…"             # it has none of its own'] * PRESETS[name].needs_model
    return "\n".join(lines) + "\n"
