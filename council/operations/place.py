"""Where an operation works: the workspace, its settings and stores, the clock.

It decides which workspace, which conversation and which agent a command
means, and whose run it is: that is shown by its token, as long as what it was
started for is under way. A token says for which conversation, channel, context or call
a run was started. How that stands is read from there, so a token dies with its task,
however that ended and wherever its process goes on. It does nothing with them.

Source: `cli.md` section 1, XC-003, XC-014, SC-002, `trust.md`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from council.core.agents import ANSWER_TOOL
from council.core.errors import (
    CouncilError,
    NewerVersionError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from council.core.ids import (
    checked_conversation_name,
    checked_name,
    folded,
    is_conversation_name,
    is_name,
    split_task_id,
)
from council.core.record import Any
from council.core.times import parse_instant, render_instant
from council.store.files import make_folder, replace
from council.store.lock import engines
from council.store.paths import Workspace, find_root
from council.store.settings import (
    SCHEMA_VERSION,
    Settings,
    is_kept,
    is_settled,
    load_settings,
    stamp_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    from council.core.agents import Agent
    from council.store.conversations.conversations import Conversations
    from council.store.engine.joined import Engine
    from council.store.outbox import Operation

    Given = ParamSpec("Given")
    Done = TypeVar("Done")

# A link brings what is new at once, and looks every 10 s; without one, each command does.
_FRESH_LINKED_S, _FRESH_S = 15.0, 1.0
CALLS = "call."
# Whichever of them a process still has, it belongs to a run.
RUN_VARIABLES = ("COUNCIL_TASK_ID", "COUNCIL_TOKEN", "COUNCIL_PHASE", "COUNCIL_TOUR")


def council_argv() -> list[str]:
    """Return the absolute command that runs council, for any user and folder."""
    script = os.path.join(os.path.dirname(sys.executable), "council")
    if os.access(script, os.X_OK):
        return [script]
    # -P: a module that lies where it is started must not be imported for one of ours.
    return [sys.executable, "-P", "-m", "council"]


def program_for(place: Place, agent: str) -> str:
    """Return how a command begins in the shell of an agent.

    That of an agent of OpenClaw is the gateway's, which may find no `council` on its PATH.

    Source: HR-028.
    """
    told = place.settings.agent(agent)
    if told.answer != ANSWER_TOOL:
        return "council"
    if (told.implied_driver or place.agent(agent).driver) != "openclaw":
        return "council"
    from council.core.plain_text import shell_word

    return " ".join(map(shell_word, council_argv()))


def is_inside(environ: Mapping[str, str]) -> bool:
    """Return true if a process with this environment belongs to a run.

    Source: SC-002.
    """
    return any(name in environ for name in RUN_VARIABLES)


class Place:
    """An open workspace.

    Attributes:
        root: Its absolute path.
        environ: The environment the command was called with.
        settings: What `council.toml` says.
        paths: Where everything lies.
        fixed_now: The instant that stands for the present, None for the clock.
        warnings: What went wrong on the way and stopped no one; the caller reads them.
        engine: The engine that the workspace has joined, None for none.
        expected: The revision of a channel that the next change is meant for, None for any.
    """

    def __init__(self, root: str, environ: Mapping[str, str], fixed_now: datetime | None) -> None:
        self.root = root
        self.environ = environ
        self.fixed_now = fixed_now
        self.warnings: list[str] = []
        self.expected: int | None = None
        self.settings: Settings
        self._conversations: Conversations | None
        self._stamp = stamp_of(root)
        self._take(load_settings(root))

    def renew(self) -> bool:
        """Follow `council.toml` as it is now; return true if its files lie elsewhere from now on.

        Whatever starts runs, or decides about one, asks for this first: each start follows the
        settings of its own moment, however old its process is. An unchanged file costs the look
        at its stamp.

        Source: FW-002.
        """
        stamp = stamp_of(self.root)
        if stamp == self._stamp and is_settled(stamp) and is_kept(self.root):
            return False
        before = self.settings
        try:
            settings = load_settings(self.root)
            self._stamp = stamp
        except CouncilError:  # without a copy, what this process has read stays in force
            return False
        if settings == before or settings.schema_version > SCHEMA_VERSION:
            return False
        if settings.unread is not None and settings.unread != before.unread:
            self.warnings.append(settings.unread.words)
        if (settings.paths, settings.engine) != (before.paths, before.engine):
            veil = self.paths.veil
            self._take(settings)
            self.paths.veil = veil
            return True
        self.settings, self.paths.strict = settings, settings.trust == "strict"
        self._conversations = None
        return False

    def _take(self, settings: Settings) -> None:
        """Work by these settings, where they say."""
        self.settings = settings
        self.paths = Workspace(self.root, settings.paths, strict=settings.trust == "strict")
        self._conversations = None
        self.engine: Engine | None = None
        if settings.engine.url:
            from council.store.engine.joined import joined

            self.engine = joined(self.paths, settings.engine)
        else:
            engines.pop(self.paths.control, None)

    @property
    def conversations(self) -> Conversations:
        """The conversations on the disk; a command that opens none does not load their code."""
        if self._conversations is None:
            from council.store.conversations.conversations import Conversations

            self._conversations = Conversations(
                self.paths, allow_network_fs=self.settings.force_network_fs
            )
        return self._conversations

    def agent(self, agent_id: str) -> Agent:
        """Return what is known of an agent; one without a file has the defaults.

        Raises:
            InvalidInputError: `agent_id` is not a legal id.
        """
        from council.store.agents import agent

        return agent(self.root, self.settings, agent_id)

    def agents(self) -> list[str]:
        """Return the agents that have a folder or settings, or live on another machine."""
        from council.store.agents import known_agents

        found = known_agents(self.root, self.settings)
        if self.engine is None:
            return found
        from council.operations.engine.living import elsewhere

        return sorted({*found, *elsewhere(self)})

    @property
    def is_in_run(self) -> bool:
        """Return true if the command was called inside a run."""
        return is_inside(self.environ)

    @property
    def host_guard(self) -> str:
        """What forbids this process to start agents, "" where nothing does.

        A shell of an agent of OpenClaw starts none. One that is due waits as in a halt, and the
        next heartbeat outside of such a shell starts it.

        Source: SC-006.
        """
        if self.environ.get("OPENCLAW_SHELL") != "exec":
            return ""
        return "this shell may start no agents (OPENCLAW_SHELL=exec)"

    @property
    def guard_note(self) -> str:
        """What forbids this process to start agents, and how they are woken; "" where nothing does.

        Source: SC-006.
        """
        if not self.host_guard:
            return ""
        way = "who is due waits for a heartbeat outside of it; sooner, for each of them: "
        way += f'sessions_send "council context --as ID --root {self.root}"'
        if self.clock_job and not self.is_in_run:
            way = "OpenClaw's clock is asked to start who is due"
        return f"{self.host_guard}; {way}"

    @property
    def clock_job(self) -> str:
        """The id of the automation of OpenClaw that runs the heartbeat here, "" for none."""
        try:
            with open(self.paths.openclaw_clock, encoding="utf-8", errors="replace") as file:
                job = file.read(200).strip()
        except OSError:
            return ""
        return "" if job == "installed" else job

    def is_as_claimed(self) -> bool:
        """Return true if agent, task, clock and folder are those with which this run was claimed.

        Raises:
            CouncilError: The key of the workspace cannot be read.

        Source: SC-002.
        """
        from council.core.trust import CLAIM, is_token, run_claim
        from council.store.keys import run_key

        return is_token(self.environ.get(CLAIM, ""), run_claim(run_key(self.paths), self.environ))

    def operation(self, *facts: str) -> Operation:
        """Return what makes the change that the caller asks for count once (OP-008).

        `facts` are what it means beyond its words: of what, by whom, with which text.
        """
        from council.store.outbox import operation

        own = [self.environ.get(name, "") for name in ("COUNCIL_AGENT", "COUNCIL_TASK_ID")]
        return operation(self.paths.outbox, *own, *facts)

    def stood(self, operation: Operation) -> str:
        """Return the sentence that an earlier attempt has done what was asked for once more."""
        at = render_instant(datetime.fromtimestamp(operation.begun_s, UTC))
        return f"this stood already: it was done when it was asked for at {at}; not done again"

    def now(self) -> datetime:
        """Return the present instant in whole seconds, as files keep it.

        The clock of an engine is the same for all machines.
        """
        if self.fixed_now is not None:
            return self.fixed_now
        now = datetime.now(UTC)
        if self.engine is not None:
            now += timedelta(seconds=self.engine.offset_s)
        return now.replace(microsecond=0)

    def has(self, agent: str) -> bool:
        """Return true if an agent lives on this machine (EN-006)."""
        if self.engine is None:
            return True
        from council.operations.engine.living import lives_here

        return lives_here(self, agent)

    def freshen(self, *, again: bool = False) -> None:
        """Bring what other machines did, unless that has just been done.

        Args:
            again: Whether to try an engine that was not reached a moment ago.
        """
        if self.engine is not None and not self._is_fresh():
            from council.operations.engine.replica import freshen

            freshen(self, again=again)

    def _is_fresh(self) -> bool:
        """Return true if a link, or a command, has just brought what other machines did."""
        try:
            bound = _FRESH_LINKED_S if os.path.lexists(self.paths.link) else _FRESH_S
            return 0 <= time.time() - os.stat(self.paths.pulled).st_mtime < bound
        except OSError:
            return False

    def begin_writing(self) -> None:
        """Prepare for a command that writes: refuse newer settings, keep secrets out of git.

        Raises:
            NewerVersionError: `council.toml` is of a newer version, and may mean what we do not
                know.

        Source: XC-013, FW-009.
        """
        if self.settings.schema_version > SCHEMA_VERSION:
            raise NewerVersionError(
                self.paths.settings, self.settings.schema_version, SCHEMA_VERSION
            )
        self._keep_out_of_git()

    def _keep_out_of_git(self) -> None:
        """Write each missing `.gitignore` of a workspace that is older than this rule (FW-009)."""
        with suppress(OSError, CouncilError):  # a workspace that is gone, or cannot be written
            control = self.paths.control
            if not os.path.lexists(f"{control}/.gitignore") and os.path.isdir(control):
                from council.store.conversations.naming import prepare_control

                prepare_control(self.paths)

    @property
    def is_slave(self) -> bool:
        """Whether rooms and accounts are kept by a master elsewhere.

        Source: DG-152, DG-155.
        """
        return self.settings.relay.role == "slave"

    def refuse_on_slave(self) -> None:
        """Let nothing be done, or read, that the master alone keeps (DG-155, DG-162).

        Raises:
            RefusedError: This workspace is a slave.
        """
        if self.is_slave:
            raise RefusedError(
                "this workspace is a slave: rooms, and agents with their accounts, are kept by its"
                f" master at {self.settings.relay.url}",
                "do it there; from here go: council turn begin, council turn end, council relay",
            )

    def mark_beat(self) -> None:
        """Remember that a heartbeat ran: the time stamp of a file whose content never changes."""
        stamp = self.now().timestamp()
        # A workspace that cannot be written still can be looked at.
        with suppress(OSError, CouncilError):
            try:
                os.utime(self.paths.beat_mark, (stamp, stamp))
            except (FileNotFoundError, PermissionError):  # only its owner may set a file's time
                make_folder(self.paths.control)
                replace(self.paths.beat_mark, b"")
                os.utime(self.paths.beat_mark, (stamp, stamp))
        self._keep_out_of_git()

    def last_beat(self) -> datetime | None:
        """Return when the last heartbeat ran, None if none ever did."""
        try:
            return datetime.fromtimestamp(os.stat(self.paths.beat_mark).st_mtime, UTC)
        except OSError:
            return None


def can_wait(call: Callable[Given, Done]) -> Callable[Given, Done]:
    """Let an operation, which only adds something said, wait for an engine out of reach (EN-005).

    Its workspace comes first. It stands in `engine.outgoing.CALLS` as well.
    """

    def done(*words: Given.args, **named: Given.kwargs) -> Done:
        place: Any = words[0]
        if place.engine is None:
            return call(*words, **named)
        from council.operations.engine.outgoing import done_or_kept

        return done_or_kept(place, call, words[1:], named)  # type: ignore[no-any-return]

    done.__doc__, done.__wrapped__ = call.__doc__, call  # type: ignore[attr-defined]
    return done


def open_place(root: str, now: str, environ: Mapping[str, str]) -> Place:
    """Open the workspace a command means: `--root`, `COUNCIL_ROOT`, else upwards.

    Inside a run there is one workspace and one clock: those with which it was claimed.

    Raises:
        NotFoundError: There is none.
        UsageError: `--now` or `COUNCIL_NOW` is not an instant.
        RefusedError: A run chooses another clock or another workspace.

    Source: SC-002.
    """
    wanted = now or environ.get("COUNCIL_NOW", "")
    fixed = parse_instant(wanted) if wanted else None
    if not is_inside(environ):
        return Place(root_directory(root, environ), environ, fixed)
    if now:
        raise RefusedError("a run cannot choose the time", "leave --now out")
    place = Place(root_directory("", environ), environ, fixed)
    if root and os.path.realpath(root) != os.path.realpath(place.root):
        raise RefusedError(f"this run belongs to {place.root}", "leave --root out")
    if not os.path.exists(place.paths.key):
        raise RefusedError(f"no run was started by {place.root}", "leave COUNCIL_ROOT as it was")
    if fixed is not None and not place.is_as_claimed():
        raise RefusedError(
            "COUNCIL_NOW is not the clock that this run was started with",
            "leave the variables of the run as they were given",
        )
    return place


def root_directory(root: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of the workspace a command means."""
    given = root or environ.get("COUNCIL_ROOT", "")
    if given:
        if not os.path.isdir(given):
            raise NotFoundError(
                f"no such directory: {given}",
                f"create it: council init {given}; or, if it was moved, take out its clock:"
                f" council schedule --remove --root {given}",
            )
        return os.path.realpath(given)
    return find_root(os.getcwd(), environ)


