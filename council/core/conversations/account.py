"""What the ledger says about a conversation, by rule: the facts of digest and minutes.

It decides who answered when, who was absent and why, who agreed in the end
and who raised what is still open. It reads statuses and marks, never words,
and phrases nothing.

Source: C0-063, C0-073, C0-080, HR-026, XC-014.
"""

from __future__ import annotations

from collections import Counter

from council.core.conversations.conversation import (
    BY_HAND,
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Origin,
)
from council.core.conversations.procedures import SYNTHESIZE
from council.core.reasons import Reason
from council.core.record import Record

TIMEOUT = "timeout"


class Absence(Record):
    """One agent who missed rounds.

    `cause` is what stands in `NO RESPONSE (timeout)`: that of the last round it
    missed, rounds that a person ended only where there are no others. `missed`
    holds round, phase and the reason of each.
    """

    agent: str
    cause: str
    missed: list[tuple[int, str, Reason]]

    @property
    def is_cut_off(self) -> bool:
        """Whether it missed nothing but rounds that a person ended."""
        return self.cause in BY_HAND


class Blocker(Record):
    """An issue that is still open and the entries whose `BLOCKING:` lines raised it."""

    text: str
    raised_in: list[Entry]


class Stances(Record):
    """How the participants stood at the end, by the status of their last contribution."""

    agreed: list[str]
    not_agreed: list[str]
    silent: list[str]


_JOINERS = "\u200d\ufe0e\ufe0f"


def one_line(text: str) -> str:
    """Return `text` with every run of white space and control characters made one space.

    What joins emoji stays: without it a family falls apart into its members.
    """
    if text.isprintable():
        return " ".join(text.split())
    kept = (sign if sign.isprintable() or sign in _JOINERS else " " for sign in text)
    return " ".join("".join(kept).split())


def display_name(state: Conversation, agent: str) -> str:
    """Return the display name of an agent on one line, without its emoji."""
    known = state.participants.get(agent)
    return one_line(known.name if known is not None else "") or agent


def display_label(state: Conversation, agent: str) -> str:
    """Return emoji and display name of an agent on one line."""
    known = state.participants.get(agent)
    emoji = one_line(known.emoji) if known is not None else ""
    return f"{emoji} {display_name(state, agent)}".strip()


def discussion_rounds(state: Conversation) -> list[tuple[int, str]]:
    """Return (round, phase) of every round in which the participants spoke, in order."""
    spoken = (EntryKind.CONTRIBUTION, EntryKind.LATE)
    played = {one.tour: one.phase for one in state.rounds} or {
        one.tour: one.phase for one in state.entries if one.kind in spoken
    }
    return [(tour, phase) for tour, phase in sorted(played.items()) if phase != SYNTHESIZE]


def answered_in(state: Conversation, tour: int) -> list[str]:
    """Return who contributed to a round in time, in the order of the participants."""
    said = [one for one in state.entries if one.kind is EntryKind.CONTRIBUTION]
    spoke = {one.agent for one in said if one.tour == tour}
    here = [agent for agent in state.participants if agent in spoke]
    return here + sorted(spoke.difference(here))


def last_contributions(state: Conversation) -> dict[str, Entry]:
    """Return the last contribution in time of each participant who made one."""
    said = [one for one in state.entries if one.kind is EntryKind.CONTRIBUTION]
    last = {one.agent: one for one in sorted(said, key=lambda one: one.tour)}
    return {agent: last[agent] for agent in state.participants if agent in last}


def writers(state: Conversation) -> list[str]:
    """Return the participants of whom any text is on file, read or not, late or not."""
    written = (EntryKind.CONTRIBUTION, EntryKind.DRAFT, EntryKind.LATE)
    wrote = {one.agent for one in state.entries if one.kind in written}
    return [agent for agent in state.participants if agent in wrote]


def stances(state: Conversation) -> Stances:
    """Sort the participants by the status that came with their last contribution."""
    last = last_contributions(state)
    return Stances(
        agreed=[agent for agent in last if last[agent].standing.agrees],
        not_agreed=[agent for agent in last if not last[agent].standing.agrees],
        silent=[agent for agent in state.participants if agent not in last],
    )


def open_blockers(state: Conversation) -> list[Blocker]:
    """Return the open blocking issues, each with the entries that raised it."""
    return [
        Blocker(text=issue, raised_in=[one for one in state.entries if issue in one.blocking])
        for issue in state.blocking_issues
    ]


def absences(state: Conversation) -> list[Absence]:
    """Return who missed a round of the discussion, in the order of the participants."""
    found: dict[str, Absence] = {}
    for one in state.rounds:
        if one.phase == SYNTHESIZE:
            continue
        for agent, reason in one.absent.items():
            cause = reason.cause
            if cause == TIMEOUT and one.reason in BY_HAND:
                cause = one.reason  # in files of older versions the round alone says so
            known = found.setdefault(agent, Absence(agent=agent, cause=cause, missed=[]))
            if cause not in BY_HAND or known.is_cut_off:
                known.cause = cause
            known.missed.append((one.tour, one.phase, reason))
    order = dict.fromkeys((*state.participants, *found))
    return [found[agent] for agent in order if agent in found]


def is_agreed(state: Conversation) -> bool:
    """Return true if the conversation ended in the agreement of all who stayed."""
    ended = (ClosedReason.CANCELLED, ClosedReason.TIMEOUT, ClosedReason.NOBODY_LEFT)
    return state.closed_reason not in ended and state.has_consensus


def claimed_by_agent(state: Conversation) -> dict[str, int]:
    """Return how many entries of each agent came without a run token (XC-014)."""
    return Counter(
        entry.agent
        for entry in state.entries
        if entry.origin is Origin.CLAIMED and entry.kind is not EntryKind.INJECTION
    )
