"""The sections of a conversation file that hold what is said, and who stands where in them.

A phase of one round has one section, named like the phase. Of a phase of
several rounds each round has its own, named `PHASE/ROUND`, so that people read
it in the order in which it was said and an agent finds where to write. In it
those who spoke stand in the order in which they did, then those to come.

A line under an agent's name may tell how it stands in a round: that its answer is
sealed, that it has the floor, that it is asked once more and why, that it did not
answer. Such a line is ours: it comes and goes with the
state and is never part of a contribution.

Source: C0-011, DL-002, DL-021, DL-053, C0-048, DL-013, DL-015, DL-081.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, EntryKind, Participant
from council.core.conversations.due import awaited, is_asked_again, owing, passed_over, takes_turns
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE, Procedure
from council.store.statefile.headings import line_of

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


_HINTS: dict[str, dict[str, str]] = {
    "en": {
        "sealed": "*(sealed until the phase closes)*",
        "sealed_round": "*(sealed until the round closes)*",
        "sealed_again": "*(sealed, and asked once more: write the whole answer anew below)*",
        "again": "*(asked once more{what}: write the whole answer anew below)*",
        "write": "*(to answer: write below, then set the status above to RESPONDED)*",
        "floor": "*(has the floor: write below, then set the status)*",
        "later": "*(speaks later in this round)*",
        "passed": "*(was passed over: {why}; may answer until the round closes)*",
        "silent": "*(no answer: {why})*",
    },
    "fr": {
        "sealed": "*(scellée jusqu'à la fin de la phase)*",
        "sealed_round": "*(scellée jusqu'à la fin du tour)*",
        "sealed_again": "*(scellée, et redemandée : récrire toute la réponse ci-dessous)*",
        "again": "*(redemandée{what} : récrire toute la réponse ci-dessous)*",
        "write": "*(pour répondre : écrire ci-dessous, puis mettre le statut à RÉPONDU)*",
        "floor": "*(a la parole : écrire ci-dessous, puis changer le status)*",
        "later": "*(parle plus tard dans ce tour)*",
        "passed": "*(son tour est passé : {why} ; peut répondre jusqu'à la fin du tour)*",
        "silent": "*(pas de réponse : {why})*",
    },
}
_OPENS, _CLOSES = "*(", ")*"
_PLAIN = frozenset(words[key] for words in _HINTS.values() for key in ("sealed", "write"))
_WHOLE = frozenset(one for words in _HINTS.values() for one in words.values() if "{" not in one)
_STARTS = tuple(
    one[: one.index("{")] for words in _HINTS.values() for one in words.values() if "{" in one
)


def is_hint(line: str, judged: bool) -> bool:
    """Tell whether a line is one of ours; only a `judged` conversation has them all."""
    said = line.strip()
    if not judged or said in _PLAIN:
        return said in _PLAIN
    closed = said.startswith(_OPENS) and said.endswith(_CLOSES)
    return closed and (said in _WHOLE or said.startswith(_STARTS))


def has_hints(procedure: Procedure | None, order: object) -> bool:
    """Tell whether a file may say more of an agent than that its answer is sealed."""
    return bool(order) or (procedure is not None and procedure.verdict == "stances")


def hints_of(state: Conversation) -> dict[tuple[str, str], str]:
    """Return the lines that stand in a file, by section and agent."""
    words = _HINTS.get(state.lang, _HINTS["en"])
    here = current_section(state)
    procedure = PROCEDURES[state.procedure]
    is_judged = has_hints(procedure, state.order)
    found = {}
    for one in state.participants.values():
        if one.sealed:
            kind = "sealed_round" if tour_of(here) else "sealed"
            kind = "sealed_again" if is_judged and one.again == state.tour else kind
            found[here, one.id] = words[kind]
    if not is_judged:
        return found | _to_write(state, words)
    known = {phase.name for phase in procedure.phases if phase.form != "text"}
    for over in state.rounds:
        if over.ended_at is not None and over.phase in known:
            section = section_of(state.procedure, over.phase, over.tour)
            for agent, why in over.absent.items():
                found[section, agent] = words["silent"].format(why=line_of(why))
    if state.finished_at is None:
        found |= _under_way(state, words, found)
    return found


def _under_way(
    state: Conversation, words: dict[str, str], sealed: dict[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    here = current_section(state)
    found = {}
    for one in state.participants.values():
        if one.again == state.tour and (here, one.id) not in sealed:
            found[here, one.id] = words["again"].format(what=_lacking(state, one))
    if takes_turns(state):
        out = passed_over(state)
        kinds = dict.fromkeys(awaited(state), "later") | dict.fromkeys(out, "passed")
        kinds |= dict.fromkeys(owing(state), "floor")
        for agent, kind in kinds.items():
            if (here, agent) not in found:
                found[here, agent] = words[kind].format(why=line_of(out.get(agent, "")))
    return found


def _to_write(state: Conversation, words: dict[str, str]) -> dict[tuple[str, str], str]:
    """Return what says under the names of all who are to answer at once how a person does."""
    here = current_section(state)
    is_open = state.finished_at is None and not takes_turns(state)
    return {(here, agent): words["write"] for agent in owing(state)} if is_open else {}


def _lacking(state: Conversation, one: Participant) -> str:
    """Return what the answer of one that is asked once more lacks, as an insertion."""
    from council.core.deliberation.deliberation import faults_of  # only where a form is asked for
    from council.core.deliberation.fault_words import fault_in_words

    entry = state.entry_of(one.id, state.tour)
    faults = [] if entry is None else faults_of(state, one.id, entry.text)
    said = [
        fault_in_words(fault.code, state.lang, agent=fault.agent, found=line_of(fault.found))
        for fault in faults
    ]
    return f" ({'; '.join(said)})" if said else ""
