"""Structured turns, votes and syntheses, read from the text of a contribution.

The text is the only truth; whoever needs a position, a stance or a confidence
derives it here each time. Reading is lenient in form (headings, dashes, case,
language) and strict in meaning: a stance counts only if the whole word up to
the dash is one, and what is quoted or stands in a code fence says nothing.
What the faults lead to is decided elsewhere.

Source: DL-011 to DL-019, DL-025, DL-027 to DL-029.
"""

from __future__ import annotations

from council.core.conversations.quotations import Names
from council.core.deliberation.syntheses import Synthesis, parse_synthesis
from council.core.deliberation.turn_lines import (
    ACK,
    ANY_DEPTH,
    SECTIONS,
    STANCES,
    Spoken,
    confidence_of,
    direct_questions,
    line_about,
    shown,
    stance_of,
)
from council.core.deliberation.turn_parts import (
    count_paragraphs,
    count_sentences,
    escaped,
    is_unfilled,
    json_items,
    json_object,
    json_text,
    own_lines,
    prose,
    sections,
    unwrapped,
    word_count,
)
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from council.core.deliberation.turn_parts import Line

__all__ = [
    "ACK",
    "STANCES",
    "Fault",
    "Response",
    "Synthesis",
    "Turn",
    "missing_responses",
    "parse_synthesis",
    "parse_turn",
    "questions",
    "render_turn",
    "word_count",
]

SENTENCES = 3
VOTE_SENTENCES = 1
COMMENT_SENTENCES = 2
PARAGRAPHS = range(2, 5)

_TURN = ("position", "responses", "reasoning", "confidence")
_VOTE = ("final", "confidence", "agreements", "reasoning")
_TITLES = {
    "en": {
        "position": "Position",
        "final": "Final Position",
        "responses": "Responses to Others",
        "agreements": "Agreement with Others",
        "reasoning": "Reasoning",
        "confidence": "Confidence",
    },
    "fr": {
        "position": "Position",
        "final": "Position finale",
        "responses": "Réponses aux autres",
        "agreements": "Accords",
        "reasoning": "Raisonnement",
        "confidence": "Confiance",
    },
}


class Response(Record):
    """What a turn says to one other; `stance` is "" when what was written is none."""

    agent: str
    stance: str
    comment: str = ""


class Fault(Record):
    """Something about the form: a code, the agent it concerns, what was found instead."""

    code: str
    agent: str = ""
    found: str = ""


class Turn(Record):
    """What a contribution or a vote states.

    `confidence` is 0 when none is stated. `faults` make the tool ask once
    more, `warnings` are only said.
    """

    position: str = ""
    responses: list[Response] = []  # noqa: RUF012 - Record copies it
    reasoning: str = ""
    confidence: int = 0
    faults: list[Fault] = []  # noqa: RUF012 - Record copies it
    warnings: list[Fault] = []  # noqa: RUF012 - Record copies it

    def stance_to(self, agent: str) -> str:
        """Return the stance to `agent`, "" when none is stated.

        The last line about it counts; an acknowledgement takes no stance back.
        """
        stances = [one.stance for one in self.responses if one.agent == agent]
        taken = [stance for stance in stances if stance != ACK]
        return (taken or stances or [""])[-1]

    @property
    def is_readable(self) -> bool:
        """Tell whether anything of the form was recognised."""
        is_empty = not (self.position or self.responses or self.reasoning or self.confidence)
        return not is_empty and all(fault.code != "no-form" for fault in self.faults)


def parse_turn(
    text: str, names: Mapping[str, str], *, author: str = "", vote: bool = False
) -> Turn:
    """Read a turn or a vote out of a text; nothing makes it fail.

    Args:
        text: The contribution as it was given.
        names: Every word that stands for somebody, casefolded, and whom it stands for.
        author: Who wrote it; a response to oneself is dropped.
        vote: Whether it is a vote, which needs no reasoning.
    """
    whole = unwrapped(text)
    fields = json_object(whole)
    if fields is not None:
        turn, found_form = _from_json(fields, names, author)
    else:
        turn, found_form = _from_sections(whole, names, author)
    _settle_stances(turn)
    stated = turn.position or turn.confidence or any(one.stance for one in turn.responses)
    if not stated and not (found_form and turn.reasoning):
        turn.faults.insert(0, Fault(code="no-form"))
    else:
        missing = [] if turn.position else ["no-position"]
        if not turn.confidence and all(fault.code != "bad-confidence" for fault in turn.faults):
            missing.append("no-confidence")
        turn.faults[:0] = [Fault(code=code) for code in missing]
    turn.warnings = _warnings(turn, vote)
    return turn


