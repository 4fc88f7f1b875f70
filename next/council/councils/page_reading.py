"""What a conversation's page says: of its own form in both languages, or of document 000's."""

from __future__ import annotations

import re

from council.councils import model
from council.councils import page as pages
from council.councils.model import (
    ANSWERED,
    RESPONDED,
    WAITING,
    Blocker,
    Entry,
    Event,
    Option,
    State,
)
from council.councils.procedures import PHASES, kind_of
from council.kernel import ids, times
from council.kernel.errors import Refusal
from council.kernel.page import digest, shown, unescaped
from council.kernel.reading import Piece, block_of, item, letters, parse, same, typed, words
from council.kernel.record import Any, Record

_STATUS = re.compile(r"(.*?)\(agent:\s*([\w-]+)\)[\s*_`]*:?(.*)$")
_TOUR = re.compile(r"\W{0,4}Tour\s+(\d+)\\?\]?\s*:[ \t]*(.*)$")
_FIELDS = ("id", "procedure", "mode", "phase", "tour", "created", "updated", "timeout", "status")
_SECTIONS = ("metadata", "brief", "participants", "options", "vote", "convergence", "next", "notes")
_VALUES = ("quotation", "again")
_SPOKEN = ("phase ", "round ", "vote ")


class Page(Record):
    """What a page says.

    Attributes:
        topic: Of its title; None where it has none.
        fields: Metadata by key (`pages.texts`), as written.
        people: model.Participant to its label and its status word, in the order of the lines.
        brief, notes: None where they have no region.
        blockers: None where there is no such line.
        options: Letter to text.
        entries: Regions named `TOUR-AGENT`; without a digest where a text has no mark.
        drafts: What is in a draft region, by `TOUR-AGENT`.
        typed: What was typed outside of all regions: section, participant, text.
    """

    topic: str | None = None
    fields: dict[str, str] = {}
    people: dict[str, list[str]] = {}
    brief: str | None = None
    notes: str | None = None
    blockers: list[str] | None = None
    options: dict[str, str] = {}
    entries: list[Piece] = []
    drafts: dict[str, str] = {}
    typed: list[list[str]] = []
    block: dict[str, Any] | None = None


def printed() -> tuple[set[str], list[str]]:
    """Return the letters of every sentence ever printed, and how those with a value begin."""
    path = pages.__file__[: -len("councils/page.py")] + "texts/page-printed.txt"
    with open(path, encoding="utf-8") as file:
        rows = [line.strip() for line in file if line.strip() and line[0] != "#"]
    starts = [row[:-1].strip() for row in rows if row.endswith("…")]
    return {letters(row) for row in rows if not row.endswith("…")}, starts


def read(page: str, state: State | None = None, ours: bool = False) -> Page:
    """Return what a page says; `state`, if known, is that at its revision and has the names.

    `ours`: it was made of that state by this version, so all its lines are known.
    """
    made = Page(block=_sound(block_of(page)))
    known = _Headings(state)
    own, starts = printed()
    if ours and state is not None:
        for piece in parse(pages.render(state), known):
            lines = piece.lines if piece.kind == "text" else []
            own |= {letters(item(line) or line) for line in lines}
            own |= {letters(part) for part in "\n".join(lines).split("\n\n")}
        values = [pages.texts(lang)[key][:-3] for lang in ("en", "fr") for key in _VALUES]
        starts = [start for start in starts if start in values]
    pieces = parse(page, known)
    for piece, after in zip(pieces, [*pieces, Piece(kind="", section="")][1:], strict=True):
        if piece.kind == "heading" and piece.section == "title":
            name = piece.name.strip("*_" if piece.name[:1] in ("*", "_") else "")
            made.topic = words(name.partition(":")[2])
        elif piece.kind == "brief":
            made.brief = piece.text()
        elif piece.kind == "notes":
            text = unescaped(piece.text())
            made.notes = text if made.notes in (None, "", text) else f"{made.notes}\n{text}"
        elif piece.kind == "draft":
            made.drafts[piece.name] = unescaped(piece.text())
        elif piece.kind == "entry":
            made.entries.append(piece)
        elif piece.kind == "text":
            rest = _items(made, piece, state, own)
            if piece.who:
                rest = _unmarked(made, piece, rest, after.kind == "entry")
            said = "\n".join(typed(rest, own, starts))
            if said:
                made.typed.append([piece.section, piece.who, said])
    return made


