"""Samples: conversations in which nothing was said yet, to show what a prompt looks like.

They stand in where the phase that a prompt belongs to is not under way, or
nothing is open at all. Nothing that somebody said ever enters one, so a sample
shows nobody what is not yet to be seen.

Source: DL-018, DL-029, DL-030.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.conversations.conversation import Conversation, Participant, Status
from council.core.conversations.machine import begin
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE

_PROCEDURE = "deliberation"
_OTHERS = ("second", "third")
_LATER = timedelta(hours=1)


def phase_of(state: Conversation, kind: str) -> str:
    """Return the first phase of a conversation in which a prompt of this kind is given.

    It is "" where the procedure has none; `turn` also means a phase that asks for text.
    """
    procedure = PROCEDURES[state.procedure]
    for name in state.phases:
        asks = "synthesis" if name == SYNTHESIZE else procedure.phase(name).form
        if kind == {"text": "turn"}.get(asks, asks):
            return name
    return ""


def is_under_way(state: Conversation, kind: str) -> bool:
    """Tell whether the phase under way is one in which a prompt of this kind is given."""
    wanted = phase_of(state.copy(phases=(state.phase,)), kind)
    return bool(wanted) and state.finished_at is None


def untouched(state: Conversation, kind: str, agent: str, now: datetime) -> Conversation:
    """Return a conversation as it would be if it began with the phase of a prompt.

    Topic, brief, participants and rules stay; `agent` comes first and it is its turn.
    """
    others = [one for one in state.participants.values() if one.id != agent]
    # Who sums up need not take part.
    speaks = agent in state.participants or kind != "synthesis"
    first = [state.participants.get(agent) or Participant(id=agent)] if speaks else []
    fresh = [
        Participant(id=one.id, name=one.name, emoji=one.emoji, role=one.role, model=one.model)
        for one in (*first, *others)
    ]
    began = Conversation(
        conversation_id=state.conversation_id,
        name=state.name,
        topic=state.topic,
        brief=state.brief,
        mode=state.mode,
        procedure=state.procedure,
        phases=state.phases,
        phase=phase_of(state, kind),
        created_at=now,
        updated_at=now,
        timeout_at=now + state.phase_timeout,
        phase_timeout=state.phase_timeout,
        status=Status.ACTIVE,
        participants={one.id: one for one in fresh},
        sealed_phases=state.sealed_phases,
        rules=state.rules,
        lang=state.lang,
        synthesizer=agent if kind == "synthesis" else state.synthesizer,
    )
    return begin(began, now).state


def sample(kind: str, agent: str, now: datetime, lang: str) -> Conversation:
    """Return a deliberation about nothing among `agent` and two others."""
    names = dict.fromkeys((agent, *_OTHERS))
    blank = Conversation(
        conversation_id="sample",
        name="active",
        topic="…",
        brief="…",
        procedure=_PROCEDURE,
        phases=tuple(one.name for one in PROCEDURES[_PROCEDURE].phases),
        phase=PROCEDURES[_PROCEDURE].phases[0].name,
        created_at=now,
        updated_at=now,
        timeout_at=now + _LATER,
        participants={name: Participant(id=name) for name in names},
        sealed_phases=False,
        lang=lang,
    )
    return untouched(blank, kind, agent, now)
