"""A conversation file: text to values and back.

The state block is the machine's truth; the readable lines are rendered from
it; everything between the items of the file is free text of people and stays
where it is, byte for byte. `parse` takes any text and reports what it finds,
`load` is strict, `render` writes. Taking in what a person changed is decided
in `edits`.

What is known of a file's structure before its lines are read comes from the
state block, which may hold anything as people edit it, and from the
conversation whose file it is or was.

Source: C0-002 to C0-018, XC-010, XC-012, XC-013, C0-019, `store.md` section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from council.core.conversations.conversation import Conversation, Entry, ParticipantStatus
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.records import from_record, to_record
from council.core.errors import InvalidStateError, NewerVersionError
from council.core.record import Any, Record
from council.store.statefile.anchors import Chosen, Known, choose, own_regions, pieces
from council.store.statefile.layout import (
    SIDE_SECTIONS,
    agent_headings,
    claims_its_section,
    default_gap,
    fits,
    has_hints,
    items,
    section_of,
    sections_of,
    titles_of,
    told_apart,
)
from council.store.statefile.marks import (
    NOTE,
    NOTHING,
    Marks,
    Region,
    folded,
    label_line,
    language_of,
    line_of,
    plain,
    read_block,
    scan,
    split_title,
    woven,
)


def known_of(record: dict[str, Any] | None, like: Conversation | None) -> Known:
    """Return what a state block, and a conversation it resembles, say of the file."""
    known = Known()
    if like is not None:
        known.sections = sections_of(like)
        known.judged = has_hints(PROCEDURES[like.procedure], like.order)
        known.brief_digest = like.brief_digest
        known.ledger = {one.id: (one.digest, one.nonce) for one in like.entries}
        known.asides = {
            SIDE_SECTIONS[one.kind] for one in like.entries if one.kind in SIDE_SECTIONS
        }
        for agent, heading in agent_headings(like).items():
            known.labels.setdefault(heading, agent)
        _add_titles(known, like.titles)
    if record is not None:
        _add_record(known, record)
    for agents in list((known.sections or {}).values()):
        for agent in agents:
            known.labels.setdefault(agent, agent)
    for label, agent in list(known.labels.items()):
        known.labels.setdefault(folded(label), agent)
    return known


def _add_record(known: Known, record: dict[str, Any]) -> None:
    """Add what the block says; it may hold anything, as a person may have edited it."""
    people = {agent: table_of(one) for agent, one in table_of(record.get("participants")).items()}
    names = {agent: _text(one.get("name")) for agent, one in people.items()}
    labels = {
        agent: label_line(_text(one.get("emoji")), names[agent], agent)
        for agent, one in people.items()
    }
    known.labels |= {heading: agent for agent, heading in told_apart(labels).items()}
    for agent, name in names.items():
        known.labels.setdefault(line_of(name) or agent, agent)
        known.labels.setdefault(agent, agent)
    known.brief_digest = known.brief_digest or _text(record.get("briefDigest"))
    judged = has_hints(PROCEDURES.get(_text(record.get("procedure"))), record.get("order"))
    known.judged = judged or (known.sections is not None and known.judged)
    _add_sections(known, record, list(people))
    _add_titles(known, table_of(record.get("titles")))


def _add_titles(known: Known, titles: dict[str, Any]) -> None:
    kept = titles_of({key: one for key, one in titles.items() if isinstance(one, str)})
    known.bare_title = kept.get("title") == ""
    known.titles = {text: key for key, text in kept.items() if text}


def _add_sections(known: Known, record: dict[str, Any], people: list[str]) -> None:
    if "ledger" not in record and "rounds" not in record:
        return
    ledger = [table_of(one) for one in _list(record.get("ledger"))]
    aside = {str(kind): key for kind, key in SIDE_SECTIONS.items()}
    known.asides = known.asides | {
        aside[one["kind"]] for one in ledger if _text(one.get("kind")) in aside
    }
    known.ledger = (known.ledger or {}) | {
        _text(one.get("id")): (_text(one.get("digest")), _text(one.get("nonce"))) for one in ledger
    }
    procedure = _text(record.get("procedure"))

    def section(one: Any) -> str:
        tour = table_of(one).get("tour")
        phase = _text(table_of(one).get("phase"))
        return section_of(procedure, phase, tour if isinstance(tour, int) else 1)

    told = [
        (section(one), _text(one.get("agent")))
        for one in ledger
        if _text(one.get("kind")) not in aside
    ]
    reached = [section(one) for one in _list(record.get("rounds"))]
    here = section({"phase": record.get("currentPhase"), "tour": record.get("tour")})
    writer = _text(record.get("synthesizer")) or _text(record.get("coordinator"))
    sections = known.sections or {}
    # Once for each section: there may be thousands of entries in a few of them.
    for name in dict.fromkeys([*reached, *(name for name, _ in told), here]):
        agents = [*sections.get(name, ()), *people]
        agents += [writer] if name == SYNTHESIZE and writer else []
        sections[name] = agents
    for name, agent in told:
        sections[name].append(agent)
    known.sections = {
        name: list(dict.fromkeys(agents)) for name, agents in sections.items() if name
    }


def table_of(value: object) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def status_of(written: str) -> str:
    """Return the status that a person wrote, `RÉPONDU` and `D'ACCORD` included; else the word."""
    word = written.upper()
    if not word or word in tuple(ParticipantStatus):
        return word
    from council.core.reading_answers.contribution_lines import status_word  # it reads prose

    return status_word(written).upper() or word


class Page(Record):
    """What was found in a conversation file.

    `order` holds the keys of the items as they stand; `gaps` maps a key to
    the raw text after that item where it is not the usual blank. `lines` maps
    keys to the values of readable lines; `names` and `emoji` are what the
    participant lines say. `sections` maps `SECTION:agent` to the unmarked text
    in that agent's subsection. `raw` holds the one-line items as they stand,
    `renamed` headings of agents that are unknown; `blocks` are state blocks
    that are not used.
    `complete` says that state block and end mark are there.
    """

    topic: str = ""
    brief: str | None = None
    record: dict[str, Any] | None = None
    texts: dict[str, str] = {}
    order: list[str] = []
    gaps: dict[str, str] = {}
    lines: dict[str, str] = {}
    names: dict[str, str] = {}
    emoji: dict[str, str] = {}
    sections: dict[str, str] = {}
    titles: dict[str, str] = {}
    raw: dict[str, str] = {}
    renamed: dict[str, str] = {}
    lang: str = ""
    blocks: list[str] = []
    faults: list[str] = []
    complete: bool = False


def parse(text: str, like: Conversation | None = None, *, trust_block: bool = True) -> Page:
    """Read any text as a conversation file; what is wrong with it stands in `faults`.

    Args:
        text: The file.
        like: A conversation whose file this is or was, for what the file does
            not say any more itself (a broken state block, renamed agents).
        trust_block: Whether a state block counts; without it none does.
    """
    text = plain(text)
    marks = scan(text)
    page = Page()
    block = _take_block(text, marks, page, trust_block)
    known = known_of(page.record, like)
    own = own_regions(marks.regions, block, known)
    chosen = choose(text, pieces(text, marks.regions, own, known), known)
    _take_items(page, chosen, own, known.bare_title)
    page.raw = {one.key: text[one.start : one.end] for one in chosen.items if one.kind != "region"}
    take_gaps(page, text, [(one.start, one.end) for one in chosen.items], default_gap)
    _take_sections(page)
    _take_faults(page, text, marks, own)
    return page


def outline(text: str) -> Page:
    """Read no more of a file than its state block, and whether it is complete."""
    text, page = plain(text), Page()
    marks = scan(text)
    block = _take_block(text, marks, page, True)
    page.complete = block is not None and any(one.kind == "eof" for one in marks.regions)
    return page


def _take_block(text: str, marks: Marks, page: Page, trusted: bool) -> Region | None:
    """Take the last state block that is a JSON object; the others are free text."""
    found = None
    for region in reversed([one for one in marks.regions if one.kind == "state"]):
        usable = trusted and found is None and bool(region.body)
        record = read_block(region.body) if usable else None
        if record is not None:
            found, page.record = region, record
        else:
            page.blocks.append(text[region.start : region.end])
    page.blocks.reverse()
    return found


def _take_items(page: Page, chosen: Chosen, own: dict[str, Region], bare_title: bool) -> None:
    page.titles = chosen.titles
    for piece in chosen.items:
        page.order.append(piece.key)
        if piece.kind == "line" and piece.key.startswith("p:"):
            page.lines[piece.key] = piece.text
            page.emoji[piece.key[2:]], page.names[piece.key[2:]] = split_label(piece.agent)
        elif piece.kind == "line":
            is_none = piece.key == "conv:blockers" and folded(piece.text) in NOTHING
            page.lines[piece.key] = "" if is_none else piece.text
        elif piece.kind == "h1":
            said = None if bare_title else split_title(piece.text)
            page.topic = piece.text if said is None else said[1]
            page.titles |= {"title": ""} if said is None else {}
        if piece.kind in ("h1", "h2") and not page.lang:
            page.lang = language_of(piece.text)
    page.renamed = chosen.renamed
    page.texts = {region.id: region.body for region in own.values() if region.kind == "entry"}
    page.brief = own["brief"].body if "brief" in own else None
    page.complete = "state" in own and "eof" in own


def split_label(label: str) -> tuple[str, str]:
    """Return (emoji, name) of a label such as `🦉 Henry`; a first word with letters is the name."""
    first, _, rest = label.partition(" ")
    if any(sign.isalnum() for sign in first):
        return "", label
    return first, rest.strip()


def take_gaps(
    page: Page, text: str, spans: list[tuple[int, int]], usual: Callable[[str, str], str]
) -> None:
    """Keep the text after each item, unless it is what stands there anyway, as `usual` says."""
    keys = ["", *page.order, ""]
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    for at, key in enumerate(keys[:-1]):
        gap = text[starts[at] : ends[at]]
        if not spans or gap != usual(key, keys[at + 1]):
            page.gaps[key] = gap


def placed(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each key with the `SECTION:agent` in whose subsection it stands, "" for none."""
    place = ""
    for key in keys:
        if not key.startswith(("e:", "s:")):
            place = key[2:] if key.startswith("a:") else ""
        yield key, place


