"""From the words or options of an answer to what is understood, with what has to be asked."""

from __future__ import annotations

from council.councils import answers, decisions, quotations, sight
from council.councils.evolution import as_answered
from council.councils.model import AGREED, Heard, Stance, State
from council.kernel.record import Record


class Understood(Record):
    """An answer as it is recorded: its words, what was heard, and the question about the rest."""

    text: str
    heard: Heard
    question: str = ""


class Stated(Record):
    """What is said of an answer by options, beside or instead of its text.

    Attributes:
        stances: Each `PEER=WORD` or `PEER=WORD:WHY`.
        only: The one kind that is accepted, `vote` or `synthesis`.
        task: The id of the run that it answers; "" is COUNCIL_TASK_ID.
        mark: The round that it answers; "" is COUNCIL_ROUND.
        key: It counts once.
        amend: It replaces the answer of this round.
        check: Only what would be understood is wanted.
    """

    position: str = ""
    choice: str = ""
    confidence: int | None = None
    stances: list[str] = []
    status: str = ""
    only: str = ""
    task: str = ""
    mark: str = ""
    key: str = ""
    amend: bool = False
    check: bool = False

    def is_answer(self) -> bool:
        """Return whether it can be an answer without a text."""
        return bool(self.position or self.choice or self.stances or self.confidence)


def understood(
    state: State, agent: str, text: str, prompt: str = "", status: str = ""
) -> Understood:  # fmt: skip
    """Return what is understood of an answer; an echo of `prompt`, its author's, is none.

    Where a `status` is given, or none counts yet, nothing is asked about one in the text.
    """
    form = sight.form(state, agent).copy(prompt=prompt)
    words = answers.said(text, form)
    heard = answers.read(_named(state, agent, words), form)
    if as_answered(state, AGREED) != AGREED or (status and not heard.blockers):
        heard = heard.copy(faults=[one for one in heard.faults if one.part != "status"])
    return completed(state, agent, words, heard)


def _named(state: State, agent: str, text: str) -> str:
    """Return a text with ids for the pseudonyms by which its author knows the members."""
    if not state.config.anonymous:
        return text
    from council.councils import prompts  # late: most councils have no pseudonyms

    return prompts.unmasked(state, agent, text)


def completed(state: State, agent: str, words: str, heard: Heard) -> Understood:
    """Return an answer that was read, with its quotations, and merged with the first one."""
    first = decisions.provisional(state, agent)
    if first is not None:
        heard = answers.merge(first, heard, first.faults)
    said = [("", state.topic), ("", state.brief)]
    said += [(entry.agent, entry.text) for entry in sight.visible(state, agent)]
    names = {ident: one.name or ident for ident, one in state.participants.items()}
    if quoted := quotations.quotations(_named(state, agent, words), said, names):
        heard = heard.copy(quotations=quoted)
    if not heard.faults:
        return Understood(text=words, heard=heard)
    from council.councils import answers_asked  # late: it loads its texts

    asked = answers_asked.question(heard, sight.form(state, agent))
    return Understood(text=words, heard=heard, question=asked)


def heard(state: State, agent: str, text: str, stated: Stated) -> Understood:
    """Return the words that are recorded, what is understood of them, and what is to be asked."""
    if not stated.is_answer():
        return understood(state, agent, text, status=stated.status)
    from council.councils import answers_asked  # late: most answers are texts

    form = sight.form(state, agent)
    stances = {
        peer.strip().removeprefix("@"): Stance(word=word.strip().lower(), comment=why.strip())
        for one in stated.stances
        for peer, _, rest in [one.partition("=")]
        for word, _, why in [rest.partition(":")]
    }
    choice = stated.choice
    if choice:  # a letter, or words such as those of an option
        ballot = answers.read(f"## Choice\n\n{choice}", form.copy(kind="vote"))
        choice = ballot.choice or choice
    found = answers.from_fields(
        stated.position, choice, stated.confidence, stances, stated.status, text, form
    )
    is_form = stated.position or stated.choice or stated.stances or not text
    words = answers_asked.written(found, form) if is_form else text
    return completed(state, agent, words, found)
