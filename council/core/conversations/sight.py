"""Sight: what one agent may see of a conversation now.

It decides whose texts an agent may read in which phase and gathers them, with
everything else an agent needs for its turn, as one JSON-ready object: the
parts of its prompt, and the answer of `council context --json`. It decides
nothing about wording.

In a blind phase nothing of the round under way is seen, not even by those who
have answered. Where all speak at once, with sight of everything, the others'
answers of this round are seen after one's own; where one speaks after the
other, at once. Earlier rounds are always seen. Who does not take part sees the
closed rounds; who writes the synthesis sees everything, late contributions
included. Guidance of people is seen by all, with the name of the one who is to answer it.

Source: C0-041, C0-047 to C0-051, DL-018, DL-100, DL-103, A-05, `trust.md`.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.challenges import challenges
from council.core.conversations.conversation import (
    TURNS,
    Conversation,
    Entry,
    EntryKind,
    Participant,
    Status,
    has_answered,
)
from council.core.conversations.handles import is_anonymous
from council.core.conversations.news import add_gists, mark_new
from council.core.conversations.owed import (
    current_phase,
    is_asked_again,
    is_blind,
    owing,
    passed_over,
    takes_turns,
    tasks_of,
)
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.quoted import Checker
from council.core.ids import task_id
from council.core.reading_answers.cleaning import clean
from council.core.times import render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parts(state: Conversation, agent: str, now: datetime) -> dict[str, Any]:
    """Return everything `agent` may know for its turn, as JSON values.

    The keys are those of `council context --json` and the variables of the
    prompt templates. Nothing in it depends on `now` but `overdue`, so that
    the same state gives the same prompt.
    """
    participant = state.participants.get(agent)
    refusal = why_not(state, agent)
    seen = [entry for entry in state.entries if may_see(state, agent, entry)]
    others = [entry for entry in seen if entry.agent != agent and entry.kind in TURNS]
    mine = _own(state, agent)
    quoted = Checker(state)
    last = {
        one.agent: one.status
        for one in state.entries
        if one.kind in TURNS and one.tour < state.tour
    }
    found = {
        **state.as_json("name conversation_id"),
        "agent": agent,
        "label": label(state, agent),
        "role": participant.role if participant else "",
        **state.as_json("phase phases tour"),
        "task": current_task(state, agent),
        "status": str(participant.status) if participant else None,
        "mayAnswer": not refusal,
        "whyNot": refusal,
        "blind": is_blind(state),
        "mayAgree": _may_agree(state),
        "askedAgain": is_asked_again(state, agent),
        **state.as_json("mode procedure lang topic brief timeout_at:deadline"),
        "overdue": state.finished_at is None and now >= state.timeout_at,
        **state.as_json("status:conversationStatus closed_reason has_consensus"),
        "synthesizer": (owing(state) or ("",))[0] if state.phase == SYNTHESIZE else "",
        "participants": [
            {
                "id": one.id,
                "label": one.label,
                "role": one.role,
                "status": "RESPONDED" if one.sealed else str(one.status),
                "last": last.get(one.id, ""),
            }
            for one in state.participants.values()
        ],
        "own": [_item(state, entry, quoted) for entry in mine],
        "contributions": [_item(state, entry, quoted) for entry in others],
        "late": [
            _item(state, entry)
            for entry in seen
            if entry.kind is EntryKind.LATE and entry.agent != agent
        ],
        "injections": [
            {**_item(state, entry), "target": entry.target, "forYou": entry.target == agent}
            for entry in seen
            if entry.kind is EntryKind.INJECTION
        ],
        "challenges": challenges(state, agent, others),
        "blockers": _blockers(state, [*mine, *seen]),
        "absent": _absent(state),
    }
    mark_new(state, agent, found)
    if PROCEDURES[state.procedure].verdict == "stances":
        found = _of_deliberation(state, agent, found, seen)
    add_gists(found)
    return found


def _of_deliberation(
    state: Conversation, agent: str, found: dict[str, Any], seen: list[Entry]
) -> dict[str, Any]:
    from council.core.deliberation.deliberation_sight import (
        complete,  # only where stances are asked for
    )

    complete(state, agent, found, seen)
    if not is_anonymous(state):
        return found
    from council.core.conversations.anonymity import anonymised

    return anonymised(state, agent, found)


def _may_agree(state: Conversation) -> bool:
    phase = current_phase(state)
    return not is_blind(state) and phase.speakers == "participants" and phase.form == "text"


def why_not(state: Conversation, agent: str) -> str:
    """Return why `agent` may not answer now, as a word; "" when it may.

    One of `finished`, `paused`, `not-a-participant`, `not-your-turn`,
    `already-answered`, `left` (it is DONE), `ending` (the rounds are over and
    the synthesis has not begun).

    Source: C0-042, C0-043, DL-021.
    """
    if state.finished_at is not None:
        return "finished"
    if state.paused_at is not None:
        return "paused"
    if current_phase(state).speakers == "synthesizer":
        return _why_not_synthesize(state, agent)
    participant = state.participants.get(agent)
    if participant is None:
        return "not-a-participant"
    return _why_not_speak(state, participant)


def _why_not_speak(state: Conversation, participant: Participant) -> str:
    agent = participant.id
    is_done = has_answered(participant) or bool(participant.sealed)
    if is_done and not is_asked_again(state, agent):
        return "left" if participant.status == "DONE" else "already-answered"
    if state.status is not Status.ACTIVE:
        return "ending"
    # Who was passed over may still speak while the round is open.
    has_floor = not takes_turns(state) or agent in (*owing(state), *passed_over(state))
    return "" if has_floor else "not-your-turn"


def _why_not_synthesize(state: Conversation, agent: str) -> str:
    if any(entry.kind is EntryKind.SYNTHESIS for entry in state.entries):
        return "already-answered"
    if _sums_up(state, agent):
        return ""
    return "not-your-turn" if agent in state.participants else "not-a-participant"


def _sums_up(state: Conversation, agent: str) -> bool:
    """Tell whether `agent` may write the synthesis that is due."""
    if state.phase != SYNTHESIZE:
        return False
    named = {one for one in (state.synthesizer, state.coordinator) if one}
    return agent in {*named, *owing(state)} or (not named and agent in state.participants)


def may_see(state: Conversation, agent: str, entry: Entry) -> bool:
    """Tell whether `agent` may read `entry` now.

    Source: C0-047, C0-048, C0-051, A-05, HR-025.
    """
    if entry.agent == agent or state.finished_at is not None:
        return True
    if entry.kind is EntryKind.INJECTION:
        return True
    if entry.kind is EntryKind.LATE:
        return _sums_up(state, agent)
    return entry.tour < state.tour or _sees_this_round(state, agent)


def _sees_this_round(state: Conversation, agent: str) -> bool:
    phase = current_phase(state)
    participant = state.participants.get(agent)
    if is_blind(state) or participant is None:
        return False
    if phase.sight == "blind" or takes_turns(state):
        return True
    return has_answered(participant)


def current_task(state: Conversation, agent: str) -> str:
    """Return the id of the agent's attempt at this turn; of its first one before it is started."""
    attempts = tasks_of(state, agent)
    return attempts[-1].id if attempts else task_id(state.conversation_id, state.tour, agent, 1)


