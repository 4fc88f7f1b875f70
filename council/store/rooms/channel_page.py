"""The state document of a channel as text: what a person reads, and the block the machine reads.

Who has the floor and why stands at the top in plain words. Mode, topic and
members may be changed there or in the block; the rest is rendered from the
block. Everything between the items is free text of people and stays.

Source: A-20, DG-137, `store.md` sections 3 and 4.
"""

from __future__ import annotations

from council.core.errors import InvalidStateError, NewerVersionError
from council.core.rooms.channel_records import channel_from_record
from council.core.rooms.channels import Channel, Member
from council.store.rooms.channel_words import (
    FACTS,
    MEMBERS,
    TITLES,
    cycle_line,
    floor_line,
    known,
    role_of,
    turns_line,
)
from council.store.statefile.marks import EOF, STATE, block_text, read_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.statefile.statefile import Page

_CLOSE = b"\n-->"
_STATE = f"\n{STATE}\n".encode()
_LAST = f"\n{EOF}\n".encode()


def items(channel: Channel) -> list[tuple[str, str]]:
    """Return every item of the document with its key, in order."""
    lang = known(channel.lang)
    facts = {
        "mode": str(channel.mode),
        "topic": channel.topic or "-",
        "floor": floor_line(channel, lang),
        "turns": turns_line(channel, lang),
        "cycle": cycle_line(channel, lang),
    }
    return [
        ("h1", TITLES[lang] + channel.name),
        *((key, FACTS[lang][key] + value) for key, value in facts.items()),
        ("members", MEMBERS[lang]),
        *(
            (f"m:{one.account}", f"- {one.account} ({role_of(one, lang)})")
            for one in _listed(channel)
        ),
        ("state", block_text(channel.to_record())),
        ("eof", EOF),
    ]


def _listed(channel: Channel) -> list[Member]:
    return [one for one in channel.members.values() if _is_plain(one.account)]


def _is_plain(account: str) -> bool:
    return account.isprintable() and " " not in account


def default_gap(key: str, following: str) -> str:
    """Return what stands between two items when nobody wrote there."""
    if not key:
        return ""
    kinds = {_kind(key), _kind(following)}
    return "\n" if len(kinds) == 1 or not following or key == "state" else "\n\n"


def _kind(key: str) -> str:
    return "fact" if key in FACTS["en"] else key[:2] if key.startswith("m:") else key


def render(channel: Channel, page: Page | None = None) -> bytes:
    """Write a channel as its document, with the free text of `page` where it stood."""
    found = items(channel)
    gaps: dict[str, str] = {}
    if page is not None:
        from council.store.statefile.statefile import settled_gaps

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
    from council.store.statefile.marks import plain, scan
    from council.store.statefile.statefile import Page

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
    if plain in MEMBERS.values():
        return "members", ""
    for title in TITLES.values():
        if plain.startswith(title.rstrip()):
            return "h1", plain[len(title) :].strip()
    for facts in FACTS.values():
        for key, prefix in facts.items():
            if plain.startswith(prefix.rstrip()):
                return key, plain[len(prefix.rstrip()) :].strip()
    if listing and plain.startswith("- "):
        account, _, rest = plain[2:].strip().partition(" ")
        if account and (not rest or (rest.startswith("(") and rest.endswith(")"))):
            return f"m:{account}", rest[1:-1]
    return "", ""
