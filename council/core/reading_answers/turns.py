"""Structured turns and votes, read from the text of an answer.

The text is the only truth; a reader that needs a position, a stance or a
confidence derives it here each time. Reading is lenient in form (Markdown,
JSON, tags, tables, prose; four languages) and strict in meaning: doubt is a
result, and a part that is in doubt counts as missing. What the faults lead to
is decided elsewhere.

What an author adds when it is asked again is read together with its first answer.

Source: DL-011 to DL-019, DL-025, HR-003 to HR-009.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial

from council.core.reading_answers.confidence import (
    confidence_in,
    confidence_in_prose,
    confidence_of,
)
from council.core.reading_answers.forms import (
    WEAK,
    Form,
    chosen,
    forms_of,
    own_text,
)
from council.core.reading_answers.json_fields import (
    FIELDS,
    field,
    json_object,
    normal,
    said_in,
    text_field,
)
from council.core.reading_answers.names import Names
from council.core.reading_answers.responses import (
    Spoken,
    about,
    heading_about,
    shown,
    spoken_in,
    spoken_in_sentences,
)
from council.core.reading_answers.stances import ACK, stated
from council.core.reading_answers.structure import (
    Line,
    count_paragraphs,
    count_sentences,
    is_bracketed,
    is_unfilled,
    labels_of,
    own_lines,
    plain,
    prose,
    sentences,
    up_to_rule,
)
from council.core.record import Any, Record

SENTENCES = 3
VOTE_SENTENCES = 1
COMMENT_SENTENCES = 2
PARAGRAPHS = range(2, 5)

LABELS = labels_of(
    {
        "position": "position|position finale|posicion|posicion final|standpunkt|haltung|postura"
        "|endgultige position|finalposition|立场|最终立场|我的立场",
        # Where no part has a stronger name.
        WEAK + "position": "view|vote|opinion|take|recommendation|proposal|answer|avis"
        "|meinung|recommandation|empfehlung|vorschlag|recomendacion|propuesta",
        "responses": "responses to others|responses|response|response to others"
        "|responses to other agents|response to other agents|responses to the others"
        "|responses to peers|responses to other participants|reactions|reactions to others"
        "|agreement|agreements|agreement with others|agreement with other agents|stances"
        "|stances on others|stance on others|stance towards others|responses to other members"
        "|reponses aux autres|reponses|reponse aux autres|reponses aux autres participants"
        "|reponses aux autres agents|accords|accord|accords avec les autres"
        "|accord avec les autres|accord avec les autres agents|antworten|antworten an andere"
        "|antworten an die anderen|antworten auf andere|antwort an andere|zustimmung"
        "|ubereinstimmung|respuestas|respuestas a otros|respuestas a los demas"
        "|respuestas a los otros|acuerdo|acuerdos|acuerdo con los demas|acuerdo con los otros"
        "|对他人的回应|回应|对其他人的回应|与他人的一致性|responsestoothers",
        "reasoning": "reasoning|reasons|evidence|evidence reasoning|evidence and reasoning"
        "|reasoning and evidence|reasoning evidence|arguments|argument|rationale|justification"
        "|why|raisonnement|argumentation|preuves|justifications|begrundung|argumente|grunde"
        "|razonamiento|argumentos|justificacion|razones|理由|论证|推理",
        "confidence": "confidence|confiance|niveau de confiance|zuversicht|konfidenz|vertrauen"
        "|sicherheit|zuversichtsgrad|confianza|nivel de confianza|信心|置信度|信心水平",
    }
)
# A sentence that begins so states a position where no part is labelled.
_HOLDING = (
    "i think", "i believe", "i propose", "i recommend", "i suggest", "i support", "i favor",
    "i favour", "i would", "i'd", "i vote", "we should", "we must", "my position is", "my view is",
    "my recommendation", "in my view", "my proposal", "overall, we should", "overall i think",
    "je pense", "je propose", "je recommande", "nous devrions", "il faut", "a mon avis",
    "ich denke", "ich meine", "ich schlage", "wir sollten", "meiner meinung", "creo que",
    "propongo", "recomiendo", "deberiamos", "我认为", "我们应该",
)  # fmt: skip
_PREAMBLES = (
    "here is", "here's", "here are", "sure", "certainly", "of course", "below is", "i'll respond",
    "okay", "ok,", "as the", "voici", "bien sur", "hier ist", "hier kommt", "naturlich", "aqui",
    "claro", "this is my", "my turn", "my response", "my vote",
)  # fmt: skip
_PREAMBLE_CHARS = 160


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
    responses: list[Response] = []
    reasoning: str = ""
    confidence: int = 0
    faults: list[Fault] = []
    warnings: list[Fault] = []

    def stance_to(self, agent: str) -> str:
        """Return the stance to `agent`, "" when none is stated.

        The last line about it counts; an acknowledgement takes no stance back.
        """
        return self.stances().get(agent, "")

    def stances(self) -> dict[str, str]:
        """Return the stance to each agent to whom something is said, in order, "" for none."""
        found: dict[str, str] = {}
        for one in self.responses:
            if one.stance != ACK or found.get(one.agent, ACK) == ACK:
                found[one.agent] = one.stance
        return found

    @property
    def is_readable(self) -> bool:
        """Whether anything of the form was recognised."""
        is_empty = not (self.position or self.responses or self.reasoning or self.confidence)
        return not is_empty and all(fault.code != "no-form" for fault in self.faults)


def parse_turn(
    text: str, names: Mapping[str, str], *, author: str = "", vote: bool = False
) -> Turn:
    """Read a turn or a vote out of a text; nothing makes it fail.

    Args:
        text: The answer as it was given.
        names: Every word that stands for an agent, casefolded, and whom it stands for.
        author: Who wrote it; a response to oneself is dropped.
        vote: Whether it is a vote, which needs no reasoning.
    """
    turn, found_form = _Reader(names, author, vote=vote).read(own_answer(text))
    _settle_stances(turn)
    codes = {fault.code for fault in turn.faults}
    if is_empty(turn) and not (found_form and turn.reasoning):
        missing = ["no-form"]
    else:
        missing = [] if turn.position else ["no-position"]
        missing += [] if turn.confidence or "bad-confidence" in codes else ["no-confidence"]
    if "two-forms" not in codes:  # that says all
        turn.faults[:0] = [Fault(code=code) for code in missing]
    turn.warnings = warnings_of(turn, vote)
    return turn


def own_answer(text: str) -> str:
    """Return what the author of a text answers: cleaned, out of its fence, tags made headings."""
    return own_text(text, LABELS)


def missing_responses(turn: Turn, due: Iterable[str]) -> list[Fault]:
    """Return a fault for each agent about whom a response is due and is missing (DL-015)."""
    given = {one.agent for one in turn.responses}
    missing = [agent for agent in dict.fromkeys(due) if agent not in given]
    return [Fault(code="missing-response", agent=agent) for agent in missing]


class _Reader:
    """Reads the answers of one author."""

    def __init__(self, names: Mapping[str, str], author: str, *, vote: bool) -> None:
        self.names = names
        self.known = Names(names.items())
        self.author = author
        self.vote = vote

    def read(self, text: str) -> tuple[Turn, bool]:
        """Read a text; also return whether any part of the form was found."""
        fields = json_object(text)
        if fields is not None:
            return self._from_fields(fields)
        about_one = partial(heading_about, names=self.known, author=self.author)
        forms = forms_of(text, LABELS, greedy="reasoning", about=about_one)
        if len(forms[0].bodies) == 1:
            return self._from_prose(text), False
        turns = {id(form): self._from_form(form) for form in forms}
        form, rivals = chosen(forms, lambda one: is_empty(turns[id(one)]))
        return _settled(turns[id(form)], [turns[id(rival)] for rival in rivals]), True

    def _from_form(self, form: Form) -> Turn:
        """Read one form of DL-017."""
        turn = Turn()
        bodies = form.bodies
        every = [body for many in bodies.values() for body in many]
        free = bodies.get("reasoning") or ([] if self.vote else bodies[""])
        reasons = [prose(body, LABELS) for body in free]
        if "reasoning" not in bodies:
            reasons = [_without_preamble(text) for text in reasons]
        for body in bodies.get("position", ())[:1]:
            own = self._without_stances(body) if "responses" not in bodies else body
            own = up_to_rule(own)
            turn.position = _words_in(_without_preamble(prose(own, LABELS)))
            if form.is_loose and "reasoning" not in bodies and "\n\n" in turn.position:
                turn.position, _, more = turn.position.partition("\n\n")
                reasons.append(more.strip())
        turn.reasoning = "\n\n".join(filter(None, reasons))
        if "responses" in bodies:
            self._take(turn, spoken_in(bodies["responses"], self.known), is_sure=True)
        else:
            self._take_from_text(turn, every)
        for body in bodies.get("confidence", ())[:1]:
            turn.confidence, found = confidence_in(body)
            if found and not turn.confidence:
                turn.faults.append(Fault(code="bad-confidence", found=shown(found)))
        if "confidence" not in bodies:
            turn.confidence = confidence_in_prose(_own_words(every))
        return turn

    def _without_stances(self, body: list[Line]) -> list[Line]:
        return [
            (line, own)
            for line, own in body
            if not (own and any(one.agent and one.stance for one in about(line, self.known)))
        ]

    def _take_from_text(self, turn: Turn, bodies: list[list[Line]]) -> None:
        """Take the stances that lines or else whole sentences of other parts state."""
        spoken = spoken_in(bodies, self.known, is_prose=True)
        lines = [one for one in spoken if one.agent and one.stance]
        sure = {one.agent for one in lines}
        text = _own_words(bodies)
        said = [one for one in spoken_in_sentences(text, self.known) if one.agent not in sure]
        self._take(turn, [*lines, *said], is_sure=False)

    def _from_prose(self, text: str) -> Turn:
        """Read an answer without any labelled part (HR-005)."""
        turn = Turn(reasoning=text.strip())
        lines = own_lines(text)
        self._take_from_text(turn, [lines])
        words = _own_words([lines])
        turn.confidence = confidence_in_prose(words)
        turn.position = next(filter(self._holds_position, sentences(words)), "").strip("*_ ")
        return turn

    def _holds_position(self, sentence: str) -> bool:
        """Return true if a sentence states a position, and no stance or confidence."""
        bare = sentence.strip("*_ ")
        return (
            plain(bare[:40]).startswith(_HOLDING)
            and not bare.endswith(("?", "？"))
            and not spoken_in_sentences(bare, self.known)
            and not confidence_in_prose(bare)
        )

    def _take(self, turn: Turn, spoken: list[Spoken], *, is_sure: bool) -> None:
        """Add what was said to others, and the faults of their lines."""
        for one in spoken:
            if not one.agent:
                turn.faults.append(Fault(code="unknown-agent", found=shown(one.token)))
            elif one.agent != self.author and (is_sure or one.stance):
                turn.responses.append(
                    Response(agent=one.agent, stance=one.stance, comment=one.comment)
                )
                if not one.stance:
                    turn.faults.append(
                        Fault(code="bad-stance", agent=one.agent, found=shown(one.token))
                    )

    def _from_fields(self, fields: Mapping[str, Any]) -> tuple[Turn, bool]:
        """Read a turn in the shape of AgentTurn or of a vote (DL-012, DL-026)."""
        given = normal(fields)
        inner = [value for value in given.values() if isinstance(value, dict)]
        if len(given) == 1 and inner:
            return self._from_fields(inner[0])
        turn = Turn(reasoning=text_field(given, "reasoning"))
        turn.position = _words_in(text_field(given, "position"))
        if is_bracketed(turn.position):
            turn.position = "" if is_unfilled(turn.position) else turn.position[1:-1].strip()
        for word, written, comment in said_in(field(given, "responses")):
            agent = self.names.get(word.lstrip("@").strip().casefold(), "")
            said = stated(f"{written} — {comment}" if comment else written)
            stance = said.stance if stated(written).stance else ""
            token = written if agent else word
            one = Spoken(agent=agent, stance=stance, token=token, comment=comment)
            self._take(turn, [one], is_sure=True)
        value = field(given, "confidence")
        if value is not None:
            is_number = isinstance(value, int | str) and not isinstance(value, bool)
            turn.confidence = confidence_of(str(value)) if is_number else 0
            if not turn.confidence:
                found = str(value) if isinstance(value, int | float | str) else ""
                turn.faults.append(Fault(code="bad-confidence", found=shown(found)))
        named = (*FIELDS["position"], *FIELDS["reasoning"])
        return turn, not given.keys().isdisjoint(named)


def _own_words(bodies: Iterable[Iterable[Line]]) -> str:
    """Return the author's own paragraphs, each in one line; list items stand alone."""
    found: list[str] = []
    goes_on = False
    for body in bodies:
        for line, is_own in body:
            start = line.strip()
            if not is_own or not start:
                goes_on = False
                continue
            if goes_on and start[0] not in "#|-*•":
                found[-1] += " " + start
            else:
                found.append(start.lstrip("#-•* "))
            goes_on = start[0] != "#"
        goes_on = False
    return "\n\n".join(found)