def conversation_name(place: Place, given: str) -> str:
    """Return which open conversation a command means, whether or not it exists.

    `given` may also be an id, a beginning of either that no other has, or a part of a topic
    (`operations.conversations.finding`); inside a run it is a name.

    Raises:
        UsageError: Several are open and none is named `active`, or what is given fits several.
        NotFoundError: It means one that is over.

    Source: FW-007.
    """
    if wanted := given or place.environ.get("COUNCIL_NAME", ""):
        name = folded(wanted)
        if not given or place.is_in_run or _has_open(place, name):
            return checked_conversation_name(wanted)
        from council.operations.conversations.finding import open_name  # an exact name is usual

        return open_name(place, wanted)
    names = place.conversations.names()
    if len(names) == 1:
        return names[0]
    if names and "active" not in names:
        raise UsageError(
            f"several conversations are open: {', '.join(names)}",
            f"say which: --name {names[0]}",
        )
    return "active"


def _has_open(place: Place, name: str) -> bool:
    """Return true if a conversation is open under exactly this name, as far as files say."""
    if not is_conversation_name(name):
        return False
    paths = (f"{place.paths.open_names}/{name}", place.paths.conversation_file(name))
    return any(map(os.path.lexists, paths))


def own_agent(place: Place) -> str:
    """Return which agent's run this is: what its variables say alike, and its claim or token shows.

    Raises:
        RefusedError: Nothing says so, they differ, or nothing shows it.

    Source: SC-002.
    """
    task = split_task_id(place.environ.get("COUNCIL_TASK_ID", ""))
    of_task = task[2] if task is not None and is_name(task[2]) else ""
    own = place.environ.get("COUNCIL_AGENT", "") or of_task
    if not own or of_task not in ("", own):
        raise RefusedError(
            f"this run is {of_task}'s, not {own}'s" if own else "nothing says whose run this is",
            "leave the variables of the run as they were given",
        )
    if not place.is_as_claimed() and not token_fits(place, own):
        raise RefusedError(
            f"nothing shows that this run is {own}'s",
            "leave the variables of the run as they were given",
        )
    return checked_name(own, "agent id")


