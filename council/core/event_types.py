"""Which events there are, and the JSON Schema that is published of them.

One table of rows: a type, what it says in a sentence, and what its `data`
hold. A field is written `name:kind`; `name?` may be missing, `kind-` may be
null. Nothing checks an event as it is written: the tests hold all that ever
is to this table, and every type in it to the code that writes it.

To add an event: a row here, a row in `texts/events.txt`,
and `council events schema > council/schemas/event.json`.

Source: P8-081 to P8-086, XC-013.
"""

from __future__ import annotations

import json

from council.core.events import SCHEMA_VERSION
from council.core.reading import rows
from council.core.record import Any

_ROUND = "phase:text tour:whole"
_VERDICT = (
    "type:text reached:flag reference:text threshold:whole"
    " agree:whole partial:whole disagree:whole absent:whole towards:object"
    " contested:texts silent:texts unreadable:texts"
)
_OF_TASK = "ctx:text tid:text-"
_RUN = "task:text ctx?:text tid?:text-"  # of a run for a context, also which task it is for
_PART = f"{_OF_TASK} hop:whole"
_MESSAGE = (
    f"{_OF_TASK} msg:text pid:text- from:text to:text kind:text state:text code:text"
    " depth:whole budget:whole-"
)

# Type of event, what happened, what its data hold.
_TABLE = f"""
# Conversations, their phases, rounds and turns
conversation.opened || A conversation was opened. || name:text topic:text participants:texts
conversation.paused || A conversation stands still until it is resumed.
conversation.resumed || A paused conversation goes on. || pausedS:whole
conversation.cancelled || A conversation was cancelled. || phase:text
conversation.finished || A conversation came to its end; its minutes are owed.
    || status:text closedReason:text
conversation.archived || The minutes were written. || path:text
conversation.imported || A file without history was taken up. || name:text
conversation.restored || An older revision became the newest. || from:whole to:whole
conversation.adopted || The file was taken as it stands. || rev:whole
deadline.extended || A phase got more time. || seconds:whole
phase.changed || A phase closed and the next one began.
    || from:text to:text tour:whole reason:text absent:texts
round.changed || A round closed and another of the same phase began.
    || from:text to:text tour:whole reason:text absent:texts
turn.started || An agent got the floor of a conversation. || {_ROUND}
turn.missed || A turn passed without an answer.
    || reason:reason phase?:text tour?:whole cycle?:whole
turn.incomplete || An answer counts and lacks part of its form: it is asked for once more, or stands
       so.
    || {_ROUND} reason:reason
consensus.checked || The stances of a round were judged. || {_ROUND} {_VERDICT}
contribution.recorded || An answer was recorded; faults of a sealed one are left out.
    || {_ROUND} status:text origin:text sealed:flag faults?:list askedAgain?:flag stated?:text
contribution.late || An answer came after its round. || {_ROUND} entry:text
contribution.restored || A contribution that was edited was put back. || entry:text reason:text
contribution.purged || A contribution was taken out for good, everywhere. || entry:text by:text
answer.refused || An answer was refused. || name:text code:text message:text
person.asked || An agent put a question to the people who steer. || {_ROUND} entry:text text:text
guidance.added || A person put in a word. || entry:text target:text- tour:whole
synthesis.written || The synthesis was written. || tour:whole origin:text
digest.written || Nobody wrote a synthesis; an automatic digest stands in. || tour:whole
seal.opened || A sealed contribution became visible. || {_ROUND}
seal.missing || A sealed contribution is not there any more. || tour:whole seal:text
coordinator.notified || The coordinator was told that a round began. || tour:whole
# Tasks: one attempt each to get one turn
task.queued || A run is due and waits for a place. || {_RUN}
task.started || A run was started, or a prompt handed over.
    || {_RUN} driver:text attempt:whole label?:text
task.failed || A run ended without an answer. || {_RUN} reason:reason final:flag
task.refused || A run that is due may not be started. || {_RUN} reason:reason
task.lost || A run died without a word. || {_RUN}
# Files that people edit
edit.accepted || A change in a file was taken in. || field:text old?:any new?:any from?:any to?:any
edit.refused || A change in a file was not taken in. || field:text value:any reason:text
edit.conflict || Line and state block of a file were changed to different values.
    || field:text line:any json?:any block?:any
edit.reverted || An older text was saved over the newest one. || to:any rev?:any
note.found || Text in a section stays a note. || phase:text chars:whole tour?:whole
brief.restored || The brief was edited and put back. || chars?:whole reason?:text
block.restored || The state block was put back. || reason:text
file.restored || A file that was gone or broken was put back.
history.lost || History before a revision is gone. || rev:any warning:text
journal.begun || A document without a journal was taken up.
journal.behind || A later revision than the journal knew was taken up. || rev:whole known:whole
# Channels
channel.created || A channel was made. || name:text mode:text members:texts
channel.initialized || A channel was used for the first time.
    || mode?:text state?:text speakers?:texts
channel.woken || A channel woke. || by:text cycle:whole
channel.dormant || A channel fell asleep. || reason:text cycle?:whole
channel.calmed || A channel that would not stop by itself was put to sleep.
    || reason:text cycles:whole repeats:whole
mode.changed || The mode of a channel was changed. || from:text to:text
state.changed || The way of speaking in a channel changed. || from:text to:text
member.joined || An account joined a channel. || account:text
member.left || An account left a channel. || account:text
floor.given || An agent got the floor of a channel. || cycle:whole turn:whole
order.rebuilt || The list of speakers was made anew. || speakers:texts joined:texts left:texts
order.shuffled || The list of speakers was shuffled. || speakers:texts
cycle.ended || All speakers of a channel had their turn.
    || cycle:whole results:list interjected:flag
turn.began || The speaker of a channel began its turn. || cycle:whole runId:text anchor:whole
turn.ended || The speaker of a channel ended its turn. || cycle:whole empty:flag runId:text
turn.skipped || A turn in a channel was skipped. || cycle:whole reason:text
delivery.confirmed || What a turn said is there for all. || cycle:whole runId:text
delivery.timed_out || What a turn said was not seen in time. || cycle:whole runId:text waitedS:whole
delivery.interrupted || Somebody else spoke while a turn was delivered.
    || cycle:whole message:whole by:text
delivery.dropped || Nobody waits for a delivery any more. || cycle:whole runId:text reason:text
message.declined || A message was answered automatically. || message:whole author:text
discord.tied || A channel was tied to one of Discord. || channel:text name:text
discord.hindered || Something is in the way between a channel and Discord.
    || cause:text told:text
message.undelivered || A message cannot be posted on Discord. || message:whole reason:text
log.shortened || The message log of a channel ended before what had been taken notice of.
    || seen:whole last:whole
wake.refused || A word did not wake a channel: calmed, or of its only agent.
    || reason:text message:whole
discussion.completed || A discussion was completed. || summary:text cycles:whole
summary.posted || The summary of a discussion was posted. || channel:text summary:text
summary.undelivered || The channel where the summary of a discussion belongs is gone.
    || channel:text summary:text
prompt.shortened || What an agent of a channel had not heard did not all fit into its prompt.
    || task:text leftOut:whole
initiator.reminded || Whoever called a discussion was reminded to complete it.
minutes.written || The minutes of a discussion were written. || path:text
# Delegation, routing, artifacts
agent.message || An agent left another one a message. || sessionKey:text chars:whole priority:text
agent.call.start || An agent called another one.
    || sessionKey:text task:text depth:whole path:texts brief?:text-
agent.call.end || A call was answered. || task:text status:text toolCalls?:whole
agent.call.error || A call came to nothing.
    || task:text status:text code:text message:text toolCalls?:whole guard?:text-
       retryAfterMs?:whole path?:texts reason?:reason
agent.call.repeated || The same was asked again soon after: the earlier answer was given.
    || number:whole status:text
guard.rejected || A guard refused something an agent wanted.
    || guard:text code:text message:text depth?:whole retryAfterMs?:whole path?:texts
artifact.publish || Content was published as an artifact. || size:whole contentType:text new:flag
artifact.fetch || An artifact was fetched. || size:whole contentType:text
artifact.damaged || An artifact does not have the content that its id names. || found:text
artifact.removed || Artifacts were removed. || size:whole reason:text
routing.decision || An agent was chosen for something that came in.
    || facts:object rule:text- tier:text fallback:list
# The protocol registry
agent.joined || An agent joined the protocol and got its id.
    || id:text proposed:text- capabilities:texts maxDepth:whole- version:text
agent.left || An agent left the protocol. || id:text reason:text-
agent.refused || A request to the registry was refused. || id:text- code:text reason:text kind?:text
agent.capabilities-changed || An agent told anew what it can do. || id:text capabilities:texts
agent.version-agreed || An agent and the registry agreed on a version. || id:text version:text
group.changed || A group got other members. || group:text members:texts word:text who:texts
group.refused || A change of a group was refused. || group:text reason:text
agent.available || An agent gave a sign of life again. || id:text
agent.unavailable || An agent gave no sign of life for too long.
    || id:text code:text seenAt:instant reason:text
liveness.dropped || A second sign of life within a cycle was dropped.
    || id:text heardAt:instant nextFrom:instant
# Contexts of document 002
context.set || A value of a context was set or removed. || key:text value:text-
context.opened || A context was opened. || {_OF_TASK} kept:flag
context.answered || The user got the answer. || {_OF_TASK} tids:texts chars:whole
context.closed || A context was closed. || {_OF_TASK} reason:text
context.continued || A context has no numbers left and goes on in another one.
    || {_OF_TASK} next:text tids:object
request.split || A request was split into tasks. || {_OF_TASK} tids:texts
answer.composed || The orchestrator's agent composed the answer. || {_OF_TASK} chars:whole
message.sent || The coordinator sent a message. || {_MESSAGE}
message.received || A message of a worker or of the user came in. || {_MESSAGE}
message.delivered || A message was put into the inboxes. || {_OF_TASK} msg:text to:texts
message.repeated || A message was heard before. || {_OF_TASK} kind:text said:text
message.warned || A message was taken with a warning.
    || {_OF_TASK} said:text warning:text budget?:whole- left?:whole- to?:text source?:text
message.refused || A message of an agent was refused.
    || code:text reason:text ctx?:text tid?:text- kind?:text- said?:text
message.ignored || Something that an agent wrote was let be.
    || reason:text ctx?:text tid?:text- kind?:text said?:text chars?:whole
message.unconverted || A message cannot be written in the version of who gets it.
    || message:whole to:text version:text reason:text
# Tasks of document 002: their parts, attempts and workers
task.created || A task was made. || {_OF_TASK} priority:text caps:texts
task.ended || A task is done, has failed or was cancelled.
    || {_OF_TASK} state:text code:text reason:text
task.set-aside || A run was interrupted for a more urgent one. || {_RUN} reason:reason
budget.set || A task got its budget. || {_OF_TASK} budget:whole-
budget.raised || A budget was raised. || {_PART} budget:whole was:whole
capabilities.matched || The workers that fit a task were put in order.
    || {_PART} required:texts order:texts
worker.chosen || A worker was chosen for a task.
    || {_PART} worker:text score:number matched:texts missing:texts
worker.missing || No worker can be asked now. || {_PART} code:text reason:text
attempt.changed || An attempt went from one state to another.
    || {_PART} attempt:whole from:text to:text code:text reason:text
attempt.retried || The same worker is asked once more.
    || {_PART} code:text retry:whole dueAt:instant
attempt.replaced || Another worker is asked. || {_PART} code:text
hop.given-up || Nobody is asked for a part any more. || {_PART} code:text reason:text
handoff.approved || A worker handed a part of its task on.
    || {_PART} msg:text target:text depth:whole budget:whole-
handoff.refused || A hand-off was rejected. || {_PART} target:text code:text reason:text
question.asked || The user is asked. || {_OF_TASK} msg:text text:text options:texts
question.answered || A question was answered. || {_OF_TASK} msg:text answer:text by:text
question.expired || Nobody answered a question in time. || {_OF_TASK} msg:text code:text policy:text
# The workspace
council.halted || No more runs are started. || reason:text
council.resumed || Runs are started again.
service.started || Somebody keeps the workspace going, or serves its pages, from now on.
    || process:whole service?:text
service.stopped || Nobody keeps the workspace going, or serves its pages, any more.
    || process:whole service?:text
identities.changed || The identity registry was changed. || added:texts changed:texts removed:texts
agent.rested || An agent that keeps failing is rested.
    || until:instant failuresInARow:whole reason:reason
agent.recovered || An agent that was rested has answered. || failures:whole
event.erased || An event of what was purged: only that there was one is left.
kept.sent || What waited for the engine was sent. || call:text outcome:text reason:text file:text
hook.failed || A hook failed. || hook:text program:text eventId:text reason:text
lock.timed_out || A lock was not obtained in time. || lock:text holder:text waitedS:whole
engine.behind || The database of the engine lacked what was here, and got it back.
    || stream:text lines:whole machine:text
engine.parted || The database had gone on without what was here, which is kept in a file.
    || stream:text lines:whole machine:text file:text
"""
EVENTS = {name: (told[0], "".join(told[1:])) for name, told in rows(_TABLE).items()}

