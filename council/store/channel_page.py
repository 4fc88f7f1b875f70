"""The state document of a channel as text: what a person reads, and the block the machine reads.

Who has the floor and why stands at the top in plain words. Mode, topic and
members may be changed there or in the block; the rest is rendered from the
block. Everything between the items is free text of people and stays.

Source: A-20, DG-137, `store.md` sections 3 and 4.
"""

from __future__ import annotations

from council.core.channel_records import channel_from_record, channel_to_record
from council.core.channels import TAKES_TURNS, Channel, Member, TurnState, is_concluded
from council.core.errors import InvalidStateError, NewerVersionError
from council.core.times import render_instant
from council.store.marks import EOF, STATE, block_text, read_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.statefile import Page

_CLOSE = b"\n-->"
_STATE = f"\n{STATE}\n".encode()
_LAST = f"\n{EOF}\n".encode()
TITLE = "# Channel: "
MEMBERS = "## Members"
FACTS = {
    "mode": "- **Mode:** ",
    "topic": "- **Topic:** ",
    "floor": "- **Floor:** ",
    "turns": "- **Turns:** ",
    "cycle": "- **This cycle:** ",
}


def items(channel: Channel) -> list[tuple[str, str]]:
    """Return every item of the document with its key, in order."""
    facts = {
        "mode": str(channel.mode),
        "topic": channel.topic or "-",
        "floor": floor_line(channel),
        "turns": turns_line(channel),
        "cycle": cycle_line(channel),
    }
    return [
        ("h1", TITLE + channel.name),
        *((key, FACTS[key] + value) for key, value in facts.items()),
        ("members", MEMBERS),
        *((f"m:{one.account}", f"- {one.account} ({role_of(one)})") for one in _listed(channel)),
        ("state", block_text(channel_to_record(channel))),
        ("eof", EOF),
    ]


def _listed(channel: Channel) -> list[Member]:
    return [one for one in channel.members.values() if _is_plain(one.account)]


def _is_plain(account: str) -> bool:
    return account.isprintable() and " " not in account


def role_of(one: Member) -> str:
    """Return what a member is, for people."""
    if one.moderator:
        return "moderator"
    if not one.agent:
        return "person"
    return "agent" if one.agent == one.account else f"agent {one.agent}"


def floor_line(channel: Channel) -> str:
    """Say who has the floor and why, in one line."""
    if is_concluded(channel):
        return "nobody: this discussion is closed"
    if channel.state not in TAKES_TURNS:
        return _WITHOUT_TURNS[channel.state]
    if not channel.speaker:
        since = _since(channel.dormant_at)
        if channel.calmed:
            why = _CALMED.get(channel.calmed, channel.calmed)
            return f"nobody{since}: {why}; a word from a person wakes the room"
        return f"nobody{since}: all had nothing to say; the next message wakes the room"
    said = f"{channel.speaker}{_since(channel.turn_at)}"
    if channel.delivery is not None:
        ends_at = render_instant(channel.delivery.ends_at)
        return f"{said}, has spoken; its text is awaited until {ends_at}"
    said += ", is speaking" if channel.began_at is not None else ", has not begun"
    following = next_speaker(channel)
    return f"{said}; then {following}" if following else said


_CALMED = {
    "repetition": "calmed, the agents only repeated themselves",
    "max-cycles": "calmed, the agents went on for too long without a person",
}
_WITHOUT_TURNS = {
    TurnState.DISABLED: "free: turns are not taken here",
    TurnState.DEAD: "nobody: in a report channel agents only post and are not woken",
    TurnState.ARCHIVED: "nobody: this channel is archived",
}


def _since(instant: object) -> str:
    from datetime import datetime

    return f" since {render_instant(instant)}" if isinstance(instant, datetime) else ""


def next_speaker(channel: Channel) -> str:
    """Return who speaks next in this cycle, "" when the cycle ends with this turn."""
    if channel.speaker not in channel.speakers:
        return ""
    after = channel.speakers[channel.speakers.index(channel.speaker) + 1 :]
    here = {one.agent for one in channel.members.values()}
    return next((one for one in after if one in here), "")


def turns_line(channel: Channel) -> str:
    """Say how turns are taken."""
    if channel.state not in TAKES_TURNS:
        return str(channel.state)
    order = ", ".join(channel.speakers) or "-"
    return f"{channel.state}; cycle {channel.cycle}; order {order}"


