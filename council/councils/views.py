"""Conversations as JSON and as text: what verbs return, `show` prints and a decision came to."""

from __future__ import annotations

from council.councils import model as m
from council.councils import sight
from council.councils.evolution import said_by
from council.councils.model import Entry, Event, Heard, State, Tally, fields
from council.kernel import files, ids, times
from council.kernel.page import decoded, plain
from council.kernel.record import Any

_ENTRY = "id kind agent phase tour at status origin target cut text"
_NO_FAILURE = ("timeout", "stopped", "agreed")  # codes of absences


def place(state: State) -> dict[str, Any]:
    """Return which conversation it is and where it is; every verb returns that."""
    return fields(state, "name conversation_id status phase tour timeout_at")


def transition(state: State, events: list[Event]) -> dict[str, str] | None:
    """Return from which phase to which events led, and why; None where none ended."""
    if not (closed := [one for one in events if one["type"] == "round.closed"]):
        return None
    was = next((one.phase for one in state.rounds if one.tour == closed[0]["tour"]), "")
    to = next((one["phase"] for one in events[::-1] if one["type"] == "round.begun"), was)
    is_over = any(one["type"] == "ended" for one in events)
    return {"from": was, "to": "" if is_over else to, "reason": closed[-1]["reason"]}


def used(state: State) -> dict[str, Any]:
    """Return what the runs of a conversation used; `usd` is None where no run reported a cost."""
    runs = state.runs
    spent = {"runs": runs.count, "tokens": runs.tokens, "estimatedTokens": runs.estimated}
    return {**spent, "usd": None if runs.unpriced and not runs.usd else round(runs.usd, 6)}


def shown(state: State, last: int = 0) -> dict[str, Any]:
    """Return the state block and what was said unsealed; only the `last` contributions, 0 all."""
    from council.councils import page  # late: `respond` and `wait` show nothing

    parts: dict[str, list[Any]] = {"contributions": [], "late": [], "guidance": []}
    for one in state.entries:
        if not state.is_sealed(one):
            part = "late" if one.late else "contributions"
            parts["guidance" if one.kind == "guidance" else part].append(fields(one, _ENTRY))
    parts["contributions"] = parts["contributions"][-last:]
    more = {"notes": "\n".join(state.notes), "used": used(state)}
    return {**page.block(state), **fields(state, "topic brief minutes"), **parts, **more}


def understood(heard: Heard, status: str) -> dict[str, Any]:
    """Return what was understood of an answer."""
    return {
        **fields(heard, "position choice confidence blockers resolved recommendation"),
        "stances": {peer: one.word for peer, one in heard.stances.items()},
        "questions": [{"to": peer, "text": text} for peer, text in heard.questions.items()],
        **{"quotations": [one.to_json() for one in heard.quotations], "status": status},
    }


def consensus(state: State) -> tuple[dict[str, Any], str]:
    """Return who approves what, and the verdict, now and after each round; and in sentences."""
    tally, blockers = sight.tally(state), sight.blockers(state)
    names = {who: one.name or who for who, one in state.participants.items()}
    lines = sight.told(state, tally, names) + [f"{o.letter}: {o.text}" for o in tally.options]
    lines += [f"blocker{f' ({one.agent})' * bool(one.agent)}: {one.text}" for one in blockers]
    more = {"hasConsensus": sight.converged(state), "blockingIssues": sight.issues(state)}
    return fields(state, "name phase tour") | tally.to_json() | more, "\n".join(lines)


def text(state: State, root: str) -> str:
    """Return a conversation for people, without marks: its minutes once written, else its page."""
    from council.councils import kind  # late: see above

    data = files.content(f"{root}/{state.minutes}") if state.minutes else b""
    found = plain(decoded(data or b""))
    whole = found if f'"conversationId": "{state.conversation_id}"' in found else kind.render(state)
    whole = whole.partition("\n---\n")[2] if whole[:4] == "---\n" else whole
    blocks = whole.partition("<!--council-state")[0].split("\n\n")
    return "\n\n".join(one for one in blocks if one[:12] != "<!--council:").strip()


def outcome(state: State, tally: Tally) -> str:
    """Return how it ended, as the front matter of minutes says; `nobody-left`: all runs failed."""
    if state.status == m.CANCELLED:
        return "cancelled"
    unheard = "no-consensus" if state.closed_reason == "stopped" else "timeout"
    if all(entry.kind == "guidance" or entry.late for entry in state.entries):
        codes = {one.code for past in state.rounds for one in past.absent.values()}
        return "nobody-left" if codes.difference(_NO_FAILURE) else unheard
    if state.config.sign_off and state.signed != "approved":
        return "no-consensus" if state.signed else "timeout"
    if tally.reached:
        return "consensus"
    if len(tally.agreed) > len(tally.waiting):
        return "partial"
    return unheard if state.status == m.TIMEOUT else "no-consensus"


def decision(state: State) -> dict[str, Any]:
    """Return the decision and what goes with it, as `ask --json` prints it (product.md 5)."""
    tally = sight.tally(state)
    advice = "".join(map(_advice, _said(state, "synthesis")[-1:]))
    absent = {a: why.to_json() for one in state.talks() for a, why in one.absent.items()}
    return {
        "outcome": outcome(state, tally),
        "decision": advice if state.procedure == "council" else "\n".join(tally.decision),
        **{"recommendation": advice, "dissent": _dissent(state, tally), "absent": absent},
        "blockers": [{"agent": b.agent, "text": b.text} for b in sight.blockers(state)],
    }


