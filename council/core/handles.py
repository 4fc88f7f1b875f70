"""What agents are called in texts: ids, display names, pseudonyms.

In an anonymous conversation each reader knows the others, and itself, under
pseudonyms of its own, in an order that is drawn from conversation and reader:
two readers cannot compare them, and a reader cannot tell which is itself.

Source: DL-014, DL-100, XC-101.
"""

from __future__ import annotations

from council.core.conversation import Conversation, EntryKind
from council.core.speaking import shuffled

HUMAN = "human"
_HUMANS = (HUMAN, "person", "user", "moderator", "humain", "personne", "modérateur")
PSEUDONYM = "member"


def names(state: Conversation) -> dict[str, str]:
    """Return the words that stand for participants in texts: their ids and display names."""
    shown = {one.name: one.id for one in state.participants.values() if one.name}
    return {**shown, **{agent: agent for agent in state.participants}}


def is_anonymous(state: Conversation) -> bool:
    """Tell whether peers stand under pseudonyms in prompts (DL-100)."""
    return state.rules is not None and state.rules.anonymous


def pseudonyms(state: Conversation, reader: str) -> dict[str, str]:
    """Return the pseudonym of each participant, the reader too, as `reader` knows them."""
    order = shuffled(list(state.participants), seed=f"{state.conversation_id}/{reader}")
    return {agent: f"{PSEUDONYM}-{number}" for number, agent in enumerate(order, start=1)}


def handles(state: Conversation, author: str) -> dict[str, str]:
    """Return every word, casefolded, that stands for somebody in a text of `author`.

    People who gave guidance stand there as `HUMAN`, unless a participant has that name.
    """
    known = dict.fromkeys(_HUMANS, HUMAN)
    for entry in state.entries:
        if entry.kind is EntryKind.INJECTION and entry.agent:
            known[entry.agent.casefold()] = HUMAN
    if is_anonymous(state):
        for agent, pseudonym in pseudonyms(state, author).items():
            known[pseudonym] = agent
    for word, agent in names(state).items():
        known[word.casefold()] = agent
    return known