def _take_sections(page: Page) -> None:
    for key, section in placed(page.order):
        said = free_text(page.gaps.get(key, ""))
        if section and said and NOTE not in said:
            before = page.sections.get(section)
            page.sections[section] = f"{before}\n\n{said}" if before else said


def free_text(gap: str) -> str:
    """Return what others wrote in a gap, without the blank lines around it."""
    said = gap.rstrip()
    if not said:
        return ""
    lead = len(said) - len(said.lstrip())
    return said[said.rfind("\n", 0, lead) + 1 :]


def _take_faults(page: Page, text: str, marks: Marks, own: dict[str, Region]) -> None:
    def where(start: int) -> str:
        return f"line {text.count(chr(10), 0, start) + 1}"

    if page.record is None:
        page.faults.append("there is no state block that is a JSON object")
    if "eof" not in own:
        page.faults.append("the end mark is missing: the file may be cut")
    used = {region.start for region in own.values()}
    unused = [one for one in marks.regions if one.start not in used and one.kind != "eof"]
    for region in unused[:_FAULTS_MAX]:
        what = "state block" if region.kind == "state" else f"marked text {region.id}".strip()
        page.faults.append(f"{where(region.start)}: a {what} that is not ours")
    for start, line in marks.strays[:_FAULTS_MAX]:
        page.faults.append(f"{where(start)}: a mark without its counterpart: {line[:60]}")


