"""The story of something: everything that happened to it, in order, in words.

A subject is a conversation, channel or context, one task or turn in it, an
agent, a trace or an artifact. To what has an id of its own belongs also what
it has caused: everything of its trace.

Its events can be given in the form of others, too: as CloudEvents 1.0 in their JSON format, and as
spans of OpenTelemetry.

Source: IO-001, IO-003, P8-081 to P8-086, `cli.md` section 2 (`events story`, `events export`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from council.core.errors import CouncilError, NotFoundError
from council.core.events import SCHEMA_VERSION, context_of, trace_of, traceparent, w3c_trace
from council.core.ids import folded, split_task_id
from council.core.record import Any, Record
from council.operations.place import Place
from council.operations.reporting.event_words import sentence
from council.store.events import tail
from council.store.rooms.channel_places import channel_ids

_OWNERS = ("conversation", "channel", "context")
# Stories of these may be of several conversations, channels and contexts.
_OF_SEVERAL = ("agent", "trace", "artifact")


class Subject(Record):
    """What a story is about.

    `id` names it, `also` what else it is called. `owner` is the conversation,
    channel or context of a task or turn, `agent` and `tour` whose and in which
    round or cycle, `trace` the trace of an owner.
    """

    kind: str
    id: str
    name: str = ""
    also: str = ""
    owner: str = ""
    agent: str = ""
    tour: int = 0
    trace: str = ""


class Told(Record):
    """One thing that happened: the event as it stands in the log, and its sentence.

    `where` names the conversation, channel or context, in a story that may be of several.
    """

    event: dict[str, Any]
    said: str
    where: str = ""

    @property
    def who(self) -> str:
        """Whom it concerns: an agent, or "" for none."""
        return str(self.event.get("fromAgentId") or self.event.get("agentId") or "")

    def to_record(self) -> dict[str, Any]:
        """Return the event with its sentence."""
        return {**self.event, "said": self.said}


class Story(Record):
    """What a story is about, and what happened, oldest first."""

    subject: Subject
    told: list[Told]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `events story`."""
        about = self.subject.as_json("kind id name? owner? trace:traceId?")
        return {**about, **self.as_json("told:events")}


def story(place: Place, wanted: str, lang: str, *, newest: int = 0) -> Story:
    """Report everything that happened to something.

    Args:
        place: The workspace.
        wanted: The id or name of a conversation, channel, context, task, turn,
            agent, trace or artifact.
        lang: In which language.
        newest: How many of the newest events are wanted, 0 for all.

    Raises:
        NotFoundError: Nothing of that name is known and no event names it.
    """
    about = subject(place, wanted)
    found = [one for one in tail(place.paths) if belongs(one, about)]
    if not found and not about.name:
        raise unknown(wanted)
    # Several processes write: what one of them wrote down late still comes in its place.
    found.sort(key=lambda one: str(one.get("at")))
    if newest:
        found = found[-newest:]
    # Of what is hidden only that it happened is known.
    told = [Told(event=one, said=sentence(one, lang) if "data" in one else "") for one in found]
    if about.kind in _OF_SEVERAL:
        names = _names(place)
        for one in told:
            owner = str(one.event.get("conversationId") or "")
            one.where = names.get(owner, owner)
    return Story(subject=about, told=told)


def unknown(wanted: str) -> NotFoundError:
    """Return the refusal of what is unknown and no event names."""
    return NotFoundError(
        f"nothing is known of {wanted!r}",
        "give the id or name of a conversation, channel, context, task, agent or trace",
    )


def _names(place: Place) -> dict[str, str]:
    """Return what conversations were called, by their ids, as far as the log says."""
    opened = (one for one in tail(place.paths) if one.get("type") == "conversation.opened")
    return {
        str(one["conversationId"]): str(one["data"].get("name")) for one in opened if "data" in one
    }


def subject(place: Place, wanted: str) -> Subject:
    """Return what people mean by an id or a name; what is unknown counts as a trace."""
    if wanted.startswith("art_"):
        return Subject(kind="artifact", id=wanted)
    for known in (_conversation, _channel, _context, _by_short_name, _turn, _agent, _by_part):
        if found := known(place, wanted):
            return found
    if wanted[:1] == "S" and wanted[1:].isdecimal():  # pruned: the events still name it
        return Subject(kind="context", id=wanted, trace=trace_of(wanted))
    # People may name the trace of a conversation by its id, or give a trace any name.
    return Subject(kind="trace", id=trace_of(wanted), also=wanted)


