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
    its synthesis recommends (`recommendation`); "" where there is none.
    """
    tally, talks = sight.tally(state), [r for r in state.rounds if r.phase != SYNTHESIZE]
    absent = {agent: why.to_json() for one in talks for agent, why in one.absent.items()}
    written = _of_kind(state, "synthesis")
    advice = _advice(written[-1]) if written else ""
    decided = advice if state.procedure == "council" else "\n".join(tally.decision)
    return {
        **{"outcome": outcome(state, tally), "decision": decided, "recommendation": advice},
        "dissent": dissent(state, tally),
        "blockers": [{"agent": b.agent, "text": b.text} for b in sight.blockers(state)],
        "absent": absent,
    }


def _advice(entry: Entry) -> str:
    if entry.heard.recommendation:
        return entry.heard.recommendation
    from council.councils import answers, answers_forms  # late: most syntheses are in their form

    return answers_forms.unlabelled(entry.text, answers.Form(kind="synthesis"))


def dissent(state: State, tally: Tally) -> list[dict[str, str]]:
    """Return who does not stand behind the decision: `agent`, `stance` and own `position`."""
    kinds = ("turn", "vote", "contribution")
    last = {e.agent: e for e in state.entries if e.kind in kinds and not e.late}
    words = dict.fromkeys(tally.waiting if tally.agreed else [], "not agreed")
    for side in tally.options:
        if side.letter in tally.winners[:1]:
            words = dict.fromkeys(side.partial, "partial")
            words |= dict.fromkeys(side.disagree, "disagree")
    texts = {a: e.heard.position or e.text for a, e in last.items() if a in words}
    texts |= {a: side.text for side in tally.options for a in side.holders if a in texts}
    return [{"agent": a, "stance": words[a], "position": text} for a, text in texts.items()]


def debate_session(state: State) -> dict[str, Any]:
    """Return a conversation as a `DebateSession`; what is sealed is not in it."""
    talks = [one for one in state.rounds if one.phase not in (VOTE, SYNTHESIZE)]
    votes, tally = [one for one in state.rounds if one.phase == VOTE], sight.tally(state)
    now = {VOTE: "voting", SYNTHESIZE: "synthesizing"}.get(state.phase, "active")
    now = "cancelled" if state.status == CANCELLED else "complete" if state.ended_at else now
    millis = int(times.instant(state.created_at).timestamp() * 1000)
    keys, who = ("name", "role", "model"), state.participants
    members = [{"agentId": a} | {key: getattr(who[a], key) for key in keys} for a in who]
    most = {"maxRounds": state.config.max_rounds, "consensusThreshold": tally.threshold}
    made: dict[str, Any] = {
        "id": ids.cuid(state.conversation_id, millis),
        **{"topic": state.topic, "status": now, "config": {**most, "agents": members}},
        **_said(context=state.brief.strip() and state.brief),
        "rounds": [_round(state, number, one) for number, one in enumerate(talks, 1)],
    }
    if votes:
        texts = {side.letter: side.text for side in tally.options}
        cast = [_vote(e, texts) for e in _of_kind(state, "vote") if e.tour == votes[-1].tour]
        result = {"consensusReached": tally.reached, "consensusType": tally.type}
        made["votingRound"] = {"votes": cast, **result}
    for entry in _of_kind(state, "synthesis")[-1:]:
        made["synthesis"] = _synthesis(entry)
    made |= {"createdAt": state.created_at, **_said(completedAt=state.ended_at)}
    made["humanInjections"] = [
        {"message": e.text, "injectedAt": e.at, "round": e.tour, **_said(targetAgent=e.target)}
        | {"acknowledgements": sight.acknowledged(state, e)}
        for e in _of_kind(state, "guidance")
    ]
    return made


def _of_kind(state: State, kind: str) -> list[Entry]:
    return [e for e in state.entries if e.kind == kind and not e.late and not state.is_sealed(e)]


def _said(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def _round(state: State, number: int, one: Round) -> dict[str, Any]:
    turns = [
        {
            **{"agentId": e.agent, "roundNumber": number, "timestamp": e.at},
            **{"position": e.heard.position, "reasoning": e.heard.reasoning or e.text},
            "confidence": e.heard.confidence,
            "responses": [
                {"agentId": a, "stance": s.word, "comment": s.comment}
                for a, s in e.heard.stances.items()
            ],
        }
        for e in said_by(state, one.tour)
        if not state.is_sealed(e)
    ]
    made = {"roundNumber": number, "turns": turns, "startedAt": one.started_at}
    return {**made, **_said(completedAt=one.ended_at)}


def _vote(entry: Entry, texts: dict[str, str]) -> dict[str, Any]:
    heard, stances = entry.heard, entry.heard.stances.items()
    position = heard.position or texts.get(heard.choice, "")
    made = {"agentId": entry.agent, "finalPosition": position, "choice": heard.choice}
    agreements = [{"agentId": peer, "stance": one.word} for peer, one in stances]
    return {**made, "confidence": heard.confidence, "agreements": agreements}


def _synthesis(entry: Entry) -> dict[str, Any]:
    heard = entry.heard
    return {
        **{"synthesizerId": entry.agent, "createdAt": entry.at},
        **_said(consensusSummary=heard.consensus, disagreementSummary=heard.disagreement),
        "keyInsights": [{"agentId": a, "insight": text} for a, text in heard.insights.items()],
        "recommendation": _advice(entry),
    }
