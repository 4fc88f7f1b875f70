"""The debate session: a deliberation in the shape of document 003, for programs.

The keys are those of the document. Nothing is made up: a stance that is none
is left out, a confidence that was not stated is null, and of a text that could not
be read the whole stands as the reasoning. What is sealed is not in it.

Source: DL-012, DL-026, DL-028, DL-051 to DL-056, DL-085, A-86, A-89.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from council.core.agents import Agent
from council.core.conversations.conversation import (
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Round,
)
from council.core.conversations.handles import handles, named
from council.core.conversations.procedures import SYNTHESIZE, VOTE
from council.core.deliberation.casting import role_parts
from council.core.deliberation.consensus import threshold_for
from council.core.deliberation.deliberation import counted, rules_of
from council.core.deliberation.judgement import named_history
from council.core.deliberation.played import Played
from council.core.deliberation.questions import guidance
from council.core.ids import cuid
from council.core.plain_text import first_paragraph
from council.core.reading_answers.stances import STANCES
from council.core.reading_answers.syntheses import parse_synthesis
from council.core.reading_answers.turns import Turn
from council.core.record import Any
from council.core.times import render_instant

_STATUS = {VOTE: "voting", SYNTHESIZE: "synthesizing"}


def session_status(state: Conversation) -> str:
    """Return how a deliberation stands, in the words of the document (DL-052)."""
    if state.closed_reason is ClosedReason.CANCELLED:
        return "cancelled"
    return "complete" if state.finished_at else _STATUS.get(state.phase, "active")


def to_session(state: Conversation, agents: Mapping[str, Agent] | None = None) -> dict[str, Any]:
    """Return a deliberation as a `DebateSession`.

    Args:
        state: The deliberation.
        agents: What the workspace knows of its agents; the state does not say
            by which driver one is run.
    """
    rules, known = rules_of(state), agents or {}
    played = {one.tour: one for one in named_history(state)}
    votes = [one for one in state.rounds if one.phase == VOTE]
    session: dict[str, Any] = {
        "id": state.session_id or cuid(state.conversation_id, state.created_at),
        "topic": state.topic,
        **({"context": state.brief} if state.brief.strip() not in ("", state.topic) else {}),
        "status": session_status(state),
        "config": {
            "maxRounds": rules.max_rounds,
            "agents": [_agent_config(state, one, known.get(one)) for one in state.participants],
            "consensusThreshold": threshold_for(len(counted(state)), rules.threshold),
        },
        "rounds": [
            {
                "roundNumber": number,
                "turns": list(_turns(state, played[one.tour], number)),
                "startedAt": render_instant(one.started_at),
                **_completed(one.ended_at),
            }
            for number, one in enumerate(_talks(state), start=1)
        ],
    }
    if votes:
        session["votingRound"] = _voting_round(votes[-1], played[votes[-1].tour])
    written = [one for one in state.entries if one.kind is EntryKind.SYNTHESIS]
    if written:
        session["synthesis"] = _synthesis(state, written[-1])
    session["createdAt"] = render_instant(state.created_at)
    session |= _completed(state.finished_at)
    session["humanInjections"] = list(_injections(state))
    return session


def _agent_config(state: Conversation, agent: str, known: Agent | None) -> dict[str, Any]:
    """Return one `AgentConfig` (DL-055)."""
    participant = state.participants[agent]
    role, description = role_parts(participant.role, state.lang)
    return {
        "agentId": agent,
        "model": participant.model,
        "role": role,
        "roleDescription": description or (first_paragraph(known.persona) if known else ""),
        "driver": known.driver if known else "",
    }


def _talks(state: Conversation) -> list[Round]:
    """Return the rounds of talk: those before the vote."""
    return [one for one in state.rounds if one.phase not in _STATUS]


def _completed(instant: datetime | None) -> dict[str, str]:
    return {"completedAt": render_instant(instant)} if instant else {}


def _turns(state: Conversation, played: Played, number: int) -> Iterator[dict[str, Any]]:
    """Yield the turns of one round in the order in which they were taken (DL-012)."""
    for agent, turn in played.turns.items():
        entry = state.entry_of(agent, played.tour)
        yield {
            "agentId": agent,
            "roundNumber": number,
            **turn_parts(turn, "" if entry is None else named(state, agent, entry.text)),
            "timestamp": None if entry is None else render_instant(entry.at),
        }


def turn_parts(turn: Turn, text: str) -> dict[str, Any]:
    """Return what a turn states; of one that could not be read, `text` is the reasoning."""
    return {
        "position": turn.position if turn.is_readable else "",
        "responses": [
            one.as_json("agent:agentId stance comment")
            for one in turn.responses
            if one.stance in STANCES
        ],
        "reasoning": turn.reasoning if turn.is_readable else text,
        "confidence": turn.confidence or None,
    }


def _voting_round(one: Round, played: Played) -> dict[str, Any]:
    """Return the votes; the verdict is in it once the vote is closed (DL-026)."""
    votes = [
        {
            "agentId": agent,
            "finalPosition": turn.position if turn.is_readable else "",
            "confidence": turn.confidence or None,
            "agreements": [
                {"agentId": other, "stance": stance}
                for other, stance in turn.stances().items()
                if stance in STANCES
            ],
        }
        for agent, turn in played.turns.items()
    ]
    verdict = one.verdict
    return {
        "votes": votes,
        "consensusReached": verdict.get("reached") is True,
        **({"consensusType": verdict["type"]} if verdict.get("type") else {}),
    }


def _synthesis(state: Conversation, entry: Entry) -> dict[str, Any]:
    """Return the synthesis, or the digest that stands in its place (DL-028)."""
    text = named(state, entry.agent, entry.text)
    said = parse_synthesis(text, handles(state, entry.agent))
    summaries = {"consensusSummary": said.consensus, "disagreementSummary": said.disagreement}
    return {
        "synthesizerId": entry.agent,
        **{key: text for key, text in summaries.items() if text},
        "keyInsights": [
            {"agentId": agent, "insight": insight}
            for agent, insight in said.insights
            if agent in state.participants
        ],
        "recommendation": said.recommendation,
        "createdAt": render_instant(entry.at),
    }


def _injections(state: Conversation) -> Iterator[dict[str, Any]]:
    """Yield what people put in: in which round, after how many turns, who acknowledged it (DL-054).

    What came in after the last round of talk stands at the end of that round.
    """
    given = {one.entry: one for one in guidance(state)}
    talks = [one.tour for one in _talks(state)] or [1]
    spoken = Counter[int]()
    for entry in state.entries:
        if entry.kind is EntryKind.CONTRIBUTION:
            spoken[entry.tour] += 1
        if entry.kind is not EntryKind.INJECTION:
            continue
        tour = min(entry.tour, talks[-1])
        yield {
            "message": entry.text,
            "injectedAt": render_instant(entry.at),
            **({"targetAgent": entry.target} if entry.target else {}),
            "round": talks.index(tour) + 1 if tour in talks else 1,
            "place": spoken[tour],
            "acknowledgements": [
                {"agentId": agent, **({"timestamp": render_instant(said.at)} if said else {})}
                for agent, at in given[entry.id].acknowledged.items()
                for said in (state.entry_of(agent, at),)
            ],
        }
