"""Deliberation: what structured turns and votes come to in one conversation.

Structure is never stored. It is read from the text of a contribution whenever
it is needed, so there is one truth, and a person can see it. This module joins
the reading of one text (`turns`), the rules of judgement (`consensus`,
`played`) and the state; it decides whether the rounds end and whether an
agent is asked for its answer once more.

Source: DL-013 to DL-015, DL-022, DL-023, DL-047, DL-082, DL-083, DL-088, DL-095,
DL-099, A-88.
"""

from __future__ import annotations

from collections.abc import Sequence

from council.core.conversations.conversation import (
    Conversation,
    Entry,
    EntryKind,
    Participant,
    ParticipantStatus,
    staying,
)
from council.core.conversations.due import current_phase, is_asked_again, round_number, takes_turns
from council.core.conversations.handles import handles
from council.core.conversations.procedures import PARALLEL, PROCEDURES, Rules
from council.core.deliberation import consensus
from council.core.deliberation import played as rounds
from council.core.deliberation.consensus import Verdict
from council.core.deliberation.played import Played
from council.core.reading_answers.cleaning import clean
from council.core.reading_answers.structure import word_count
from council.core.reading_answers.turns import Fault, Turn, missing_responses, read_together

# What a second question, the last one, is still asked for.
STANCE_FAULTS = ("bad-stance", "two-stances", "missing-response")


def rules_of(state: Conversation) -> Rules:
    """Return the rules of a conversation, the usual ones where it names none."""
    return state.rules or Rules()


def form_of(state: Conversation, phase: str) -> str:
    """Return what a phase asks for: `text`, `turn` or `vote`."""
    return PROCEDURES[state.procedure].phase(phase).form


def turn_of(
    state: Conversation,
    entry: Entry,
    known: dict[str, str] | None = None,
    drafts: Sequence[Entry] | None = None,
) -> Turn:
    """Read the structure of a contribution, laid over what its author had said before (HR-008).

    `known` are the handles of its author, `drafts` what `drafts_of` returns, where one has them.
    """
    words = handles(state, entry.agent) if known is None else known
    vote = form_of(state, entry.phase) == "vote"
    return read_together(texts_of(state, entry, drafts), words, author=entry.agent, vote=vote)


def texts_of(state: Conversation, entry: Entry, drafts: Sequence[Entry] | None = None) -> list[str]:
    """Return what an author said until it was asked for what this answer adds, and the answer."""
    if entry.kind is EntryKind.DRAFT:
        return [entry.text]
    known = drafts_of(state) if drafts is None else drafts
    mine = [one.text for one in known if (one.agent, one.tour) == (entry.agent, entry.tour)]
    return [*mine, entry.text]


def drafts_of(state: Conversation) -> list[Entry]:
    """Return all answers that their authors were asked to complete."""
    return [one for one in state.entries if one.kind is EntryKind.DRAFT]


def has_form(state: Conversation, entry: Entry) -> bool:
    """Return true if an entry is a turn or a vote."""
    return entry.kind is EntryKind.CONTRIBUTION and form_of(state, entry.phase) != "text"


def whole_text(state: Conversation, entry: Entry) -> str:
    """Return an answer as others read it: with what its author had said before, if that counts.

    An answer that only adds what was missing stands below the first one; one that states all
    anew takes its place.
    """
    texts = texts_of(state, entry)
    if len(texts) == 1 or form_of(state, entry.phase) == "text":
        return clean(entry.text)
    known = handles(state, entry.agent)
    readings = read_together([entry.text], known, author=entry.agent), turn_of(state, entry, known)
    alone, both = [
        (one.position, one.confidence, len(one.responses), one.reasoning) for one in readings
    ]
    if alone == both:
        return clean(entry.text)
    return "\n\n".join([clean(text).strip() for text in texts])


def history(state: Conversation) -> list[Played]:
    """Return what was said in each round that asks for a turn or a vote, oldest first."""
    known = {agent: handles(state, agent) for agent in state.participants}
    turns: dict[int, dict[str, Turn]] = {}
    drafts = drafts_of(state)
    for entry in state.entries:
        if has_form(state, entry):
            turn = turn_of(state, entry, known.get(entry.agent), drafts)
            turns.setdefault(entry.tour, {})[entry.agent] = turn
    found: list[Played] = []
    heard: list[str] = []
    for one in state.rounds:
        phase = PROCEDURES[state.procedure].phase(one.phase)
        if phase.form == "text":
            continue
        blind, vote = was_blind(state, one.tour, one.phase), phase.form == "vote"
        played = Played(tour=one.tour, turns=turns.get(one.tour, {}), blind=blind, vote=vote)
        if vote or not (blind or (state.order or phase.order) == PARALLEL):
            # In a vote about all that were heard, else about those who spoke before (DL-015).
            speakers = list(played.turns)
            played.asked = {
                agent: tuple(other for other in (heard if vote else speakers[:n]) if other != agent)
                for n, agent in enumerate(speakers)
            }
        heard += [agent for agent in played.turns if agent not in heard and not vote]
        found.append(played)
    return found


def was_blind(state: Conversation, tour: int, phase: str) -> bool:
    """Return true if a round of turns was sealed (DL-097)."""
    before = [one for one in state.rounds if one.phase == phase and one.tour < tour]
    sealed = PROCEDURES[state.procedure].phase(phase).sealed_rounds
    return state.sealed_phases and len(before) < sealed