def label(state: Conversation, agent: str) -> str:
    """Return emoji and display name of a participant; of anybody else the id."""
    participant = state.participants.get(agent)
    return participant.label if participant else agent


def _own(state: Conversation, agent: str) -> list[Entry]:
    """Return what `agent` has said, also what lies sealed if the caller could read it."""
    mine = [
        entry
        for entry in state.entries
        if entry.agent == agent and entry.kind is not EntryKind.INJECTION
    ]
    sealed = state.sealed.get(agent)
    if sealed is not None and sealed.tour == state.tour and is_blind(state):
        mine.append(
            Entry(
                id=f"{sealed.tour}-{agent}",
                kind=EntryKind.CONTRIBUTION,
                agent=agent,
                phase=state.phase,
                tour=sealed.tour,
                at=sealed.at,
                text=sealed.text,
                digest="",
                status=sealed.status,
                origin=sealed.origin,
            )
        )
    return mine


def _item(state: Conversation, entry: Entry, quoted: Checker | None = None) -> dict[str, Any]:
    return {
        "id": entry.id,
        "kind": str(entry.kind),
        "agent": entry.agent,
        "label": label(state, entry.agent),
        "phase": entry.phase,
        "tour": entry.tour,
        "at": render_instant(entry.at),
        "status": entry.status,
        "origin": str(entry.origin),
        "text": _shown_text(state, entry),
        "quotations": _quotations(quoted, entry) if quoted is not None else [],
    }


def _shown_text(state: Conversation, entry: Entry) -> str:
    """Return what an entry says, without thoughts and with what its author had said before."""
    if PROCEDURES[state.procedure].verdict != "stances" or entry.kind is not EntryKind.CONTRIBUTION:
        return clean(entry.text)
    from council.core.deliberation.deliberation import whole_text  # only where a form is asked for

    return whole_text(state, entry)


def _quotations(quoted: Checker, entry: Entry) -> list[dict[str, str]]:
    return [{"text": one.text, "of": one.of, "found": one.found} for one in quoted.in_entry(entry)]


def _blockers(state: Conversation, seen: list[Entry]) -> list[dict[str, Any]]:
    """Return the open blockers, but for those only raised where the agent may not look."""
    shown = {entry.id for entry in seen}
    raised: dict[str, list[str]] = {}
    hidden: set[str] = set()
    for entry in state.entries:
        for issue in entry.blocking:
            if entry.id in shown:
                raised.setdefault(issue, []).append(entry.agent)
            else:
                hidden.add(issue)
    return [
        {"text": issue, "agents": sorted(set(raised.get(issue, [])))}
        for issue in state.blocking_issues
        if issue in raised or issue not in hidden
    ]


def _absent(state: Conversation) -> list[dict[str, Any]]:
    """Return who was absent in the closed rounds, and why."""
    return [
        {
            "agent": agent,
            "label": label(state, agent),
            "phase": one.phase,
            "tour": one.tour,
            "reason": reason,
        }
        for one in state.rounds
        if one.ended_at is not None
        for agent, reason in one.absent.items()
    ]
