"""Contexts as a kind of document: what follows by itself, and which runs ought to be under way."""

from __future__ import annotations

from council.kernel import times
from council.kernel.times import datetime, timedelta
from council.kernel.words import load
from council.runs import work as runs
from council.runs.work import Try, Work
from council.tasks import model as m
from council.tasks.decisions import Play, again, fail, others, reply
from council.tasks.model import EVENTS, Context, Event, Hop, Task, evolve
from council.tasks.wire import tables
from council.tasks.wire.model import fitted

__all__ = ["EVENTS", "due", "evolve", "new", "wake", "work"]
new = Context
MOST_RETRIES = 2
_FAILURES = {"timed-out": "E21", "quota": "E31", "context-full": "E17"}  # all others are E30


def due(state: Context, now: datetime) -> list[Event]:
    """Return the next thing that follows from what was said, or from the time."""
    if not state.name or state.closed_at:
        return []
    at, hops = times.text(now), dict[str, list[Hop]]()
    for hop in state.open_hops():
        if why := _failing(state, hop, at):
            fail(play := Play(state, now), hop, *why)
            return play.events
    for hop in state.hops.values():
        if hop.failure and hop.state not in m.OPEN:
            return _follow(Play(state, now), hop)
    for hop in state.hops.values():
        hops.setdefault(hop.task, []).extend([] if hop.source else [hop])
    for ident, task in state.tasks.items():
        if task.question and task.until <= at and not task.is_late:
            return _late(Play(state, now), ident, task)
        end = _end(task, hops.get(ident, [])) if task.state in m.OPEN else None
        if task.state in m.OPEN and state.count > m.LAST_MESSAGE + 50:
            end = {"state": m.FAILED, "result": "", "code": "E99", "words": "too many messages"}
        if end:
            return [{"type": "task.ended", "at": at, "task": ident, **end}]
    is_done = state.tasks and all(one.state not in m.OPEN for one in state.tasks.values())
    if is_done and not (_joining(state) and _until(state) > at):
        return [{"type": "context.closed", "at": at, "answer": answer(state)}]
    return []


def _failing(state: Context, hop: Hop, at: str) -> tuple[str, str] | None:
    """Return code and words of why a worker will not answer, None while it may."""
    if hop.failure:
        return hop.failure, hop.words
    if hop.worker not in state.workers:
        return "E30", f"{hop.worker} has left"
    if hop.worker in state.down:
        return "E22", f"{hop.worker} gave no sign of life"
    if not hop.asked:
        return None
    own = [one for one in state.runs.by_id.values() if one.tour == hop.asked]
    last = max(own, key=lambda one: (one.task == "question", one.attempt), default=None)
    if last and last.outcome == "failed" and last.code != "ended":
        is_last = _try(state, _of(hop)).gave_up is not None
        if is_last or last.code == "timed-out" or (last.code != "lost" and _others(state, hop)):
            return _FAILURES.get(last.code, "E30"), f"{last.code}: {last.words}"
    is_running = last is not None and last.is_open() and last.lease > at
    return ("E20", "no answer in time") if hop.until <= at and not is_running else None


def _others(state: Context, hop: Hop) -> list[str]:
    """Return who can take a task in the place of those that had it, the best first."""
    former = [one.worker for one in state.hops.values() if (one.task, one.source) == (hop.task, 0)]
    return [] if hop.source else others(state, state.tasks[hop.task].caps, former)


def _follow(play: Play, hop: Hop) -> list[Event]:
    """Do what follows on the code of a failure: retry, fall back, raise the budget, or give up."""
    state, code, task = play.state, hop.failure, play.state.tasks[hop.task]
    rule, rest = tables.described("!", code, ""), _others(state, hop)  # PR-580
    if (source := state.hops.get(str(hop.source))) and source.state in m.OPEN:
        play.reject(source, code, hop.worker, after=hop.number)
        return play.events
    is_there = hop.worker in {*state.workers} - {*state.down} and not source
    if rule == "raise-budget-once" and is_there and not task.is_raised and hop.budget is not None:
        again(play, hop, hop.worker, min(9999, max(2 * (hop.grant or 0), hop.need)), reason=code)
    elif rule == "retry-auto-max-2" and hop.retry < MOST_RETRIES and is_there and code != "E22":
        count = {"retry": str(hop.retry + 1), "max": str(MOST_RETRIES)}
        again(play, hop, hop.worker, hop.budget, **count)
    elif rule in ("retry-auto-max-2", "fallback-other-worker") and rest:
        again(play, hop, rest[0], hop.budget, fallback_from=hop.worker, reason=code)
    else:
        play.add("task.given-up", hop=hop.number)
    return play.events


