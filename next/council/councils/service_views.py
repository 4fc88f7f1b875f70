"""Conversations as JSON: what `show`, `show --consensus` and `show --format debate-session` print."""

from __future__ import annotations

from council.councils.model import (
    CANCELLED,
    SYNTHESIZE,
    VOTE,
    Entry,
    Round,
    State,
)
from council.kernel import ids, times
from council.kernel.record import Any


def shown(state: State, last: int = 0) -> dict[str, Any]:
    """Return the state block and all that was said; sealed answers are left out.

    Args:
        state: The conversation.
        last: Only the last so many contributions; 0 is all.
    """
    from council.councils import page

    visible = [entry for entry in state.entries if not state.is_sealed(entry)]
    said = [entry for entry in visible if entry.kind != "guidance" and not entry.late]
    return {
        **page.block(state),
        "topic": state.topic,
        "brief": state.brief,
        "contributions": [_entry(one) for one in said[-last:]],
        "late": [_entry(one) for one in visible if one.late],
        "guidance": [_entry(one) for one in visible if one.kind == "guidance"],
        "minutes": state.minutes,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    made: dict[str, Any] = {
        key: getattr(entry, key)
        for key in ("id", "kind", "agent", "phase", "tour", "at", "status", "origin", "target")
    }
    return {**made, "text": entry.text, **({"cut": entry.cut} if entry.cut else {})}


def debate_session(state: State) -> dict[str, Any]:
    """Return document 003's `DebateSession` of a conversation of either procedure."""
    from council.councils import rules

    made: dict[str, Any] = {
        "id": ids.cuid(state.conversation_id, _millis(state.created_at)),
        "topic": state.topic,
        **({"context": state.brief} if state.brief else {}),
        "status": _session_status(state),
        "config": {
            "maxRounds": state.config.max_rounds,
            "agents": [
                {"agentId": ident, "name": one.name, "role": one.role, "model": one.model}
                for ident, one in state.participants.items()
            ],
            "consensusThreshold": rules.tally(state).threshold,
        },
        "rounds": [
            _round(state, one) for one in state.rounds if one.phase not in (VOTE, SYNTHESIZE)
        ],
        "createdAt": state.created_at,
        "humanInjections": [
            {
                "message": one.text,
                "injectedAt": one.at,
                **({"targetAgent": one.target} if one.target else {}),
            }
            for one in state.entries
            if one.kind == "guidance"
        ],
    }
    votes = _of_kind(state, "vote")
    if votes:
        tally = rules.tally(state)
        made["votingRound"] = {
            "votes": [_vote(one) for one in votes],
            "consensusReached": tally.type != "none",
            "consensusType": tally.type,
        }
    syntheses = _of_kind(state, "synthesis")
    if syntheses:
        made["synthesis"] = _synthesis(syntheses[-1])
    if state.ended_at:
        made["completedAt"] = state.ended_at
    return made


def _session_status(state: State) -> str:
    if state.status == CANCELLED:
        return "cancelled"
    if state.ended_at:
        return "complete"
    return {VOTE: "voting", SYNTHESIZE: "synthesizing"}.get(state.phase, "active")


def _of_kind(state: State, kind: str) -> list[Entry]:
    return [
        one
        for one in state.entries
        if one.kind == kind and not one.late and not state.is_sealed(one)
    ]


def _round(state: State, one: Round) -> dict[str, Any]:
    turns = [
        entry
        for entry in state.entries
        if entry.tour == one.tour
        and entry.kind in ("turn", "contribution")
        and not entry.late
        and not state.is_sealed(entry)
    ]
    return {
        "roundNumber": one.tour,
        "turns": [_turn(entry) for entry in turns],
        "startedAt": one.started_at,
        **({"completedAt": one.ended_at} if one.ended_at else {}),
    }


def _turn(entry: Entry) -> dict[str, Any]:
    heard = entry.heard
    return {
        "agentId": entry.agent,
        "roundNumber": entry.tour,
        "position": heard.position,
        "responses": [
            {"agentId": peer, "stance": one.word, "comment": one.comment}
            for peer, one in heard.stances.items()
        ],
        "reasoning": heard.reasoning or entry.text,
        "confidence": heard.confidence,
        "timestamp": entry.at,
    }


def _vote(entry: Entry) -> dict[str, Any]:
    heard = entry.heard
    return {
        "agentId": entry.agent,
        "finalPosition": heard.position,
        "confidence": heard.confidence,
        "agreements": [
            {"agentId": peer, "stance": one.word} for peer, one in heard.stances.items()
        ],
        **({"choice": heard.choice} if heard.choice else {}),
    }


def _synthesis(entry: Entry) -> dict[str, Any]:
    heard = entry.heard
    return {
        "synthesizerId": entry.agent,
        **({"consensusSummary": heard.consensus} if heard.consensus else {}),
        **({"disagreementSummary": heard.disagreement} if heard.disagreement else {}),
        "keyInsights": [
            {"agentId": peer, "insight": text} for peer, text in heard.insights.items()
        ],
        "recommendation": heard.recommendation or entry.text,
        "createdAt": entry.at,
    }


def _millis(at: str) -> int:
    return int(times.instant(at).timestamp() * 1000) if at else 0


def understood(entry: Entry) -> dict[str, Any]:
    """Return what was understood of an answer, as `respond` says it."""
    heard = entry.heard
    return {
        "position": heard.position,
        "choice": heard.choice,
        "stances": {peer: one.word for peer, one in heard.stances.items()},
        "confidence": heard.confidence,
        "status": entry.status,
        "blockers": heard.blockers,
        "resolved": heard.resolved,
        "questions": heard.questions,
        "quotations": [{"text": one.text, "found": one.found} for one in heard.quotations],
    }
