"""`council wait`: until it is an agent's turn, or the conversation is over.

The first read is all that most calls need, and loads little. Only then file
events are listened for; they are hints, and looking again every second is
the truth. Nothing is advanced here: that is what answers and heartbeats do.

Source: HR-029.
"""

from __future__ import annotations

import time
from datetime import timedelta

from council.core.conversations.conversation import Conversation
from council.core.conversations.due import due_agents
from council.core.conversations.procedures import SYNTHESIZE
from council.core.conversations.sight import current_task, why_not
from council.core.errors import NotAParticipantError, NotFoundError
from council.core.record import Record
from council.core.times import render_instant
from council.operations.conversations.recalling import last_over, over
from council.operations.place import Place

TURN = "turn"
OVER = "over"
TIMEOUT = "timeout"
_CHECK_EVERY_S = 1.0
# Who ends a conversation writes its minutes right after.
_MINUTES_S = 5.0


class Waited(Record):
    """How the wait of an agent ended: its `TURN`, the conversation is `OVER`, or `TIMEOUT`.

    `minutes` is the path of the minutes, "" while there are none. The others say
    where an open conversation stands.
    """

    _keys = "phase? tour? task? deadline? minutes?"

    outcome: str
    name: str
    conversation_id: str
    agent: str
    phase: str = ""
    tour: int = 0
    task: str = ""
    deadline: str = ""
    minutes: str = ""

    @property
    def is_complete(self) -> bool:
        """Return true if looking again can add nothing."""
        return self.outcome == TURN or bool(self.minutes)


def wait(place: Place, name: str, agent: str, longest: timedelta, *, named: bool) -> Waited:
    """Block until it is the turn of `agent`, the conversation is over, or `longest` has passed.

    Args:
        place: The workspace.
        name: The conversation.
        agent: Who waits.
        longest: How long, from a second.
        named: The name was given; otherwise any conversation that is over may be meant.

    Raises:
        NotFoundError: There is no conversation of that name, and there was none.
        NotAParticipantError: The agent never has a turn in it.
    """
    ends_at = time.monotonic() + longest.total_seconds()
    try:
        place.conversations.require_adopted(name)
        state = place.conversations.read(name)
    except NotFoundError:
        found = last_over(place, name if named else "")
        if found is None:
            raise
        return Waited(outcome=OVER, agent=agent, **vars(found))
    waited = _seen(place, state, agent)
    if waited.is_complete:
        return waited
    if waited.outcome == OVER:
        ends_at = min(ends_at, time.monotonic() + _MINUTES_S)
    import threading

    from council.operations.watch import listen

    changed = threading.Event()
    stop = listen(place, changed.set)
    try:
        while True:
            changed.clear()
            was_over, waited = waited.outcome == OVER, _check_again(place, name, waited)
            if waited.outcome == OVER and not was_over:
                ends_at = min(ends_at, time.monotonic() + _MINUTES_S)
            left = ends_at - time.monotonic()
            if waited.is_complete or left <= 0:
                return waited
            changed.wait(min(left, _CHECK_EVERY_S))
    finally:
        stop()


def _check_again(place: Place, name: str, before: Waited) -> Waited:
    try:
        state = place.conversations.read(name)
    except NotFoundError:
        state = None
    if state is None or state.conversation_id != before.conversation_id:
        found = over(place, name, before.conversation_id)
        return Waited(outcome=OVER, agent=before.agent, **vars(found))
    return _seen(place, state, before.agent)


def _seen(place: Place, state: Conversation, agent: str) -> Waited:
    refusal = why_not(state, agent)
    if state.finished_at is not None:
        found = over(place, state.name, state.conversation_id)
        return Waited(outcome=OVER, agent=agent, **vars(found))
    if refusal and agent not in {*state.participants, state.coordinator, state.synthesizer}:
        raise NotAParticipantError(agent, tuple(state.participants))
    # Others may write a synthesis where no agent is named for it; one is asked to.
    is_asked = state.phase != SYNTHESIZE or agent in due_agents(state)
    return Waited(
        outcome=TURN if is_asked and not refusal else TIMEOUT,
        **state.as_json("name phase tour"),
        conversation_id=state.conversation_id,
        agent=agent,
        task="" if refusal else current_task(state, agent),
        deadline=render_instant(state.timeout_at),
    )
