"""What agents are called in texts: ids, display names, pseudonyms.

In an anonymous conversation each reader knows the others, and itself, under
pseudonyms of its own, in an order that is drawn from conversation and reader:
two readers cannot compare them, and none learns which of them it is itself.
Texts are kept as they were written; who is shown one gets it in its own view.

Source: DL-014, DL-100, XC-101.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from council.core.conversations.conversation import Conversation, EntryKind
from council.core.conversations.procedures import shuffled

HUMAN = "human"
_HUMANS = (HUMAN, "person", "user", "moderator", "humain", "personne", "modérateur")
PSEUDONYM = "member"
_OTHER_STEMS = ("voice", "seat", "chair", "peer")
# Shorter ids are ordinary words ("al", "no"): only `@al` surely means the agent.
_MIN_BARE_CHARS = 3


def names(state: Conversation) -> dict[str, str]:
    """Return the words that stand for participants in texts: their ids and display names."""
    shown = {one.name: one.id for one in state.participants.values() if one.name}
    return {**shown, **{agent: agent for agent in state.participants}}


def is_anonymous(state: Conversation) -> bool:
    """Return true if peers stand under pseudonyms in prompts (DL-100)."""
    return state.rules is not None and state.rules.anonymous


def pseudonyms(state: Conversation, reader: str) -> dict[str, str]:
    """Return the pseudonym of each participant, the reader too, as `reader` knows them."""
    order = shuffled(list(state.participants), seed=f"{state.conversation_id}/{reader}")
    taken = "\n".join(names(state)).casefold()
    # A word that stands in the name of no participant.
    stem = next((one for one in (PSEUDONYM, *_OTHER_STEMS) if one not in taken), "anonymous")
    return {agent: f"{stem}-{number}" for number, agent in enumerate(order, start=1)}


def known_to(state: Conversation, reader: str, agents: Iterable[str]) -> tuple[str, ...]:
    """Return agents by the words by which `reader` knows them."""
    known = pseudonyms(state, reader) if is_anonymous(state) else {}
    return tuple(known.get(agent, agent) for agent in agents)


def handles(state: Conversation, author: str) -> dict[str, str]:
    """Return every word, casefolded, that stands for an agent in a text of `author`.

    People who gave guidance stand there as `HUMAN`, unless a participant has that name.
    """
    known = dict.fromkeys(_words_for_people(state), HUMAN)
    if is_anonymous(state):
        known |= {shown: agent for agent, shown in pseudonyms(state, author).items()}
    return known | {word.casefold(): agent for word, agent in names(state).items()}


def _words_for_people(state: Conversation) -> list[str]:
    """Return every word, casefolded, that stands for the people who steer."""
    authors = [one.agent for one in state.entries if one.kind is EntryKind.INJECTION and one.agent]
    return [*_HUMANS, *(author.casefold() for author in authors)]


def may_ask_people(state: Conversation, text: str) -> bool:
    """Return false if no question to the people who steer can stand in a text.

    Quick to answer, so that only texts that name people are read for questions.
    """
    if "@" not in text or not ("?" in text or "？" in text):
        return False
    folded = text.casefold()
    return any(f"@{word}" in folded for word in _words_for_people(state))


def human_handle(state: Conversation) -> str:
    """Return the word by which agents address the people who steer, one no participant bears."""
    taken = {word.casefold() for word in names(state)}
    return next((one for one in _HUMANS if one not in taken), HUMAN)


def view(state: Conversation, reader: str, author: str) -> dict[str, str]:
    """Return what `reader` is shown for each word that means a participant in a text of `author`.

    Those are ids, display names with and without emoji, and the pseudonyms
    under which the author knew the others.
    """
    shown = pseudonyms(state, reader)
    words: dict[str, str] = {}
    for agent, pseudonym in pseudonyms(state, author).items():
        words[pseudonym] = words[pseudonym.replace("-", " ")] = shown[agent]
    labels = {one.label: agent for agent, one in state.participants.items()}
    return words | {word: shown[agent] for word, agent in (names(state) | labels).items()}


def as_seen(state: Conversation, reader: str, author: str, text: str) -> str:
    """Return a text of `author` as `reader` is shown it (DL-100)."""
    return translate(text, view(state, reader, author)) if is_anonymous(state) else text


def named(state: Conversation, author: str, text: str) -> str:
    """Return a text with the names back in the place of the pseudonyms its author used.

    `@member-2` becomes `@id`, the bare word the display name.
    """
    if not is_anonymous(state):
        return text
    mentioned: dict[str, str] = {}
    plain: dict[str, str] = {}
    for agent, pseudonym in pseudonyms(state, author).items():
        for word in (pseudonym, pseudonym.replace("-", " ")):
            mentioned[word] = agent
            plain[word] = state.participants[agent].name or agent
    return translate(text, mentioned, plain)


def translate(text: str, words: Mapping[str, str], plain: Mapping[str, str] | None = None) -> str:
    """Replace words that stand for an agent, in any case of letters, all in one pass.

    A word is replaced where it stands by itself or as a part between hyphens:
    `GPT-4o` shows who speaks as surely as `gpt` does. Of two words that start
    at the same place the longer one counts.

    Args:
        text: The text.
        words: What stands for each word behind `@`.
        plain: What stands for it without `@`; `words` again unless given.

    >>> translate("@ann said: Ann, not Annie.", {"ann": "member-2"})
    '@member-2 said: member-2, not Annie.'
    """
    folded = _folded(text)
    found: list[tuple[int, int, str]] = []
    for word in words:
        sought = _folded(word)
        at = folded.find(sought) if sought else -1
        while at >= 0:
            end = at + len(sought)
            is_mention = folded[at - 1 : at] == "@"
            if (is_mention or len(sought) >= _MIN_BARE_CHARS) and _stands_alone(folded, at, end):
                by = words if is_mention or plain is None else plain
                found.append((at, -end, by[word]))
            at = folded.find(sought, at + 1)
    pieces, past = [], 0
    for at, end, replacement in sorted(found):
        if at >= past:
            pieces += [text[past:at], replacement]
            past = -end
    return "".join([*pieces, text[past:]]) if pieces else text


def _folded(text: str) -> str:
    """Return a text in small letters, letter for letter at the same places."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join([one.lower() if len(one.lower()) == 1 else one for one in text])


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return true if no word is cut; an underscore belongs to its word, as in names of code."""
    before, after = text[start - 1 : start], text[end : end + 1]
    is_open = (text[start].isalnum() and (before.isalnum() or before == "_")) or (
        text[end - 1].isalnum() and (after.isalnum() or after == "_")
    )
    return not is_open
