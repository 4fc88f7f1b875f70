"""Why a conversation stands where it stands, and why the calls of one agent to another do.

A run that has called an agent waits inside its own process: of that nothing stands in the
conversation, room or context that it works for. The ledger of the trace knows it.

Source: `cli.md` section 2 (`explain`), C0-026, C0-035, C0-076, P8-023, P8-052, P8-061, XC-016,
XC-102.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from council.core.agents import ANSWER_TOOL
from council.core.conversations import due
from council.core.conversations.conversation import SCHEMA_VERSION, Conversation, Task, TaskState
from council.core.conversations.handles import names, translate
from council.core.conversations.procedures import SYNTHESIZE
from council.core.delegation import delegation as rules
from council.core.delegation.delegation import Call, Trace
from council.core.errors import CouncilError, NotAdoptedError, NotFoundError
from council.core.events import context_of
from council.core.reasons import Reason, read_reason
from council.core.record import Any
from council.core.reporting import meanings
from council.operations.delegation.chains import call_task
from council.operations.place import Place
from council.operations.reporting.explained import (
    Explained,
    Tried,
    begun,
    broken,
    not_open,
    of_cap,
    of_failure,
    of_lock,
    of_places,
    of_refusals,
    of_run,
    said,
    then_started,
)
from council.operations.reporting.run_logs import read_run_log
from council.store.conversations.views import standing_digest
from council.store.delegation.traces import held_notes, read_trace, traces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.reporting.story import Subject


MANUAL = "manual"
LATE_PHASE = timedelta(minutes=1)
THE_END = datetime.max.replace(tzinfo=UTC)


def explain_conversation(
    place: Place, about: Subject, *, brief: bool = False, state: Conversation | None = None
) -> Explained:
    """Explain a conversation, open or archived; `state` where it was read just now.

    Raises:
        RefusedError: It is anonymous, and a run asks.
    """
    live = place.paths.conversation_file(about.name)
    try:
        state = state or place.conversations.read(about.name)
    except NotFoundError:
        return _archived(place, about)
    except CouncilError as error:
        return broken(place, about, error, os.path.relpath(live, place.root))
    if place.is_in_run:
        from council.core.conversations.anonymity import refuse_names

        refuse_names(state)
    veil = place.paths.veil
    if veil:  # what is true of it is found before names are left out
        state = place.conversations.page(about.name).state
    found = _frame(place, state, about.trace, live)
    found.brief = brief
    _of_file(found, state.schema_version)
    if any(one.code == "not-adopted" for one in found.hindrances):
        found.wait_for("adoption")
        found.then("next-person")
    elif state.finished_at is not None:
        found.wait_for("minutes", since=state.finished_at)
        found.then("next-minutes")
    elif state.paused_at is not None:
        found.wait_for("resumption", since=state.paused_at)
        found.hinder("is-paused", since=state.paused_at)
        found.then("next-person")
    else:
        _under_way(found, state)
    _of_questions(found, state)
    of_lock(found, f"{place.paths.conversation_folder(state.conversation_id)}/lock")
    if veil and veil.state(state) is not state:
        _leave_names_out(found, names(state))
    return found


def _leave_names_out(found: Explained, known: Iterable[str]) -> None:
    """Keep of an explanation what says nothing of whom it is about."""
    words = dict.fromkeys(known, "…")

    def bare(values: dict[str, Any]) -> dict[str, Any]:
        said = {key: one for key, one in values.items() if isinstance(one, str)}
        lists = {key: one for key, one in values.items() if isinstance(one, list | tuple)}
        reasons = {key: one for key, one in values.items() if isinstance(one, Reason)}
        return {
            **values,
            **{key: translate(one, words) for key, one in said.items()},
            **{key: [translate(str(one), words) for one in many] for key, many in lists.items()},
            **{key: one.copy(values=bare(one.values)) for key, one in reasons.items()},
        }

    for many in (found.waits, found.nexts):
        for one in many:
            one.said = one.said.copy(values=bare(one.said.values))
    for wait in found.waits:
        wait.agent = ""
    causes = [one.copy(agent="", log="", values=bare(one.values)) for one in found.hindrances]
    found.hindrances = [one for at, one in enumerate(causes) if one not in causes[:at]]
    found.tried = []


def _of_questions(found: Explained, state: Conversation) -> None:
    """Add the questions that wait for an answer of people; they hold up nothing."""
    from council.core.deliberation.questions import open_to_people

    asked_at = {one.id: one.at for one in state.entries}
    for one in open_to_people(state):
        found.wait_for("people", one.asker, asked_at.get(one.entry), question=one.text)


def _of_file(found: Explained, version: int) -> None:
    """Add what is wrong with the file: what stands in it may be read and still not go on."""
    place = found.place
    if version > SCHEMA_VERSION:
        found.hinder("newer-file", version=version)
        return
    try:
        place.conversations.require_adopted(found.name)
        if found.brief and standing_digest(place.paths, found.name)[1]:
            return  # it is what we wrote last; of many, no more is looked at
        from council.operations.conversations.editing import check

        faults = check(place, found.name).faults
    except NotAdoptedError as error:
        found.hinder(error.code)
        return
    except CouncilError as error:
        faults = [error.message]
    if faults:
        found.hinder("broken-file", message="; ".join(faults))


def _frame(place: Place, state: Conversation, trace: str, path: str) -> Explained:
    return begun(
        place,
        "conversation",
        state.conversation_id,
        name=state.name,
        trace=trace,
        ctx=context_of(state.conversation_id),
        status=str(state.status),
        meaning=meanings.of_conversation(state),
        where=said("where-conversation", phase=state.phase, tour=state.tour),
        path=os.path.relpath(path, place.root),
    )


def _archived(place: Place, about: Subject) -> Explained:
    from council.operations.conversations.recalling import recall

    recalled = recall(place, about.id)
    found = _frame(place, recalled.state, about.trace, recalled.path)
    _of_rounds_before(found, recalled.state)
    found.then("over")
    return found


def _under_way(found: Explained, state: Conversation) -> None:
    due_agents = due.due_agents(state)
    later = due.pending(state, THE_END, backoff=found.place.settings.retry_backoff)
    wakes = {one.agent: one for one in later if isinstance(one, due.Wake)}
    asked = {agent: due.asked_at(state, agent) for agent in due_agents}
    for agent, since in asked.items():
        tasks = due.tasks_of(state, agent)
        of_agent(found, agent, tasks, wakes.get(agent), since, state.timeout_at, state)
    queued = any(
        one.state is TaskState.N for one in state.tasks.values() if one.agent in due_agents
    )
    late = found.now - state.timeout_at
    if late >= LATE_PHASE and not queued:
        agents = ", ".join(due_agents[:3]) + (
            f" (+{len(due_agents) - 3})" if len(due_agents) > 3 else ""
        )
        found.hinder("overdue", late=late, phase=state.phase, tour=state.tour, agents=agents)
    of_refusals(found, asked)
    of_calls(found)
    _of_rounds_before(found, state)
    _what_next(found, state, due_agents)


def _of_rounds_before(found: Explained, state: Conversation) -> None:
    """Add the last attempts that failed for good in rounds that are over, and were not made up."""
    if found.brief:
        return
    last = {one.agent: one for one in state.tasks.values() if one.state is not TaskState.N}
    shown = {one.agent for many in (found.hindrances, found.tried) for one in many}
    found.tried += [
        _tried(found.place, one)
        for agent, one in last.items()
        if one.is_failed_run and agent not in shown
    ]


def of_agent(
    found: Explained,
    agent: str,
    tasks: list[Task],
    wake: due.Wake | None,
    since: datetime | None,
    until: datetime | None,
    state: Conversation | None = None,
) -> None:
    """Add what is waited for of one agent that is to answer, why, and when it is tried again.

    Args:
        found: Takes what is found.
        agent: The agent.
        tasks: Its attempts so far, in order.
        wake: The next start that is due to it, None for no other.
        since: Since when it is waited for.
        until: How long it is waited for, None for no bound.
        state: The conversation, where it is to answer in one.
    """
    place = found.place
    if not found.brief:
        found.tried += [_tried(place, one) for one in tasks]
    last = tasks[-1] if tasks else None
    failed = [one for one in tasks if one.is_failed_run]
    by_tool = place.settings.agent(agent).answer == ANSWER_TOOL
    for one in failed[-1:] if last is None or last.state is not TaskState.R else []:
        of_failure(found, agent, one.reason, read_run_log(place, one.id), by_tool=by_tool)
    if last is not None and last.state is TaskState.R:
        _of_run(found, agent, last, until, state)
        return
    if last is not None and last.state is TaskState.N:
        found.wait_for("place", agent, last.at)
        of_places(found, agent)
        then_started(found, agent, "next-place", state=state, agent=agent)
    elif wake is None:
        found.wait_for("answer", agent, since, until)
    elif failed and wake.due_at > found.now:
        found.wait_for("retry", agent, last.at if last else since, until)
        then_started(found, agent, "next-retry", wake.due_at, state, agent=agent)
    else:
        found.wait_for("start", agent, since, until)
        if not place.has(agent):
            _of_elsewhere(found, agent)
            return
        then_started(found, agent, "next-heartbeat", state=state, agents=[agent])
        if place.agent(agent).driver == MANUAL:
            return
    of_cap(found)


def _of_elsewhere(found: Explained, agent: str) -> None:
    """Add on which machine an agent is started that does not live here (EN-006)."""
    from council.operations.engine.living import homes_of, is_homeless

    place = found.place
    machines = ", ".join(homes_of(place, agent))
    if is_homeless(place, agent):
        found.hinder("homeless", agent, machines=machines, url=place.settings.engine.url)
    else:
        found.then("next-elsewhere", agent=agent, machines=machines)


def _of_run(
    found: Explained,
    agent: str,
    task: Task,
    until: datetime | None,
    state: Conversation | None,
) -> None:
    place = found.place
    if task.ends_at is not None:
        of_run(found, task, agent, state=state)
        return
    prompt = os.path.join(place.paths.tasks(agent), f"{task.id}.md")
    shown = os.path.relpath(prompt, place.root) if os.path.isfile(prompt) else ""
    found.wait_for("answer-by-hand", agent, task.at, until, prompt=shown)
    strict = place.settings.trust == "strict" and found.kind == "conversation"
    found.hinder("by-hand-strict" if strict else "by-hand", agent, prompt=shown)


def _tried(place: Place, task: Task) -> Tried:
    """Return one attempt with what the log of its run says."""
    log = read_run_log(place, task.id)
    came: Reason | str = (
        "@handed" if task.driver == MANUAL else "@under-way" if task.state == "R" else ""
    )
    if task.state is TaskState.F:
        came = task.reason
    elif task.state is TaskState.D:
        came = log.outcome or "@answered"
    told = task.as_json("agent id:task driver attempt")
    return Tried(**told, state=str(task.state), at=task.at, came_back=came, run=log)


def _what_next(found: Explained, state: Conversation, due_agents: tuple[str, ...]) -> None:
    after = [one for one in due.awaited(state) if one not in due_agents]
    if after and due.takes_turns(state):
        found.then("next-after-turn-one" if len(after) == 1 else "next-after-turn", agents=after)
    following = due.next_phase(state)
    if state.phase == SYNTHESIZE:
        found.then("next-digest", state.timeout_at)
    elif due.takes_turns(state) and due_agents:
        found.then("next-skip", state.timeout_at, agent=due_agents[0])
    else:
        found.then("next-all", next=following)
        told = {"phase": state.phase, "next": following, "absent": list(due_agents)}
        found.then("next-phase", state.timeout_at, **told)
    if state.ends_at is not None:
        found.then("next-end", state.ends_at)
    found.in_order()


# --- Calls of one agent to another


_MEANINGS = {
    rules.OK: meanings.ENDED_WELL,
    rules.TIMED_OUT: meanings.OUT_OF_TIME,
    rules.WAITING: meanings.UNDER_WAY,
    rules.RUNNING: meanings.UNDER_WAY,
}
# How a trace ended in which some calls came to something and others did not.
_IN_PART = "ended-in-part"
# Codes of answers that nothing else can explain, and which sentence explains them.
_OWN_KINDS = {"E10": "call-form", "E17": "call-tools", "E20": "call-too-slow"}


def explain_trace(place: Place, about: Subject) -> Explained:
    """Explain the calls of a trace: those under way, and what came of the others.

    Raises:
        NotFoundError: No agent has called another in it.
        InvalidStateError: Its ledger cannot be understood.
    """
    ledger = _ledger(place, about.also) or _ledger(place, about.id)
    if ledger is None:
        if about.also in traces(place.paths):
            read_trace(place.paths, about.also)  # it raises what is wrong with it
        raise not_open(about.also)
    trace = ledger.trace_id
    shown = [f"{rules.shown_path([one.caller, one.target])} {one.state}" for one in ledger.calls]
    found = begun(place, "trace", trace, trace=trace, where=said("where-trace", calls=shown))
    found.status = ", ".join(dict.fromkeys(one.state for one in ledger.calls))
    found.meaning = _meaning(ledger.calls)
    _calls(found, ledger.calls, trace)
    if not found.waits:
        found.then("over")
    return found


def _meaning(calls: list[Call]) -> str:
    """Return what a trace has come to: under way, or what its calls have in common."""
    found = {_MEANINGS.get(one.state, meanings.FAILED) for one in calls}
    if meanings.UNDER_WAY in found:
        return meanings.UNDER_WAY
    return found.pop() if len(found) == 1 else _IN_PART


def of_calls(found: Explained) -> None:
    """Add the calls that a run of a conversation, room or context waits for."""
    ledger = _ledger(found.place, found.trace) or _ledger(found.place, found.id)
    if ledger is not None:
        mine = [one for one in ledger.calls if one.owner == found.id and one.is_under_way]
        _calls(found, mine, ledger.trace_id)


def _ledger(place: Place, trace: str) -> Trace | None:
    """Return the ledger of a trace in which an agent was called, None where there is none."""
    with suppress(CouncilError):  # no name of a trace, or `doctor` says what is wrong with it
        if trace and (ledger := read_trace(place.paths, trace)).calls:
            return ledger
    return None


def _calls(found: Explained, calls: list[Call], trace: str) -> None:
    """Add calls: what came back of each, and what one that is under way waits for."""
    notes = held_notes(found.place.paths)
    alive = {(one.get("trace"), one.get("number")) for one in notes}
    for call in calls:
        _tried_call(found, call, call_task(trace, call.number, call.target))
        if not call.is_under_way:
            continue
        # `of` is the run that waits: what keeps a called agent keeps that one.
        told = {"caller": call.caller, "of": call.path[0], "trace": trace}
        since = call.started_at or call.at
        until = since + _most(found.place, call)
        if (trace, call.number) not in alive:
            found.wait_for("call-end", call.target, since, None, **told)
            found.hinder("call-left", call.target, **told)
            found.then("next-call-end")
        elif call.state == rules.WAITING:
            found.wait_for("call-place", call.target, since, until, **told)
            of_places(found, call.target, **told)
            found.then("next-call-refused", until, agent=call.target, **told)
        else:
            found.wait_for("call", call.target, since, until, **told)
            found.then("next-call-timeout", until, agent=call.target, **told)
    found.in_order()


def _most(place: Place, call: Call) -> timedelta:
    """Return how long a call may wait for its place, or run, whichever it does."""
    limit = timedelta(milliseconds=call.limits.get(rules.TIMEOUT, rules.DEFAULTS[rules.TIMEOUT]))
    if call.state == rules.WAITING:
        return limit
    own = place.agent(call.target).settings
    return min(limit, place.settings.timeout_of(own))


def _tried_call(found: Explained, call: Call, task: str) -> None:
    """Add what came back of a call; where it came to nothing, also why."""
    log = read_run_log(found.place, task)
    error: dict[str, Any] = (call.result or {}).get("error") or {}
    came = " ".join(str(error[one]) for one in ("code", "message") if error.get(one))
    if call.is_under_way:
        came = "@under-way" if call.state == rules.RUNNING else "@waits-for-place"
    elif call.state != rules.OK:
        words = str(error.get("message", "")).removeprefix(f"{call.target}: ") or call.state
        reason = read_reason(error.get("reason") or words)
        kind = "call-lost" if call.state == rules.LOST else _OWN_KINDS.get(str(error.get("code")))
        if kind is None:
            of_failure(found, call.target, reason, log)
        else:
            found.hinder(kind, call.target, caller=call.caller, reason=reason, log=log.path)
    tried = Tried(
        agent=call.target,
        caller=call.caller,
        task=task,
        state=call.state,
        at=call.started_at or call.at,
        driver=found.place.agent(call.target).driver,
        came_back=came,
        run=log,
    )
    found.tried.append(tried)