def missing_responses(turn: Turn, owed: Iterable[str]) -> list[Fault]:
    """Return a fault for each agent that is owed a response and has none (DL-015)."""
    given = {one.agent for one in turn.responses}
    return [
        Fault(code="missing-response", agent=agent)
        for agent in dict.fromkeys(owed)
        if agent not in given
    ]


def _from_sections(text: str, names: Mapping[str, str], author: str) -> tuple[Turn, bool]:
    """Read the form of DL-017; also return whether any of its headings was there."""
    found = sections(own_lines(text), SECTIONS, greedy="reasoning")
    turn = Turn()
    for body in found.get("position", ())[:1]:
        turn.position = _words_in(prose(body, SECTIONS))
    _read_responses(turn, found.get("responses", []), names, author)
    for body in found.get("confidence", ())[:1]:
        stated = next((line for line, is_own in body if is_own and line.strip()), "")
        turn.confidence = confidence_of(stated)
        if stated and not turn.confidence:
            turn.faults.append(Fault(code="bad-confidence", found=shown(stated)))
    if len(found) == 1:
        turn.reasoning = text.strip()
        return turn, False
    reasons = found.get("reasoning") or found[""]
    turn.reasoning = "\n\n".join(filter(None, [prose(body, SECTIONS) for body in reasons]))
    return turn, True


def _words_in(text: str) -> str:
    """Return a text, "" if there is neither letter nor digit in it."""
    return text if any(map(str.isalnum, text)) else ""


def _read_responses(
    turn: Turn, bodies: list[list[Line]], names: Mapping[str, str], author: str
) -> None:
    """Add the responses that stand in the sections for them, and the faults of their lines."""
    known = Names(names.items())
    spoken: list[Spoken] = []
    for body in bodies:
        depth = ANY_DEPTH
        here: list[Line] = []
        for line, is_own in body:
            one = line_about(line, known, names, depth) if is_own else None
            if one is None:
                here.append((line, is_own))
                continue
            spoken.append(one)
            here, depth = one.more, one.depth
    for one in spoken:
        one.settle()
        if not one.agent:
            turn.faults.append(Fault(code="unknown-agent", found=shown(one.token)))
        elif one.agent != author:
            turn.responses.append(Response(agent=one.agent, stance=one.stance, comment=one.comment))
            if not one.stance:
                turn.faults.append(
                    Fault(code="bad-stance", agent=one.agent, found=shown(one.token))
                )


def _settle_stances(turn: Turn) -> None:
    """Take away the stances of an agent about whom a turn says two things."""
    stances: dict[str, dict[str, None]] = {}
    for one in turn.responses:
        if one.stance != ACK:
            stances.setdefault(one.agent, {})[one.stance] = None
    for agent, stated in stances.items():
        if len(stated) > 1:
            found = ", ".join(filter(None, stated))
            turn.faults.append(Fault(code="two-stances", agent=agent, found=found))
    for one in turn.responses:
        if len(stances.get(one.agent, ())) > 1:
            one.stance = ""


def _warnings(turn: Turn, vote: bool) -> list[Fault]:
    """Return what is only said: too long, too short, no reasons (DL-019)."""
    said: list[Fault] = []
    count = count_sentences(turn.position)
    if count > (VOTE_SENTENCES if vote else SENTENCES):
        said.append(Fault(code="long-position", found=str(count)))
    if not vote:
        count = count_paragraphs(turn.reasoning)
        if not turn.reasoning:
            said.append(Fault(code="no-reasoning"))
        elif count not in PARAGRAPHS:
            said.append(Fault(code="reasoning-length", found=str(count)))
    for one in turn.responses:
        count = count_sentences(one.comment)
        if count > COMMENT_SENTENCES:
            said.append(Fault(code="long-comment", agent=one.agent, found=str(count)))
    return said


