"""From the words of an answer to what is understood of them, with what has to be asked."""

from __future__ import annotations

from council.councils import answers, decisions, quotations, sight
from council.councils.model import Heard, State
from council.kernel.record import Record


class Understood(Record):
    """An answer as it is recorded: its words, what was heard, and the question about the rest."""

    text: str
    heard: Heard
    question: str = ""


def understood(state: State, agent: str, text: str, prompt: str = "") -> Understood:
    """Return what is understood of an answer; of a second one, together with the first.

    Args:
        state: The conversation, in which `agent` is asked.
        agent: Its author.
        text: The words as they were printed or given.
        prompt: What the author was told, so that an echo of it is no answer.
    """
    form = sight.form(state, agent)
    if prompt:
        form = form.copy(prompt=prompt)
    words = answers.said(text, form)
    heard = answers.read(text, form)
    return completed(state, agent, words, heard)


def completed(state: State, agent: str, words: str, heard: Heard) -> Understood:
    """Return an answer that was read, with its quotations, and merged with the first one."""
    first = decisions.provisional(state, agent)
    if first is not None:
        heard = answers.merge(first, heard, first.faults)
    said = [("", state.topic), ("", state.brief)]
    said += [(entry.agent, entry.text) for entry in sight.visible(state, agent)]
    names = {ident: one.name or ident for ident, one in state.participants.items()}
    quoted = quotations.quotations(words, said, names)
    if quoted:
        heard = heard.copy(quotations=quoted)
    question = answers.question(heard, sight.form(state, agent)) if heard.faults else ""
    return Understood(text=words, heard=heard, question=question)
