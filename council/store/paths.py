"""Where every file of a workspace lies, and which paths may be used at all.

It decides names and places and reads nothing but the folders it must find.
What is in the files is the matter of the other modules of the store.

Source: C0-002, XC-009, `cli.md` sections 1 and 4, `store.md` sections 1 and 6.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping

from council.core.errors import InvalidInputError, NotFoundError, RefusedError
from council.core.ids import checked_conversation_name, checked_name, is_conversation_name, is_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from council.core.conversations.conversation import Conversation

    class Veil(Protocol):
        """What those are shown who may not see who said what in an anonymous conversation."""

        def shown(self, event: dict[str, Any]) -> dict[str, Any]:
            """Return an event as they are shown it, the same one where nothing is hidden."""

        def state(self, state: Conversation) -> Conversation:
            """Return a conversation as they are shown it, likewise."""


SETTINGS = "council.toml"
SHARED = "memory/shared"
DEFAULT_NAME = "active"
_OTHERS = "council-{name}-conversation.md"
_DEFAULTS = {
    "shared": SHARED,
    "conversation": f"{{shared}}/{_OTHERS}",
    "agents": "memory/agents",
    "minutes": "conseils",
    "identities": "{shared}/identities.json",
    "artifacts": "{shared}/artifacts",
    "briefs": "{shared}/briefs",
    "board": "{shared}/BOARD.md",
    "ego": "~/.openclaw/ego.json",
    "prompts": "prompts",
    "skills": "skills/council",
}
# What else belongs to council, or is read by the agents of all, below the root.
_KEPT = (SETTINGS, "memory", "skills", ".council")
# A link that is put there after the check of its folder is not seen, however short the time is;
# this is short enough for a program that keeps its workspace open to see it with the next command.
_ONE_COMMAND_S = 0.05
_MOST_FOLDERS = 64
# The folder in which the files of conversations lie, as a place beside those of `_DEFAULTS`.
_BESIDE = "beside"
# What lies in `.council` and is no folder of a conversation.
OWN_FOLDERS = frozenset(
    (
        *("open", "runs", "channels", "key", "readme", "halted", "delegation"),
        *("prompts", "room-prompts", "protocol-prompts"),  # left there by earlier versions
    )
)


def find_root(start: str, env: Mapping[str, str]) -> str:
    """Return the workspace that a command started in `start` works in.

    `COUNCIL_ROOT`, else the nearest folder upwards that holds `council.toml` or
    `memory/shared/`, else the personal workspace if there is one.

    Raises:
        NotFoundError: There is none.
    """
    named = env.get("COUNCIL_ROOT", "")
    if named:
        if os.path.isdir(named):
            return os.path.abspath(named)
        raise NotFoundError(f"COUNCIL_ROOT names no folder: {named}", "run: council init " + named)
    folder, below = os.path.abspath(start), ""
    while folder != below:
        if is_workspace(folder):
            return folder
        folder, below = os.path.dirname(folder), folder
    personal = personal_root(env)
    if personal and is_workspace(personal):
        return personal
    raise NotFoundError("no council workspace here or above; run: council init")


def is_workspace(folder: str) -> bool:
    """Return true if a folder is the root of a workspace."""
    return os.path.isfile(os.path.join(folder, SETTINGS)) or os.path.isdir(
        os.path.join(folder, SHARED)
    )


def is_ghost(folder: str) -> bool:
    """Return true if a folder holds no workspace, only what a run left where one had been."""
    shared = os.path.join(folder, SHARED)
    if os.path.lexists(os.path.join(folder, SETTINGS)) or not os.path.isdir(shared):
        return False
    control = os.path.join(shared, ".council")
    if not os.path.isdir(control) or not set(os.listdir(shared)) <= {".council", "events"}:
        return False
    return not {"README", ".gitignore"} & set(os.listdir(control))


def personal_root(env: Mapping[str, str]) -> str:
    """Return where the personal workspace lies or would lie, "" without a home folder."""
    data = env.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):
        home = env.get("HOME", "")
        if not home:
            return ""
        inside = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
        data = os.path.join(home, inside)
    return os.path.join(data, "council")


def resolve_inside(root: str, path: str) -> str:
    """Return `path`, taken from `root`, as an absolute path that stays inside `root`.

    The file itself need not exist. `root` may be reached through links; below
    it no component may be one.

    Raises:
        RefusedError: The path leads out of `root`, or through a symbolic link.

    Source: XC-009.
    """
    whole = _named_inside(root, path)
    _refuse_links(os.path.abspath(root), whole)
    return whole


def record_files(path: str) -> list[str]:
    """Return the files of a record: its journal `x.jsonl`, and `x.json` that version 1 left."""
    return [one for one in (path, path.removesuffix("l")) if os.path.lexists(one)]


def record_names(files: Iterable[str], forms: tuple[str, ...] = (".jsonl", ".json")) -> list[str]:
    """Return what the records are called that have their files among these, in order."""
    return sorted({one.rpartition(".")[0] for one in files if one.endswith(forms)})


def _named_inside(root: str, path: str) -> str:
    """Do what `resolve_inside` does, without reading the disk."""
    base = os.path.abspath(root)
    whole = os.path.normpath(os.path.join(base, path))
    leads_out = "\x00" in path or ".." in path.split("/")
    if leads_out or (whole != base and not whole.startswith(base.rstrip("/") + "/")):
        raise RefusedError(f"the path {path!r} leads out of {base}", "name a path inside it")
    return whole


def _refuse_links(base: str, whole: str) -> bool:
    """Refuse a path below `base` with a symbolic link in it; return true if all of it exists."""
    end = len(base.rstrip("/"))
    while 0 <= end < len(whole):
        end = whole.find("/", end + 1)
        step = whole if end < 0 else whole[:end]
        try:
            mode = os.lstat(step).st_mode
        except OSError:
            # What does not exist is no link; what cannot be seen fails when it is opened.
            return False
        if stat.S_ISLNK(mode):
            raise RefusedError(
                f"{step} is a symbolic link", "put the real file or folder in its place"
            )
    return True


class _Place:
    """A place of a workspace: one of those in `[paths]`, or what lies below it."""

    def __init__(self, key: str, path: str = "") -> None:
        self._key, self._path = key, path

    def __get__(self, workspace: Workspace, _: type[Workspace]) -> str:
        if self._path:
            return workspace._below(self._key, self._path)
        return workspace._place(self._key)


class Workspace:
    """The places of one workspace.

    Args:
        root: Its folder.
        paths: Places that `[paths]` of the settings moves, by the names `shared`,
            `conversation` (with `{name}` in it), `agents`, `minutes`, `identities`,
            `artifacts`, `briefs`, `board`, `ego`, `prompts`, `skills` and `run_state`
            (with `{agent}` in it); relative to the root, or absolute, or from `~`.
        strict: Whether only those count as speaking who show who they are (XC-014).
    """

    # The folder of everything that is shared.
    shared = _Place("shared")
    # The folder of the minutes of finished conversations.
    minutes = _Place("minutes")
    # The folder with one folder for each agent.
    agents = _Place("agents")
    # The file of the identity registry.
    identities = _Place("identities")
    # The folder of published bytes, each named by its digest (P8-032).
    artifacts = _Place("artifacts")
    # The lock under which artifacts come and go.
    artifacts_lock = _Place(_BESIDE, ".council/artifacts.lock")
    # The folder of the briefs of hand-offs (P8-036).
    briefs = _Place("briefs")
    # The page that shows what is open and who is to answer (P8-006).
    board = _Place("board")
    # The file of another program from which identities may be taken over (DG-017).
    ego = _Place("ego")
    # The folder of templates that replace the built-in ones.
    prompts = _Place("prompts")
    # The folder of what an agent reads to take part.
    skills = _Place("skills")
    # The folder of the event log, one file a day.
    events = _Place("shared", "events")
    # The folder of the documents and message logs of channels.
    channels = _Place("shared", "channels")
    # The folder of document 002: registry, contexts, inboxes, log, answers.
    protocol = _Place("shared", "protocol")
    # The folder `.council`, beside the conversations and so on their file system.
    control = _Place(_BESIDE, ".council")
    # The folder of the logs of agent runs.
    runs = _Place(_BESIDE, ".council/runs")
    # The folder of the kernel locks that bound how many runs there are.
    places = _Place(_BESIDE, ".council/runs/places")
    # The lock under which one heartbeat at a time claims runs.
    heartbeat_lock = _Place(_BESIDE, ".council/heartbeat.lock")
    # The lock of the one process that keeps the workspace going.
    duty_lock = _Place(_BESIDE, ".council/duty.lock")
    # The lock of the one server of the pages, where that is, and the token of its clients.
    web_lock = _Place(_BESIDE, ".council/web.lock")
    web_server = _Place(_BESIDE, ".council/web-server.json")
    web_token = _Place(_BESIDE, ".council/web-token")
    # The mark of what was brought last from the engine that the workspace has joined.
    pulled = _Place(_BESIDE, ".council/pulled")
    # The socket of the process that keeps it linked to its engine.
    link = _Place(_BESIDE, ".council/link.sock")
    # The empty file whose time stamp says when the last heartbeat ran.
    beat_mark = _Place(_BESIDE, ".council/last-heartbeat")
    # Which automation of OpenClaw runs the heartbeat here.
    openclaw_clock = _Place(_BESIDE, ".council/openclaw-clock")
    # The file in which detached work that failed leaves its trace.
    failure_log = _Place(_BESIDE, ".council/failures.log")
    # The record of what runs have used up and which agents rest.
    tally = _Place(_BESIDE, ".council/tally.jsonl")
    # The note which state of the identity source was taken over last.
    scan_mark = _Place(_BESIDE, ".council/scanned.json")
    # The note of the heartbeat: until when it need not open which conversation.
    deadlines = _Place(_BESIDE, ".council/deadlines.json")
    # The same note for channels.
    room_deadlines = _Place(_BESIDE, ".council/room-deadlines.json")
    # The same note for contexts.
    context_deadlines = _Place("shared", "protocol/.due")
    # The folder that notes what was asked while its caller does not know how it ended.
    outbox = _Place(_BESIDE, ".council/outbox")
    # The file that halts all starting of runs by being there.
    halt_mark = _Place(_BESIDE, ".council/halted")
    # The file that says up to where the events have been given to the hooks.
    hook_mark = _Place(_BESIDE, ".council/hooks.json")
    # The file of the key that run tokens are made with.
    key = _Place(_BESIDE, ".council/key")
    # The folder that says which conversation each open name stands for.
    open_names = _Place(_BESIDE, ".council/open")

    def __init__(
        self, root: str, paths: Mapping[str, str] | None = None, *, strict: bool = False
    ) -> None:
        self.strict = strict
        self.root = os.path.abspath(root)
        self._moved = dict(paths or {})
        self._named: dict[str, str] = {}
        self._looked_at: dict[str, float] = {}
        self._was_there = False  # whether something in it was found
        # What reading hides of conversations and events, None for nothing (DL-100).
        self.veil: Veil | None = None

    def inside(self, path: str) -> str:
        """Return a path of the workspace after the check of `resolve_inside`."""
        return resolve_inside(self.root, path)

    def _place(self, key: str) -> str:
        """Return a place as it is configured: a person may lead it out of the root, a link not."""
        return self._checked(self._name_of(key))

    def _name_of(self, key: str) -> str:
        """Return the path of a place; on the disk nothing is looked at."""
        if key not in self._named:
            self._named[key] = (
                os.path.dirname(self._name_of("conversation"))
                if key == _BESIDE
                else self._name_at(self._moved.get(key) or _DEFAULTS[key])
            )
        return self._named[key]

    def _name_at(self, path: str) -> str:
        if "{shared}" in path:
            path = path.replace("{shared}", self._name_of("shared"))
        path = os.path.expanduser(path)
        if not os.path.isabs(path):
            return _named_inside(self.root, path)
        if path.startswith(self.root.rstrip("/") + "/"):
            return _named_inside(self.root, os.path.relpath(path, self.root))
        return os.path.normpath(path)

    def _checked(self, path: str) -> str:
        """Return a path after a check of each of its components below the root."""
        if path.startswith(self.root.rstrip("/") + "/"):
            self._refuse_links(self.root, path)
        return path

    def _refuse_links(self, base: str, whole: str) -> None:
        """Refuse a path below `base` with a link in it; one command searches at a folder once."""
        folder = os.path.dirname(whole)
        now = time.monotonic()
        if now - self._looked_at.get(folder, -_ONE_COMMAND_S) >= _ONE_COMMAND_S:
            if not _refuse_links(base, folder):
                self._refuse_gone()
                return
            self._was_there = True
            if len(self._looked_at) >= _MOST_FOLDERS:
                self._looked_at.clear()
            self._looked_at[folder] = now
        if not _refuse_links(folder, whole):
            self._refuse_gone()

    def _refuse_gone(self) -> None:
        """Let a process that outlives its workspace make nothing where that was (FW-008)."""
        if self._was_there and not os.path.isdir(self.root):
            raise NotFoundError(
                f"the workspace {self.root} is gone", "if it was moved, work in its new place"
            )

    def _below(self, key: str, path: str) -> str:
        """Return what lies below a place, after one check of all of its components."""
        folder = self._name_of(key)
        whole = _named_inside(folder, path)
        is_inside = whole.startswith(self.root.rstrip("/") + "/")
        self._refuse_links(self.root if is_inside else folder, whole)
        return whole

    @property
    def settings(self) -> str:
        """The file of the settings."""
        return os.path.join(self.root, SETTINGS)

    def run_file(self, task: str, kind: str) -> str:
        """Return the file of one run: its `prompt.md` or its `log`."""
        return self._below(_BESIDE, f".council/runs/{task}.{kind}")

    def keeps(self, path: str) -> bool:
        """Return true if a path without links is council's own, or lies below one that is.

        Source: SC-002.
        """
        folder, name = os.path.split(path)
        if self.conversation_name(name) and folder == os.path.realpath(self._name_of(_BESIDE)):
            return True
        places = [*_KEPT, *(self._name_of(one) for one in _DEFAULTS), self.control]
        real = [os.path.realpath(os.path.join(self.root, one)) for one in places]
        return any(path == one or path.startswith(one.rstrip("/") + "/") for one in real)

    def agent(self, agent: str) -> str:
        """Return the folder of one agent."""
        return self._below("agents", checked_name(agent, "agent id"))

    def agent_state(self, agent: str) -> str:
        """Return the folder of what an agent's runs keep between them (P8-004)."""
        return os.path.join(self._run_state(agent), "agent")

    def sessions(self, agent: str) -> str:
        """Return the folder of the transcripts of an agent (P8-004)."""
        return os.path.join(self._run_state(agent), "sessions")

    def _run_state(self, agent: str) -> str:
        pattern = self._moved.get("run_state")
        if not pattern:
            return self.agent(agent)
        whole = pattern if "{agent}" in pattern else f"{pattern}/{{agent}}"
        return self._checked(
            self._name_at(whole.replace("{agent}", checked_name(agent, "agent id")))
        )

    def tasks(self, agent: str) -> str:
        """Return the folder in which an agent finds prompts and notices."""
        return os.path.join(self.agent(agent), "tasks")

    def conversation_file(self, name: str) -> str:
        """Return the live file of the conversation `name` (C0-002)."""
        name = checked_conversation_name(name)
        pattern = self._place("conversation")
        if "{name}" in pattern:
            return pattern.replace("{name}", name)
        if name == DEFAULT_NAME:
            return pattern
        return os.path.join(os.path.dirname(pattern), _OTHERS.replace("{name}", name))

    def live_file_parts(self) -> tuple[str, str] | None:
        """Return what stands before and after the name in the name of a live file.

        None where the file of one conversation is not named like the others.
        """
        before, name, after = os.path.basename(self._place("conversation")).partition("{name}")
        return (before, after) if name else None

    def conversation_name(self, file_name: str) -> str:
        """Return the name whose live file is called `file_name`, "" when it is none."""
        parts = self.live_file_parts()
        if parts is None and file_name == os.path.basename(self._place("conversation")):
            return DEFAULT_NAME
        before, after = parts or _OTHERS.split("{name}")
        if not file_name.startswith(before) or not file_name.endswith(after):
            return ""
        name = file_name[len(before) : len(file_name) - len(after)]
        return name if is_conversation_name(name) else ""

    def conversation_folder(self, conversation_id: str) -> str:
        """Return the folder with lock, journal and history of one conversation.

        Raises:
            InvalidInputError: The id cannot name a folder of its own.
        """
        low = conversation_id.lower()
        if not is_name(low) or low in OWN_FOLDERS:
            raise InvalidInputError(
                f"not a conversation id: {conversation_id!r}", "a version 4 UUID is expected"
            )
        return self._below(_BESIDE, f".council/{conversation_id}")
