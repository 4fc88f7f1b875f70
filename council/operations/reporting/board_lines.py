"""The board as a page: what is open, and who is to answer since when and until when.

It holds no time but those that stand in what it shows, so the page stays
the same, byte for byte, for as long as they do.

Where much is open, the lines are kept beside the store under the stamp of the
file they were made from, so that one change among thousands opens one file.
The note of them is a cache: missing, torn or of another version, it is not used.

Source: P8-006, DL-100, XC-007, XC-012.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from council import __version__
from council.core.conversations import due
from council.core.errors import CouncilError, NotFoundError
from council.core.ids import is_conversation_name
from council.core.plain_text import shortened
from council.core.reading import read_json, rows, written_instant
from council.core.record import Any, Record
from council.core.reporting.sentences import words_in
from council.core.times import render_instant
from council.operations.place import Place
from council.store import files
from council.store.notes import YOUNG_NS, replace_dated
from council.store.paths import record_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.core.conversations.conversation import Conversation
    from council.core.protocol.exchange import Exchange
    from council.core.rooms.channels import Channel

CROWD = 32
NOTE = "board.json"
CONVERSATION, ROOM, CONTEXT = "conversation", "room", "context"
BROKEN = "broken"
ANONYMOUS = "*"
_TITLE_CHARS = 80

_WORDS = rows("""
title || Board || Tableau
about || What is open and who owes an answer, rendered by `council heartbeat`: what is written in
       here is overwritten. The present: `council status`.
    || Ce qui est ouvert et qui doit une réponse, établi par `council heartbeat` : ce qu'on y écrit
       est écrasé. Le présent : `council status`.
nothing || Nothing is open. || Rien n'est ouvert.
conversation || Conversations || Conversations
room || Rooms || Salons
context || Tasks || Tâches
head || what | stands at | owes an answer | since | until
    || quoi | où en est-on | doit une réponse | depuis | jusqu'à
