"""The rules of a conversation: what its events mean, what time makes true, who is to be run.

A conversation is advanced by no process in particular. Cron, a person's command, the last agent to
answer: any of them appends an event and then what `due` says, until it says nothing. Four
properties make that safe.

*Everything is in the state.* `due`, `work` and `wake` read the saved state and the time alone, so a
process that dies loses nothing: an answer and the phase it completes are one line of the journal,
and whoever comes next finds the rest.

*Steps only go forward.* A round closes when all that are still asked have answered, when all that
stay agree (debate and analysis), when it was stopped, or when its time is up. Then the absent are
noted with the reason, what was sealed is visible, everybody but the DONE is WAITING again, and the
tour is one higher. Phases follow their list; a deliberation repeats DELIBERATE until a complete
round has strong consensus, goes round in circles or was the last one allowed. The only way back is
a rejected decision, and that is open once. So any number of calls ends, even if nobody answers.

*No agent holds up the others.* Where one speaks after the other, each has its share of the phase's
time from the moment it gets the floor. An agent whose run failed for good, or that a ceiling
forbids, is passed: it is absent with that reason, may still answer while the round is open, and
the next one has the floor. The synthesis is such a round, too: its writers are asked in turn, each
with the whole time, and when none of them writes the conversation ends without one.

*Nothing that was said is lost.* An answer with a part in doubt is kept and its author is asked
once more: the second answer replaces it, and if none comes the first one counts. An answer to a
round that is over is kept as late. Sealed answers are in the state; `visible` leaves them out.

The commands that write events are in `decisions.py`. Documents 000 and 003; product.md 4 to 7.
"""

from __future__ import annotations

from council.councils import model as m
from council.councils import sight
from council.councils.evolution import owing, said_by, staying, waiting
from council.councils.model import DELIBERATE, SYNTHESIZE, VOTE, Event, State
from council.kernel import times
from council.kernel.times import datetime, timedelta
from council.runs.work import Try, Work, next_try

new = State  # a conversation to which nothing has happened


def asked(state: State) -> list[str]:
    """Return who is to answer now; empty when the conversation is paused or over."""
    return [] if state.paused_at else owing(state)


def _writers(state: State) -> list[str]:
    """Return who is asked for the synthesis, in turn: people last, the DONE if nobody else is."""
    config, everybody = state.config, state.participants
    roles = [a for a, one in everybody.items() if one.role.casefold().startswith("synth")]
    named = [a for a in (config.synthesizer, *roles, config.coordinator) if a]
    rest = staying(state) or list(everybody)
    return list(dict.fromkeys(named + sorted(rest, key=lambda agent: everybody[agent].person)))


def _tries(state: State) -> list[tuple[Work, Try]]:
    """Return what comes next for each agent that is asked; people are never run."""
    people, made = [agent for agent, one in state.participants.items() if one.person], []
    for agent in [agent for agent in asked(state) if agent not in people]:
        task = "question" if agent in state.round().asked else m.kind_of(state.phase)
        after = next_try(state.runs, agent, task, state.tour, state.config.backoff)
        made.append((Work(agent=agent, task=task, tour=state.tour, attempt=after.attempt), after))
    return made


def ceiling(state: State, agent: str) -> str:
    """Return which ceiling forbids a run of an agent, "" for none; 0 is no ceiling."""
    runs, config = state.runs, state.config
    used = {"max_runs": runs.count, "max_tokens": runs.tokens, "max_usd": runs.usd}
    for name, many in used.items() if agent in runs.by_agent or agent not in config.by_hand else ():
        if 0 < (most := getattr(config, name)) <= many:
            return f"{name} = {most:,.10g} is reached"
    return ""


def work(state: State, now: datetime) -> list[Work]:
    """Return the runs that ought to be under way; before each is claimed this is asked again."""
    at = times.text(now)
    found = [one for one, after in _tries(state) if one.attempt and (after.at or "") <= at]
    return [one for one in found if not ceiling(state, one.agent)]


def wake(state: State, by_hand: frozenset[str] = frozenset()) -> datetime | None:
    """Return when `due`, or `work` not of `by_hand`, can next be non-empty; None for never."""
    if not state.rounds or state.paused_at or state.minutes:
        return None
    moments = [state.ended_at or state.timeout_at or ""]
    for one, after in _tries(state):
        if one.agent not in by_hand and (after.open or after.attempt):
            moments.append(after.at or state.updated_at)
    return min((times.instant(moment) for moment in moments if moment), default=None)


def due(state: State, now: datetime) -> list[Event]:
    """Return the next events that the state and the time make true; [] when nothing is due."""
    if not state.rounds or state.paused_at or state.ended_at:
        return []
    at = times.text(now)
    if state.round().ended_at:
        return _after(state, at)
    passed = [] if state.stop else _passed(state, at)
    reason = "stopped" if state.stop else _over(state, at)
    return passed or (_closed(state, at, reason) if reason else [])


def _passed(state: State, at: str) -> list[Event]:
    """Return that agents are passed: no further run is made, or their turn is over."""
    now, found = state.round(), list[Event]()
    tries = {one.agent: after for one, after in _tries(state)}
    for agent in asked(state):
        after = tries.get(agent)
        gave_up = after.gave_up if after else None
        if not now.parallel and _is_late(state, at):
            found.append(passed(agent, now.tour, at, "timeout"))
        elif gave_up and (gave_up.outcome == "failed" or agent in now.asked):
            found.append(passed(agent, now.tour, at, gave_up.code, gave_up.words))
        elif after and after.attempt and (limit := ceiling(state, agent)):
            found.append(passed(agent, now.tour, at, "ceiling", limit))
    return found