def cycle_line(channel: Channel) -> str:
    """Say how the turns of this cycle ended."""
    ended = [f"{one.agent} {'passed' if one.empty else 'spoke'}" for one in channel.results]
    return ", ".join(ended) or "no turn has ended yet"


def default_gap(key: str, following: str) -> str:
    """Return what stands between two items when nobody wrote there."""
    if not key:
        return ""
    kinds = {_kind(key), _kind(following)}
    return "\n" if len(kinds) == 1 or not following or key == "state" else "\n\n"


def _kind(key: str) -> str:
    return "fact" if key in FACTS else key[:2] if key.startswith("m:") else key


def render(channel: Channel, page: Page | None = None) -> bytes:
    """Write a channel as its document, with the free text of `page` where it stood."""
    found = items(channel)
    gaps: dict[str, str] = {}
    if page is not None:
        from council.store.statefile import settled_gaps

        gaps = settled_gaps(page, [key for key, _ in found])
    parts = [gaps.get("", "")]
    for number, (key, text) in enumerate(found):
        following = found[number + 1][0] if number + 1 < len(found) else ""
        gap = gaps.get(key)
        if gap is None:
            gap = default_gap(key, following)
        elif following and not gap.endswith("\n"):
            gap += "\n"
        parts += (text, gap)
    return "".join(parts).encode("utf-8", "replace")


def read_block_of(data: bytes, where: str) -> Channel:
    """Read the state of a document that is known to be a revision of ours.

    Raises:
        NewerVersionError: A newer council wrote it.
        InvalidStateError: It is none of ours after all.
    """
    block = data.rfind(_STATE)
    close = data.find(_CLOSE, block)
    record = read_block(data[block + len(_STATE) : close].decode("utf-8")) if block >= 0 else None
    if record is None:
        raise InvalidStateError(f"{where}: it has no state block", "put it back as it was")
    try:
        return channel_from_record(record)
    except NewerVersionError:
        raise
    except InvalidStateError as error:
        raise InvalidStateError(f"{where}: {error.message}", error.hint) from None


def is_complete(data: bytes) -> bool:
    """Tell whether a document has its block and its end."""
    return _STATE.strip() in data and _LAST.strip() in data.rstrip()[-len(_LAST) - 4096 :]


def parse(text: str) -> Page:
    """Read any text as the document of a channel; what is missing is missing in the page."""
    from council.store.marks import plain, scan
    from council.store.statefile import Page

    text = plain(text)
    page = Page()
    pieces: list[tuple[int, int, str]] = []
    for region in reversed(scan(text).regions):
        record = read_block(region.body) if region.kind == "state" and region.body else None
        if record is not None and page.record is None:
            page.record = record
            pieces.append((region.start, region.end, "state"))
        elif region.kind == "eof" and not any(key == "eof" for _, _, key in pieces):
            pieces.append((region.start, region.end, "eof"))
    end = min((start for start, _, _ in pieces), default=len(text))
    pieces += _lines(text, end, page)
    pieces.sort()
    at, before = 0, ""
    for number in range(len(pieces) + 1):
        start, stop, key = pieces[number] if number < len(pieces) else (len(text), 0, "")
        gap = text[at:start]
        if gap != default_gap(before, key) or (not before and not key):
            page.gaps[before] = gap
        if key:
            page.order.append(key)
            at, before = stop, key
    page.complete = {"state", "eof"} <= set(page.order)
    return page


def _lines(text: str, end: int, page: Page) -> list[tuple[int, int, str]]:
    """Find the lines that are items, before `end`; their values go into the page."""
    found: list[tuple[int, int, str]] = []
    at, listing = 0, False
    for line in text[:end].split("\n"):
        key, value = _item_of(line, listing)
        if key == "members":
            listing = True
        elif line.strip() and not key.startswith("m:"):
            listing = False
        if key and key not in page.lines:
            page.lines[key] = value
            found.append((at, at + len(line), key))
        at += len(line) + 1
    return found


def _item_of(line: str, listing: bool) -> tuple[str, str]:
    plain = line.rstrip()
    if plain == MEMBERS:
        return "members", ""
    if plain.startswith(TITLE.rstrip()):
        return "h1", plain[len(TITLE) :].strip()
    for key, prefix in FACTS.items():
        if plain.startswith(prefix.rstrip()):
            return key, plain[len(prefix.rstrip()) :].strip()
    if listing and plain.startswith("- "):
        account, _, rest = plain[2:].strip().partition(" ")
        if account and (not rest or (rest.startswith("(") and rest.endswith(")"))):
            return f"m:{account}", rest[1:-1]
    return "", ""
