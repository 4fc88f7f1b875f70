"""A room as a kind of document: its page, and the functions of `rules.py`.

The page has the newest messages, each quoted, and a place where people write (`page.md`).
"""

from __future__ import annotations

from itertools import pairwise

from council.kernel import page as pages
from council.kernel import times
from council.kernel.errors import Invalid
from council.kernel.page import Taken, as_typed, one_line, quoted, shown, state_block
from council.kernel.record import Any
from council.kernel.times import datetime
from council.kernel.words import fill, load, template
from council.rooms import decisions, hearing, model
from council.rooms.model import Event, Room
from council.rooms.rules import EVENTS, due, evolve, new, wake, work

__all__ = ["EVENTS", "added", "adopt", "due", "edits", "evolve", "new", "render", "wake", "work"]
_HEADINGS = ("title", "metadata", "floor", "messages", "notes")
_NOT_SHOWN = ("mark", "messages", "runs", "notes", "guide")


def texts(lang: str) -> dict[str, str]:
    """Return the sentences of the page in a language."""
    return load(f"texts/room-{lang}.txt")


def label(state: Room, ident: str) -> str:
    """Return a member's or another speaker's emoji and name."""
    one = state.members.get(ident) or model.Member()
    return f"{one_line(one.emoji)} {one_line(one.name or ident)}".strip()


def render(state: Room) -> str:
    """Return the page (`texts/room.md`)."""
    t, newest, said = texts(state.lang), state.messages[-model.SHOWN :], list[str]()
    for one in newest:
        more = f"; {t['edited']}" if one.origin == "edited" else ""
        said.append(f"**{label(state, one.author)}** {one.at[:10]} {one.at[11:16]} UTC{more}")
        name = f"{one.id}-{'_'.join(one.author.split()).replace('>', '')}"
        said += quoted("message", name, shown(one.content, 3))
    who = state.current_speaker
    values = {
        "t": t, "state": state, "name": one_line(state.name), "said": "\n\n".join(said),
        "members": [label(state, ident) for ident in state.members],
        "order": [label(state, ident) for ident in state.speakers] or "-",
        "speaker": f"{label(state, who)} (agent:{who})" if who else t["nobody"],
        "asleep": state.dormant_at or t["no"], "earlier": state.count - len(newest),
        "notes": as_typed("\n".join(state.notes)),
        "end": state_block(block(state), state.rev, state.mark),
    }  # fmt: skip
    return fill(template("texts/room.md"), values)


def block(state: Room) -> dict[str, Any]:
    """Return the state block: all of the state but texts, runs, and older messages."""
    row = {key: one for key, one in state.to_json().items() if key not in _NOT_SHOWN}
    rows = [one.row(model.FIELDS, ("content",)) for one in state.messages[-model.SHOWN :]]
    return {"schemaVersion": 3, **row, "messages": rows}


def _headings() -> dict[str, str]:
    from council.kernel.reading import folded  # late: regular expressions are slow to import

    return {folded(t[key]): key for t in map(texts, ("en", "fr")) for key in _HEADINGS}


def edits(base: Room, now: Room, page: str, at: datetime, _ours: bool) -> Taken:
    """Return what was typed: messages and notes; changed messages are refused, and restored."""
    from council.kernel import reading  # late: as above

    printed = reading.parse(pages.unescaped(render(base)), _headings(), {})
    pieces = reading.parse(page, _headings(), {})
    lines = [line for one in printed if one.kind == "text" for line in one.lines]
    for one, below in pairwise(pieces):  # of another clone
        lines += [line for line in one.lines if below.kind == "message" and " UTC" in line]
    starts = [f"{texts(base.lang)['earlier']}:"]
    own = {reading.letters(reading.item(line) or line) for line in lines}
    own |= {"".join(filter(str.isalnum, line)) for line in own}  # an old encoding has no emoji
    made, notes, loose, fresh = Taken(), list(base.notes), list[str](), list[Event]()
    old = {str(one.id): one for one in base.messages[-model.SHOWN :]}
    for piece in pieces:
        number, _, who = piece.name.partition("-")
        text, was = piece.text(), old.get(number) if piece.kind == "message" else None
        is_same = was is not None and reading.same(shown(was.content, 3), text)
        if is_same or (was and pages.digest(text) != piece.digest):
            made.refused += [] if is_same else [f"message {number} was changed"]
            del old[number]
        elif piece.kind == "message":
            fresh += _merged(now, number, who, reading.plain_text(text, 3), at)
        elif piece.kind == "notes":
            notes = reading.lines_of(pages.unescaped(piece.text()))
        elif piece.kind in ("draft", "text"):
            typed = reading.typed(piece.lines, own, starts) if piece.kind == "text" else ""
            text = pages.unescaped(typed or (piece.text() if piece.kind == "draft" else ""))
            if piece.kind == "draft" or piece.section == "messages":
                fresh += _typed(base, now, text, at) if text.strip() else []
            elif text:
                loose += text.split("\n")
    made.events += [one for at, one in enumerate(fresh) if one not in fresh[:at]]  # or doubled
    made.refused += [f"message {number} was removed" for number in old]
    notes += [line for line in loose if line not in notes]
    splices = reading.difference(now.notes, reading.merged(base.notes, notes, now.notes))
    made.events += [{"type": "noted", "splices": splices}] if splices else []
    return made