def speaker(place: Place, given: str) -> str:
    """Return which agent speaks: `--as`, `COUNCIL_AGENT`, else the agent whose folder this is.

    Raises:
        UsageError: None of the three says.
        RefusedError: A run of one agent speaks as another.
    """
    if place.is_in_run:
        own = own_agent(place)
        if given not in ("", own):
            raise RefusedError(f"this run is {own}'s and cannot act as {given}", "leave --as out")
        return own
    if wanted := given or place.environ.get("COUNCIL_AGENT", ""):
        return checked_name(wanted, "agent id")
    from council.store.agents import agent_of_directory

    found = agent_of_directory(place.root, place.settings, os.getcwd())
    if found is None:
        raise UsageError(
            "who is speaking?",
            "say --as AGENT, set COUNCIL_AGENT, or work in the agent's folder",
        )
    return found


def login(place: Place) -> str:
    """Return the name of the person who signed on or sits at the keyboard."""
    import getpass

    try:
        known = (place.environ.get(one) for one in ("COUNCIL_PERSON", "COUNCIL_AGENT"))
        return next(filter(None, known), "") or getpass.getuser()
    except (OSError, KeyError):  # no such user, as in some containers
        return "user"


def token_fits(place: Place, agent: str) -> bool:
    """Return true if the environment holds the token that this agent's run was given.

    Raises:
        CouncilError: The key of the workspace cannot be read.
    """
    from council.core.protocol.protocol_ids import is_context
    from council.core.trust import is_token, run_token
    from council.store.keys import run_key

    token = place.environ.get("COUNCIL_TOKEN", "")
    task = split_task_id(place.environ.get("COUNCIL_TASK_ID", ""))
    if not token or task is None:
        return False
    owner, number, _, attempt = task
    if is_context(owner):  # its runs are named after task and worker
        number = 0
    return is_token(token, run_token(run_key(place.paths), owner, number, agent, attempt))


