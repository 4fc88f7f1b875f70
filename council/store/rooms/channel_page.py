"""The state document of a channel as text: what a person reads, and the block the machine reads.

Who has the floor and why stands at the top in plain words. Mode, topic and
members may be changed there or in the block; the rest is rendered from the
block. Everything between the items is free text of people and stays. The words are
those of the language of the channel; every reader knows both.

Source: A-20, DG-137, XC-012, `store.md` sections 3 and 4.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.errors import InvalidStateError, NewerVersionError
from council.core.reading import by_language
from council.core.rooms.channels import (
    TAKES_TURNS,
    Channel,
    Member,
    Mode,
    TurnState,
    channel_from_record,
    is_concluded,
)
from council.core.rooms.due import asked, tasks_of_turn
from council.core.times import render_instant
from council.store.statefile.marks import EOF, STATE, block_text, read_block, woven

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.statefile.statefile import Page

_CLOSE = b"\n-->"
_STATE = f"\n{STATE}\n".encode()
_LAST = f"\n{EOF}\n".encode()

_TITLES = {"en": "# Channel: ", "fr": "# Salon : "}
_MEMBERS = {"en": "## Members", "fr": "## Membres"}
_NAMES = by_language("""
mode || Mode: || Mode :
topic || Topic: || Sujet :
floor || Floor: || Parole :
turns || Turns: || Tours :
cycle || This cycle: || Ce cycle :
""")
_FACTS = {
    lang: {key: f"- **{name}** " for key, name in names.items()} for lang, names in _NAMES.items()
}
_WORDS = by_language("""
moderator || moderator || modérateur
person || person || personne
agent || agent || agent
closed || nobody: this discussion is closed || personne : cette discussion est close
since ||  since {at} ||  depuis {at}
calmed || nobody{since}: {why}; a word from a person wakes the room
    || personne{since} : {why} ; un mot d'une personne réveille le salon
asleep || nobody{since}: all have had their turn; the next message wakes the room
    || personne{since} : tous ont eu leur tour ; le prochain message réveille le salon
idle || nobody{since}: all have had their turn; {who} is to complete the discussion
    || personne{since} : tous ont eu leur tour ; {who} doit clore la discussion
awaited || {who}, has spoken; its text is awaited until {until}
    || {who}, a parlé ; son texte est attendu jusqu'à {until}
speaking || {who}, is speaking || {who}, parle
not begun || {who}, has not begun || {who}, n'a pas commencé
then || ; then {next} ||  ; puis {next}
repetition || calmed, the agents only repeated themselves
    || calmé, les agents ne faisaient que se répéter
max-cycles || calmed, the agents went on for too long without a person
    || calmé, les agents ont continué trop longtemps sans une personne
disabled || free: turns are not taken here || libre : ici on ne parle pas à tour de rôle
too few || free: turns begin when an agent is here
    || libre : on parle à tour de rôle dès qu'un agent est là
dead || nobody: in a report channel agents only post and are not woken
    || personne : dans un salon de rapport les agents publient et ne sont pas réveillés
