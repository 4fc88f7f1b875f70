"""What a person changed in the document of a channel, taken in or put back.

Mode, topic and members are theirs to change, in the lines or in the block,
under the rules of the commands. Everything else that is rendered is put back,
with an event that says so, and the file as it was saved is kept.

Source: DG-037, DG-040, DG-066, DG-097, C0-078, `store.md` sections 3 and 5.
"""

from __future__ import annotations

from council.core.errors import CouncilError
from council.core.events import Event
from council.core.record import Any, Record
from council.core.rooms import floor
from council.core.rooms.channels import Channel, ChannelStep, Mode
from council.store.conversations.naming import decoded
from council.store.rooms.channel_page import parse
from council.store.rooms.channel_session import ChannelSession
from council.store.statefile.freetext import grafted_gaps, merged_gaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.statefile.statefile import Page

_FREE_FIELDS = frozenset({"mode", "topic", "members"})
_RENDERED = ("h1", "floor", "turns", "cycle")
_TOPIC_MAX_CHARS = 300


class _Wishes(Record):
    """The state as far as the wishes are applied, and what is to be said of them."""

    channel: Channel
    events: list[Event] = []

    def note(self, kind: str, **data: object) -> None:
        self.events.append(Event(type=kind, data=data))

    def accept(self, field: str, old: object, new: object) -> None:
        self.note("edit.accepted", **{"field": field, "from": old, "to": new})

    def refuse(self, field: str, value: object, reason: str) -> None:
        self.note("edit.refused", field=field, value=value, reason=reason)

    def take(self, step: ChannelStep) -> None:
        self.channel = step.channel
        self.events += step.events


def take_in(session: ChannelSession, theirs: bytes) -> None:
    """Make a revision of what differs from the text that a person had before them."""
    page, ours = parse(decoded(theirs)), parse(decoded(session.text))
    wishes, base = _wishes(session, page)
    if base is None:
        gaps = grafted_gaps(page, ours, decoded(session.text))
    else:
        gaps, lost = merged_gaps(base, page, ours)
        for text in lost:
            session.keep("text that gave way to a later one", text)
    if any(one.type == "edit.refused" for one in wishes.events):
        session.keep_bytes("a file of which not everything was taken in", theirs)
    if not wishes.events and gaps == ours.gaps:
        return  # other line ends, say: the file is left as its owner likes it
    ours.gaps = gaps
    session.take(wishes.channel, ours, theirs, events=wishes.events)


def foreseen(session: ChannelSession, theirs: bytes) -> list[Event]:
    """Return what taking in would accept and refuse; nothing is written."""
    return _wishes(session, parse(decoded(theirs)))[0].events


def _wishes(session: ChannelSession, page: Page) -> tuple[_Wishes, Page | None]:
    """Return what a person wants, and the text they had before them, None if it is not known."""
    wishes = _Wishes(channel=session.channel.copy())
    rev = (page.record or {}).get("rev")
    found = [at for at, line in enumerate(session.past.lines) if line.head["rev"] == rev]
    base = session.past.known_text(found[-1]) if found else None
    if base is None or page.record is None:
        reason = "its state block is damaged, or of a revision that is not kept any more"
        wishes.refuse("file", None, reason)
        return wishes, None
    base_page = parse(decoded(base))
    _apply(session, wishes, base_page, page)
    return wishes, base_page


def _apply(session: ChannelSession, wishes: _Wishes, base: Page, theirs: Page) -> None:
    old, new = base.record or {}, theirs.record or {}
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in _FREE_FIELDS and old.get(key) != new.get(key):
            wishes.refuse(key, new.get(key), "it is set by commands only")
    for key in _RENDERED:
        if key in theirs.lines and theirs.lines[key] != base.lines.get(key):
            wishes.refuse(key, theirs.lines[key], "it is rendered from the state")
    _apply_topic(wishes, base, theirs)
    _apply_mode(session, wishes, base, theirs)
    _apply_members(session, wishes, base, theirs)


