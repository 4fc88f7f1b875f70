"""What an explanation holds: what is waited for, what was tried, what stands in the way, what next.

Values and their JSON form, and the causes that may keep any run: why it failed, what it waits
for. How they are found out is the matter of `explaining`, how they are put into words that of
`explain_words`. Nothing is changed.

Source: `trust.md` (bounds), `cli.md` section 2 (`explain`).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from council.core import bounds
from council.core.errors import CouncilError, NewerVersionError, NotFoundError
from council.core.reasons import Reason
from council.core.record import Any, Record
from council.core.times import parse_instant, render_duration
from council.operations.activity import Activities
from council.operations.examining.causes import Cause, cause
from council.operations.gone_runs import gone_runs, gone_tasks
from council.operations.place import Place
from council.operations.reporting.explain_words import say, worded
from council.operations.reporting.run_logs import RunLog
from council.store.events import tail
from council.store.reason_words import reason_words
from council.store.slots import Slots, is_held
from council.store.tally import read_tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Conversation, Task
    from council.core.protocol.exchange import Run
    from council.operations.reporting.story import Subject

_HELD_LONG_S = 60

# By which cause the reason of a failed run is explained; any other is an `attempt-failed`.
_CAUSES = {
    **{
        code: code
        for code in (
            *("no-program", "no-right", "no-model", "no-library", "no-key", "no-folder", "lost"),
            *("no-answer", "too-long", "exit", "key-refused", "long-prompt", "no-sign"),
        )
    },
    "signal": "exit",
    "timed-out": "too-slow",
    "quota-spent": "limited",
    "limit-reached": "limited",
    "provider-failed": "provider",
    "no-prompt": "template",
}
# The value of a reason that its cause names.
_NAMED = ("program", "folder", "package", "variable", "text")

# What had no program or folder to run, and whether there is one now.
_ABSENT: dict[str, Callable[[str], object]] = {
    "no-program": shutil.which,
    "no-right": shutil.which,
    "no-folder": os.path.isdir,
}

# How an agent answers by hand, by the kind of what it answers.
_REPLIES = {
    "conversation": 'council respond --as {agent} --name {name} "…"',
    "channel": 'council turn end {name} --as {agent} --run-id hand --post --text "…"',
    "context": "council msg inbox --as {agent}",
    "trace": "",
}


class Said(Record):
    """Something that can be said in each language: which sentence, and what stands in it."""

    kind: str
    values: dict[str, Any] = {}

    def text(self, lang: str) -> str:
        """Return the sentence."""
        return say(self.kind, lang, self.values)


def said(kind: str, /, **values: Any) -> Said:
    """Return what a sentence says of `values`."""
    return Said(kind=kind, values=values)


class Wait(Record):
    """One that is waited for, since when, and until when at most."""

    said: Said
    agent: str = ""
    since: datetime | None = None
    until: datetime | None = None


class Tried(Record):
    """One attempt: who, with which command, and what came back.

    `state` is the state of its task, `run` what the log of its run says. `caller` is who had
    called the agent, "" where it was started by itself.
    """

    agent: str
    caller: str = ""
    task: str
    state: str
    at: datetime
    attempt: int = 0
    driver: str = ""
    came_back: Reason | str = ""
    run: RunLog


def came_back(one: Tried, lang: str) -> str:
    """Return what came back of an attempt, in words."""
    came = one.came_back
    return reason_words(came, lang) if isinstance(came, Reason) else worded(came, lang)


class Next(Record):
    """What happens next, and when; None where it is not a matter of time."""

    said: Said
    at: datetime | None = None


class Explained(Record):
    """Why something stands where it stands.

    `status` is its own word, `meaning` what that means beside other kinds. `where`
    gives the phase and round, cycle or state of its task. One that is `brief` is wanted for its
    causes alone: for those the logs of events and runs need not be read, which may be long.
    `reply` is how it is answered by hand, "" for the usual way.
    """

    place: Place
    now: datetime
    kind: str
    id: str
    name: str
    trace: str = ""
    ctx: str = ""
    status: str = ""
    meaning: str = ""
    where: Said | None = None
    path: str = ""
    reply: str = ""
    brief: bool = False
    waits: list[Wait] = []
    hindrances: list[Cause] = []
    tried: list[Tried] = []
    nexts: list[Next] = []

    @property
    def is_open(self) -> bool:
        """Whether it is not over yet."""
        is_over = any(one.said.kind == "over" for one in self.nexts)
        return bool(self.waits or self.hindrances) and not is_over

    @property
    def agents(self) -> set[str]:
        """The agents that are waited for, tried, or in the way."""
        return {one.agent for many in (self.waits, self.hindrances, self.tried) for one in many}

    def hinder(self, kind: str, agent: str = "", **values: Any) -> None:
        """Add what stands in the way, once; the way out is the sentence `fix-<kind>`."""
        values.setdefault("name", self.name)
        reply = self.reply or _REPLIES[self.kind]
        values.setdefault("reply", reply.format(**{"agent": agent, **values}))
        found = cause(kind, self.name, agent, **values)
        if found not in self.hindrances:
            self.hindrances.append(found)

    def wait_for(
        self,
        kind: str,
        agent: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        **values: Any,
    ) -> None:
        """Add one that is waited for."""
        values = {"agent": agent, "name": self.name, **values}
        self.waits.append(Wait(said=said(kind, **values), agent=agent, since=since, until=until))

    def then(self, kind: str, at: datetime | None = None, **values: Any) -> None:
        """Add what happens next."""
        values.setdefault("name", self.name)
        self.nexts.append(Next(said=said(kind, **values), at=at))

    def in_order(self) -> Explained:
        """Return it with what happens next in the order of time."""
        self.nexts.sort(key=lambda one: one.at or self.now)
        return self

    def to_record(self, lang: str = "en") -> dict[str, Any]:
        """Return the JSON object of `explain`."""

        def told(one: Wait | Next, fields: str) -> dict[str, Any]:
            return {"what": one.said.kind, **one.as_json(fields), "said": one.said.text(lang)}

        return {
            **self.as_json("kind id name trace:traceId? ctx? status? meaning?"),
            "where": self.where.text(lang) if self.where else None,
            **self.as_json("path? now"),
            "waitsFor": [told(one, "agent:agentId? since until") for one in self.waits],
            "hindrances": [one.to_record(lang) for one in self.hindrances],
            "tried": [
                {
                    **one.as_json("agent:agentId caller? task state attempt at driver?"),
                    **one.run.as_json("argv:command? folder?"),
                    "cameBack": came_back(one, lang) or None,
                    **one.run.as_json("seconds:took? output path:log?"),
                }
                for one in self.tried
            ],
            "next": [told(one, "at") for one in self.nexts],
        }


def begun(place: Place, kind: str, owner: str, name: str = "", **told: Any) -> Explained:
    """Return an explanation of something in which nothing stands yet but what it is."""
    return Explained(place=place, now=place.now(), kind=kind, id=owner, name=name or owner, **told)


def broken(place: Place, about: Subject, error: CouncilError, path: str) -> Explained:
    """Explain something whose file cannot be read."""
    told = about.as_json("kind id name trace")
    found = Explained(place=place, now=place.now(), path=path, **told)
    if isinstance(error, NewerVersionError):
        found.hinder("newer-file", version=error.found)
    else:
        code = "broken-file" if about.kind == "conversation" else "broken-document"
        found.hinder(code, message=error.message)
    found.then("next-person")
    return found


def not_open(wanted: str) -> NotFoundError:
    """Return the refusal to explain what is not open."""
    return NotFoundError(
        f"nothing that is open is called {wanted!r}",
        f"see: council status; what happened tells: council events story {wanted}",
    )


# --- What is in the way of a run, or of what it answers


def of_cap(found: Explained) -> None:
    """Add the cap on runs or tokens of one council that is reached.

    Daily caps, and agents that rest, are causes of the whole workspace.
    """
    limits = found.place.settings.limits
    caps = (one for one in bounds.CAPS if one.endswith("_per_council"))
    own = {one: limits[one] for one in caps if one in limits}
    if own and (cap := bounds.reached(read_tally(found.place.paths), own, found.id, found.now)):
        found.hinder("cap", cap=f"{cap[0]} = {cap[1]}")


def of_failure(
    found: Explained, agent: str, reason: Reason, log: RunLog, *, by_tool: bool = False
) -> None:
    """Add why a run failed.

    `by_tool` says that its answer is not what it prints.
    """
    if not reason.is_start:
        return  # a bound: said as it stands now
    kind = _CAUSES.get(reason.code, "attempt-failed")
    if kind == "no-answer" and by_tool:
        kind = "no-answer-tool"
    output = log.output[-1] if log.output else ""
    program = next(filter(None, map(reason.value, _NAMED)), "")
    if kind in _ABSENT and _ABSENT[kind](program):
        kind = "attempt-failed"  # it is there again, and is tried in the next round
    found.hinder(kind, agent, reason=reason, program=program, output=output, log=log.path)


def then_started(
    found: Explained,
    who: str,
    kind: str,
    at: datetime | None = None,
    state: Conversation | None = None,
    **values: Any,
) -> None:
    """Add when a run of an agent is started: what holds until then, where a bound keeps it back.

    Args:
        found: Takes it.
        who: The agent.
        kind: The sentence that says so where nothing keeps it back.
        at: When it is started then, None where that is no matter of time.
        state: The conversation, where the run is for one.
        values: What stands in the sentence.
    """
    kept = Activities(found.place).refusal(found.id, who, state)
    if not kept:
        found.then(kind, at, **values)
    elif kept.rests_until is not None:
        found.then("next-rested", kept.rests_until, agent=who)
    else:
        found.then("next-kept-back", agent=who, reason=kept)


def of_places(found: Explained, agent: str, **told: str) -> None:
    """Add the runs that take the places that a run waits for; `told` goes with it."""
    place = found.place
    slots = Slots(place.paths.places, place.settings.max_runs)
    running = slots.running_agents()
    where = {} if found.brief else _runs_of(place, running)
    if slots.taken() >= slots.max_runs:
        runs = [where.get(one, one) for one in running]
        found.hinder("no-place", places=slots.max_runs, runs=runs, **told)
    elif agent in running:
        found.hinder("busy", agent, runs=where.get(agent, ""), **told)


def of_run(
    found: Explained,
    run: Task | Run,
    agent: str,
    names: dict[str, str] | None = None,
    state: Conversation | None = None,
    **told: str,
) -> None:
    """Add a run that is waited for: it is under way, or its process is gone.

    Args:
        found: Takes what is found.
        run: The run.
        agent: The agent that runs.
        names: The agents of the workspace by their ids in a context, where it is for one.
        state: The conversation, where it is for one.
        told: What goes with it.
    """
    place = found.place
    gone = gone_tasks(place, state) if state else gone_runs(place, {run.id: run}, names)
    # Of an agent elsewhere its end may be all that has not come here yet.
    is_gone = place.has(agent) and run.id in gone
    slots = Slots(place.paths.places, place.settings.max_runs)
    goes_on = agent in slots.running_agents() if place.engine is None else not is_gone
    if goes_on or run.ends_at is None:
        found.wait_for("run", agent, run.at, run.ends_at, attempt=run.attempt, **told)
        return
    lost_at = found.now if is_gone else run.ends_at
    found.wait_for("run-gone", agent, run.at, lost_at, **told)
    kept = Activities(place).refusal(found.id, agent, state)
    until = None if is_gone else lost_at
    found.hinder("lost", agent, until=until, kept=kept, again="" if kept else "@again", **told)
    found.then("next-lease", lost_at, agent=agent)


def of_lock(found: Explained, lock: str, code: str = "locked") -> None:
    """Add who holds a lock just now; one that is held for long is something to examine."""
    from council.store.lock import holder_of

    if os.path.exists(lock) and is_held(lock):
        # A process that takes it writes its name there, by the clock of the machine.
        if time.time() - os.stat(lock).st_mtime > _HELD_LONG_S:
            code = "lock-stuck"
        found.hinder(code, holder=holder_of(lock) or "?")


def of_refusals(found: Explained, asked: dict[str, datetime]) -> None:
    """Add why the last answer of an agent was not taken that is still to answer since `asked`."""
    if found.brief:
        return
    refused: dict[str, str] = {}
    for event in tail(found.place.paths):
        agent = str(event.get("agentId") or "")
        if event.get("conversationId") != found.id or agent not in asked:
            continue
        at, since = _at(event), asked[agent].replace(microsecond=0)
        if event.get("type") == "answer.refused" and at is not None and at >= since:
            refused[agent] = str((event.get("data") or {}).get("message") or "?")
    for agent, message in refused.items():
        found.hinder("refused", agent, message=message)


def _at(event: dict[str, Any]) -> datetime | None:
    with suppress(CouncilError):
        return parse_instant(str(event.get("at")))
    return None


def _runs_of(place: Place, agents: tuple[str, ...]) -> dict[str, str]:
    """Return for agents that run what for and since when, as far as the log says."""
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    for event in tail(place.paths):
        data: dict[str, Any] = event.get("data") or {}
        if event.get("type") == "conversation.opened":
            names[str(event.get("conversationId"))] = str(data.get("name"))
        agent = str(event.get("agentId") or "")
        if event.get("type") == "agent.call.start":
            agent = str(event.get("toAgentId") or "")
        elif event.get("type") not in ("task.started", "run.started"):
            continue
        if agent in agents:
            owner = str(event.get("conversationId") or event.get("traceId"))
            at = _at(event)
            age = render_duration(place.now() - at) if at is not None else "?"
            found[agent] = f"{agent} in {names.get(owner, owner)} ({age})"
    return found
