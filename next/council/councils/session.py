"""What a conversation came to: its outcome and decision, and document 003's `DebateSession`."""

from __future__ import annotations

from council.councils import sight
from council.councils.evolution import said_by
from council.councils.model import CANCELLED, SYNTHESIZE, TIMEOUT, VOTE, Entry, Round, State, Tally
from council.kernel import ids, times
from council.kernel.record import Any

_NO_FAILURE = ("timeout", "stopped", "agreed")  # codes of absences


def outcome(state: State, tally: Tally) -> str:
    """Return `consensus`, `partial`, `no-consensus`, `timeout`, `cancelled` or `nobody-left`.

    The last one: no answer was given, and runs failed. Without the approval that `--sign-off`
    asks for there is no consensus.
    """
    said = [entry for entry in state.entries if entry.kind != "guidance" and not entry.late]
    failed = {one.code for past in state.rounds for one in past.absent.values()} - {*_NO_FAILURE}
    if state.status == CANCELLED:
        return "cancelled"
    if not said:
        return "nobody-left" if failed else "timeout"
    if state.config.sign_off and state.signed != "approved":
        return "no-consensus" if state.signed else "timeout"
    if tally.reached:
        return "consensus"
    if len(tally.agreed) > len(tally.waiting):
        return "partial"
    return "timeout" if state.status == TIMEOUT else "no-consensus"


def decision(state: State) -> dict[str, Any]:
    """Return the decision and what goes with it, as `ask --json` prints it.

    The decision of a deliberation is the text of the options that won, that of a council is what
    its synthesis recommends; "" where there is none. `recommendation` is the synthesis' own.
    """
    tally, talks = sight.tally(state), [r for r in state.rounds if r.phase != SYNTHESIZE]
    absent = {agent: why.to_json() for one in talks for agent, why in one.absent.items()}
    written = _of_kind(state, "synthesis")
    advice = (written[-1].heard.recommendation or written[-1].text) if written else ""
    is_council = state.procedure == "council"
    return {
        "outcome": outcome(state, tally),
        "decision": advice if is_council else "\n".join(tally.decision),
        "recommendation": advice,
        "dissent": dissent(state, tally),
        "blockers": [{"agent": b.agent, "text": b.text} for b in sight.blockers(state)],
        "absent": absent,
    }


def dissent(state: State, tally: Tally) -> list[dict[str, str]]:
    """Return who does not stand behind the decision: `agent`, `stance` and own `position`."""
    kinds = ("turn", "vote", "contribution")
    last = {e.agent: e for e in state.entries if e.kind in kinds and not e.late}
    words = dict.fromkeys(tally.waiting if tally.agreed else [], "not agreed")
    for side in tally.options:
        if side.letter in tally.winners[:1]:
            words = dict.fromkeys(side.partial, "partial")
            words |= dict.fromkeys(side.disagree, "disagree")
    texts = {agent: side.text for side in tally.options for agent in side.holders}
    return [
        {"agent": a, "stance": words[a], "position": texts.get(a) or e.heard.position or e.text}
        for a, e in last.items()
        if a in words
    ]


def debate_session(state: State) -> dict[str, Any]:
    """Return a conversation as a `DebateSession`; what is sealed is not in it."""
    talks = [one for one in state.rounds if one.phase not in (VOTE, SYNTHESIZE)]
    millis = int(times.instant(state.created_at).timestamp() * 1000)
    tally = sight.tally(state)
    now = {VOTE: "voting", SYNTHESIZE: "synthesizing"}.get(state.phase, "active")
    now = "complete" if state.ended_at else now
    made: dict[str, Any] = {
        "id": ids.cuid(state.conversation_id, millis),
        "topic": state.topic,
        **({"context": state.brief} if state.brief.strip() else {}),
        "status": "cancelled" if state.status == CANCELLED else now,
        "config": {
            "maxRounds": state.config.max_rounds,
            "agents": [
                {"agentId": agent, "name": one.name, "role": one.role, "model": one.model}
                for agent, one in state.participants.items()
            ],
            "consensusThreshold": tally.threshold,
        },
        "rounds": [_round(state, number, one) for number, one in enumerate(talks, 1)],
    }
    votes = [one for one in state.rounds if one.phase == VOTE]
    if votes:
        made["votingRound"] = {
            "votes": [_vote(e) for e in _of_kind(state, "vote") if e.tour == votes[-1].tour],
            "consensusReached": tally.reached,
            "consensusType": tally.type,
        }
    for entry in _of_kind(state, "synthesis")[-1:]:
        made["synthesis"] = _synthesis(entry)
    made |= {"createdAt": state.created_at, **_completed(state.ended_at)}
    made["humanInjections"] = [
        {"message": e.text, "injectedAt": e.at, **({"targetAgent": e.target} if e.target else {})}
        | {"round": e.tour, "acknowledgements": sight.acknowledged(state, e)}
        for e in state.entries
        if e.kind == "guidance"
    ]
    return made


def _of_kind(state: State, kind: str) -> list[Entry]:
    return [e for e in state.entries if e.kind == kind and not e.late and not state.is_sealed(e)]


def _completed(at: str | None) -> dict[str, str]:
    return {"completedAt": at} if at else {}


def _stances(entry: Entry) -> list[dict[str, str]]:
    said = entry.heard.stances.items()
    return [{"agentId": peer, "stance": one.word, "comment": one.comment} for peer, one in said]


def _round(state: State, number: int, one: Round) -> dict[str, Any]:
    turns = [
        {
            "agentId": e.agent,
            "roundNumber": number,
            "position": e.heard.position,
            "responses": _stances(e),
            "reasoning": e.heard.reasoning or e.text,
            "confidence": e.heard.confidence,
            "timestamp": e.at,
        }
        for e in said_by(state, one.tour)
        if not state.is_sealed(e)
    ]
    made = {"roundNumber": number, "turns": turns, "startedAt": one.started_at}
    return {**made, **_completed(one.ended_at)}


def _vote(entry: Entry) -> dict[str, Any]:
    return {
        "agentId": entry.agent,
        "finalPosition": entry.heard.position,
        "choice": entry.heard.choice,
        "confidence": entry.heard.confidence,
        "agreements": [{"agentId": s["agentId"], "stance": s["stance"]} for s in _stances(entry)],
    }


def _synthesis(entry: Entry) -> dict[str, Any]:
    heard = entry.heard
    summaries = {"consensusSummary": heard.consensus, "disagreementSummary": heard.disagreement}
    return {
        "synthesizerId": entry.agent,
        **{key: text for key, text in summaries.items() if text},
        "keyInsights": [{"agentId": a, "insight": text} for a, text in heard.insights.items()],
        "recommendation": heard.recommendation or entry.text,
        "createdAt": entry.at,
    }