def _late(play: Play, ident: str, task: Task) -> list[Event]:
    """Note that a person has not answered (E23); `choice_policy` says what follows."""
    play.add("task.unanswered", task=ident, code="E23")
    policy, hop = play.state.rules.choice_policy, play.state.hops.get(str(task.asker))
    if policy == "first" and task.options:
        reply(play, ident, "1")
    elif policy == "abandon" and hop:
        fail(play, hop, "E23", task.question)
    return play.events


def _end(task: Task, hops: list[Hop]) -> dict[str, str] | None:
    """Return how a task has ended, None while somebody has it in hand or is asked."""
    if not hops or task.question or any(hop.state in m.OPEN or hop.failure for hop in hops):
        return None
    successes = [one for one in hops if one.state == m.DONE]
    last, result = (successes or hops)[-1], "\n\n".join(one.result for one in successes)
    return {"state": last.state, "result": result, "code": last.code, "words": last.words}


def answer(state: Context) -> str:
    """Return what the user is told: the results, and in plain words what failed (PR-557)."""
    texts = load(f"texts/worker-lines-{state.lang}.txt")
    parts = []
    for task in state.tasks.values():
        text = task.result or texts["cancelled"]
        if task.state == m.FAILED:
            meaning = tables.meanings("V5", state.lang).get(task.code, "")
            text = f"{texts['failed'].format(why=meaning)}\n{task.words}".strip()
        parts.append(f"{fitted(task.text, 70)}\n{text}" if len(state.tasks) > 1 else text)
    return "\n\n".join(parts)


# Runs


def _try(state: Context, one: Work) -> Try:
    return runs.next_try(state.runs, one.agent, one.task, one.tour, state.rules.backoff)


def _of(hop: Hop) -> Work:
    return Work(agent=hop.agent, task="question" if hop.refusal else "task", tour=hop.asked)


def _joining(state: Context) -> Work | None:
    """Return the run that makes one answer of several results, if an orchestrator has joined."""
    agent = next((one.agent_id for key, one in state.workers.items() if key[0] == "O"), "")
    results = [hop for hop in state.hops.values() if hop.result and not hop.source]
    is_open = any(one.state in m.OPEN for one in state.tasks.values()) or state.closed_at
    if not agent or len(results) < 2 or is_open:
        return None
    one = Work(agent=agent, task=m.SYNTHESIS, tour=state.count)
    return None if _try(state, one).gave_up else one


def _until(state: Context) -> str:
    """Return until when the orchestrator is waited for."""
    return times.later(state.updated_at, timedelta(seconds=state.rules.reply_timeout))


def _wanted(state: Context) -> list[tuple[Work, str]]:
    """Return the runs that are wanted and from when on; one at a time for each agent, P0 first."""
    rows, busy = [], {one.agent for one in state.runs.open()}
    hops = [_of(hop) for hop in state.open_hops() if hop.asked and not state.closed_at]
    for one in [*hops, *filter(None, [_joining(state)])]:
        if one.agent not in busy and (after := _try(state, one)).attempt:
            busy.add(one.agent)
            rows.append((one.copy(attempt=after.attempt), after.at or ""))
    return rows


def work(state: Context, now: datetime) -> list[Work]:
    """Return the runs that ought to be under way."""
    return [one for one, at in _wanted(state) if at <= times.text(now)]


def wake(state: Context, by_hand: frozenset[str] = frozenset()) -> datetime | None:
    """Return the next instant at which `due` or `work` can be other than empty; None for never."""
    if state.closed_at:
        return None
    moments = [at or state.updated_at for one, at in _wanted(state) if one.agent not in by_hand]
    moments += [one.lease for one in state.runs.open()]
    moments += [one.until for one in state.open_hops() if one.asked]
    moments += [_until(state)] if _joining(state) else []
    moments += [one.until for one in state.tasks.values() if one.question and not one.is_late]
    busy = [one.worker for one in state.open_hops()]
    alive = [one.alive for key, one in state.workers.items() if key in busy and one.alive]
    moments += [times.later(one, m.SILENT) for one in alive]
    return min((times.instant(one) for one in moments if one), default=None)