def _without_preamble(text: str) -> str:
    """Return a text without a first line that only announces it: `Here is my position:`."""
    first, _, rest = text.partition("\n")
    bare = first.strip("*_ ")
    is_short = len(bare) <= _PREAMBLE_CHARS and plain(bare).startswith(_PREAMBLES)
    if is_short and bare.endswith((":", "：", *((".", "!") if rest.strip() else ()))):
        return _without_preamble(rest.strip())
    return text


def _words_in(text: str) -> str:
    """Return a text, "" if there is neither letter nor digit in it."""
    return text if any(map(str.isalnum, text)) else ""


def is_empty(turn: Turn) -> bool:
    """Return true if a form states nothing, as the template does."""
    return not (turn.position or turn.confidence or any(one.stance for one in turn.responses))


def _settled(turn: Turn, rivals: list[Turn]) -> Turn:
    """Return what several forms of one answer state together (HR-003).

    Where two contradict each other and neither is marked as the last word,
    none of them counts.
    """
    for rival in rivals:
        if _contradicts(turn, rival):
            found = shown(f"{turn.position} / {rival.position}")
            reasoning = "\n\n".join(filter(None, [rival.reasoning, turn.reasoning]))
            return Turn(reasoning=reasoning, faults=[Fault(code="two-forms", found=found)])
        turn.position = turn.position or rival.position
        turn.confidence = turn.confidence or rival.confidence
        turn.reasoning = turn.reasoning or rival.reasoning
        stated_here = {one.agent for one in turn.responses}
        turn.responses += [one for one in rival.responses if one.agent not in stated_here]
    return turn