def _sound(block: Any) -> Event | None:
    """Return the keys of a block that have the right shape, None where it is no object."""
    if not isinstance(block, dict):
        return None
    made: Event = {k: v for k, v in block.items() if isinstance(v, _SHAPES.get(k, object))}
    for key in ("entries", "rounds"):
        made[key] = [row for row in made.get(key, []) if isinstance(row, dict)]
    people = made.get("participants", {})
    made["participants"] = {a: row for a, row in people.items() if isinstance(row, dict)}
    return made


_SHAPES: dict[str, type] = dict.fromkeys(("participants", "convergence", "config"), dict)
_SHAPES |= dict.fromkeys(("rounds", "entries", "phases"), list)


class _Headings:
    """Which headings are ours, for `parse`."""

    def __init__(self, state: State | None) -> None:
        self.t = [pages.texts("en"), pages.texts("fr")]
        self.whole = {_folded(t[key]): key for t in self.t for key in _SECTIONS}
        self.titles = tuple(_folded(t["title"]) for t in self.t)
        self.people: dict[str, str] = {}
        for ident, label in (pages.labels(state) if state else {}).items():
            one = state.participants.get(ident) if state else None
            for name in (label, f"{label} (agent:{ident})", one.name if one else "", ident):
                self.people.setdefault(_folded(words(name)), ident)

    def __call__(self, text: str, section: str) -> tuple[str, str] | None:
        own = _folded(words(text))
        if section.startswith(_SPOKEN) and own in self.people:
            return section, self.people[own]
        if own.startswith(self.titles) and not section:
            return "title", ""
        for t in self.t:
            phase = own.removeprefix(_folded(t["responses"]))
            if phase != own and phase.upper() in {p for all_ in PHASES.values() for p in all_}:
                return f"phase {phase.upper()}", ""
            number = own.removeprefix(_folded(t["deliberation"]))
            if number != own and number.isdecimal():
                return f"round {number}", ""
        key = self.whole.get(own)
        return None if key is None else ("vote " if key == "vote" else key, "")


def _folded(text: str) -> str:
    return letters(text).casefold()


def _items(made: Page, piece: Piece, state: State | None, own: set[str]) -> list[str]:
    """Note what the list of a section says; return the lines that are something else."""
    section, rest = piece.section, []
    options = {one.letter: one.text for one in state.options} if state else {}
    keys = {_folded(pages.texts(lang)[key]): key for lang in ("en", "fr") for key in _KEYS}
    rows: list[str] = []
    for line in piece.lines:  # a line directly below an item belongs to it
        above = item(rows[-1]) if rows and line.strip() and item(line) is None else None
        joined = f"{above} {line.strip()}" if above else ""
        free = section in ("convergence", "options") and ":" in joined
        free = free and _folded(joined.partition(":")[0]) not in keys
        if above and (letters(joined) in own or free):
            rows[-1] += f" {line.strip()}"
        else:
            rows.append(line)
    for line in rows:
        words_ = item(line)
        key, colon, value = (words_ or "").partition(":")
        name = keys.get(_folded(key)) if colon else None
        if words_ is None:
            rest.append(line)
        elif section == "participants" and (found := _STATUS.match(words_)):
            said = [found[1].strip(" *_`"), _word(found[3])]
            if made.people.setdefault(found[2].lower(), said) != said:
                rest.append(line)
        elif section == "metadata" and name in _FIELDS:
            made.fields.setdefault(str(name), value.strip(" *_`[]"))
        elif section == "convergence" and name == "blockers":
            told = "" if value.strip().isdecimal() or _folded(value) in _NO else value.strip()
            made.blockers = made.blockers or ([told] if letters(told) else [])
        elif section in ("convergence", "next") and name:
            pass
        elif section == "convergence" and made.blockers is not None:
            made.blockers.append(words_)
        elif section == "options" and (found := _OPTION.match(words_)):
            made.options[found[1]] = found[2]
            rest += [] if same(found[2], options.get(found[1], "")) else [line]
        else:
            rest.append(line)
    return rest


_OPTION = re.compile(r"([A-Z]+)(?: \(.*?\))?\s*: (.+)")
_NO = ("none", "aucun", "aucune")
_KEYS = (*_FIELDS, "rate", "converged", "blockers", "condition", "actions")


def _word(text: str) -> str:
    """Return a status as it is compared: upper case, without emphasis, brackets and full stop."""
    bare = text.strip(" \t*_`[].:")
    return re.sub(r"(?i)^status\s*:\s*", "", bare).strip(" *_`").upper()


