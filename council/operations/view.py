"""Reading: what is open, what was said, who is to answer.

Nothing here writes or takes a lock, so it works on a read-only mount.

Source: C0-014, C0-034, DL-051, DL-097, DL-098, `cli.md` sections 2 and 3.
"""

from __future__ import annotations

import os
import re

from council.core.conversations import due
from council.core.conversations.activity import AT_WORK, QUEUED, Activity
from council.core.conversations.anonymity import refuse_names
from council.core.conversations.conversation import TURNS, Conversation, Entry, EntryKind
from council.core.conversations.procedures import PROCEDURES
from council.core.conversations.records import to_record
from council.core.errors import CouncilError, UsageError
from council.core.events import context_of
from council.core.reasons import Reason
from council.core.record import Any, Record
from council.operations.activity import Activities
from council.operations.page_server import running_server
from council.operations.place import Place
from council.operations.reporting.run_logs import failed_runs
from council.store.reason_words import reason_words
from council.store.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.core.bounds import Lapse
    from council.core.deliberation.judgement import Judgement
    from council.core.deliberation.questions import Question
    from council.operations.heartbeat.gate import Halt
    from council.operations.protocol.tasks import Row
    from council.operations.rooms.showing import RoomStanding


class Standing(Record):
    """How one open conversation stands; `logs` are those of the last failed runs, by agent.

    `activities` say what each participant does, and who else is to write the synthesis.

    `asked` are the questions that wait for an answer of people.
    """

    state: Conversation
    path: str
    due_agents: tuple[str, ...]
    failures: dict[str, Reason] = {}
    logs: dict[str, str] = {}
    activities: dict[str, Activity] = {}
    asked: list[Question] = []

    @property
    def running(self) -> tuple[str, ...]:
        """The agents for which a process runs."""
        return self._who(*AT_WORK)

    @property
    def queued(self) -> tuple[str, ...]:
        """The agents that wait for a place."""
        return self._who(QUEUED)

    def _who(self, *codes: str) -> tuple[str, ...]:
        return tuple(agent for agent in self.due_agents if self.activities[agent].code in codes)

    def to_record(self) -> dict[str, Any]:
        """Return the conversation's part of `status --json`."""
        state = self.state
        return {
            **state.as_json("name conversation_id trace:traceId"),
            "ctx": context_of(state.conversation_id),
            **state.as_json("topic mode procedure status phase:currentPhase tour timeout_at"),
            "paused": state.paused_at is not None,
            "participants": {
                one.id: {
                    **one.as_json("status last_action"),
                    **self.activities[one.id].to_record(),
                }
                for one in state.participants.values()
            },
            **self.as_json("due_agents:waiting running queued"),
            "questionsToPeople": [one.as_json("asker tour text") for one in self.asked],
            "failures": {agent: reason_words(one) for agent, one in self.failures.items()},
            **self.as_json("logs path"),
        }