def _contradicts(one: Turn, other: Turn) -> bool:
    """Return true if two forms state a part in two ways."""
    both = (one, other)
    agents = {said.agent for turn in both for said in turn.responses}
    return (
        len({plain(turn.position) for turn in both if turn.position}) > 1
        or len({turn.confidence for turn in both if turn.confidence}) > 1
        or any(len({turn.stance_to(agent) for turn in both} - {"", ACK}) > 1 for agent in agents)
    )


def _settle_stances(turn: Turn) -> None:
    """Take away the stances of an agent about whom a turn says two things."""
    for agent in dict.fromkeys(one.agent for one in turn.responses if one.stance != ACK):
        mine = [one for one in turn.responses if one.agent == agent]
        taken = dict.fromkeys(one.stance for one in mine if one.stance != ACK)
        if len(taken) > 1:
            found = ", ".join(filter(None, taken))
            turn.faults.append(Fault(code="two-stances", agent=agent, found=found))
            for one in mine:
                one.stance = ""


def warnings_of(turn: Turn, vote: bool) -> list[Fault]:
    """Return what is only said: too long, too short, no reasons (DL-019)."""
    said: list[Fault] = []
    count = count_sentences(turn.position)
    if count > (VOTE_SENTENCES if vote else SENTENCES):
        said.append(Fault(code="long-position", found=str(count)))
    count = count_paragraphs(turn.reasoning)
    if not (vote or turn.reasoning):
        said.append(Fault(code="no-reasoning"))
    elif not vote and count not in PARAGRAPHS:
        said.append(Fault(code="reasoning-length", found=str(count)))
    for one in turn.responses:
        count = count_sentences(one.comment)
        if count > COMMENT_SENTENCES:
            said.append(Fault(code="long-comment", agent=one.agent, found=str(count)))
    return said


