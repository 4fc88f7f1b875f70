"""What one agent may see of a deliberation beyond the texts: its turn, its duties, the structure.

It adds to the parts that `sight` gathers for every conversation. Nothing is
added that stands in a text the agent may not read; before the synthesis no
count of stances is shown, so that each judges reasons and not majorities.

Source: DL-012, DL-015, DL-016, DL-018, DL-021, DL-026, DL-029, DL-083, DL-085, DL-095.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, Entry, EntryKind
from council.core.conversations.due import (
    current_phase,
    due_agents,
    is_asked_again,
    order_now,
    round_number,
    speaking_order,
    takes_turns,
)
from council.core.conversations.handles import handles, human_handle, is_anonymous
from council.core.conversations.procedures import SYNTHESIZE
from council.core.deliberation import deliberation
from council.core.deliberation.questions import asked_questions, guidance
from council.core.reading_answers.turns import Turn
from council.core.record import Any


def complete(state: Conversation, agent: str, parts: dict[str, Any], seen: list[Entry]) -> None:
    """Add to `parts` what `agent` may know of a deliberation; `seen` is all it may read."""
    _number_items(state, parts)
    rules = deliberation.rules_of(state)
    before = state
    standing = state.entry_of(agent, state.tour) if is_asked_again(state, agent) else None
    if standing is not None:  # the answer that is to be given once more asks and answers nothing
        before = state.copy(entries=[one for one in state.entries if one is not standing])
    takes_part = agent in state.participants
    judged = [one.verdict for one in state.rounds if one.verdict]
    is_told = state.phase == SYNTHESIZE or state.finished_at is not None
    parts.update(
        form=current_phase(state).form,
        round=round_number(state),
        maxRounds=rules.max_rounds,
        order=_order(state, agent),
        speaker=(due_agents(state) or ("",))[0] if takes_turns(state) else "",
        mustAnswer=_must_answer(state, agent, seen) if takes_part else [],
        questions=_questions(before, agent, seen),
        human=human_handle(state),
        guidance=[one.entry for one in guidance(before) if one.waits_for(agent)],
        askedAgain=is_asked_again(state, agent),
        **_asked_again(state, agent),
        dominating=list(deliberation.dominating(state)),
        advocate=takes_part and rules.advocate == agent,
        search=rules.search,
        verify=rules.verify,
        anonymous=is_anonymous(state),
        verdict=judged[-1] if judged and is_told else None,
        **_structure(state, seen),
    )


def _number_items(state: Conversation, parts: dict[str, Any]) -> None:
    """Give each text its round and its place in the ledger. Changes `parts`."""
    place = {entry.id: number for number, entry in enumerate(state.entries)}
    # An answer that was given once more takes the place of its draft.
    parts["own"] = [one for one in parts["own"] if one["kind"] != EntryKind.DRAFT]
    for key in ("own", "contributions", "late", "injections"):
        for item in parts[key]:
            item["round"] = _round_of(state, item["tour"])
            item["nth"] = place.get(item["id"], len(place))
    for one in parts["absent"]:
        one["round"] = _round_of(state, one["tour"])


def _round_of(state: Conversation, tour: int) -> int:
    """Return which round of its phase `tour` is, from 1."""
    phase = next((one.phase for one in state.rounds if one.tour == tour), state.phase)
    return 1 + sum(1 for one in state.rounds if one.phase == phase and one.tour < tour)


def _order(state: Conversation, agent: str) -> dict[str, Any]:
    """Return in which order is spoken, and this agent's place, 0 where all speak at once."""
    speakers = list(speaking_order(state))
    in_turn = takes_turns(state) and agent in speakers
    place = speakers.index(agent) + 1 if in_turn else 0
    return {"kind": order_now(state), "place": place, "speakers": speakers}


def _must_answer(state: Conversation, agent: str, seen: list[Entry]) -> list[str]:
    readable = {entry.agent for entry in seen}
    return [one for one in deliberation.responses_due(state, agent) if one in readable]


def _questions(state: Conversation, agent: str, seen: list[Entry]) -> list[dict[str, Any]]:
    """Return the open questions to `agent` that stand in what it may read (DL-016)."""
    readable = {(entry.agent, entry.tour) for entry in seen}
    return [
        one.as_json("asker tour text")
        for one in asked_questions(state)
        if one.asked == agent and not one.answered and (one.asker, one.tour) in readable
    ]


def _asked_again(state: Conversation, agent: str) -> dict[str, Any]:
    """Return what an agent that is asked again has said in this round, and what is missing.

    `times` counts the questions: the second one asks for stances alone (HR-009).

    Source: DL-013, DL-015, HR-008.
    """
    said = deliberation.said_in_round(state, agent)
    if not said:
        return {"faults": [], "understood": None}
    turn = deliberation.understood_turn(state, agent, said)
    faults = deliberation.lacking(state, agent, turn)
    wanted = [one.agent for one in faults if one.code in deliberation.STANCE_FAULTS]
    return {
        "faults": [one.as_json("code agent found") for one in faults],
        "understood": {
            "id": "",
            "agent": agent,
            **_stated(turn),
            "wanted": list(dict.fromkeys(wanted)),
            "times": len(said),
        },
    }


def _structure(state: Conversation, seen: list[Entry]) -> dict[str, list[dict[str, Any]]]:
    """Return the turns and the votes among what may be read, in order (DL-012, DL-026)."""
    known = {agent: handles(state, agent) for agent in state.participants}
    found: dict[str, list[dict[str, Any]]] = {"turns": [], "votes": []}
    for entry in seen:
        if deliberation.has_form(state, entry):
            turn = deliberation.turn_of(state, entry, known.get(entry.agent))
            of = {"id": entry.id, "agent": entry.agent, "round": _round_of(state, entry.tour)}
            form = deliberation.form_of(state, entry.phase)
            found[f"{form}s"].append({**of, **_stated(turn)})
    return found


def _stated(turn: Turn) -> dict[str, Any]:
    return turn.as_json("position responses reasoning confidence is_readable:readable")
