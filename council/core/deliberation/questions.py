"""What waits for words: direct questions, to participants and people, and guidance.

It is read from the texts whenever it is needed, as the rest of their structure.
It decides what counts as an answer; who learns of it is decided elsewhere.

`questions` says which agent an answer asks, and what.

Source: DL-016, DL-085, A-86, HR-024, HR-025.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from council.core.conversations.conversation import Conversation, Entry, EntryKind
from council.core.conversations.handles import HUMAN, handles, may_ask_people
from council.core.conversations.procedures import PARALLEL, PROCEDURES
from council.core.deliberation.deliberation import has_form, texts_of, turn_of, was_blind
from council.core.reading_answers.json_fields import json_object
from council.core.reading_answers.names import Names
from council.core.reading_answers.responses import about
from council.core.reading_answers.stances import stance_of
from council.core.reading_answers.structure import (
    COLONS,
    DASHES,
    EMPHASIS,
    own_lines,
    sentence_ends,
    without_bullet,
)
from council.core.reading_answers.turns import own_answer, parse_turn
from council.core.record import Record

_BARE = frozenset(("yes", "no", "yep", "nope", "oui", "non", "ja", "nein", "si", "sí"))


class Question(Record):
    """A direct question; `answered` is the round of the reply, 0 while there is none (DL-016).

    `asked` is a participant, or `HUMAN` for the people who steer, if it is `to_people`.
    `entry` is the id of the contribution in which it stands.
    """

    asker: str
    asked: str
    tour: int
    text: str
    entry: str = ""
    answered: int = 0
    to_people: bool = False


def asked_questions(state: Conversation) -> list[Question]:
    """Return all direct questions to participants and to people, oldest first.

    A question is answered by the first turn after it in which the one who was
    asked says something to the asker: a stance by itself, or a bare yes or no,
    is no answer. Where all speak at once the turn must be of a later round.
    People answer by guidance for all or for the asker. In a council, where no
    turn has lines to others, only questions to people count.

    Source: DL-016, HR-024.
    """
    found: list[Question] = []
    for entry in state.entries:
        if entry.kind is EntryKind.INJECTION:
            for one in found:
                if one.to_people and not one.answered and entry.target in ("", one.asker):
                    one.answered = entry.tour
        elif entry.kind is EntryKind.CONTRIBUTION:
            is_turn = has_form(state, entry)
            if is_turn or may_ask_people(state, entry.text):
                known = handles(state, entry.agent)
                if is_turn:
                    _settle_by_turn(state, found, entry, known)
                found += questions_in(state, entry, known, to_peers=is_turn)
    return found


def open_to_people(state: Conversation) -> list[Question]:
    """Return the questions that wait for an answer of people, none once it is over (HR-024)."""
    if state.finished_at is not None or not any(
        may_ask_people(state, one.text)
        for one in state.entries
        if one.kind is EntryKind.CONTRIBUTION
    ):
        return []
    return [one for one in asked_questions(state) if one.to_people and not one.answered]


def questions_in(
    state: Conversation, entry: Entry, known: dict[str, str] | None = None, *, to_peers: bool
) -> list[Question]:
    """Return the questions that an answer puts to people and, `to_peers`, to participants.

    What its author had asked before it was asked to complete its answer counts, too (HR-008).
    """
    words = handles(state, entry.agent) if known is None else known
    texts = texts_of(state, entry)
    asked_in = dict.fromkeys(one for text in texts for one in questions(text, words, entry.agent))
    # A participant that is called like the people is asked itself.
    people = "" if HUMAN in state.participants else HUMAN
    return [
        Question(
            asker=entry.agent,
            asked=asked,
            tour=entry.tour,
            text=text,
            entry=entry.id,
            to_people=asked == people,
        )
        for asked, text in asked_in
        if asked == people or (to_peers and asked in state.participants)
    ]


def _settle_by_turn(
    state: Conversation, found: list[Question], entry: Entry, known: dict[str, str]
) -> None:
    """Mark the questions to an author that its turn answers. Changes them."""
    at_once = _all_at_once(state, entry)
    waiting = {
        one.asker
        for one in found
        if one.asked == entry.agent and not one.answered
        if one.tour < entry.tour or not at_once
    }
    if not waiting:
        return
    told = {one.agent for one in turn_of(state, entry, known).responses if _is_said(one.comment)}
    for text in texts_of(state, entry):
        told |= _spoken_to(text, known)
    for one in found:
        if one.asked == entry.agent and one.asker in waiting & told and not one.answered:
            one.answered = entry.tour


def _all_at_once(state: Conversation, entry: Entry) -> bool:
    """Return true if all spoke at once in the round of an entry, and none could hear it."""
    phase = PROCEDURES[state.procedure].phase(entry.phase)
    is_blind = phase.form == "vote" or was_blind(state, entry.tour, entry.phase)
    return is_blind or (state.order or phase.order) == PARALLEL


def _spoken_to(text: str, known: dict[str, str]) -> set[str]:
    """Return to whom a line of a text says something, wherever in the text it stands."""
    named = Names(known.items())
    spoken = [one for line, is_own in own_lines(text) if is_own for one in about(line, named)]
    return {
        one.agent
        for one in spoken
        if _is_said(one.comment if one.stance else f"{one.token} {one.comment}")
    }


def _is_said(text: str) -> bool:
    """Return true if a text says more than a stance, a yes or a no."""
    words = "".join(letter if letter.isalnum() else " " for letter in text.casefold()).split()
    return bool(words) and not stance_of(text.strip(" .!")) and " ".join(words) not in _BARE


class Guidance(Record):
    """A person's injection: who acknowledged it, in which round, and who is still `missing`.

    `entry` is its id. `target` is who has to answer it, "" for none; `answered`
    is the round in which it did, 0 while it has not.
    """

    entry: str
    tour: int
    target: str
    text: str
    acknowledged: dict[str, int] = {}
    missing: tuple[str, ...] = ()
    answered: int = 0

    def waits_for(self, agent: str) -> bool:
        """Return true if an agent has still to acknowledge it, or to answer it."""
        return agent in self.missing or (agent == self.target and not self.answered)


def guidance(state: Conversation) -> list[Guidance]:
    """Return every injection with its acknowledgements.

    All acknowledge it in a turn after it. One that is for an agent is answered
    by that agent, in words.

    Source: DL-085, A-86, HR-025.
    """
    found: list[Guidance] = []
    for entry in state.entries:
        if entry.kind is EntryKind.INJECTION:
            found.append(
                Guidance(entry=entry.id, tour=entry.tour, target=entry.target, text=entry.text)
            )
        elif found and has_form(state, entry):
            said = [one for one in turn_of(state, entry).responses if one.agent == HUMAN]
            for one in found if said else ():
                one.acknowledged.setdefault(entry.agent, entry.tour)
                if entry.agent == one.target and any(_is_said(line.comment) for line in said):
                    one.answered = one.answered or entry.tour
    for one in found:
        one.missing = tuple(agent for agent in state.participants if agent not in one.acknowledged)
    return found


_JOINERS = frozenset(("", "and", "et", "&", "+", "/", ","))
_NEAR_CHARS = 80


def questions(text: str, names: Mapping[str, str], author: str) -> list[tuple[str, str]]:
    """Return (asked agent, sentence) for each direct question `@agent … ?` to another agent.

    A sentence that starts with names asks those; another asks all whom it
    names. After `@agent` at the start of a paragraph each question without
    another name is put to that agent. Quotations and code ask nothing (DL-016).
    """
    whole = own_answer(text)
    if whole.lstrip()[:1] == "{" and json_object(whole) is not None:
        turn = parse_turn(whole, names)
        comments = [f"@{one.agent}: {one.comment}" for one in turn.responses]
        whole = "\n\n".join([turn.position, turn.reasoning, *comments])
    if "@" not in whole:
        return []
    asked = _direct_questions(whole, Names(names.items()))
    return list(dict.fromkeys(one for one in asked if one[0] != author))


def _direct_questions(text: str, known: Names) -> Iterator[tuple[str, str]]:
    """Yield (asked agent, sentence) for each question with `@agent` in it, or after `@agent:`."""
    for words in _paragraphs(text):
        if "@" not in words or not ("?" in words or "？" in words):
            continue
        mentions = list(known.mentions(words))
        opening, past = _addressed(words, 0, mentions, known)
        if words[past:].lstrip(EMPHASIS + "] ")[:1] not in tuple(",-" + COLONS + DASHES):
            opening = []
        begin, passed = 0, 0
        for end in sentence_ends(words):
            sentence = words[begin:end]
            first = passed
            while passed < len(mentions) and mentions[passed][0] < end:
                passed += 1
            if "?" in _end_mark(sentence) or "？" in _end_mark(sentence):
                inside = mentions[first:passed]
                asked = _addressed(words, begin, inside, known)[0] or [one for _, one in inside]
                shown_once = " ".join(sentence.split())
                for agent in dict.fromkeys(asked or opening):
                    yield agent, shown_once
            begin = end


def _end_mark(sentence: str) -> str:
    """Return the marks at the end of a sentence."""
    bare = sentence.rstrip()
    at = len(bare)
    while at and not bare[at - 1].isalnum() and not bare[at - 1].isspace():
        at -= 1
    return bare[at:]


def _addressed(
    words: str, begin: int, mentions: list[tuple[int, str]], known: Names
) -> tuple[list[str], int]:
    """Return whom a sentence that starts with names speaks to, and where the last name ends."""
    asked: list[str] = []
    past = begin
    for at, agent in mentions:
        gap = words[past:at].split() if at - past < _NEAR_CHARS else ["…"]
        if not all(word.strip(EMPHASIS + ",([") in _JOINERS for word in gap):
            break
        asked.append(agent)
        past = known.found_at(words, at + 1)[1]
    return asked, past


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the author's own paragraphs and list items, without bullets."""
    lines: list[str] = []
    for line, is_own in own_lines(text):
        start = line.strip()
        body = without_bullet(start)
        goes_on = is_own and start and body is start and start[0] not in "#|"
        if not goes_on:
            yield "\n".join(lines)
            lines = []
        if is_own and start:
            lines.append(body.lstrip("# "))
            if start[0] == "#":
                yield "\n".join(lines)
                lines = []
    yield "\n".join(lines)
