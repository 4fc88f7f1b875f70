"""What a conversation came to: its decision, document 003's `DebateSession`, success measures."""

from __future__ import annotations

from council.councils import sight
from council.councils.evolution import said_by
from council.councils.model import CANCELLED, SYNTHESIZE, TIMEOUT, VOTE, Entry, Round, State, Tally
from council.councils.positions import distance
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
    tally, absent = sight.tally(state), {}
    for one in state.rounds:
        if one.phase != SYNTHESIZE:
            absent.update(
                {agent: {"code": w.code, "words": w.words} for agent, w in one.absent.items()}
            )
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
    last = {
        e.agent: e
        for e in state.entries
        if e.kind in ("turn", "vote", "contribution") and not e.late
    }
    words: dict[str, str] = {}
    if state.procedure == "council":
        words = {a: "not agreed" for a in tally.waiting if a in last and tally.agreed}
    for side in tally.options:
        if tally.winners and side.letter == tally.winners[0]:
            words = dict.fromkeys(side.partial, "partial") | dict.fromkeys(
                side.disagree, "disagree"
            )
    texts = {a: side.text for side in tally.options for a in side.holders}
    return [
        {
            "agent": a,
            "stance": words[a],
            "position": texts.get(a) or last[a].heard.position or last[a].text,
        }
        for a in state.participants
        if a in words and a in last
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


def measures(state: State) -> dict[str, Any]:
    """Return what the statistics need of a conversation that is over; its minutes keep it.

    `roundsToConsensus` is None where none was reached; `diversity` is the mean distance of the
    last positions before the synthesis, from 0 (the same words) to 1, None below two positions.
    """
    tally = sight.tally(state)
    talks = [one for one in state.rounds if one.phase not in (VOTE, SYNTHESIZE)]
    first = [n for n, one in enumerate(talks, 1) if one.verdict in ("strong", "soft")]
    held = {e.agent: e.heard.position for e in state.entries if e.heard.position and not e.late}
    texts = list(held.values())
    apart = [distance(one, other) for at, one in enumerate(texts) for other in texts[:at]]
    return {
        "complete": state.status != CANCELLED,
        "consensus": tally.type,
        "roundsToConsensus": (first or [len(talks)])[0] if tally.reached else None,
        "diversity": round(sum(apart) / len(apart), 3) if apart else None,
    }


def success(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return document 003's four success measures; `rows` are `measures`, perhaps with `stars`."""

    def mean(values: list[Any]) -> float | None:
        there = [value for value in values if value is not None]
        return round(sum(there) / len(there), 3) if there else None

    whole = [row for row in rows if row.get("complete", True)]
    return {
        "debates": len(rows),
        "convergenceRate": mean([float(row.get("consensus", "none") != "none") for row in whole]),
        "turnEfficiency": mean([row.get("roundsToConsensus") for row in whole]),
        "insightQuality": mean([row.get("stars") for row in rows]),
        "diversityScore": mean([row.get("diversity") for row in whole]),
    }
