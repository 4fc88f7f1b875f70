"""A conversation as it stood at one of its revisions: what changed with it, by whom, when.

Source: C0-078, DL-100, `cli.md` section 2 (`history`, `diff`).
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff

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
        "revisions": [_told(one, lang, is_hidden=is_hidden) for one in revisions],
        "this": _told(revisions[at], lang, is_hidden=is_hidden),
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
        lines = list(_changes(readable(before), readable(after)))
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


def _told(one: Revision, lang: str, *, is_hidden: bool) -> dict[str, Any]:
    """Return a revision in words; while names are hidden, only what kind of thing happened."""
    return {
        **one.as_json("rev at"),
        "actor": "" if is_hidden else one.actor,
        "what": [event["type"] for event in one.events],
        "said": [] if is_hidden else [sentence(event, lang) for event in one.events],
    }


# --- What differs, by lines and by the words in them


def _changes(before: str, after: str) -> Iterator[dict[str, Any]]:
    """Yield the lines that were taken out and put in, each as parts that changed or did not."""
    old: list[str] = []
    new: list[str] = []
    for line in (*list(unified_diff(before.split("\n"), after.split("\n"), n=1))[2:], "@@"):
        if line[0] == "-" and not new:
            old.append(line[1:])
        elif line[0] == "+":
            new.append(line[1:])
        else:
            yield from _side_by_side(old, new)
            old, new = ([line[1:]], []) if line[0] == "-" else ([], [])
            if line[0] == " ":
                yield {"kind": "same", "parts": [{"text": line[1:], "new": False}]}
            elif len(line) > 2:
                yield {"kind": "gap", "parts": []}


def _side_by_side(old: list[str], new: list[str]) -> Iterator[dict[str, Any]]:
    pairs = list(zip(old, new, strict=False)) if len(old) == len(new) else []
    parted = [_words(*pair) for pair in pairs]
    for kind, lines in (("out", old), ("in", new)):
        for at, line in enumerate(lines):
            whole = [{"text": line, "new": False}]
            yield {"kind": kind, "parts": parted[at][kind == "in"] if parted else whole}


def _words(old: str, new: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    left, right = _split(old), _split(new)
    outs: list[dict[str, Any]] = []
    ins: list[dict[str, Any]] = []
    for what, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        is_new = what != "equal"
        outs += [{"text": "".join(left[a:b]), "new": is_new}] if b > a else []
        ins += [{"text": "".join(right[c:d]), "new": is_new}] if d > c else []
    return outs, ins


def _split(line: str) -> list[str]:
    """Return the words of a line, each with the blank behind it; a long line is one piece."""
    words = [f"{one} " for one in line.split(" ")]
    words[-1] = words[-1][:-1]
    return words if len(words) <= 300 else [line]
