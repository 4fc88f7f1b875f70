"""Where a conversation stands: the response rate, the blockers, the consensus.

Consensus is a rule over statuses and never a reading of words: all who take
part AGREED and no blocker is open. What a text states of either is read in
`reading_answers.contributions`.

Source: C0-012, C0-018, C0-074, C0-080, A-08.
"""

from __future__ import annotations

from council.core.conversations.conversation import (
    Conversation,
    Participant,
    ParticipantStatus,
    has_answered,
)
from council.core.conversations.procedures import PROCEDURES


def staying(state: Conversation) -> list[Participant]:
    """Return the participants who have not left: all that are not DONE."""
    return [one for one in state.participants.values() if one.status is not ParticipantStatus.DONE]


def all_agreed(state: Conversation) -> bool:
    """Tell whether all who are not DONE have AGREED, and at least one has."""
    left = staying(state)
    return bool(left) and all(one.status is ParticipantStatus.AGREED for one in left)


def withdraw_blockers(state: Conversation, agent: str) -> None:
    """Take out the blockers that `agent` raised earlier, as it now agrees. Changes `state`."""
    own = {issue for entry in state.entries if entry.agent == agent for issue in entry.blocking}
    authors = {entry.agent for entry in state.entries} - {agent}
    others = {issue for author in authors for issue in _upheld(state, author)}
    state.blocking_issues = [
        issue for issue in state.blocking_issues if issue not in own or issue in others
    ]


def _upheld(state: Conversation, author: str) -> set[str]:
    """Return the blockers that `author` raised and has not withdrawn by agreeing since."""
    upheld: set[str] = set()
    for entry in state.entries:
        if entry.agent == author:
            if entry.status == ParticipantStatus.AGREED:
                upheld.clear()
            upheld.update(entry.blocking)
    return upheld


def raise_blockers(state: Conversation, issues: list[str]) -> None:
    """Add open blockers, each once. Changes `state`."""
    for issue in issues:
        if issue not in state.blocking_issues:
            state.blocking_issues.append(issue)


def response_rate(state: Conversation) -> float:
    """Return answered / total, from 0 to 1 (C0-018)."""
    everybody = state.participants.values()
    answered = sum(1 for one in everybody if has_answered(one))
    return round(answered / len(everybody), 4) if everybody else 0.0


def measure(state: Conversation) -> None:
    """Bring response rate and consensus up to date with the statuses. Changes `state`."""
    state.response_rate = response_rate(state)
    if PROCEDURES[state.procedure].verdict == "stances":
        return  # then a closed round decides, see `machine`
    state.has_consensus = all_agreed(state) and not state.blocking_issues