def _wish(wishes: _Wishes, base: Page, theirs: Page, key: str) -> Any:
    """Return the value that a person gave a field, None when they left it alone."""
    old, new = (base.record or {}).get(key), (theirs.record or {}).get(key)
    was, said = base.lines.get(key), theirs.lines.get(key, base.lines.get(key))
    if new == old:
        return said if said != was else None
    if said not in (was, new):
        wishes.note("edit.conflict", field=key, block=new, line=said)
    return "" if new is None else new


def _apply_topic(wishes: _Wishes, base: Page, theirs: Page) -> None:
    wish = _wish(wishes, base, theirs, "topic")
    if wish is None or wish == wishes.channel.topic:
        return
    if not isinstance(wish, str) or len(wish) > _TOPIC_MAX_CHARS or "\n" in wish:
        wishes.refuse("topic", wish, "it is not one short line")
        return
    topic = "" if wish == "-" else wish
    wishes.accept("topic", wishes.channel.topic, topic)
    wishes.channel = wishes.channel.copy(topic=topic)


def _apply_mode(session: ChannelSession, wishes: _Wishes, base: Page, theirs: Page) -> None:
    wish = _wish(wishes, base, theirs, "mode")
    if wish is None or wish == wishes.channel.mode:
        return
    if wish not in tuple(Mode):
        wishes.refuse("mode", wish, f"it is none of {', '.join(Mode)}")
        return
    before = str(wishes.channel.mode)
    try:
        step = floor.change_mode(wishes.channel, Mode(wish), session.now, rules=session.rules)
    except CouncilError as error:
        wishes.refuse("mode", wish, error.message)
        return
    wishes.accept("mode", before, wish)
    wishes.take(step)


def _apply_members(session: ChannelSession, wishes: _Wishes, base: Page, theirs: Page) -> None:
    members = dict(wishes.channel.members)
    gone, come = _changed_members(base, theirs)
    try:
        floor.check_not_archived(wishes.channel)
    except CouncilError as error:
        for account in [one for one in gone if one in members] + come:
            wishes.refuse(f"members.{account}", account, error.message)
        return
    for account in gone:
        if account in members:
            del members[account]
            wishes.accept(f"members.{account}", account, None)
    for account in come:
        if account in members:
            continue
        try:
            one = session.resolve(account)
        except CouncilError as error:
            wishes.refuse(f"members.{account}", account, error.message)
            continue
        members[one.account] = one
        wishes.accept(f"members.{one.account}", None, one.agent or one.account)
    if list(members) != list(wishes.channel.members):
        wishes.take(
            floor.members_changed(wishes.channel, members, session.now, rules=session.rules)
        )
    old, new = (base.record or {}).get("members"), (theirs.record or {}).get("members")
    if isinstance(old, dict) and isinstance(new, dict):
        for account in old.keys() & new.keys():
            if old[account] != new[account]:
                wishes.refuse(f"members.{account}", new[account], "take it out and add it anew")


def _changed_members(base: Page, theirs: Page) -> tuple[list[str], list[str]]:
    """Return the accounts that were taken out and those that were added, in lines or block."""
    gone: dict[str, None] = {}
    come: dict[str, None] = {}
    for accounts_of in (_in_block, _in_lines):
        old, new = accounts_of(base), accounts_of(theirs)
        if old is not None and new is not None:
            gone.update(dict.fromkeys(one for one in old if one not in new))
            come.update(dict.fromkeys(one for one in new if one not in old))
    return list(gone), list(come)


def _in_block(page: Page) -> list[str] | None:
    members = (page.record or {}).get("members")
    return list(members) if isinstance(members, dict) else None


def _in_lines(page: Page) -> list[str] | None:
    if "members" not in page.order:
        return None  # the whole section is gone: that says nothing of anybody
    return [key[2:] for key in page.order if key.startswith("m:")]