def parse_addition(
    first: Turn, text: str, names: Mapping[str, str], *, author: str = "", vote: bool = False
) -> Turn:
    """Read what an author adds to a first answer that lacked something, laid over that one.

    What the second answer states counts, and what it leaves out stays. An
    answer without any part of the form is taken for the one thing that was
    missing if it reads as that: a number, or a stance.

    Source: HR-008.
    """
    second = parse_turn(text, names, author=author, vote=vote)
    has_form = second.is_readable
    if not has_form:
        second = _bare_addition(first, text)
    stated_anew = {one.agent for one in second.responses if one.stance}
    doubted = {one.agent for one in second.faults if one.code == "two-stances"}
    said = [one for one in first.responses if one.agent not in stated_anew | doubted]
    said += [one for one in second.responses if one.agent in stated_anew | doubted]
    known = {one.agent for one in said}
    said += [one for one in second.responses if one.agent not in known]
    turn = Turn(
        position=second.position or first.position,
        responses=said,
        reasoning=(second.reasoning if has_form else "") or first.reasoning,
        confidence=second.confidence or first.confidence,
    )
    turn.faults = _faults_of_merged(turn, first, second)
    turn.warnings = warnings_of(turn, vote)
    return turn


def read_together(
    texts: Sequence[str], names: Mapping[str, str], *, author: str = "", vote: bool = False
) -> Turn:
    """Read an answer and what its author added when it was asked again, oldest first (HR-008)."""
    return _read_once(tuple(texts), tuple(names.items()), author, vote).copy()


