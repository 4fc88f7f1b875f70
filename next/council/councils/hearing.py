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
    """Return what is understood of an answer; an echo of `prompt`, its author's, is none."""
    form = sight.form(state, agent).copy(prompt=prompt)
    words = answers.said(text, form)
    return completed(state, agent, words, answers.read(_named(state, agent, words), form))


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