# Families whose events pass between two agents, and families that are about artifacts.
DELEGATION = ("agent.message", "agent.call.")
ARTIFACTS = ("artifact.",)

_KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "instant": {"type": "string", "format": "date-time"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "list": {"type": "array"},
    "object": {"type": "object"},
    # A code of `core/reasons.py`, alone or in an object with its values.
    "reason": {"type": ["string", "object"], "required": ["code"]},
    "any": {},
}
_OR_NULL = {"type": ["string", "null"]}
_ENVELOPE: dict[str, dict[str, Any]] = {
    "schemaVersion": {"type": "integer", "minimum": 1},
    "eventId": {"type": "string", "minLength": 1, "description": "Unique; repeats are copies."},
    "traceId": {"type": "string", "minLength": 1, "description": "What all of this belongs to."},
    "conversationId": {
        "type": "string",
        "description": "The conversation, channel or context it is about, empty for the workspace.",
    },
    "agentId": {**_OR_NULL, "description": "Who did it or whom it concerns."},
    "type": {"type": "string"},
    "at": {"type": "string", "format": "date-time", "pattern": "Z$"},
    "data": {"type": "object"},
    "fromAgentId": {**_OR_NULL, "description": "Who asked; null for a person."},
    "toAgentId": _OR_NULL,
    "limits": {"type": "object", "description": "The limits that hold for the call."},
    "taskHash": _OR_NULL,
    "artifactIds": {
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "pattern": "^art_[0-9a-f]{64}$"},
    },
}
_ALWAYS = ("schemaVersion", "eventId", "traceId", "conversationId", "agentId", "type", "at", "data")
_WITH_TWO = ("fromAgentId", "toAgentId", "limits", "taskHash")