# What was concluded from a conversation is read out of the same texts several times in a process.
@lru_cache(maxsize=2048)
def _read_once(
    texts: tuple[str, ...], handles: tuple[tuple[str, str], ...], author: str, vote: bool
) -> Turn:
    names = dict(handles)
    turn = parse_turn(texts[0], names, author=author, vote=vote)
    for text in texts[1:]:
        turn = parse_addition(turn, text, names, author=author, vote=vote)
    return turn


def _bare_addition(first: Turn, text: str) -> Turn:
    """Return what a text without any form adds where one thing alone was missing."""
    bare = own_answer(text).strip()
    doubtful = [one.agent for one in first.responses if not one.stance]
    turn = Turn()
    if not first.confidence and not doubtful and "\n" not in bare:
        turn.confidence = confidence_of(bare)
    elif first.confidence and len(set(doubtful)) == 1:
        said = stated(bare)
        if said.stance:
            turn.responses = [Response(agent=doubtful[0], stance=said.stance, comment=said.comment)]
    return turn


def _faults_of_merged(turn: Turn, first: Turn, second: Turn) -> list[Fault]:
    """Return what two answers together still lack."""
    if is_empty(turn) and not (turn.reasoning and first.is_readable):
        return [Fault(code="no-form")]
    latest = [*second.faults, *first.faults]
    faults: list[Fault] = []
    if not turn.position:
        faults.append(Fault(code="no-position"))
    if not turn.confidence:
        unread = next((one for one in latest if one.code == "bad-confidence"), None)
        faults.append(unread or Fault(code="no-confidence"))
    for agent in [one for one, stance in turn.stances().items() if not stance]:
        of_agent = (one for one in latest if one.agent == agent)
        faults.append(next(of_agent, Fault(code="bad-stance", agent=agent)))
    return faults + [one for one in second.faults if one.code == "unknown-agent"]
