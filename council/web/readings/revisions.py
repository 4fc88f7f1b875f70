"""A conversation as it stood at one of its revisions: what changed with it, by whom, when.

Source: C0-078, DL-100, `cli.md` section 2 (`history`, `diff`).
"""

from __future__ import annotations

from difflib import unified_diff

from council.core.conversations.account import display_name
from council.core.conversations.anonymity import as_shown
from council.core.conversations.conversation import Conversation
from council.core.errors import CouncilError, NotFoundError
from council.core.record import Any
from council.operations.conversations.recalling import Recalled, history_of, recall
from council.operations.place import Place
from council.operations.reporting.event_words import sentence
from council.operations.view import readable
from council.store.conversations.views import Revision
from council.store.statefile import statefile
from council.web.readings.council import number_in, page_of

_MOST_LINES = 400


def revision(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return the page of a conversation as it was at a revision, and what that one changed.

    `given` is what `council.council` takes, and `rev`: 0 for the newest.

    Raises:
        NotFoundError: There is no such conversation or revision.
    """
    now = recall(place, given.get("name", ""))
    known, revisions = history_of(place, given.get("name", "") or now.state.name)
    numbers = [one.rev for one in revisions]
    rev = number_in(given, "rev") or numbers[-1]
    if rev not in numbers:
        raise NotFoundError(
            f"{now.state.name} has no revision {rev}", f"they go from {numbers[0]} to {numbers[-1]}"
        )
    at = numbers.index(rev)
    is_hidden = as_shown(now.state, given.get("as", "")) is not now.state
    lang = given.get("lang") or now.state.lang
    texts = [_text(place, known, one) for one in revisions[max(at - 1, 0) : at + 1]]
    before, after = (texts[0] if at else "", texts[-1])
    told: dict[str, Any] = {
        **now.state.as_json("name topic"),
        "rev": rev,
        "numbers": numbers,
        "revisions": [_told(one, now.state, lang, is_hidden=is_hidden) for one in revisions],
        "this": _told(revisions[at], now.state, lang, is_hidden=is_hidden),
        "hole": revisions[at].hole,
        "page": None,
        "changes": [],
        "more": 0,
    }
    if after:
        state = _state(after)
        if is_hidden:  # the files themselves name who said what
            before, after = (_as_shown(one, given) for one in (before, after))
        found = Recalled(state=state, path=now.path, archived=now.archived)
        told["page"] = page_of(place, found, {**given, "at": rev})
        old, new = (readable(one).split("\n") for one in (before, after))
        lines = list(unified_diff(old, new, n=1, lineterm=""))[3:]
        told["changes"], told["more"] = lines[:_MOST_LINES], max(0, len(lines) - _MOST_LINES)
    return told


def _text(place: Place, known: str, one: Revision) -> str:
    """Return the file as a revision left it, "" where that was pruned."""
    try:
        return place.conversations.text_at(known, one.rev)
    except CouncilError:
        return ""


def _state(text: str) -> Conversation:
    return statefile.load(text, "the revision")[0]


def _as_shown(text: str, given: dict[str, Any]) -> str:
    return statefile.render(as_shown(_state(text), given.get("as", ""))) if text else ""


def _told(one: Revision, state: Conversation, lang: str, *, is_hidden: bool) -> dict[str, Any]:
    """Return a revision in words; while names are hidden, only what kind of thing happened."""
    return {
        **one.as_json("rev at"),
        "actor": "" if is_hidden else one.actor,
        "what": [event["type"] for event in one.events],
        "said": [] if is_hidden else [_sentence(event, state, lang) for event in one.events],
    }


def _sentence(event: dict[str, Any], state: Conversation, lang: str) -> str:
    """Return an event as a line that begins with the participant it is about."""
    agent = str(event.get("agentId") or "")
    said = sentence(event, lang)
    return f"{display_name(state, agent)}: {said}" if agent else said