def passed(agent: str, tour: int, at: str, code: str, words: str = "") -> Event:
    """Return that an agent is no longer waited for in a round."""
    return {"type": "passed", "agent": agent, "tour": tour, "at": at, "code": code, "words": words}


def _is_late(state: State, at: str) -> bool:
    return state.timeout_at is not None and at >= state.timeout_at


def _over(state: State, at: str) -> str:
    """Return why the open round closes now, "" while it stays open."""
    now, still = state.round(), waiting(state)
    early = state.config.mode in m.EARLY_MODES and state.procedure == "council"
    if early and not now.blind and now.phase != SYNTHESIZE and sight.converged(state):
        return "agreed"
    if not set(still) <= set(now.absent):
        return "timeout" if now.parallel and _is_late(state, at) else ""
    if now.phase == SYNTHESIZE:
        return "too-few" if still else "all-answered"
    if any(absence.code == "timeout" for absence in now.absent.values()):
        return "timeout"
    return "all-answered" if said_by(state, now.tour) or not now.absent else "too-few"


def _closed(state: State, at: str, reason: str) -> list[Event]:
    """Return that the open round closes, and the letters of options that it brought."""
    now, still = state.round(), waiting(state)
    heard = {entry.agent for entry in said_by(state, now.tour)}
    lacking = [a for a in now.order if a not in heard and (a in still or a in now.absent)]
    absent = {a: (now.absent.get(a) or m.Absence(code=reason)).to_json() for a in lacking}
    made: Event = {"type": "round.closed", "tour": now.tour, "at": at, "absent": absent}
    if now.phase == SYNTHESIZE:
        return [{**made, "reason": reason}]
    found = sight.tally(state, closing=True)
    if now.phase == DELIBERATE and not state.stop:
        reason = _last_round(state, found.type, len(heard)) or reason
    return [{**made, "reason": reason, "verdict": found.type}, *sight.named(state, found.options)]


def _last_round(state: State, verdict: str, heard: int) -> str:
    """Return why no round of talk follows the one that closes, "" when one does (document 003)."""
    if verdict == "strong":
        return "consensus"
    if min(heard, len(staying(state))) < 2:
        return "too-few"
    if sum(one.phase == DELIBERATE for one in state.rounds) >= state.config.max_rounds:
        return "max-rounds"
    return "repetition" if sight.repeats(state) else ""


def _after(state: State, at: str) -> list[Event]:
    """Return what follows a closed round: the next one, the end, or [] to wait for a signature."""
    to, (status, reason) = _following(state, at), outcome(state)
    if to not in ("", m.MINUTES) and not (to == SYNTHESIZE and all(_silences(state))):
        return [begun(state, to, at)]
    return [{"type": "ended", "at": at, "status": status, "reason": reason}] if to else []


def _following(state: State, at: str) -> str:
    """Return the phase after the round that closed, MINUTES, or "" for none yet."""
    now, phases, council = state.round(), state.config.phases, state.procedure == "council"
    if state.stop:
        return state.stop
    if now.phase == SYNTHESIZE:
        talks, back = state.talks(), m.RESOLVE if council else VOTE
        if state.signed == "rejected" and len(state.rounds) - len(talks) < 2:
            return back if back in phases else talks[-1].phase
        return m.MINUTES if not sight.signing(state) or _is_late(state, at) else ""
    goes_on = now.reason in ("all-answered", "timeout")
    if len(staying(state)) < 1 + council or (not goes_on if council else all(_silences(state))):
        return SYNTHESIZE
    if now.phase == DELIBERATE and goes_on:
        return DELIBERATE
    return phases[phases.index(now.phase) + 1] if now.phase in phases else SYNTHESIZE


def _silences(state: State) -> list[bool]:
    """Return of each round of talk whether nobody said anything in it."""
    return [not said_by(state, one.tour) and not one.agreed for one in state.talks()]


def begun(state: State, phase: str, at: str) -> Event:
    """Return that the next round begins, in `phase`."""
    config, tour = state.config, len(state.rounds) + 1
    number = sum(one.phase == phase for one in state.rounds) + 1
    blind = phase == VOTE or (config.blind and tour == 1)
    how = config.order if phase == DELIBERATE and not blind else "parallel"
    last = state.rounds[-1].order[-1] if number > 1 else ""
    seed = f"{state.conversation_id} {number}"
    order = m.order_of(list(state.participants), how, number, seed, last)
    made: Event = {"type": "round.begun", "tour": tour, "phase": phase, "at": at, "blind": blind}
    made["order"] = [agent for agent in order if agent in staying(state)]
    if phase == SYNTHESIZE:
        how, made["order"] = "in turn", _writers(state)
        made["status"], made["closedReason"] = outcome(state)
    until = times.later(at, timedelta(seconds=config.timeout))
    return {**made, "parallel": how == "parallel", "timeoutAt": until}


def outcome(state: State) -> tuple[str, str]:
    """Return status and reason of the end, once the last round of talk is closed (document 000)."""
    last = state.talks()[-1]
    agreed, stopped = sight.converged(state), last.reason == "stopped"
    silent = not agreed and not stopped and (last.reason == "timeout" or any(_silences(state)))
    if silent or sight.signing(state):
        return m.TIMEOUT, "timeout"
    reason = "stopped" if stopped else "consensus" if agreed else "phases_exhausted"
    return (m.TIMEOUT if last.absent and not agreed else m.CONVERGED), reason