def is_shown_run(place: Place, agent: str, *, by_context: bool = False) -> bool:
    """Return true if this is a run of that agent whose task is under way.

    Args:
        place: The workspace, with the environment of the command.
        agent: Who it is said to be.
        by_context: Whether only a run for a message of document 002 counts.
    """
    from council.core.protocol.protocol_ids import is_context

    task = place.environ.get("COUNCIL_TASK_ID", "")
    owner = task.rsplit(".", 3)[0]
    if (by_context and not is_context(owner)) or not token_fits(place, agent):
        return False
    try:
        return _is_under_way(place, owner, task)
    except CouncilError:
        return False  # what cannot be read shows nothing


def _is_under_way(place: Place, owner: str, task: str) -> bool:
    if owner.startswith(CALLS):
        from council.core.delegation.delegation import RUNNING
        from council.store.delegation.traces import read_trace

        parts = split_task_id(task)
        call = read_trace(place.paths, owner.removeprefix(CALLS)).call(parts[1] if parts else 0)
        return call is not None and call.state == RUNNING
    from council.core.conversations.conversation import TaskState
    from council.core.conversations.due import is_under_way
    from council.core.protocol.protocol_ids import is_context

    if is_context(owner):
        from council.store.protocol.contexts import Contexts

        run = Contexts(place.paths).read(owner).exchange.runs.get(task)
        return run is not None and run.state is TaskState.R
    name = place.environ.get("COUNCIL_NAME", "")
    if name != owner and is_name(name):
        place.conversations.require_adopted(name)
        state = place.conversations.read(name)
        return state.conversation_id == owner and is_under_way(state, task)
    from council.operations.rooms.rooms import channels

    known = channels(place).see(owner).channel.tasks.get(task)
    return known is not None and known.state is TaskState.R
