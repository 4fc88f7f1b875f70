"""Direct questions: which agent an answer asks, and what.

Source: DL-016, HR-024.
"""

from __future__ import annotations

from council.core.reading_answers.json_fields import json_object
from council.core.reading_answers.names import Names
from council.core.reading_answers.sentences import sentence_ends
from council.core.reading_answers.structure import (
    COLONS,
    DASHES,
    EMPHASIS,
    own_lines,
    without_bullet,
)
from council.core.reading_answers.turns import own_answer, parse_turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_JOINERS = frozenset(("", "and", "et", "&", "+", "/", ","))
_NEAR_CHARS = 80


def questions(text: str, names: Mapping[str, str], author: str) -> list[tuple[str, str]]:
    """Return (asked agent, sentence) for each direct question `@agent … ?` to somebody else.

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
