"""Transcripts: what passed between agents, one file a session, only ever added to.

`memory/agents/<id>/sessions/<session key>.jsonl`, one JSON object a line, for
people to read and for the agent to consult. The transcript belongs to the one
who receives: what was asked of it and what it answered stand in its own folder
and nowhere else.

Source: P8-004, P8-012, P8-013, P8-022.
"""

from __future__ import annotations

import json

from council.core.record import Any, Record
from council.store import added_lines
from council.store.paths import Workspace, resolve_inside

SCHEMA_VERSION = 1
END = ".jsonl"

MESSAGE = "message"
CALL = "call"
ANSWER = "answer"


class Utterance(Record):
    """One line of a transcript: what was said by whom to whom.

    `kind` is `message`, `call` or `answer`; only a message has a priority, only
    an answer a status and perhaps an error.
    """

    _keys = "trace:traceId sender:from receiver:to refs:artifactRefs priority~ status~ error~"

    id: str
    at: str
    kind: str
    trace: str
    sender: str
    receiver: str
    text: str
    refs: list[str] = []
    priority: str = ""
    status: str = ""
    error: dict[str, Any] | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of the line."""
        return {"schemaVersion": SCHEMA_VERSION, **super().to_record()}

    def to_line(self) -> bytes:
        """Return the line without its end, readable in any language."""
        text = json.dumps(self.to_record(), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def transcript_path(workspace: Workspace, agent: str, session: str) -> str:
    """Return the file of a session of an agent.

    Raises:
        RefusedError: The key leads out of the agent's folder.
    """
    return resolve_inside(workspace.sessions(agent), session + END)


def transcript_size(workspace: Workspace, agent: str, session: str) -> int:
    """Return how long a transcript is: what is said from now on stands behind that."""
    return added_lines.size_of(transcript_path(workspace, agent, session))


def holds_utterance(workspace: Workspace, agent: str, session: str, utterance: str) -> bool:
    """Return true if a transcript holds the line with that id."""
    wanted = f'"id":"{utterance}"'.encode()
    lines = added_lines.read_lines(transcript_path(workspace, agent, session))
    return any(wanted in line for line in lines)


def add_utterance(
    workspace: Workspace, agent: str, session: str, said: Utterance, *, since: int | None = None
) -> None:
    """Add a line to a transcript; it is on the disk afterwards.

    Args:
        workspace: Where.
        agent: Whose transcript.
        session: Which.
        said: What is added.
        since: The size of the transcript before a process that died may have added
            it; None when no process can have.

    Raises:
        CouncilError: The system refuses.
    """
    path = transcript_path(workspace, agent, session)
    added_lines.add(path, [said.to_line()], since=since, durably=True)
