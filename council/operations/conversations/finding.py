"""Which conversation people mean, by whatever they call it.

A name, an id, the file name of minutes with or without its day: whole, or a beginning that no
other has; or a part of a title that no other has. A whole name counts before a beginning, that
before a part of a title. Several with one name are one name: the newest is meant, as everywhere.
What fits several is refused, with the title, the end and a name of its own for each.

The exact name of an open conversation never comes here: commands that programs call all day look
nothing up. Inside a run nothing is widened.

Source: FW-007, `cli.md` section 1.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from council.core.errors import CouncilError, NotFoundError, RefusedError, UsageError
from council.core.ids import checked_conversation_name, folded, is_conversation_name
from council.core.plain_text import plain_line, shortened
from council.core.record import Record
from council.core.times import render_instant
from council.operations.place import Place
from council.store.conversations.filed import Filed, filed, find_minutes, newest_first

_MOST_LISTED = 12
_TITLE_MAX_CHARS = 80


class Candidate(Record):
    """A conversation that may be meant: an open one by its `name`, minutes by their `path`.

    `key` is a name that means it alone, `called` all its names and ids.
    """

    key: str
    title: str
    called: tuple[str, ...]
    name: str = ""
    path: str = ""
    conversation: str = ""
    ended_at: datetime | None = None

    def to_record(self) -> dict[str, str | None]:
        """Return what a program needs to choose."""
        ended_at = None if self.ended_at is None else render_instant(self.ended_at)
        return {"name": self.key, "title": self.title, "endedAt": ended_at}

    @property
    def shown(self) -> str:
        """The line that tells it from others: its own name, its title, its end."""
        when = "open" if self.ended_at is None else f"{self.ended_at:%Y-%m-%d %H:%M}"
        return f"{self.key}: {shortened(plain_line(self.title), _TITLE_MAX_CHARS)} ({when})"


class Found(Record):
    """What a word means; `is_whole` says that it is a whole name or id of it."""

    candidate: Candidate
    is_whole: bool


class AmbiguousError(UsageError):
    """A word fits several conversations: exit 2, a line for each."""

    def __init__(self, wanted: str, candidates: list[Candidate]) -> None:
        """Build it; a program finds the names as `candidates`."""
        self._shown = [one.shown for one in candidates[:_MOST_LISTED]]
        if len(candidates) > _MOST_LISTED:
            self._shown.append(f"and {len(candidates) - _MOST_LISTED} more")
        super().__init__(
            f"{wanted!r} fits {len(candidates)} conversations",
            f"say which, such as {candidates[0].key}",
            candidates=[one.to_record() for one in candidates],
        )

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The message, then a line for each conversation that is meant perhaps."""
        return [(self.message, self.hint), *((f"  {one}", "") for one in self._shown)]


def find(
    place: Place,
    wanted: str,
    *,
    open_too: bool = True,
    archived_too: bool = True,
    newest: bool = True,
) -> Found | None:
    """Return the conversation that a word means, None where it fits none.

    Args:
        place: The workspace.
        wanted: A name, an id, a beginning of one, or a part of a title.
        open_too: Whether open conversations may be meant.
        archived_too: Whether minutes may be meant.
        newest: Whether of several with one name the newest is meant.

    Raises:
        AmbiguousError: It fits several.
    """
    word = _plain(wanted)
    if not word:
        return None
    known = _open(place) if open_too else []
    if archived_too:
        known += [_of_minutes(one) for one in newest_first(place.paths)]
    for fits, is_whole in ((_is, True), (_begins, False), (_is_in_title, False)):
        hits = [(one, names) for one in known if (names := fits(one, word))]
        if not hits:
            continue
        one_name = set[str]().union(*(names for _, names in hits))
        if len(hits) == 1 or (newest and len(one_name) == 1 and fits is not _is_in_title):
            return Found(candidate=hits[0][0], is_whole=is_whole)
        raise AmbiguousError(wanted, [one for one, _ in hits])
    return None


def open_name(place: Place, wanted: str) -> str:
    """Return the name of the open conversation that a word means.

    A legal name that is not open stays as it is: its command says so.

    Raises:
        AmbiguousError: It fits several.
        NotFoundError: It means a conversation that is over.
        InvalidInputError: It means none and is no name.
    """
    name = folded(wanted)
    if is_conversation_name(name) and _is_over(place, name):
        return name
    found = find(place, wanted, archived_too=False)
    if found is not None:
        return found.candidate.name
    if is_conversation_name(name):
        return name
    try:
        over = find_minutes_of(place, wanted)
    except (NotFoundError, RefusedError):
        return checked_conversation_name(wanted)
    raise NotFoundError(f"{over.title!r} is over; its minutes: {over.path}", "see: council list")


def find_minutes_of(place: Place, wanted: str) -> Candidate:
    """Return the minutes that a path or any other word means.

    Raises:
        NotFoundError: It means none.
        RefusedError: A path leads out of the folder of the minutes.
        AmbiguousError: It fits several.
    """
    try:
        path = find_minutes(place.paths, wanted)
    except NotFoundError:
        found = None if place.is_in_run else find(place, wanted, open_too=False)
        if found is None:
            raise
        return found.candidate
    one = filed(path)
    return Candidate(key=path, title="", called=(), path=path) if one is None else _of_minutes(one)


def _is_over(place: Place, name: str) -> bool:
    """Return true if a conversation of exactly this name has ended: no other is meant by it."""
    from council.store.conversations.closing import archived

    return any(one.name == name for one in archived(place.paths))


def _open(place: Place) -> list[Candidate]:
    found = []
    for name in place.conversations.names():
        one = Candidate(key=name, title="", called=(name,), name=name)
        with suppress(CouncilError):
            state = place.conversations.read(name)
            ids = (state.conversation_id, state.session_id)
            one = one.copy(
                title=state.topic,
                called=(name, *filter(None, ids)),
                conversation=state.conversation_id,
            )
        found.append(one)
    return found


def _of_minutes(one: Filed) -> Candidate:
    return Candidate(
        key=one.stem,
        title=one.title,
        called=tuple(filter(None, one.called)),
        path=one.path,
        conversation=one.conversation,
        ended_at=one.ended_at,
    )


def _is(one: Candidate, word: str) -> set[str]:
    return {name for name in map(_plain, one.called) if name == word}


def _begins(one: Candidate, word: str) -> set[str]:
    return {name for name in map(_plain, one.called) if name.startswith(word)}


def _is_in_title(one: Candidate, word: str) -> set[str]:
    return {word} if word in _plain(one.title) else set()


def _plain(text: str) -> str:
    """Return a text without case, and with one space between its words."""
    return " ".join(folded(text).casefold().split())
