"""The sections of a conversation file that hold what is said, and who stands where in them.

A phase of one round has one section, named like the phase. Of a phase of
several rounds each round has its own, named `PHASE/ROUND`, so that people read
it in the order in which it was said and an agent finds where to write. In it
those who spoke stand in the order in which they did, then those to come.

Source: C0-011, DL-002, DL-021, DL-053.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, EntryKind
from council.core.conversations.owed import awaited, is_asked_again, takes_turns
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE

SIDE_SECTIONS = {EntryKind.LATE: "h:late", EntryKind.INJECTION: "h:guidance"}
_IN_ROUNDS = frozenset(
    (procedure.name, phase.name)
    for procedure in PROCEDURES.values()
    for phase in procedure.phases
    if phase.max_rounds > 1
)


def section_of(procedure: str, phase: str, tour: int) -> str:
    """Return the name of the section in which round `tour` of a phase stands."""
    return f"{phase}/{tour}" if (procedure, phase) in _IN_ROUNDS else phase


def phase_of(section: str) -> str:
    """Return the phase that a section belongs to."""
    return section.partition("/")[0]


def tour_of(section: str) -> int:
    """Return the round that has this section for its own, 0 for the section of a whole phase."""
    number = section.partition("/")[2]
    return int(number) if number else 0


def current_section(state: Conversation) -> str:
    """Return the section of the round under way."""
    return section_of(state.procedure, state.phase, state.tour)


def sections_of(state: Conversation) -> dict[str, list[str]]:
    """Return every section, in order, with the agents that have a subsection there, in order.

    Those are the rounds reached and those that hold an entry; in each the
    participants, whoever writes the synthesis, and all authors.
    """
    authors: dict[str, list[str]] = {}
    for one in state.rounds:
        authors.setdefault(section_of(state.procedure, one.phase, one.tour), [])
    for entry in state.entries:
        if entry.kind not in SIDE_SECTIONS:
            section = section_of(state.procedure, entry.phase, entry.tour)
            authors.setdefault(section, []).append(entry.agent)
    here = current_section(state)
    authors.setdefault(here, [])
    people = list(state.participants)
    found = {}
    for section, spoke in authors.items():
        if section == SYNTHESIZE and (state.synthesizer or state.coordinator):
            agents = [*people, state.synthesizer or state.coordinator, *spoke]
        elif not tour_of(section):
            agents = [*people, *spoke]
        elif section == here and takes_turns(state):
            agents = [*spoke, *awaited(state), *people]
        else:
            agents = [*spoke, *people]
        if section:
            found[section] = list(dict.fromkeys(agents))
    return found


def claims_its_section(state: Conversation, agent: str, section: str) -> bool:
    """Tell whether free text in an agent's section may still become its contribution."""
    if section != current_section(state) or state.finished_at is not None:
        return False
    known = state.participants.get(agent)
    if known is not None and known.sealed:
        return False
    if section == SYNTHESIZE:
        return not any(one.kind is EntryKind.SYNTHESIS for one in state.entries)
    return state.entry_of(agent, state.tour) is None


def takes_text(state: Conversation, agent: str, section: str) -> bool:
    """Tell whether text that is added to an agent's section now may be its contribution.

    Besides a first answer that is one it was asked for once more.
    """
    if claims_its_section(state, agent, section):
        return True
    open_yet = section == current_section(state) and state.finished_at is None
    return open_yet and is_asked_again(state, agent)
