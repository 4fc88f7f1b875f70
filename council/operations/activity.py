"""What the participants of conversations are doing now: the one reading behind every view.

`ask`, `status`, `explain`, pages and programs show these values. Nothing is changed.

Source: FW-004.
"""

from __future__ import annotations

from council.core.conversations import activity
from council.core.conversations.activity import FAILED, MANUAL, RETRY, Activity, Surroundings
from council.core.conversations.conversation import Conversation
from council.core.conversations.due import due_agents
from council.core.reasons import NO_REASON, Reason
from council.core.reporting.sentences import filled
from council.core.times import render_instant
from council.operations.gone_runs import gone_tasks
from council.operations.heartbeat.gate import Gate
from council.operations.place import Place
from council.operations.reporting.run_logs import reason_with_output
from council.store.reason_words import reason_words
from council.store.texts import words_of


class Activities:
    """What participants do at one moment; halt, caps and rests are read once.

    Args:
        place: The workspace.
    """

    def __init__(self, place: Place) -> None:
        self._place, self._now = place, place.now()
        self._gate = Gate(place, self._now)

    def of(self, state: Conversation) -> dict[str, Activity]:
        """Return what each participant of a conversation does, by agent."""
        place = self._place
        due = due_agents(state)
        here = [agent for agent in due if place.has(agent)]
        refusals = {agent: self.refusal(state.conversation_id, agent, state) for agent in here}
        surroundings = Surroundings(
            refusals={agent: one for agent, one in refusals.items() if one},
            gone=tuple(gone_tasks(place, state)),
            elsewhere={agent: self._machines_of(agent) for agent in due if agent not in here},
        )
        backoff = place.settings.retry_backoff
        found = activity.activities(state, self._now, surroundings, backoff=backoff)
        for one in found.values():
            if one.code in (RETRY, FAILED):
                one.reason = reason_with_output(place, one.task, one.reason)
        return found

    def refusal(self, owner: str, agent: str, state: Conversation | None = None) -> Reason:
        """Return why no run of an agent may be started now, no reason where one may.

        Args:
            owner: The id of what the run is for.
            agent: The agent.
            state: The conversation, where it is for one.
        """
        if self._gate.halted:
            return Reason.of("halted")
        known = state.participants.get(agent) if state is not None else None
        heard_at, each_round = known.last_action if known else None, state is not None
        refusal = self._gate.refuses(owner, agent, heard_at, each_round=each_round)
        by_hand = refusal and self._place.agent(agent).driver == MANUAL
        return NO_REASON if by_hand else refusal

    def _machines_of(self, agent: str) -> str:
        from council.operations.engine.living import homes_of

        return ", ".join(homes_of(self._place, agent))


def activity_words(one: Activity, lang: str = "en") -> str:
    """Return what a participant does, in a few words that follow its name; "" for nothing."""
    words = words_of(lang, "activities")
    values = {
        "reason": reason_words(one.reason, lang),
        "until": render_instant(one.until) if one.until else "",
        "attempt": str(one.attempt) if one.attempt > 1 else "",
        "machines": one.machines,
    }
    return filled(words[one.code], values)
