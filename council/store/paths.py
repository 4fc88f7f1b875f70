"""Where every file of a workspace lies, and which paths may be used at all.

It decides names and places and reads nothing but the folders it must find.
What is in the files is the matter of the other modules of the store.

Source: C0-002, XC-009, `cli.md` sections 1 and 4, `store.md` sections 1 and 6.
"""

from __future__ import annotations

import os
import stat
import sys

from council.core.errors import InvalidInputError, NotFoundError, RefusedError
from council.core.ids import checked_name, is_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS = "council.toml"
SHARED = "memory/shared"
DEFAULT_NAME = "active"
_DEFAULTS = {
    "shared": SHARED,
    "conversation": "{shared}/council-{name}-conversation.md",
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
_OWN_FOLDERS = frozenset({"open", "runs", "channels", "key", "readme", "halted"})


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
    folder = os.path.abspath(start)
    while True:
        if is_workspace(folder):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    personal = personal_root(env)
    if personal and is_workspace(personal):
        return personal
    raise NotFoundError("no council workspace here or above; run: council init")


def is_workspace(folder: str) -> bool:
    """Tell whether a folder is the root of a workspace."""
    return os.path.isfile(os.path.join(folder, SETTINGS)) or os.path.isdir(
        os.path.join(folder, SHARED)
    )


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
    base = os.path.abspath(root)
    parts = path.split("/")
    if "\x00" in path or ".." in parts:
        raise RefusedError(f"the path {path!r} leads out of {base}", "name a path inside it")
    whole = os.path.normpath(os.path.join(base, path))
    if whole != base and not whole.startswith(base.rstrip("/") + "/"):
        raise RefusedError(f"the path {path!r} leads out of {base}", "name a path inside it")
    step = base
    for part in os.path.relpath(whole, base).split("/"):
        step = os.path.join(step, part)
        try:
            mode = os.lstat(step).st_mode
        except OSError:
            break  # what does not exist is no link; what cannot be seen fails when it is opened
        if stat.S_ISLNK(mode) and step != base:
            raise RefusedError(
                f"{step} is a symbolic link", "put the real file or folder in its place"
            )
    return whole


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

    def __init__(
        self, root: str, paths: Mapping[str, str] | None = None, *, strict: bool = False
    ) -> None:
        self.strict = strict
        self.root = os.path.abspath(root)
        self._moved = dict(paths or {})

    def inside(self, path: str) -> str:
        """Return a path of the workspace after the check of `resolve_inside`."""
        return resolve_inside(self.root, path)

    def _place(self, key: str) -> str:
        """Return a place as it is configured: a person may lead it out of the root, a link not."""
        return self._placed(self._moved.get(key) or _DEFAULTS[key])

    def _placed(self, path: str) -> str:
        if "{shared}" in path:
            path = path.replace("{shared}", self.shared)
        path = os.path.expanduser(path)
        if not os.path.isabs(path):
            return resolve_inside(self.root, path)
        if path.startswith(self.root.rstrip("/") + "/"):
            return resolve_inside(self.root, os.path.relpath(path, self.root))
        return os.path.normpath(path)

    @property
    def settings(self) -> str:
        """The file of the settings."""
        return os.path.join(self.root, SETTINGS)

    @property
    def shared(self) -> str:
        """The folder of everything that is shared."""
        return self._place("shared")

    @property
    def minutes(self) -> str:
        """The folder of the minutes of finished conversations."""
        return self._place("minutes")

    @property
    def agents(self) -> str:
        """The folder with one folder for each agent."""
        return self._place("agents")

    @property
    def identities(self) -> str:
        """The file of the identity registry."""
        return self._place("identities")

    @property
    def artifacts(self) -> str:
        """The folder of published bytes, each named by its digest (P8-032)."""
        return self._place("artifacts")

    @property
    def artifacts_lock(self) -> str:
        """The lock under which artifacts come and go."""
        return resolve_inside(self.control, "artifacts.lock")

    @property
    def briefs(self) -> str:
        """The folder of the briefs of hand-offs (P8-036)."""
        return self._place("briefs")

    @property
    def board(self) -> str:
        """The page that shows what is open and who owes an answer (P8-006)."""
        return self._place("board")

    @property
    def ego(self) -> str:
        """The file of another program from which identities may be taken over (DG-017)."""
        return self._place("ego")

    @property
    def prompts(self) -> str:
        """The folder of templates that replace the built-in ones."""
        return self._place("prompts")

    @property
    def skills(self) -> str:
        """The folder of what an agent reads to take part."""
        return self._place("skills")

    @property
    def events(self) -> str:
        """The folder of the event log, one file a day."""
        return resolve_inside(self.shared, "events")

    @property
    def channels(self) -> str:
        """The folder of the documents and message logs of channels."""
        return resolve_inside(self.shared, "channels")

    @property
    def protocol(self) -> str:
        """The folder of document 002: registry, contexts, inboxes, log, answers."""
        return resolve_inside(self.shared, "protocol")

    @property
    def control(self) -> str:
        """The folder `.council`, beside the conversations and so on their file system."""
        return resolve_inside(os.path.dirname(self._conversation_pattern), ".council")

    @property
    def runs(self) -> str:
        """The folder of the logs of agent runs."""
        return resolve_inside(self.control, "runs")

    @property
    def places(self) -> str:
        """The folder of the kernel locks that bound how many runs there are."""
        return resolve_inside(self.runs, "places")

    @property
    def heartbeat_lock(self) -> str:
        """The lock under which one heartbeat at a time claims runs."""
        return resolve_inside(self.control, "heartbeat.lock")

    @property
    def beat_mark(self) -> str:
        """The empty file whose time stamp says when the last heartbeat ran."""
        return resolve_inside(self.control, "last-heartbeat")

    @property
    def failure_log(self) -> str:
        """The file in which detached work that failed leaves its trace."""
        return resolve_inside(self.control, "failures.log")

    @property
    def tally(self) -> str:
        """The file of what runs have used up and which agents rest."""
        return resolve_inside(self.control, "tally.json")

    @property
    def scan_mark(self) -> str:
        """The note which state of the identity source was taken over last."""
        return resolve_inside(self.control, "scanned.json")

    @property
    def deadlines(self) -> str:
        """The note of the heartbeat: until when it need not open which conversation."""
        return resolve_inside(self.control, "deadlines.json")

    @property
    def room_deadlines(self) -> str:
        """The same note for channels."""
        return resolve_inside(self.control, "room-deadlines.json")

    @property
    def halt_mark(self) -> str:
        """The file that halts all starting of runs by being there."""
        return resolve_inside(self.control, "halted")

    @property
    def hook_mark(self) -> str:
        """The file that says up to where the events have been given to the hooks."""
        return resolve_inside(self.control, "hooks.json")

    def run_file(self, task: str, kind: str) -> str:
        """Return the file of one run: its `prompt.md` or its `log`."""
        return resolve_inside(self.runs, f"{task}.{kind}")

    @property
    def key(self) -> str:
        """The file of the key that run tokens are made with."""
        return resolve_inside(self.control, "key")

    @property
    def open_names(self) -> str:
        """The folder that says which conversation each open name stands for."""
        return resolve_inside(self.control, "open")

    def agent(self, agent: str) -> str:
        """Return the folder of one agent."""
        return resolve_inside(self.agents, checked_name(agent, "agent id"))

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
        return self._placed(whole.replace("{agent}", checked_name(agent, "agent id")))

    def tasks(self, agent: str) -> str:
        """Return the folder in which an agent finds prompts and notices."""
        return os.path.join(self.agent(agent), "tasks")

    @property
    def _conversation_pattern(self) -> str:
        return self._place("conversation")

    def conversation_file(self, name: str) -> str:
        """Return the live file of the conversation `name` (C0-002)."""
        checked_name(name, "conversation name")
        pattern = self._conversation_pattern
        if "{name}" in pattern:
            return pattern.replace("{name}", name)
        if name == DEFAULT_NAME:
            return pattern
        return os.path.join(os.path.dirname(pattern), f"council-{name}-conversation.md")

    def live_file_parts(self) -> tuple[str, str] | None:
        """Return what stands before and after the name in the name of a live file.

        None where the file of one conversation is not named like the others.
        """
        before, name, after = os.path.basename(self._conversation_pattern).partition("{name}")
        return (before, after) if name else None

    def conversation_name(self, file_name: str) -> str:
        """Return the name whose live file is called `file_name`, "" when it is none."""
        pattern = os.path.basename(self._conversation_pattern)
        if "{name}" not in pattern:
            if file_name == pattern:
                return DEFAULT_NAME
            pattern = "council-{name}-conversation.md"
        before, _, after = pattern.partition("{name}")
        if not file_name.startswith(before) or not file_name.endswith(after):
            return ""
        name = file_name[len(before) : len(file_name) - len(after)]
        return name if is_name(name) else ""

    def conversation_folder(self, conversation_id: str) -> str:
        """Return the folder with lock, journal and history of one conversation.

        Raises:
            InvalidInputError: The id cannot name a folder of its own.
        """
        low = conversation_id.lower()
        if not is_name(low) or low in _OWN_FOLDERS:
            raise InvalidInputError(
                f"not a conversation id: {conversation_id!r}", "a version 4 UUID is expected"
            )
        return resolve_inside(self.control, conversation_id)