def _conversation(place: Place, wanted: str) -> Subject | None:
    from council.operations.conversations.recalling import recall
    from council.store.conversations.naming import pointer_of

    for name in place.conversations.names():
        # The note of the name gives its id even where the file itself is broken.
        conversation_id = pointer_of(place.paths, name)
        if folded(wanted) == name or (conversation_id and wanted == conversation_id):
            about = _of_owner("conversation", conversation_id or name, name)
            with suppress(CouncilError):
                about.trace = place.conversations.read(name).trace or about.trace
            return about
    with suppress(CouncilError):
        found = recall(place, wanted, exactly=True).state
        return _of_owner("conversation", found.conversation_id, found.name, found.trace)
    return None


def _by_part(place: Place, wanted: str) -> Subject | None:
    """Return the conversation that a beginning of its name or a part of its title means.

    Raises:
        UsageError: It fits several.
    """
    if place.is_in_run or (wanted[:1] in ("S", "T") and wanted[1:2].isdecimal()):
        return None  # a context or a task that is there no more
    from council.operations.conversations.finding import find

    found = find(place, wanted)
    if found is None:
        return None
    return _conversation(place, found.candidate.path or found.candidate.name)


def _channel(place: Place, wanted: str) -> Subject | None:
    return _of_owner("channel", wanted, wanted) if wanted in channel_ids(place.paths) else None


def _context(place: Place, wanted: str) -> Subject | None:
    from council.core.protocol.protocol_ids import is_context
    from council.store.protocol.contexts import Contexts

    if not is_context(wanted):
        return task_of_context(wanted)
    if not Contexts(place.paths).exists(wanted):
        return None
    about = _of_owner("context", wanted, wanted)
    with suppress(CouncilError):
        about.trace = Contexts(place.paths).read(wanted).exchange.trace_id or about.trace
    return about


def _by_short_name(place: Place, wanted: str) -> Subject | None:
    """Return the conversation that is named as messages of document 002 name it (XC-102)."""
    from council.core.protocol.protocol_ids import is_context
    from council.store.conversations.naming import pointer_of

    if not is_context(wanted):
        return None
    for name in place.conversations.names():
        if context_of(pointer_of(place.paths, name) or "") == wanted:
            return _conversation(place, name)
    return None


def _turn(_place: Place, wanted: str) -> Subject | None:
    return turn_of(wanted)


def _agent(place: Place, wanted: str) -> Subject | None:
    """Return an agent, by its id or that which it bears in messages."""
    from council.store.protocol.protocol_registry import load

    with suppress(CouncilError):
        for entry in load(place.paths).entries.values():
            if wanted in (entry.id, entry.agent):
                name = entry.agent or entry.id
                return Subject(kind="agent", id=name, name=name, also=entry.id)
    known = wanted in place.agents()
    return Subject(kind="agent", id=wanted, name=wanted) if known else None


def _of_owner(kind: str, owner: str, name: str, trace: str = "") -> Subject:
    return Subject(kind=kind, id=owner, name=name, trace=trace or trace_of(owner))


# --- What belongs to a subject


def turn_of(text: str) -> Subject | None:
    """Read the id of a task, `OWNER.ROUND.AGENT.ATTEMPT`, or of a turn, which has no attempt."""
    for kind, task in (("task", text), ("turn", f"{text}.1")):
        if parts := split_task_id(task):
            return Subject(kind=kind, id=text, owner=parts[0], tour=parts[1], agent=parts[2])
    return None


def task_of_context(text: str) -> Subject | None:
    """Read a task of a context, `S1/T1` or `S1.T1`."""
    context, _, task = text.replace("/", ".").partition(".")
    if context[:1] == "S" and task[:1] == "T" and task[1:].isdigit():
        return Subject(kind="task", id=task, owner=context)
    return None