archived || nobody: this channel is archived || personne : ce salon est archivé
turns || {state}; cycle {cycle}; order {order} || {state} ; cycle {cycle} ; ordre {order}
passed || {agent} passed || {agent} a passé
spoke || {agent} spoke || {agent} a parlé
none || no turn has ended yet || aucun tour n'est terminé
over || it is over || il est fini
""")
# What stands for the language where it is none of ours.
_USUAL = "en"


def items(channel: Channel) -> list[tuple[str, str]]:
    """Return every item of the document with its key, in order."""
    lang = _known(channel.lang)
    facts = {
        "mode": str(channel.mode),
        "topic": channel.topic or "-",
        "floor": floor_line(channel, lang),
        "turns": turns_line(channel, lang),
        "cycle": cycle_line(channel, lang),
    }
    return [
        ("h1", _TITLES[lang] + channel.name),
        *((key, _FACTS[lang][key] + value) for key, value in facts.items()),
        ("members", _MEMBERS[lang]),
        *(
            (f"m:{one.account}", f"- {one.account} ({role_of(one, lang)})")
            for one in channel.members.values()
            if one.account.isprintable() and " " not in one.account
        ),
        ("state", block_text(channel.to_record())),
        ("eof", EOF),
    ]


def default_gap(key: str, following: str) -> str:
    """Return what stands between two items when nothing was written there."""
    if not key:
        return ""
    kinds = {_kind(key), _kind(following)}
    return "\n" if len(kinds) == 1 or not following or key == "state" else "\n\n"


def _kind(key: str) -> str:
    return "fact" if key in _FACTS["en"] else key[:2] if key.startswith("m:") else key


def render(channel: Channel, page: Page | None = None) -> bytes:
    """Write a channel as its document, with the free text of `page` where it stood."""
    found = items(channel)
    gaps: dict[str, str] = {}
    if page is not None:
        from council.store.statefile.statefile import settled_gaps

        gaps = settled_gaps(page, [key for key, _ in found])
    return woven(found, gaps, default_gap).encode("utf-8", "replace")


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
    """Return true if a document has its block and its end."""
    return _STATE.strip() in data and _LAST.strip() in data.rstrip()[-len(_LAST) - 4096 :]


def parse(text: str) -> Page:
    """Read any text as the document of a channel; what is missing is missing in the page."""
    from council.store.statefile.marks import plain, scan
    from council.store.statefile.statefile import Page, take_gaps

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
    page.order = [key for _, _, key in pieces]
    take_gaps(page, text, [(start, end) for start, end, _ in pieces], default_gap)
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
    if plain in _MEMBERS.values():
        return "members", ""
    for title in _TITLES.values():
        if plain.startswith(title.rstrip()):
            return "h1", plain[len(title) :].strip()
    for facts in _FACTS.values():
        for key, prefix in facts.items():
            if plain.startswith(prefix.rstrip()):
                return key, plain[len(prefix.rstrip()) :].strip()
    if listing and plain.startswith("- "):
        account, _, rest = plain[2:].strip().partition(" ")
        if account and (not rest or (rest.startswith("(") and rest.endswith(")"))):
            return f"m:{account}", rest[1:-1]
    return "", ""


# --- Words


def _known(lang: str) -> str:
    """Return the language whose words are used."""
    return lang if lang in _WORDS else _USUAL


def role_of(one: Member, lang: str = _USUAL) -> str:
    """Return what a member is, for people."""
    words = _WORDS[_known(lang)]
    if one.moderator:
        return words["moderator"]
    if not one.agent:
        return words["person"]
    return words["agent"] if one.agent == one.account else f"{words['agent']} {one.agent}"


def floor_line(channel: Channel, lang: str = _USUAL) -> str:
    """Say who has the floor and why, in one line."""
    words = _WORDS[_known(lang)]
    if is_concluded(channel):
        return words["closed"]
    if channel.state not in TAKES_TURNS:
        too_few = channel.state is TurnState.DISABLED and channel.mode in _WITH_TURNS
        return words["too few" if too_few else _WITHOUT_TURNS[channel.state]]
    if not channel.speaker:
        since = _since(channel.dormant_at, words)
        if channel.calmed:
            why = words.get(channel.calmed, channel.calmed)
            return words["calmed"].format(since=since, why=why)
        waiting = asked(channel)
        return words["idle" if waiting else "asleep"].format(since=since, who=waiting)
    who = f"{channel.speaker}{_since(channel.turn_at, words)}"
    if channel.delivery is not None:
        until = render_instant(channel.delivery.ends_at)
        return words["awaited"].format(who=who, until=until)
    runs = any(one.state is TaskState.R and one.ends_at for one in tasks_of_turn(channel))
    begun = runs or channel.began_at is not None
    said = words["speaking" if begun else "not begun"].format(who=who)
    following = next_speaker(channel)
    return said + words["then"].format(next=following) if following else said


_WITH_TURNS = (Mode.CHAT, Mode.DISCUSSION)
_WITHOUT_TURNS = {
    TurnState.DISABLED: "disabled",
    TurnState.DEAD: "dead",
    TurnState.ARCHIVED: "archived",
}


def _since(instant: datetime | None, words: dict[str, str]) -> str:
    return words["since"].format(at=render_instant(instant)) if instant is not None else ""


def next_speaker(channel: Channel) -> str:
    """Return who speaks next in this cycle, "" when the cycle ends with this turn."""
    if channel.speaker not in channel.speakers:
        return ""
    after = channel.speakers[channel.speakers.index(channel.speaker) + 1 :]
    here = {one.agent for one in channel.members.values()}
    return next((one for one in after if one in here), "")


def turns_line(channel: Channel, lang: str = _USUAL) -> str:
    """Say how turns are taken."""
    if channel.state not in TAKES_TURNS:
        return str(channel.state)
    order = ", ".join(channel.speakers) or "-"
    words = _WORDS[_known(lang)]
    return words["turns"].format(state=channel.state, cycle=channel.cycle, order=order)


def cycle_line(channel: Channel, lang: str = _USUAL) -> str:
    """Say how the turns of this cycle ended."""
    words = _WORDS[_known(lang)]
    ended = [
        words["passed" if one.empty else "spoke"].format(agent=one.agent) for one in channel.results
    ]
    return ", ".join(ended) or words["over" if channel.cycle and not channel.speaker else "none"]