def _unmarked(made: Page, piece: Piece, lines: list[str], marked: bool) -> list[str]:
    """Note the texts below `Tour N:` that have no marks; return the other lines."""
    rest: list[str] = []
    starts = [n for n, line in enumerate(lines) if _TOUR.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        found = _TOUR.match(lines[start])
        assert found is not None
        below = lines[start + 1 : end]
        quote = [line for line in below if line.lstrip().startswith(">")]
        if marked and end == len(lines):
            rest += ["", *below]
            continue
        if quote:
            text = [re.sub(r"^\s*> ?", "", line) for line in quote]
            rest += [line for line in below if line not in quote]
        else:
            text = [found[2], *below]
        if any(line.strip() for line in text):
            made.entries.append(
                piece.copy(kind="entry", name=f"{found[1]}-{piece.who}", lines=text)
            )
    return [*lines[: starts[0]], "", *rest] if starts else lines


# A page without a journal


def adopt(text: str) -> list[Event]:
    """Return one event `adopted` with the state that a page says; nothing where it is no page.

    The block counts, and without one the readable lines. What was typed outside of all regions is
    left to `edits`, which the document asks next.
    """
    first = read(text)
    block: Event = first.block or {}
    if not (first.people or block.get("participants")) or (first.topic is None and not block):
        return []
    state = _stated(text, first, block)
    page = read(text, state)
    brief = page.brief or "\n".join(t for s, _, t in page.typed if s == "brief")
    state.brief = plain_text(brief, 3)
    rows = {str(row.get("id")): row for row in block.get("entries", [])}
    for piece in page.entries:
        _add_entry(state, piece, rows.get(piece.name, {}))
    order = {ident: at for at, ident in enumerate(rows)}
    state.entries.sort(key=lambda one: (order.get(one.id, len(order)), one.tour))
    state.notes = page.notes.split("\n") if page.notes else []
    said = {one.agent for one in state.entries if one.tour == state.tour}
    for ident, member in state.participants.items():  # a sealed answer was in the journal alone
        if state.round().blind and member.status in (RESPONDED, model.AGREED) and ident not in said:
            member.status, member.origin = WAITING, ""
    for name, draft in page.drafts.items():
        agent = name.removeprefix(f"{state.tour}-")
        if draft and agent in state.participants:
            state.drafts[agent] = draft
    return [{"type": "adopted", "state": state.to_json()}]


def _stated(text: str, page: Page, block: Event) -> State:
    """Return the state that the block and the readable lines say, without what was said."""
    lines = {key: value for key, value in page.fields.items() if value != "-"}
    named = {**{_BLOCK_KEYS.get(key, key): value for key, value in lines.items()}, **block}
    phase = str(named.get("currentPhase")).upper()
    procedure = str(named.get("procedure") or ("deliberation" if phase in _DEBATED else "council"))
    usual = list(PHASES.get(procedure, PHASES["council"]))
    phases = [one for one in named.get("phases") or usual if one in usual] or usual
    config = {**(named.get("config") or {}), "mode": named.get("mode", "debate"), "phases": phases}
    french = pages.texts("fr")["metadata"] in text
    texts = {key: named[key] for key in _COPIED if isinstance(named.get(key), str)}
    state = State.from_json({"lang": "fr" if french else "en", **texts})
    state.conversation_id = state.conversation_id or ids.uuid4(bytes.fromhex(ids.digest(text)))
    state.topic, state.procedure = page.topic or state.name, procedure
    state.config = _made(model.Config, config) or model.Config(phases=phases)
    state.phase = phase if phase in phases else phases[0]
    state.tour = int(named["tour"]) if str(named.get("tour", "")).isdecimal() else 1
    known = (model.ACTIVE, model.CONVERGED, model.TIMEOUT)
    state.status = state.status if state.status in known else model.ACTIVE
    state.timeout_at = instant(str(named.get("timeoutAt") or ""))
    people: dict[str, Any] = block.get("participants") or {}
    for ident in filter(ids.is_name, {**page.people, **people}):
        one = _made(model.Participant, people.get(ident) or {}) or model.Participant()
        label, word = page.people.get(ident, ("", ""))
        emoji, name = label_parts(label)
        one.name, one.emoji = one.name or name or ident, one.emoji or emoji
        one.person = one.person or emoji == "👤"
        one.status = one.status if ident in people else word
        one.status = one.status if one.status in (WAITING, *ANSWERED) else WAITING
        state.participants[ident] = one
    convergence = block.get("convergence") or {}
    rates = {key: convergence[key] for key in _RATES if key in convergence}
    state.convergence = _made(model.Convergence, rates) or model.Convergence()
    for blocker in convergence.get("blockingIssues") or page.blockers or []:
        agent, words_ = author(state, str(blocker))
        state.blockers.append(Blocker(agent=agent, text=words_, tour=0))
    state.options = [Option(letter=letter, text=said) for letter, said in page.options.items()]
    state.rounds = [one for row in block.get("rounds") or [] if (one := _made(model.Round, row))]
    if not state.rounds or state.rounds[-1].tour != state.tour:
        blind = state.config.blind and state.phase == model.COLLECT
        begun = {"tour": state.tour, "phase": state.phase, "startedAt": state.updated_at}
        begun |= {"order": list(state.participants), "blind": blind}
        begun["mark"] = ids.digest(f"{state.conversation_id}:{state.tour}")[:8]
        state.rounds.append(model.Round.from_json(begun))
    return state


_BLOCK_KEYS = {"id": "conversationId", "phase": "currentPhase", "created": "createdAt"}
_BLOCK_KEYS |= {"updated": "updatedAt", "timeout": "timeoutAt"}
_COPIED = ["conversationId", "name", "lang", "createdAt", "updatedAt", "status", "pausedAt"]
_COPIED += ["stop", "endedAt", "closedReason", "signed"]
_DEBATED = (model.DELIBERATE, model.VOTE)
_RATES = ("responseRate", "hasConsensus")


def _made(kind: Any, data: Any) -> Any:
    """Return a record, None where the data does not fit it."""
    try:
        return kind.from_json(data)
    except (Refusal, TypeError, ValueError):
        return None


def _add_entry(state: State, piece: Piece, row: Event) -> None:
    """Add what a region says to a state; a text without a mark may be only a draft."""
    tour, _, agent = piece.name.partition("-")
    agent = str(row.get("agent") or (piece.who if agent.startswith("say-") else agent))
    text, marked = plain_text(piece.text()), digest(piece.text()) == piece.digest
    one = state.participants.get(agent)
    now = tour == str(state.tour)
    if not piece.digest and now and one and one.status == WAITING:
        state.drafts[agent] = text
        return
    twice = any(e.id == piece.name and same(e.text, text) for e in state.entries)
    if not tour.isdecimal() or not text or twice:
        return
    section, _, rest = piece.section.partition(" ")
    phase = {"round": model.DELIBERATE, "vote": model.VOTE}.get(section, rest or state.phase)
    kind = "guidance" if "-say-" in piece.name else kind_of(phase)
    origin = row.get("origin", "claimed")
    choice = str(row.get("choice", ""))
    position = next((one.text for one in state.options if one.letter == choice), "")
    rows = row.get("stances") if isinstance(row.get("stances"), dict) else {}
    stances = {peer: {"word": word} for peer, word in (rows or {}).items() if word in model.STANCES}
    heard: Event = {"position": position, "choice": choice, "stances": stances}
    heard["confidence"] = row.get("confidence")
    usual = {"id": piece.name, "agent": agent, "tour": int(tour), "text": text}
    usual |= {"kind": kind, "phase": phase, "at": state.updated_at, "status": RESPONDED}
    data = {**usual, **row, "text": text}
    data["origin"] = "claimed" if origin == "verified" and not marked else origin
    data = {key: data[key] for key in data if key in Entry._names}
    entry = _made(Entry, {**data, "heard": heard}) or _made(Entry, {**usual, "text": text})
    state.entries.append(entry)
    if now and one and one.status == WAITING and kind != "guidance" and not row:
        one.status, one.origin = RESPONDED, data["origin"]


def plain_text(seen: str, level: int = 4) -> str:
    """Return a text without the backslashes that the page put there, if it is shown the same."""
    text = unescaped(seen)
    bare = re.sub(r"\\(<|!\[|\[(?=[^\]]*\]:))", r"\1", text)
    return bare if shown(bare, level) == seen else text


def label_parts(label: str) -> tuple[str, str]:
    """Return the emoji and the name of a participant's label."""
    emoji, _, name = label.partition(" ") if not label[:1].isalnum() else ("", "", label)
    return emoji, name.strip()


def author(state: State, words_: str) -> tuple[str, str]:
    """Return who raised a blocker, by its name or id, and the blocker."""
    name, colon, text = words_.partition(":")
    for ident, one in state.participants.items():
        if colon and name.strip() in (ident, one.name):
            return ident, text.strip()
    return "", words_.strip()


def instant(text: str) -> str | None:
    """Return a deadline as text in UTC, None where it names none, or no zone."""
    found = text.strip().upper().replace("/", "-").replace(" UTC", "Z")
    zoned = found.endswith("Z") or re.search(r":\d\d[+-]\d", found)
    try:
        return times.text(times.instant(found)) if zoned else None
    except Refusal:
        return None
