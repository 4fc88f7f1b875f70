"""From the words or options of an answer to what is understood, with what has to be asked."""

from __future__ import annotations

from council.councils import answers, decisions, quotations, sight
from council.councils.evolution import as_answered
from council.councils.model import AGREED, STANCES, Heard, Stance, State
from council.kernel.errors import Invalid
from council.kernel.ids import cut
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form


class Understood(Record):
    """An answer as it is recorded: its words, what was heard, and the question about the rest."""

    text: str
    heard: Heard
    question: str = ""


class Stated(Record):
    """What is said of an answer by options, beside or instead of its text."""

    position: str = ""
    choice: str = ""
    confidence: int | None = None
    stances: list[str] = []  # each PEER=WORD or PEER=WORD:WHY
    status: str = ""
    only: str = ""  # the one kind that is accepted, `vote` or `synthesis`
    task: str = ""  # the id of the run that it answers; "" is COUNCIL_TASK_ID
    mark: str = ""  # the round that it answers; "" is COUNCIL_ROUND
    key: str = ""  # it counts once
    amend: bool = False  # it replaces the answer of this round
    check: bool = False  # only what would be understood is wanted

    def is_answer(self) -> bool:
        """Return whether it can be an answer without a text."""
        return bool(self.position or self.choice or self.stances or self.confidence)


def heard(
    state: State, agent: str, text: str, stated: Stated | None = None, prompt: str = ""
) -> Understood:
    """Return what is understood of an answer; an echo of `prompt`, its author's, is none.

    Options count over the text. Where a status is among them, or none counts yet, nothing is asked
    about one in the text.
    """
    form = sight.form(state, agent).copy(prompt=prompt)
    words, stated = answers.said(text, form), stated or Stated()
    given, parts = Heard(), set[str]()
    if stated.is_answer():
        given, parts = _given(stated, form)
        words = answers.written(given, words, form)
    if state.config.anonymous:
        from council.councils import prompts  # late: most councils have no pseudonyms

        words = prompts.unmasked(state, agent, words)
    heard = answers.merge(answers.read(words, form), given, parts)
    if as_answered(state, AGREED) != AGREED or (stated.status and not heard.blockers):
        heard = heard.copy(faults=[one for one in heard.faults if one.part != "status"])
    first = decisions.provisional(state, agent)
    if first is not None:
        heard = answers.merge(first, heard, {fault.part for fault in first.faults})
    said = [("", state.topic), ("", state.brief)]
    said += [(entry.agent, entry.text) for entry in sight.visible(state, agent)]
    names = {ident: one.name or ident for ident, one in state.participants.items()}
    if quoted := quotations.quotations(words, said, names):
        heard = heard.copy(quotations=quoted)
    asked = answers.question(heard, form) if heard.faults else ""
    return Understood(text=words, heard=heard, question=asked)


def _given(stated: Stated, form: Form) -> tuple[Heard, set[str]]:
    """Return what is said by options (a value that there is not is refused), and of which parts."""
    stances = {}
    for one in stated.stances:
        peer, _, rest = one.strip().removeprefix("@").partition("=")
        word, _, why = rest.partition(":")
        stances[peer.strip()] = Stance(word=word.strip().lower(), comment=why.strip())
        if peer.strip() not in form.peers or stances[peer.strip()].word not in STANCES:
            hint = f"peers: {', '.join(form.peers)}; stances: {', '.join(STANCES)}"
            raise Invalid("bad-stance", f"not a stance: {cut(one, 80)}", hint)
    ballot = form.copy(kind="vote")
    choice = stated.choice and answers.read(f"## Choice\n\n{stated.choice}", ballot).choice
    if stated.choice and not choice:
        hint = f"one of {', '.join([*form.options, 'new', 'abstain'])}"
        raise Invalid("bad-choice", f"not a choice: {cut(stated.choice, 80)}", hint)
    level = stated.confidence
    if level not in (None, 1, 2, 3, 4, 5):
        raise Invalid("bad-confidence", f"not a confidence: {level}", "a whole number from 1 to 5")
    position = stated.position.strip()
    parts = {f"stance:{peer}" for peer in stances} | ({"confidence"} if level else set())
    parts |= {"choice", "position"} if position or choice not in ("", "new") else set()
    given = Heard(position=position, choice=choice, confidence=level, stances=stances)
    return given, parts