def counted(state: Conversation) -> tuple[str, ...]:
    """Return whose stances count: everybody but the devil's advocate (DL-095)."""
    advocate = rules_of(state).advocate
    return tuple(agent for agent in state.participants if agent != advocate)


def verdict_now(state: Conversation, played: list[Played] | None = None) -> Verdict:
    """Judge how things stand after the last round of the history (DL-047)."""
    rules = rules_of(state)
    return consensus.standing(
        counted(state),
        history(state) if played is None else played,
        threshold=rules.threshold,
        floor=rules.confidence_floor,
    )


def end_of_rounds(state: Conversation, verdict: Verdict) -> str:
    """Return why the vote comes next after the round that was just closed, "" when it does not.

    `consensus`, `too-few` (fewer than two were heard or stay), `max-rounds`, `stable`
    (the same stances twice) or `repetition`.

    Source: DL-022, DL-023, DL-082, DL-084, DL-088, DL-099, A-82, A-88.
    """
    if current_phase(state).form != "turn":
        return ""
    rules = rules_of(state)
    if verdict.type == "strong" or (verdict.reached and rules.early_stop == "soft"):
        return "consensus"
    heard = [one for one in state.participants if state.entry_of(one, state.tour) is not None]
    if min(len(heard), len(staying(state))) < 2:
        return "too-few"
    number = round_number(state)
    return "max-rounds" if number >= rules.max_rounds else _standstill(state, number, rules)


def _standstill(state: Conversation, number: int, rules: Rules) -> str:
    """Return how a closed round shows that further ones bring nothing new, "" when it does not."""
    played = [one for one in history(state) if not one.vote]
    if len(played) < 2:
        return ""
    if rules.stability and rounds.is_settled(played):
        return "stable"
    if number > 2 and rounds.repeats(*played[-2:], alike=rules.alike):
        return "repetition"
    return ""


def faults_of(
    state: Conversation, agent: str, text: str, before: Sequence[str] = ()
) -> list[Fault]:
    """Return what an answer to the round under way lacks of its form (DL-013, DL-015).

    `before` is what its author said in this round until it was asked again, oldest first.
    """
    if current_phase(state).form == "text":
        return []
    return lacking(state, agent, understood_turn(state, agent, [*before, text]))


def understood_turn(state: Conversation, agent: str, texts: Sequence[str]) -> Turn:
    """Read what an agent has said in the round under way, oldest first."""
    vote = current_phase(state).form == "vote"
    return read_together(texts, handles(state, agent), author=agent, vote=vote)


def lacking(state: Conversation, agent: str, turn: Turn) -> list[Fault]:
    """Return the faults of a turn of the round under way, and the responses that it lacks."""
    return [*turn.faults, *missing_responses(turn, responses_due(state, agent))]


def said_in_round(state: Conversation, agent: str) -> list[str]:
    """Return what an agent that is asked again has said in the round under way, oldest first."""
    if not is_asked_again(state, agent):
        return []
    sealed = state.sealed.get(agent)
    if sealed is not None and sealed.tour == state.tour and state.participants[agent].sealed:
        return [*sealed.drafts, sealed.text]
    mine = (one for one in state.entries if one.agent == agent and one.tour == state.tour)
    return [one.text for one in mine if one.kind in (EntryKind.DRAFT, EntryKind.CONTRIBUTION)]


def responses_due(state: Conversation, agent: str) -> tuple[str, ...]:
    """Return about whom a response of `agent` is due in this round.

    In a round of turns that is everybody who spoke before it, and no one where
    all speak at once and cannot hear each other; in a vote everybody else who
    was heard at all.

    Source: DL-015, DL-025.
    """
    vote = current_phase(state).form == "vote"
    if not vote and not takes_turns(state):
        return ()
    heard = {
        one.agent
        for one in state.entries
        if one.kind is EntryKind.CONTRIBUTION
        and (form_of(state, one.phase) == "turn" if vote else one.tour == state.tour)
    }
    return tuple(one for one in state.participants if one in heard and one != agent)


def examine(
    state: Conversation, participant: Participant, text: str, status: ParticipantStatus
) -> list[Fault]:
    """Ask again for what an answer lacks of its form. Changes `participant`.

    The first time everything that is missing is asked for, the second time
    stances alone; after that the answer stands as it is.

    Returns:
        What is missing in all that its author has said in this round.

    Source: DL-013, DL-015, HR-008, HR-009.
    """
    before = said_in_round(state, participant.id)
    faults = faults_of(state, participant.id, text, before)
    others = responses_due(state, participant.id)
    lacks_stances = any(one.code in STANCE_FAULTS and one.agent in others for one in faults)
    is_asked = bool(faults) if not before else len(before) == 1 and lacks_stances
    leaves = status is ParticipantStatus.DONE
    participant.again = state.tour if is_asked and not leaves else 0
    return faults


def dominating(state: Conversation) -> tuple[str, ...]:
    """Return who has said more than its share from the second round on (DL-083)."""
    if current_phase(state).form != "turn" or round_number(state) < 2:
        return ()
    words = dict.fromkeys(state.participants, 0)
    for one in state.entries:
        if one.agent in words and has_form(state, one):
            words[one.agent] += word_count(one.text)
    return rounds.dominating(words, factor=rules_of(state).domination)