def _from_json(
    fields: Mapping[str, Any], names: Mapping[str, str], author: str
) -> tuple[Turn, bool]:
    """Read a turn in the shape of AgentTurn or of a vote (DL-012, DL-026)."""
    turn = Turn(reasoning=json_text(fields.get("reasoning")))
    turn.position = _words_in(
        json_text(fields.get("position")) or json_text(fields.get("finalPosition"))
    )
    if is_unfilled(turn.position):
        turn.position = ""
    for item in json_items(fields, "responses", "agreements"):
        word, written = json_text(item.get("agentId")), json_text(item.get("stance"))
        agent = names.get(word.lstrip("@").casefold(), "")
        if not agent:
            turn.faults.append(Fault(code="unknown-agent", found=shown(word)))
        elif agent != author:
            stance, comment = stance_of(written), json_text(item.get("comment"))
            turn.responses.append(Response(agent=agent, stance=stance, comment=comment))
            if not stance:
                turn.faults.append(Fault(code="bad-stance", agent=agent, found=shown(written)))
    value = fields.get("confidence")
    if value is not None:
        is_number = isinstance(value, int | str) and not isinstance(value, bool)
        turn.confidence = confidence_of(str(value)) if is_number else 0
        if not turn.confidence:
            turn.faults.append(
                Fault(
                    code="bad-confidence",
                    found=shown(str(value) if isinstance(value, int | float | str) else ""),
                )
            )
    return turn, not fields.keys().isdisjoint(("position", "finalPosition", "reasoning"))


def render_turn(
    *,
    position: str,
    responses: Sequence[Response],
    reasoning: str,
    confidence: int,
    vote: bool = False,
    lang: str = "en",
) -> str:
    """Write a turn in the form of DL-017, or a vote; `parse_turn` gives the same back.

    A comment is set in one line. What would be read as a part of the form
    inside the position or the reasoning is marked with a backslash. A part
    that is empty is left out, and so is confidence 0.
    """
    titles = _TITLES.get(lang, _TITLES["en"])
    parts = {
        "position": escaped(position.strip(), SECTIONS),
        "responses": "\n".join([_response_line(one) for one in responses]),
        "reasoning": escaped(reasoning.strip(), SECTIONS, greedy=True),
        "confidence": str(confidence or ""),
    }
    parts |= {"final": parts["position"], "agreements": parts["responses"]}
    order = _VOTE if vote else _TURN
    return "\n".join([f"## {titles[part]}\n{parts[part]}\n" for part in order if parts[part]])


def _response_line(one: Response) -> str:
    comment = " ".join(one.comment.split())
    # Beside another stance a comment such as "partial" would look like an unfilled form.
    between = "\n  " if stance_of(comment.split(":")[0]) else " — "
    return f"- @{one.agent}: {one.stance}{between if comment else ''}{comment}"


def questions(text: str, names: Mapping[str, str], author: str) -> list[tuple[str, str]]:
    """Return (asked agent, sentence) for each direct question `@agent … ?` to somebody else.

    A sentence that starts with names asks those; another asks all whom it
    names. After `@agent` at the start of a paragraph each question without
    another name is put to that agent. Quotations and code ask nothing (DL-016).
    """
    whole = unwrapped(text)
    fields = json_object(whole)
    if fields is not None:
        comments = [
            f"@{json_text(item.get('agentId')).lstrip('@')}: {json_text(item.get('comment'))}"
            for item in json_items(fields, "responses", "agreements")
        ]
        free = [json_text(fields.get("position")), json_text(fields.get("reasoning"))]
        whole = "\n\n".join([*free, *comments])
    if "@" not in whole:
        return []
    asked = direct_questions(whole, Names(names.items()), names)
    return list(dict.fromkeys(one for one in asked if one[0] != author))