def _typed(base: Room, now: Room, text: str, at: datetime) -> list[Event]:
    """Return what a person's text adds: a message, or more of the one it saved before."""
    from council.kernel.reading import letters, same  # late: as above

    name, colon, words = text.strip().partition(":")
    is_named = colon and "\n" not in name and 0 < len(name.split()) <= 2 and len(name) <= 64
    author, agent = speaker(now, name if is_named else texts(now.lang)["person"])
    words = words.strip() if is_named else text.strip()
    for one in reversed(now.messages):
        if one.id > base.count and (one.author, one.origin) == (author, "edited"):
            if same(one.content, words):
                return []
            if letters(words).startswith(letters(one.content)):  # saved in the middle of it
                return [{"type": "amended", "id": one.id, "content": words, "at": times.text(at)}]
    return decisions.post(now, author, agent, words, at, origin="edited") if words else []


def _merged(now: Room, number: str, who: str, text: str, at: datetime) -> list[Event]:
    """Return what a message of another clone adds."""
    from council.kernel.reading import same  # late: as above

    author, agent = speaker(now, who if who in now.members else who.replace("_", " "))
    known = any(one.author.casefold() == author and same(one.content, text) for one in now.messages)
    is_older = number in map(str, range(next((one.id for one in now.messages), 0)))
    is_new = text and who != model.MODERATOR and not (known or is_older)
    return decisions.post(now, author, agent, text, at, origin="edited") if is_new else []


def added(now: Room, page: str, at: datetime) -> Taken:
    """Return the messages and notes on a page of another clone, or one newer than its journal."""
    try:
        base = Room.from_json(adopt(page)[0]["state"])
    except (IndexError, Invalid):
        base = now  # a merge has broken the state block
    if base.channel_id != now.channel_id:
        return Taken(refused=["the page is that of another room"])
    taken = edits(base.copy(messages=[], notes=[]), now, page, at, False)
    if base is now:
        taken.events = [one for one in taken.events if one["type"] == "said"]
        taken.refused.append("the state block cannot be read")
    return taken


def speaker(state: Room, name: str) -> tuple[str, str | None]:
    """Return author and agent that a name means, however it is written; never the moderator."""
    name = hearing.same_name(name)
    name = texts(state.lang)["person"] if name in ("", model.MODERATOR) else name
    for ident, one in state.members.items():
        if name in map(hearing.same_name, (ident, one.name, f"{one.emoji} {one.name}")):
            return ident, one.agent_id
    return name[:64], None


def adopt(page: str, name: str = "") -> list[Event]:
    """Return the event `adopted` of a page without a journal, [] where it is no room's."""
    from council.kernel import reading  # late: as above

    found = reading.block_of(page)
    if not isinstance(found, dict) or "channelId" not in found:
        return []
    pieces = reading.parse(page, _headings(), {})
    regions = {p.name.partition("-")[0]: p.text() for p in pieces if p.kind == "message"}
    said = {number: reading.plain_text(text, 3) for number, text in regions.items()}
    try:
        rows = [row for row in found.pop("messages", []) if str(row.get("id")) in said]
        found["messages"] = [{**row, "content": said[str(row["id"])]} for row in rows]
        found.pop("schemaVersion", None)
        if name and found.get("name") != name:  # a copy: a room of its own
            found |= {"name": name, "channelId": f"{found['channelId']}-{name}"}
        return [{"type": "adopted", "state": Room.from_json(found).to_json()}]
    except (AttributeError, TypeError, Invalid) as error:
        what = f"the state block of channels/{name}.md is damaged: {error}"
        raise Invalid("damaged-page", what, "correct it, or restore the file") from None