class Overview(Record):
    """Everything that is open in a workspace, and what keeps runs from being started."""

    root: str
    now: datetime
    last_beat: datetime | None
    standings: list[Standing]
    errors: list[tuple[str, CouncilError]]
    runs: int
    max_runs: int
    halt: Halt | None = None
    resting: dict[str, Lapse] = {}
    reached: list[str] = []
    rooms: list[RoomStanding] = []
    tasks: list[Row] = []
    page: str = ""

    @property
    def anything_open(self) -> bool:
        """Whether a conversation or a task is open, or a room is at work."""
        at_work = any(one.is_at_work for one in self.rooms)
        return bool(self.standings or self.errors or self.tasks or at_work)

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `status --json`."""
        return {
            **self.as_json(
                "root now last_beat:lastHeartbeat runs max_runs halt:halted resting"
                " reached:limitsReached standings:conversations rooms:channels tasks page?"
            ),
            "errors": [{"name": name, **error.to_record()} for name, error in self.errors],
        }


def status(place: Place) -> Overview:
    """Return how everything that is open stands.

    Raises:
        RefusedError: One of them is anonymous, and a run asks.
    """
    standings, errors = [], []
    doing = Activities(place)
    for name in place.conversations.names():
        try:
            one = standing(place, place.conversations.read(name), doing)
        except CouncilError as error:
            errors.append((name, error))
            continue
        if place.is_in_run:
            refuse_names(one.state)
        standings.append(one)
    # What has to be answered first stands first; what is paused has time; q2 before q10.
    standings.sort(
        key=lambda one: (one.state.paused_at is not None, one.state.timeout_at, _counted(one))
    )
    from council.operations.heartbeat.gate import reached_today, read_halt, resting_agents
    from council.operations.rooms.showing import glances

    rooms, broken = glances(place)
    tasks: list[Row] = []
    unread: list[tuple[str, CouncilError]] = []
    if os.path.isdir(f"{place.paths.protocol}/contexts"):
        from council.operations.protocol.tasks import listed

        tasks, unread = listed(place)
    slots = Slots(place.paths.places, place.settings.max_runs)
    server = running_server(place)
    return Overview(
        root=place.root,
        now=place.now(),
        halt=read_halt(place),
        resting=resting_agents(place),
        reached=reached_today(place),
        last_beat=place.last_beat(),
        standings=standings,
        errors=errors + broken + unread,
        rooms=rooms,
        tasks=[row for row in tasks if not row.task.is_over],
        runs=slots.taken(),
        max_runs=place.settings.max_runs,
        page=server.url if server else "",
    )


def _counted(one: Standing) -> list[str | int]:
    """Return the name of a conversation with its numbers as such, to sort by."""
    parts = re.split(r"([0-9]+)", one.state.name)
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]


def standing(place: Place, state: Conversation, doing: Activities | None = None) -> Standing:
    """Return how one conversation stands; `doing` is what is known already of this moment."""
    due_agents = due.due_agents(state)
    tasks = [task for agent in due_agents for task in due.tasks_of(state, agent)]
    failures, logs = failed_runs(place, tasks)
    from council.core.deliberation.questions import open_to_people

    return Standing(
        state=state,
        path=place.paths.conversation_file(state.name),
        due_agents=due_agents,
        failures=failures,
        logs=logs,
        activities=(doing or Activities(place)).of(state),
        asked=open_to_people(state),
    )


def shown(state: Conversation) -> dict[str, Any]:
    """Return the JSON of `show --json`: the state block with the texts added.

    Of a deliberation also what was read out of them: the parts of each turn,
    and what they come to.
    """
    judged = None
    if PROCEDURES[state.procedure].verdict == "stances":
        from council.core.deliberation.judgement import judge  # only where stances are judged

        judged = judge(state)
    from council.operations.reporting.usage import used_record

    entries = [
        {
            **one.as_json("id kind agent phase tour at status? origin target? text"),
            **(_parts(judged, one) if judged else {}),
        }
        for one in state.entries
    ]
    return {
        **to_record(state),
        "topic": state.topic,
        "brief": state.brief,
        **({"used": used_record(state.usage)} if state.usage else {}),
        "contributions": [one for one in entries if one["kind"] in TURNS],
        "late": [one for one in entries if one["kind"] == EntryKind.LATE],
        "guidance": [one for one in entries if one["kind"] == EntryKind.INJECTION],
        **(_judged(judged) if judged else {}),
    }


def _parts(judged: Judgement, entry: Entry) -> dict[str, Any]:
    """Return position, responses, reasoning, confidence and faults of a contribution."""
    from council.core.deliberation.debate_session import turn_parts
    from council.core.deliberation.judgement import round_of

    turn = round_of(judged, entry.tour).turns.get(entry.agent)
    if turn is None or entry.kind is not EntryKind.CONTRIBUTION:
        return {}
    return {**turn_parts(turn, entry.text), **turn.as_json("faults")}


def _judged(judged: Judgement) -> dict[str, Any]:
    """Return the verdict so far, the tallies of positions and the log of flips."""
    return {
        **judged.as_json("verdict weighted"),
        "tallies": judged.as_json("blind final"),
        **judged.as_json("flips collapses"),
        "hangsOn": {one.name: one.verdict.type for one in judged.hangs_on},
    }


def debate_session(place: Place, state: Conversation) -> dict[str, Any]:
    """Return the JSON of `show --format debate-session`, for open and archived deliberations.

    Raises:
        UsageError: The conversation is no deliberation.

    Source: DL-051, DL-056.
    """
    if PROCEDURES[state.procedure].verdict != "stances":
        raise UsageError(
            f"{state.name} is a {state.procedure} and no debate session",
            "see it with: council show --format json",
        )
    from council.core.deliberation.debate_session import to_session

    return to_session(state, {one: place.agent(one) for one in state.participants})


def readable(text: str) -> str:
    """Return a conversation's file as people want to read it: without marks and state block."""
    lines, inside_block = [], False
    for line in text.splitlines():
        inside_block = inside_block or line.startswith("<!--council-state")
        if not inside_block and not line.startswith("<!--council"):
            lines.append(line)
        inside_block = inside_block and not line.startswith("-->")
    return "\n".join(lines).strip() + "\n"
