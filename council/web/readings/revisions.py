"""A conversation as it stood at one of its revisions: what changed with it, by whom, when.

Source: C0-078, DL-100, FW-012, `cli.md` section 2 (`history`, `diff`).
"""

from __future__ import annotations

from difflib import unified_diff

from council.core.conversations.account import display_name
from council.core.conversations.anonymity import as_shown
from council.core.conversations.conversation import Conversation
from council.core.errors import NotFoundError
from council.core.record import Any
from council.operations.conversations.recalling import Recalled, recall
from council.operations.conversations.replay import Replayed, replayed
from council.operations.place import Place
from council.operations.reporting.event_words import sentence
from council.operations.view import readable
from council.store.conversations.views import Revision
from council.store.statefile import statefile
from council.web.readings.council import number_in, page_of

_MOST_LINES = 400


def revision(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return the page of a conversation as it was at a revision, and what that one changed.

    Only revisions that can be seen are offered: each is shown as it was, or as it is rebuilt from
    what was said. `given` is what `council.council` takes, and `rev`: 0 for the newest.

    Raises:
        NotFoundError: There is no such conversation or revision.
    """
    now = recall(place, given.get("name", ""))
    past = replayed(place, given.get("name", "") or now.state.name)
    numbers = [one.rev for one in past.revisions]
    rev = number_in(given, "rev") or numbers[-1]
    if rev not in numbers:
        raise NotFoundError(
            f"{now.state.name} has no revision {rev} that can be shown",
            f"they go from {numbers[0]} to {numbers[-1]}",
        )
    at = numbers.index(rev)
    reader = given.get("as", "")
    is_hidden = as_shown(now.state, reader) is not now.state
    lang = given.get("lang") or now.state.lang
    told = [_told(one, now.state, lang, is_hidden=is_hidden) for one in past.revisions]
    state = past.state_at(rev)
    is_over = now.archived and state.finished_at is not None
    found = Recalled(state=state, path=now.path, archived=is_over)
    texts = [
        # The files themselves name who said what.
        statefile.render(as_shown(past.state_at(one), reader)) if is_hidden else past.text_at(one)
        for one in numbers[max(at - 1, 0) : at + 1]
    ]
    old, new = ((readable(one).split("\n") if one else []) for one in ("", *texts)[-2:])
    lines = list(unified_diff(old, new, n=1, lineterm=""))[3:]
    said = _contributions(past, state=now.state, is_hidden=is_hidden)
    return {
        **now.state.as_json("name topic"),
        "rev": rev,
        "numbers": numbers,
        "revisions": told,
        "this": told[at],
        "rebuilt": bool(past.revisions[at].hole),
        "page": page_of(place, found, {**given, "at": rev}),
        "changes": lines[:_MOST_LINES],
        "more": max(0, len(lines) - _MOST_LINES),
        "contributions": said,
        "before": max((one["rev"] for one in said if one["rev"] < rev), default=0),
        "after": min((one["rev"] for one in said if one["rev"] > rev), default=0),
    }


def nearest(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return the page of the revision nearest to `rev` that can be seen: a slider has no holes.

    Raises:
        NotFoundError: There is no such conversation.
    """
    wanted = number_in(given, "rev")
    if wanted:
        numbers = [one.rev for one in replayed(place, given.get("name", "")).revisions]
        given = {**given, "rev": str(min(numbers, key=lambda one: abs(one - wanted)))}
    return revision(place, given)


def _contributions(past: Replayed, *, state: Conversation, is_hidden: bool) -> list[dict[str, Any]]:
    """Return the revisions in which somebody spoke, in order, each with who and in which round."""
    entries = {one.id: one for one in state.entries}
    return [
        {
            "rev": one.rev,
            "number": entries[answer].tour,
            "who": "" if is_hidden else display_name(state, entries[answer].agent),
        }
        for one in past.revisions
        for answer in past.contributions_of(one.rev)
        if answer in entries
    ]


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