_FAULTS_MAX = 20


def load(text: str, where: str) -> tuple[Conversation, Page]:
    """Read a conversation file strictly: every text must be the one the ledger speaks of.

    Args:
        text: The file.
        where: Its name, for the message.

    Raises:
        NewerVersionError: A newer council wrote it.
        InvalidStateError: It has no state block, a field in it is wrong, or a
            text is missing or altered.
    """
    page = parse(text)
    if page.record is None:
        raise InvalidStateError(
            f"{where}: {page.faults[0]}", "repair it, or see: council doctor --repair"
        )
    try:
        state = from_record(page.record, topic=page.topic, brief=brief_of(page), texts=page.texts)
    except NewerVersionError:
        raise
    except InvalidStateError as error:
        raise InvalidStateError(f"{where}: {error.message}", error.hint) from None
    if "lang" not in page.record and page.lang:
        state.lang = page.lang
    for entry in state.entries:
        if entry.id not in page.texts:
            raise _broken(where, entry, "is missing")
        if not fits(entry.text, entry.digest, entry.nonce):
            raise _broken(where, entry, "was altered")
    return state, page


def _broken(where: str, entry: Entry, what: str) -> InvalidStateError:
    return InvalidStateError(
        f"{where}: the text of {entry.id} {what}", "put it back, or see: council check"
    )


def brief_of(page: Page) -> str:
    """Return the brief: the marked one, or the lines of its section in a file without marks."""
    return page.brief if page.brief is not None else free_text(page.gaps.get("h:brief", ""))


def render(state: Conversation, page: Page | None = None) -> str:
    """Write a conversation as its file, with the free text of `page` where it stood."""
    found = items(state)
    keys = [key for key, _ in found]
    gaps = settled_gaps(page, keys) if page is not None else {}
    _mark_notes(state, keys, gaps)
    return woven(found, gaps, default_gap)


def written(state: Conversation) -> tuple[object, ...]:
    """Return all that a file says of a conversation."""
    return to_record(state), state.topic, state.brief, [one.text for one in state.entries]


def lines_of(state: Conversation) -> dict[str, str]:
    """Return the values of the readable lines in a conversation's file, by their keys."""
    bare = "\n\n".join(text for _, text in items(state, bare=True) if text)
    return parse(bare, like=state).lines


def settled_gaps(page: Page, keys: list[str]) -> dict[str, str]:
    """Return the gaps for these items: text after one that is gone goes to the one before it."""
    present, gaps = {"", *keys}, dict(page.gaps)
    place_of, before = {}, ""
    for key in page.order:
        before = place_of[key] = key if key in present else before
    for key in dict.fromkeys([*page.order, *gaps]):
        said = "" if key in present else free_text(gaps.pop(key, ""))
        if said:
            place = place_of.get(key, "eof")
            gaps[place] = joined(gaps.get(place, ""), said)
    return gaps


def joined(gap: str, said: str) -> str:
    """Return a gap with one more text at its end, set apart by blank lines."""
    there = gap.rstrip()
    return f"{there}\n\n{said}\n\n" if there else f"\n\n{said}\n\n"


def _mark_notes(state: Conversation, keys: list[str], gaps: dict[str, str]) -> None:
    """Mark free text in a section that can no longer become a contribution. Changes `gaps`."""
    for key, place in placed(keys):
        section, _, agent = place.partition(":")
        gap = gaps.get(key, "") if agent else ""
        said = free_text(gap)
        if said and NOTE not in gap and not claims_its_section(state, agent, section):
            gaps[key] = f"\n\n{NOTE}\n{said}\n\n"