def event_schema() -> dict[str, Any]:
    """Return the JSON Schema of one line of the event log.

    Fields that it does not name are allowed everywhere: a later version may add some.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:council:event:{SCHEMA_VERSION}",
        "title": "An event of a council workspace",
        "description": "One line of memory/shared/events/YYYY-MM-DD.jsonl.",
        "type": "object",
        "required": list(_ALWAYS),
        "properties": {**_ENVELOPE, "type": {"enum": list(EVENTS)}},
        "dependentRequired": {"fromAgentId": list(_WITH_TWO), "toAgentId": list(_WITH_TWO)},
        "allOf": [_rule_of(name) for name in EVENTS],
        "$defs": {name: _data_of(*EVENTS[name]) for name in EVENTS},
    }


def schema_text() -> str:
    """Return the schema as it is published: a line for each type, so that changes can be read."""
    lines = []
    for key, value in event_schema().items():
        said = _json(value)
        if key in ("allOf", "properties", "$defs"):
            is_list = isinstance(value, list)
            inner = (
                map(_json, value)
                if is_list
                else (f'"{name}": {_json(one)}' for name, one in value.items())
            )
            said = f"{said[0]}\n  " + ",\n  ".join(inner) + f"\n {said[-1]}"
        lines.append(f' "{key}": {said}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rule_of(name: str) -> dict[str, Any]:
    holds: dict[str, Any] = {"properties": {"data": {"$ref": f"#/$defs/{name}"}}}
    if name.startswith((*DELEGATION, *ARTIFACTS)):
        holds["required"] = [*(_WITH_TWO if name.startswith(DELEGATION) else ("artifactIds",))]
    return {"if": {"properties": {"type": {"const": name}}}, "then": holds}


def _data_of(said: str, fields: str) -> dict[str, Any]:
    properties, required = {}, []
    for field in fields.split():
        name, _, kind = field.partition(":")
        if not name.endswith("?"):
            required.append(name)
        shape = _KINDS[kind.rstrip("-")]
        if kind.endswith("-"):
            shape = {**shape, "type": [shape["type"], "null"]}
        properties[name.rstrip("?")] = shape
    more = {"properties": properties, "required": required}
    told = {key: value for key, value in more.items() if value}
    return {"description": said, "type": "object", **told}
