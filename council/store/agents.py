"""The agents of a workspace: `SOUL.md`, the settings and defaults made one value.

Each fact has one place that counts first: the driver in `council.toml`, all
that makes a person (name, emoji, role, model, persona, capabilities, handles)
in `SOUL.md`. A `SOUL.md` that cannot be used is a fault of that agent and
stops no one.

Source: `cli.md` sections 1, 4 and 5.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Container
from contextlib import suppress

from council.core.agents import SHELL, Agent, is_line
from council.core.errors import CouncilError, InvalidInputError, InvalidStateError
from council.core.ids import checked_name, is_name
from council.core.reading import TooDeepError
from council.core.record import Any
from council.store import files
from council.store.front_matter import parted
from council.store.paths import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.settings import Settings

SOUL_FILE = "SOUL.md"
DEFAULT_DRIVER = "manual"

_MAX_SOUL_BYTES = 1024 * 1024
_MAX_LINE_CHARS = 200
_FAMILY = {"henry": "🦉", "sage": "🦎", "nova": "🌟", "blaise": "🧮"}
_EMOJI = "🦊🐢🐝🦜🐙🦔🐬🦋🌵🍀🔭🧭⚓🎻🪁🐞"


def agent(root: str, settings: Settings, agent_id: str) -> Agent:
    """Gather what is known of one agent; one without a file has the defaults.

    Raises:
        InvalidInputError: `agent_id` is not a legal id.
    """
    told = settings.agent(agent_id)
    faults: list[str] = []
    soul, persona = _soul(root, settings, checked_name(agent_id, "agent id"), faults)

    def texts(key: str, *, many: bool = False) -> list[str]:
        value = soul.get(key)
        given = value if many and isinstance(value, list) else [value]
        found = [_as_line(one) for one in given] if value is not None else []
        if None in found:
            expected = "a list of texts" if many else "a text of one line"
            faults.append(f"{SOUL_FILE} of {agent_id}: {key} is not {expected}")
        return [text for text in found if text]

    def line(key: str) -> str:
        return "".join(texts(key))

    preset = line("preset")
    if preset and not (told.preset or told.argv):
        told = told.copy(preset=preset)
    driver = settings.agent(agent_id).implied_driver or line("driver") or told.implied_driver
    told = told.copy(driver=driver or DEFAULT_DRIVER)
    emoji = line("emoji") or told.emoji
    return Agent(
        id=agent_id,
        name=line("name") or told.name or agent_id.capitalize(),
        emoji=emoji or default_emoji(agent_id),
        has_own_emoji=bool(emoji),
        role=line("role") or told.role,
        model=line("model") or told.model,
        driver=told.driver,
        capabilities=texts("capabilities", many=True) or told.capabilities,
        handles=texts("handles", many=True) or told.handles,
        persona=persona or told.persona,
        workspace=agent_workspace(root, settings, agent_id),
        settings=told,
        faults=faults,
    )


def persona_of(root: str, settings: Settings, agent_id: str) -> str:
    """Return the persona of one agent without reading its facts; "" when there is none.

    It is the text below the front matter, which ends with the second line of
    `---`: to find that, no YAML has to be understood, and prompts are asked
    for too often to load a parser for it.
    """
    checked_name(agent_id, "agent id")
    return _halves(root, settings, agent_id)[1].strip() or settings.agent(agent_id).persona


def is_woken(root: str, settings: Settings, agent_id: str) -> bool:
    """Return true if something may wake an agent, without reading its facts; in doubt it does.

    Ends of turns ask it, too often for a parser of YAML to be loaded.
    """
    driver = settings.agent(agent_id).implied_driver
    if driver or not is_name(agent_id):
        return driver not in ("", "manual")
    front = _halves(root, settings, agent_id)[0]
    return "driver" in front or "preset" in front


def _halves(root: str, settings: Settings, agent_id: str) -> tuple[str, str]:
    """Return front matter and body of a `SOUL.md` as they stand, "" where it cannot be read."""
    try:
        text = _soul_text(soul_path(root, settings, agent_id), root, settings)
    except (OSError, CouncilError):
        return "", ""
    if not text.startswith("---\n"):
        return "", text
    end = text.find("\n---\n", 3)
    return text[:end], text[end + 5 :] if end >= 0 else ""


def way_of_answering(root: str, settings: Settings, agent_id: str) -> str:
    """Return how an agent hands in what it says to a council: PRINT, SHELL or MCP.

    One that answers by hand has a shell. Its facts are read only where `SOUL.md` names the
    driver.

    Source: HR-028.
    """
    told = settings.agent(agent_id)
    driver = told.implied_driver
    if not driver and is_woken(root, settings, agent_id):
        found = agent(root, settings, agent_id)
        driver, told = found.driver, found.settings
    return SHELL if driver in ("", DEFAULT_DRIVER) else told.way


def known_agents(root: str, settings: Settings) -> list[str]:
    """Return the ids of all agents that have settings or a folder, in order."""
    known = set(settings.agents)
    with suppress(OSError), os.scandir(Workspace(root, settings.paths).agents) as found:
        ours = (one for one in found if is_name(one.name))
        known.update([one.name for one in ours if one.is_dir(follow_symlinks=False)])
    return sorted(known)


def agent_of_directory(root: str, settings: Settings, cwd: str) -> str | None:
    """Return whose folder `cwd` lies in, None when it belongs to none or to several."""
    here = os.path.realpath(cwd)
    owners: dict[str, set[str]] = {}
    home = Workspace(root, settings.paths).agents
    for one in known_agents(root, settings):
        folders = {os.path.join(home, one), agent_workspace(root, settings, one)}
        for folder in map(os.path.realpath, folders):
            if here == folder or here.startswith(folder.rstrip(os.sep) + os.sep):
                owners.setdefault(folder, set()).add(one)
    nearest = owners[max(owners, key=len)] if owners else set()
    return nearest.pop() if len(nearest) == 1 else None


def agent_workspace(root: str, settings: Settings, agent_id: str) -> str:
    """Return the folder an agent works in."""
    configured = settings.agent(agent_id).workspace
    if configured:
        return os.path.normpath(os.path.join(root, os.path.expanduser(configured)))
    return os.path.join(Workspace(root, settings.paths).agents, agent_id)


def default_emoji(agent_id: str, taken: Container[str] = ()) -> str:
    """Return the emoji of an agent that has none of its own: the same every time for one id.

    It avoids those that are `taken` while others are free.
    """
    import hashlib

    first = hashlib.sha256(agent_id.encode()).digest()[0] % len(_EMOJI)
    order = _FAMILY.get(agent_id, "") + _EMOJI[first:] + _EMOJI[:first]
    return next((one for one in order if one not in taken), order[0])


def _soul(
    root: str, settings: Settings, agent_id: str, faults: list[str]
) -> tuple[dict[str, Any], str]:
    """Return the front matter and the body of a `SOUL.md`; what is wrong goes to `faults`.

    The one in the agent's own folder counts before the one in its workspace.
    """
    path = os.path.join(agent_workspace(root, settings, agent_id), SOUL_FILE)
    try:
        path = soul_path(root, settings, agent_id)
        text = _soul_text(path, root, settings)
        if not text.startswith("---"):
            return {}, text.strip()
        return parted(text)
    except FileNotFoundError:
        return {}, ""
    except CouncilError as error:
        said = error.message
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
    except TooDeepError as error:
        said = f"has front matter {error}"
    # Any exception of a YAML parser means the same: this file's front matter is broken.
    except Exception as error:
        said = f"has front matter that is not YAML: {' '.join(str(error).split())[:200]}"
    faults.append(f"{os.path.relpath(path, root)} {said}")
    return {}, ""


def soul_path(root: str, settings: Settings, agent_id: str) -> str:
    """Return the `SOUL.md` that counts for an agent, or the one to be made.

    The one in its own folder counts before the one in the folder it works in.
    """
    own = os.path.join(Workspace(root, settings.paths).agent(agent_id), SOUL_FILE)
    other = os.path.join(agent_workspace(root, settings, agent_id), SOUL_FILE)
    return own if os.path.lexists(own) or not os.path.lexists(other) else other


def _soul_text(path: str, root: str, settings: Settings) -> str:
    try:
        descriptor = files.open_regular(path)
    except InvalidStateError:
        raise InvalidInputError("is not a plain file") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidInputError("is a link: put the file itself there") from None
        raise
    with open(descriptor, "rb") as file:
        if files.is_also_in(Workspace(root, settings.paths).control, descriptor):
            raise InvalidInputError("is a file of .council by another name")
        content = file.read(_MAX_SOUL_BYTES + 1)
    if len(content) > _MAX_SOUL_BYTES:
        raise InvalidInputError(f"is larger than {_MAX_SOUL_BYTES} bytes")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InvalidInputError("is not UTF-8") from None


def _as_line(value: object) -> str | None:
    """Return a fact as one line; YAML reads `model: 4` as a number, which is fine."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    return text if is_line(text) and len(text) <= _MAX_LINE_CHARS else None