def belongs(event: dict[str, Any], subject: Subject) -> bool:
    """Return true if an event belongs to the story of `subject`."""
    kind = subject.kind
    if kind in _OWNERS:
        mine = event.get("conversationId") == subject.id
        return mine or bool(subject.trace and event.get("traceId") == subject.trace)
    if kind == "agent":
        named = {event.get(key) for key in ("agentId", "fromAgentId", "toAgentId")}
        return subject.id in named or bool(subject.also and subject.also in named)
    if kind == "trace":
        trace = str(event.get("traceId"))
        names = (trace, w3c_trace(trace))
        return subject.id in names or bool(subject.also and subject.also in names)
    if kind == "artifact":
        return subject.id in (event.get("artifactIds") or ())
    return _of_turn(event, subject)


def _of_turn(event: dict[str, Any], subject: Subject) -> bool:
    """Return true if an event is of one turn of one agent, or of the attempt that is meant.

    What the agent did in that round without naming a task belongs to all its attempts.
    """
    data = event.get("data") or {}
    task = str(data.get("task") or data.get("runId") or "")
    is_here = event.get("conversationId") == subject.owner
    if not subject.agent:
        return bool(is_here and data.get("tid") == subject.id)
    if task == subject.id:
        return True
    if task or not is_here:
        return is_here and subject.kind == "turn" and task.startswith(f"{subject.id}.")
    is_its = event.get("agentId") == subject.agent
    return is_its and bool(data.get("tour", data.get("cycle", subject.tour)) == subject.tour)


# --- Events in the form of others


CLOUDEVENTS, OTLP = "cloudevents", "otlp-json"
FORMATS = (CLOUDEVENTS, OTLP)
TYPE_PREFIX = "dev.council."

# Names of extension attributes are lower-case letters and digits, their values plain.
_EXTENSIONS = {
    "traceid": "traceId",
    "agentid": "agentId",
    "conversationid": "conversationId",
    "fromagent": "fromAgentId",
    "toagent": "toAgentId",
    "taskhash": "taskHash",
}


def cloud_events(place: Place, *, since: str = "", about: str = "") -> Iterator[dict[str, Any]]:
    """Yield the events of the log as CloudEvents.

    Args:
        place: The workspace.
        since: The first day wanted (`2026-02-08`), "" for all.
        about: What they must belong to the story of, "" for all.

    Raises:
        NotFoundError: Nothing is known of `about`.
    """
    for event in _events(place, since, about):
        yield cloud_event(event, os.path.basename(place.root))


def otlp(place: Place, *, since: str = "", about: str = "") -> dict[str, Any]:
    """Return the events of the log as spans, in one request of the OpenTelemetry protocol.

    Raises:
        NotFoundError: Nothing is known of `about`.
    """
    from council import __version__
    from council.core.reporting.spans import trace_export

    names = {one: place.agent(one).name for one in place.agents()}
    return trace_export(
        _events(place, since, about),
        names=names,
        root_name=os.path.basename(place.root),
        version=__version__,
    )


def _events(place: Place, since: str, about: str) -> Iterator[dict[str, Any]]:
    wanted = subject(place, about) if about else None
    is_known = wanted is None or bool(wanted.name)
    for event in tail(place.paths, since=since):
        if wanted is not None and not belongs(event, wanted):
            continue
        is_known = True
        if all(event.get(key) for key in ("type", "traceId", "at")):
            yield event
    known = is_known or wanted is None or any(belongs(one, wanted) for one in tail(place.paths))
    if not known:
        raise unknown(about)


def cloud_event(event: dict[str, Any], root_name: str) -> dict[str, Any]:
    """Return an event of the log as a CloudEvent.

    Args:
        event: The event as it stands in its line.
        root_name: The name of the workspace's folder.
    """
    from urllib.parse import quote

    data: dict[str, Any] = event.get("data") or {}
    about = str(data.get("task") or event.get("conversationId") or "")
    made: dict[str, Any] = {
        "specversion": "1.0",
        "id": event["eventId"],
        "source": f"/council/{quote(root_name, safe='')}",
        "type": f"{TYPE_PREFIX}{event['type']}",
        "time": event["at"],
        "datacontenttype": "application/json",
        "dataschema": f"urn:council:event:{event.get('schemaVersion', SCHEMA_VERSION)}",
    }
    if about:
        made["subject"] = about
    made |= {name: event[key] for name, key in _EXTENSIONS.items() if event.get(key)}
    made["traceparent"] = traceparent(str(event["traceId"]), about or str(event["eventId"]))
    more = {key: event[key] for key in ("limits", "artifactIds") if key in event}
    return {**made, "data": {**data, **more}}
