"""OpenClaw: its agents become agents here, and our plugin is put into it and taken out again.

What stands is never overwritten; called again, both add only what is missing. OpenClaw's own
configuration is changed by its own commands alone.

Source: CL-001, CL-003, CL-006, `openclaw.md`, 0042.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress

from council.core.agents import is_line
from council.core.errors import CouncilError, NotFoundError
from council.core.ids import is_name
from council.core.reading import read_json
from council.core.record import Any, Record
from council.core.rooms.identities import check_is_not_moderator
from council.drivers.openclaw import PLUGIN, has_plugin, state_folder
from council.drivers.openclaw_program import configured, openclaw
from council.drivers.outputs import at, list_at, text_at
from council.operations import schedule
from council.operations.clocks import EVERY, OPENCLAW
from council.operations.integrating import Integrated
from council.operations.place import Place, council_argv
from council.operations.setup import SetUp, set_up
from council.store.files import content_of
from council.store.settings_file import add_tables

DRIVER = "openclaw"
PACKAGE_PLUGIN = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    *("plugin", DRIVER),
)
# A person who asks for the plugin has chosen it, and what it may do stands in its manifest.
_CONSENT = ("--force", "--accept-capabilities")
_ENTRY = f"plugins.entries.{PLUGIN}"


class Found(Record):
    """An agent of OpenClaw, as OpenClaw itself says."""

    id: str
    name: str = ""
    emoji: str = ""
    workspace: str = ""
    is_default: bool = False


# --- Its agents


def agents_of(environ: Mapping[str, str]) -> list[Found]:
    """Return the agents of OpenClaw: as its program lists them, else from its configuration file.

    Raises:
        NotFoundError: There is neither the program nor a configuration that can be read.
    """
    listed: Any = None
    with suppress(CouncilError, ValueError):
        listed = read_json(openclaw(environ, "agents", "list", "--json"))
    if not isinstance(listed, list):
        listed = _from_file(environ)
    found = [_found(one) for one in listed if isinstance(one, dict)]
    return [one for one in found if one.id]


def _found(told: dict[str, Any]) -> Found:
    def text(*places: str) -> str:
        known = (text_at(told, *one.split(".")).strip() for one in places)
        return next((one for one in known if one and is_line(one)), "")

    return Found(
        id=text("id"),
        name=text("identityName", "identity.name", "name"),
        emoji=text("identityEmoji", "identity.emoji"),
        workspace=text("workspace"),
        is_default=(told.get("isDefault") or told.get("default")) is True,
    )


def _from_file(environ: Mapping[str, str]) -> list[Any]:
    """Return the agents of its file: `agents.entries`, and `agents.list` up to spring 2026.

    Raises:
        NotFoundError: It is not there, or no JSON.
    """
    try:
        agents = _file(environ)["agents"]
        entries, older = agents.get("entries") or {}, agents.get("list") or []
        return [{"id": one, **(values or {})} for one, values in entries.items()] or list(older)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, CouncilError):
        raise NotFoundError(
            f"OpenClaw lists no agents, and {_path(environ)} names none",
            "see: openclaw agents list; is openclaw on PATH, and its configuration valid?",
        ) from None


def _path(environ: Mapping[str, str]) -> str:
    return environ.get("OPENCLAW_CONFIG_PATH") or f"{state_folder(environ)}/openclaw.json"


def _file(environ: Mapping[str, str]) -> Any:
    """Return the configuration as it stands in the file, without what OpenClaw adds to it."""
    return read_json(content_of(_path(environ)).decode("utf-8", "replace"))


class Joined(Record):
    """What `init --openclaw` did: the workspace, who was added, and each step in words."""

    made: SetUp
    added: list[str]
    steps: list[str]
    left: list[str]


def join(directory: str, lang: str, environ: Mapping[str, str], *, shared: bool) -> Joined:
    """Make a workspace in which the agents of OpenClaw take part, or add what it lacks.

    Raises:
        NotFoundError: OpenClaw has no agents.
        InvalidStateError: The settings that stand cannot be added to.
        CouncilError: The workspace cannot be made.

    Source: CL-001.
    """
    found, left = [], []
    for one in agents_of(environ):
        try:
            check_is_not_moderator(one.id, "id")
            if not is_name(one.id):
                raise CouncilError(f"no legal agent id: {one.id}", "")
        except CouncilError as error:
            left.append(f"{one.id}: left out ({error.message})")
        else:
            found.append(one)
    if not found:
        raise NotFoundError("OpenClaw has no agent that can take part", "openclaw agents add ID")
    facts = {one.id: {"name": one.name, "emoji": one.emoji} for one in found}
    made = set_up(directory, tuple(facts), lang, environ, (), shared=shared, facts=facts)
    added, steps = _take_in(Place(made.root, environ, None), found)
    place = Place(made.root, environ, None)  # with the settings as they are now
    for step in (_install_skill, _install_clock):
        try:
            steps.append(step(place))
        except CouncilError as error:
            left.append(f"{error.message}; {error.hint}")
    return Joined(made=made, added=added, steps=steps, left=left)


def _take_in(place: Place, found: list[Found]) -> tuple[list[str], list[str]]:
    """Add a table for each agent that has none, and the coordinator where none is chosen."""
    settings, chosen = place.settings, ""
    new = [one for one in found if one.id not in settings.agents]
    if not settings.coordinator:
        chosen = next((one.id for one in found if one.is_default), found[0].id)
    tables = {}
    for one in new:
        facts = {"name": one.name, "emoji": one.emoji, "workspace": one.workspace}
        told = {key: value for key, value in facts.items() if value}
        tables[f"agents.{one.id}"] = {"driver": DRIVER, **told}
    if new or chosen:
        add_tables(place.paths, tables, chosen)
    return [one.id for one in new], [f"coordinator: {chosen}"] if chosen else []


def _install_skill(place: Place) -> str:
    """Put the skill where all agents of OpenClaw find it, unless one lies there."""
    folder = f"{state_folder(place.environ)}/skills/council"
    if os.path.lexists(folder):
        return f"skill: was there already ({folder})"
    openclaw(place.environ, "skills", "install", place.paths.skills, "--global")
    return "skill: installed for all agents of OpenClaw"


def _install_clock(place: Place) -> str:
    if OPENCLAW in schedule.clocks(place):
        return "clock: was there already"
    schedule.install(place, OPENCLAW, EVERY)
    return "clock: OpenClaw runs the heartbeat every 5m, without a model"


# --- The plugin


def install(place: Place, *, tries: bool = True) -> Integrated:
    """Put the plugin into OpenClaw for this workspace, and try it with a turn of two agents.

    Raises:
        CouncilError: OpenClaw is not there, or refuses.

    Source: CL-006.
    """
    environ, steps = place.environ, []
    if not _is_current(environ):
        openclaw(environ, "plugins", "install", PACKAGE_PLUGIN, *_CONSENT)
        steps.append(f"plugin: installed below {state_folder(environ)}/extensions")
    workspaces = [one for one in _workspaces(environ) if one.get("root") != place.root]
    wanted: dict[str, Any] = {"root": place.root, "shared": place.paths.shared}
    wanted |= {"relayed": True} if place.is_slave else {}
    entry = {
        "enabled": True,
        "hooks": {"allowConversationAccess": True},
        "config": {"command": council_argv(), "workspaces": [*workspaces, wanted]},
    }
    if configured(environ, _ENTRY) != entry:
        openclaw(environ, "config", "set", _ENTRY, json.dumps(entry), "--strict-json")
        steps.append(f"plugin: allowed to see turns, for {place.root}")
    done = Integrated(client=DRIVER, steps=steps or ["plugin: was in place already"])
    if configured(environ, "plugins.enabled") is False:
        done.ok = False
        done.steps.append("plugins are turned off: openclaw config set plugins.enabled true")
    elif tries:
        from council.operations.integrating.openclaw_trial import try_two_agents

        said, done.ok = try_two_agents(place)
        done.steps += said
    return done


def uninstall(place: Place) -> Integrated:
    """Take the plugin out of OpenClaw, or this workspace out of it where others are served too.

    Raises:
        CouncilError: OpenClaw is not there, or refuses.

    Source: CL-006.
    """
    environ = place.environ
    before = _workspaces(environ)
    others = [one for one in before if one.get("root") != place.root]
    if others:
        if len(others) == len(before):
            return Integrated(client=DRIVER, steps=["plugin: it does not serve this workspace"])
        words = [f"{_ENTRY}.config.workspaces", json.dumps(others), "--strict-json", "--replace"]
        openclaw(environ, "config", "set", *words)
        return Integrated(client=DRIVER, steps=["plugin: stays, for other workspaces"])
    if not has_plugin(environ) and configured(environ, _ENTRY) is None:
        return Integrated(client=DRIVER, steps=["plugin: there was none"])
    if has_plugin(environ):
        openclaw(environ, "plugins", "uninstall", PLUGIN, "--force")
    if configured(environ, _ENTRY) is not None:
        openclaw(environ, "config", "unset", _ENTRY)
    for path in ("plugins.entries", "plugins"):  # what stayed empty was not there before
        with suppress(OSError, ValueError, CouncilError):
            if at(_file(environ), *path.split(".")) == {}:
                openclaw(environ, "config", "unset", path)
    with suppress(OSError):
        shutil.rmtree(f"{state_folder(environ)}/council")
    return Integrated(client=DRIVER, steps=["plugin: removed, and its part of the configuration"])


def _is_current(environ: Mapping[str, str]) -> bool:
    """Return true if the plugin that is installed is the one of this package."""
    there = f"{state_folder(environ)}/extensions/{PLUGIN}"
    try:
        return all(
            content_of(f"{PACKAGE_PLUGIN}/{name}") == content_of(f"{there}/{name}")
            for name in os.listdir(PACKAGE_PLUGIN)
        )
    except (OSError, CouncilError):
        return False


def _workspaces(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    found = list_at(configured(environ, f"{_ENTRY}.config.workspaces"))
    return [one for one in found if isinstance(one, dict)]