round || {phase}, round {tour} || {phase}, tour {tour}
paused || {phase}, round {tour}, paused || {phase}, tour {tour}, en pause
floor || cycle {cycle} || cycle {cycle}
asleep || asleep || en sommeil
open || open || ouvert
broken || cannot be read; see: council doctor || illisible ; voir : council doctor
* || one who stays anonymous || quelqu'un qui reste anonyme
""")


class Line(Record):
    """One thing that is open.

    Args:
        kind: What it is.
        name: What people call it.
        title: What it is about, "" for nothing that is known.
        stands: The word for how it stands, and what that word needs.
        awaited: Who is to answer, since when and until when, each "" where there is none.
    """

    kind: str
    name: str
    title: str = ""
    stands: tuple[str, dict[str, Any]]
    awaited: list[tuple[str, str, str]] = []

    def to_note(self) -> list[Any]:
        """Return the line as JSON."""
        return [self.kind, self.name, self.title, list(self.stands), self.awaited]

    @classmethod
    def from_note(cls, noted: list[Any]) -> Line:
        """Return the line that `to_note` made JSON.

        Raises:
            ValueError, TypeError: It did not.
        """
        kind, name, title, (word, parts), awaited = noted
        known = [(who, since, until) for who, since, until in awaited]
        return cls(kind=kind, name=name, title=title, stands=(word, dict(parts)), awaited=known)


if TYPE_CHECKING:
    Make = Callable[[str], Line | None]


class Lines:
    """The lines of the board at one time."""

    def __init__(self, place: Place, now: datetime) -> None:
        self._place = place
        self._now = now
        self._note = f"{place.paths.control}/{NOTE}"
        self._made: dict[str, list[Any]] = {}

    def all(self) -> list[Line]:
        """Return a line for everything that is open."""
        sources = list(self._sources())
        is_crowd = len(sources) >= CROWD
        kept, taken_ns = _noted(self._note) if is_crowd else ({}, 0)
        found = []
        for kind, name, path, make in sources:
            look, settled = _look(path, taken_ns)
            key = f"{kind}/{name}"
            try:
                looked, noted = kept[key] if settled else (None, None)
                line = Line.from_note(noted) if noted is not None else None
            except (KeyError, ValueError, TypeError):
                looked = None  # it is new, or another program wrote the note
            if looked != look:
                line = self._line(kind, name, make)
            if is_crowd:
                self._made[key] = [look, line and line.to_note()]
            if line is not None:
                found.append(line)
        return found

    def keep(self, looked_ns: int) -> None:
        """Note the lines of a crowd for the next time; the scans began at `looked_ns`."""
        if not self._made:
            return
        record = {"version": __version__, "lines": self._made}
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=True)
        with suppress(CouncilError):  # a cache that cannot be written costs time and nothing else
            replace_dated(self._note, text.encode("ascii"), looked_ns)

    def _sources(self) -> Iterator[tuple[str, str, str, Make]]:
        paths = self._place.paths
        for name, path in _live_files(self._place):
            yield CONVERSATION, name, path, self._conversation
        if os.path.isdir(paths.channels):
            from council.operations.rooms.rooms import open_channels

            for channel in open_channels(self._place):
                yield ROOM, channel, f"{paths.channels}/{channel}.md", self._room
        if os.path.isdir(f"{paths.protocol}/contexts"):
            from council.store.protocol.contexts import Contexts

            store = Contexts(paths)
            for context in store.ids():
                path = (*record_files(f"{store.folder}/{context}.jsonl"), "")[0]
                yield CONTEXT, context, path, self._context

    def _line(self, kind: str, name: str, make: Make) -> Line | None:
        try:
            return make(name)
        except NotFoundError:
            return None  # it ended meanwhile
        except CouncilError:
            return Line(kind=kind, name=name, stands=(BROKEN, {}))

    def _conversation(self, name: str) -> Line | None:
        state = self._place.conversations.read(name)
        if state.finished_at is not None:
            return None
        word = "round" if state.paused_at is None else "paused"
        how, awaited = (word, state.as_json("phase tour")), _awaited_in(state)
        return Line(kind=CONVERSATION, name=name, title=state.topic, stands=how, awaited=awaited)

    def _room(self, channel_id: str) -> Line | None:
        from council.core.rooms.channels import TAKES_TURNS
        from council.operations.rooms.rooms import look

        channel = look(self._place, channel_id, self._now).channel
        if channel.state not in TAKES_TURNS:
            return None
        how = ("floor", {"cycle": channel.cycle}) if channel.speaker else ("asleep", {})
        title = channel.topic or (channel.name if channel.name != channel_id else "")
        awaited = self._awaited_in_room(channel)
        return Line(kind=ROOM, name=channel_id, title=title, stands=how, awaited=awaited)

    def _awaited_in_room(self, channel: Channel) -> list[tuple[str, str, str]]:
        """Return who has the floor and something to answer, or has a discussion to complete."""
        from council.operations.rooms.rooms import rules_of

        about = channel.discussion
        if about is not None and about.reminded_at is not None and about.completed_at is None:
            return [(about.initiator, render_instant(about.reminded_at), "")]
        if not channel.speaker or channel.roused_at is None or channel.turn_at is None:
            return []
        began = channel.began_at or channel.turn_at
        until = began + rules_of(self._place).turn_timeout
        return [(channel.speaker, render_instant(channel.turn_at), render_instant(until))]

    def _context(self, context: str) -> Line | None:
        from council.operations.protocol.exchanging import contexts

        exchange = contexts(self._place).read(context).exchange
        if not exchange.is_open:
            return None
        awaited = list(_awaited_in_context(exchange))
        title = exchange.request
        return Line(kind=CONTEXT, name=context, title=title, stands=("open", {}), awaited=awaited)


def _live_files(place: Place) -> Iterator[tuple[str, str]]:
    """Yield names and files of conversations, some of which may have ended; none is opened."""
    parts = place.paths.live_file_parts()
    if parts is None:
        for name in place.conversations.names():
            yield name, place.paths.conversation_file(name)
        return
    before, after = parts
    folder = os.path.dirname(place.paths.control)
    with files.explaining("list", folder):
        found = sorted(os.listdir(folder))
    for entry in found:
        name = entry[len(before) : len(entry) - len(after)]
        if entry == f"{before}{name}{after}" and is_conversation_name(name):
            yield name, f"{folder}/{entry}"


def _awaited_in(state: Conversation) -> list[tuple[str, str, str]]:
    from council.core.conversations.handles import is_anonymous

    until = "" if state.paused_at is not None else render_instant(state.timeout_at)
    hidden = is_anonymous(state)  # the board is for runs to read, too
    return [
        (ANONYMOUS if hidden else agent, render_instant(due.asked_at(state, agent)), until)
        for agent in due.due_agents(state)
    ]


def _awaited_in_context(exchange: Exchange) -> Iterator[tuple[str, str, str]]:
    for task in exchange.tasks.values():
        if task.is_over:
            continue
        for question in task.questions:
            if not question.answer:
                yield (
                    "User",
                    render_instant(question.asked_at),
                    written_instant(question.ends_at) or "",
                )
        for hop in task.hops:
            attempt = hop.attempt
            if attempt is not None and hop.is_open and attempt.asked:
                since = attempt.started_at or attempt.at
                yield attempt.worker, render_instant(since), written_instant(attempt.ends_at) or ""


def _look(path: str, taken_ns: int) -> tuple[str, bool]:
    """Return what shows that a file has changed, and whether scans of `taken_ns` hold."""
    try:
        facts = os.lstat(path)
    except OSError:
        return "", False
    settled = facts.st_mtime_ns < taken_ns - YOUNG_NS
    return f"{facts.st_ino}.{facts.st_size}.{facts.st_mtime_ns}", settled


def _noted(path: str) -> tuple[dict[str, list[Any]], int]:
    """Return the lines that were noted, and when."""
    with suppress(CouncilError, ValueError, TypeError, KeyError):
        standing = files.read_stable(path)
        record = read_json(standing.data) if standing else {}
        if standing and record["version"] == __version__:
            return dict(record["lines"]), standing.facts.st_mtime_ns
    return {}, 0


# --- The page


def page(lines: Iterable[Line], lang: str) -> str:
    """Return the page of everything that is open, in a language."""
    words = words_in(lang, _WORDS)
    parts = [f"# {words['title']}\n\n{words['about']}\n"]
    in_order = sorted(lines, key=lambda one: one.name)
    for kind in (CONVERSATION, ROOM, CONTEXT):
        if found := [one for one in in_order if one.kind == kind]:
            head = [f"## {words[kind]}\n", f"| {words['head']} |", "|---|---|---|---|---|"]
            parts.append("\n".join([*head, *(_rows(found, words)), ""]))
    if len(parts) == 1:
        parts.append(words["nothing"] + "\n")
    return "\n".join(parts)


def _rows(lines: list[Line], words: dict[str, str]) -> Iterator[str]:
    for line in lines:
        about = line.name
        about += f": {shortened(line.title, _TITLE_CHARS)}" if line.title else ""
        word, parts = line.stands
        cells = [_cell(about), _cell(words[word].format(**parts))]
        for who, since, until in line.awaited or [("", "", "")]:
            shown = words[ANONYMOUS] if who == ANONYMOUS else who
            row = [*cells, _cell(shown), since, until]
            yield "| " + " | ".join(one or " " for one in row) + " |"
            cells = ["", ""]


def _cell(text: str) -> str:
    """Return a text that stays within its cell, whatever it holds: it is data (XC-010)."""
    plain = text
    if not text.isprintable():
        plain = "".join(one if one.isprintable() else " " for one in text)
    for mark in "\\|`*_<[":
        plain = plain.replace(mark, "\\" + mark)
    return plain