def _said(state: State, kind: str) -> list[Entry]:
    return [e for e in state.entries if e.kind == kind and not e.late and not state.is_sealed(e)]


def _advice(entry: Entry) -> str:
    if entry.heard.recommendation:
        return entry.heard.recommendation
    from council.councils import answers_forms  # late: most syntheses are in their form

    return answers_forms.unlabelled(entry.text, m.Form(kind="synthesis"))


def _dissent(state: State, tally: Tally) -> list[dict[str, str]]:
    """Return who does not stand behind the decision: `agent`, `stance`, `position`, `comment`."""
    words, holders = dict.fromkeys(tally.waiting if tally.agreed else [], "not agreed"), list[str]()
    for side in tally.options:
        if side.letter in tally.winners[:1]:
            words, holders = dict.fromkeys(side.partial, "partial"), side.holders
            words |= dict.fromkeys(side.disagree, "disagree")
    said = [e for e in state.entries if e.agent in words and e.kind != "guidance" and not e.late]
    last = {e.agent: e for e in said if e.kind != "synthesis"}
    texts = {a: side.text for side in tally.options for a in side.holders if a in last}
    return [
        {"agent": a, "stance": words[a], "position": texts.get(a) or e.heard.position or e.text}
        | {"comment": next((s.comment for p, s in e.heard.stances.items() if p in holders), "")}
        for a, e in last.items()
    ]


def debate_session(state: State) -> dict[str, Any]:
    """Return a conversation as a `DebateSession`; what is sealed is not in it."""
    tally, who, keys = sight.tally(state), state.participants, ("name", "role", "model")
    texts = {side.letter: side.text for side in tally.options}
    rounds, vote, written = list[dict[str, Any]](), None, None
    for one in state.rounds:
        said = [e for e in said_by(state, one.tour) if not state.is_sealed(e)]
        turns, number = [_turn(e, texts) for e in said], len(rounds) + 1
        if one.phase == m.VOTE:
            verdict = {"consensusReached": tally.reached, "consensusType": tally.type}
            vote = {"votes": turns, **verdict}
        elif one.phase == m.SYNTHESIZE:
            written = _synthesis(said[-1]) if said else written
        else:
            turns = [{**turn, "roundNumber": number} for turn in turns]
            when = {"startedAt": one.started_at, "completedAt": one.ended_at}
            rounds.append(_given(roundNumber=number, turns=turns, **when))
    now = {m.VOTE: "voting", m.SYNTHESIZE: "synthesizing"}.get(state.phase, "active")
    now = "cancelled" if state.status == m.CANCELLED else "complete" if state.ended_at else now
    millis = int(times.instant(state.created_at).timestamp() * 1000)
    members = [{"agentId": a} | {key: getattr(who[a], key) for key in keys} for a in who]
    bounds = {"maxRounds": state.config.max_rounds, "consensusThreshold": tally.threshold}
    head = {"id": ids.cuid(state.conversation_id, millis), "topic": state.topic}
    head |= {"context": state.brief.strip(), "status": now}
    parts = {"rounds": rounds, "votingRound": vote, "synthesis": written}
    injected = [injection(state, entry) for entry in _said(state, "guidance")]
    ends = {"createdAt": state.created_at, "completedAt": state.ended_at}
    config = {**bounds, "agents": members}
    return _given(**head, config=config, **parts, **ends, humanInjections=injected)


def injection(state: State, entry: Entry) -> dict[str, Any]:
    """Return guidance as a `HumanInjection`, with those who have acknowledged it."""
    said = {"message": entry.text, "injectedAt": entry.at, "round": entry.tour}
    heard = sight.acknowledged(state)[entry.id]
    return _given(**said, targetAgent=entry.target) | {"acknowledgements": heard}


def _given(**fields: Any) -> dict[str, Any]:
    """Return a JSON object without the texts and parts that there are not."""
    return {key: value for key, value in fields.items() if value not in ("", None)}


def _turn(entry: Entry, texts: dict[str, str]) -> dict[str, Any]:
    """Return an `AgentTurn`, or a vote; `texts` are those of the options."""
    heard, is_vote = entry.heard, entry.kind == "vote"
    made: dict[str, Any] = {"agentId": entry.agent, "confidence": heard.confidence}
    stances = [
        {"agentId": peer, "stance": one.word} | ({} if is_vote else {"comment": one.comment})
        for peer, one in heard.stances.items()
    ]
    if is_vote:
        position = heard.position or texts.get(heard.choice, "")
        return {**made, "finalPosition": position, "choice": heard.choice, "agreements": stances}
    made |= {"position": heard.position, "reasoning": heard.reasoning or entry.text}
    return {**made, "responses": stances, "timestamp": entry.at}


def _synthesis(entry: Entry) -> dict[str, Any]:
    heard, made = entry.heard, {"synthesizerId": entry.agent, "createdAt": entry.at}
    insights = [{"agentId": agent, "insight": text} for agent, text in heard.insights.items()]
    said = {"consensusSummary": heard.consensus, "disagreementSummary": heard.disagreement}
    return _given(**made, **said, keyInsights=insights, recommendation=_advice(entry))
