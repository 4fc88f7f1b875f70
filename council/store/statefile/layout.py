"""The managed items of a conversation file: which there are, in what order, how each reads.

An item is a piece of the file that follows from the state: a heading, a line,
a text between marks, the state block. It has a key that is unique in the file
and no line end after it; everything between two items is somebody's free
text. Reading and writing both ask this module, so they cannot disagree.

What is known of a file's structure before its lines are read comes from the
state block, which may hold anything as people edit it, and from the
conversation whose file it is or was.

Source: C0-003, C0-004, C0-009, C0-011 to C0-014, C0-019, XC-012.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from council.core.conversations.answers import sealed_digest
from council.core.conversations.conversation import (
    Conversation,
    Entry,
    EntryKind,
    ParticipantStatus,
    Status,
)
from council.core.conversations.owed import (
    awaited,
    current_phase,
    last_word,
    next_phase,
    owing,
    takes_turns,
)
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.records import to_record
from council.core.ids import text_digest
from council.core.record import Record
from council.core.times import render_instant
from council.store.statefile.marks import EOF, block_of, brief_text, entry_text
from council.store.statefile.sections import (
    SIDE_SECTIONS,
    folded,
    has_hints,
    hints_of,
    label_line,
    line_of,
    phase_of,
    section_key,
    section_of,
    sections_of,
    tour_of,
    words_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LISTS = ("meta:", "p:", "conv:", "next:")


def label_of(state: Conversation, agent: str) -> str:
    """Return emoji and display name of an agent in one line; the id for one who has none."""
    known = state.participants.get(agent)
    emoji, name = (known.emoji, known.name) if known is not None else ("", "")
    return label_line(emoji, name, agent)


def agent_headings(state: Conversation) -> dict[str, str]:
    """Return the heading of each participant."""
    return told_apart({agent: label_of(state, agent) for agent in state.participants})


def told_apart(labels: dict[str, str]) -> dict[str, str]:
    """Return the labels of agents as headings: with the id where two would be alike."""
    counts = Counter(labels.values())
    return {
        agent: f"{label} ({agent})" if counts[label] > 1 else label
        for agent, label in labels.items()
    }


def titles_of(titles: dict[str, str]) -> dict[str, str]:
    """Return the renamed headings that can be told apart; an empty title is the bare topic."""
    kept: dict[str, str] = {}
    for key, title in titles.items():
        text = line_of(title)
        if key == "title":
            usable = not text
        else:
            usable = bool(text) and section_key(text) in ("", key) and text not in kept.values()
        if usable:
            kept[key] = text
    return kept


def heading_of(key: str, titles: dict[str, str], lang: str) -> str:
    """Return the text of a section's heading; `titles` come from `titles_of`."""
    words = words_of(lang)
    if key in titles:
        return titles[key]
    if not key.startswith("h:phase:"):
        return words[key]
    section = key[8:]
    number = f", {words['round']} {tour_of(section)}" if tour_of(section) else ""
    return f"{words['h:phase']} {phase_of(section)}{number}"


def items(state: Conversation, *, bare: bool = False) -> list[tuple[str, str]]:
    """Return (key, text) of every item of the file, in order.

    Where it is `bare`, the text of the state block is "", and that of each
    entry that stands there for itself: `state_block` and `entry_item` know them.
    """
    return [*_before(state), *_said(state, bare), *_after(state, bare)]


def _before(state: Conversation) -> list[tuple[str, str]]:
    """Return the items that stand before what is said."""
    words = words_of(state.lang)
    before = "" if "title" in titles_of(state.titles) else f"{words['title']}: "
    title = f"# {before}{line_of(state.topic)}"
    found = [("title", title.rstrip()), _heading(state, "h:metadata")]
    found += _lines(words, _metadata(state, words))
    found += [_heading(state, "h:brief"), ("brief", brief_text(state.brief))]
    found.append(_heading(state, "h:participants"))
    found += [
        (f"p:{one.id}", f"- {label_of(state, one.id)} (agent:{one.id}): {one.status}")
        for one in state.participants.values()
    ]
    return found


def _said(state: Conversation, bare: bool) -> list[tuple[str, str]]:
    """Return the items of the sections with what is said."""
    labels, told, hints = agent_headings(state), _told(state), hints_of(state)
    words = words_of(state.lang)
    found = []
    for name, agents in sections_of(state).items():
        found.append(_heading(state, f"h:phase:{name}"))
        for agent in agents:
            heading = labels.get(agent) or line_of(agent)
            found.append((f"a:{name}:{agent}", f"### {heading}"))
            for one in told.get((name, agent), ()):
                plain = bare and one.kind is not EntryKind.DRAFT
                found.append((f"e:{one.id}", "" if plain else _told_there(one, heading, words)))
            if (name, agent) in hints:
                found.append((f"s:{name}:{agent}", hints[name, agent]))
    return found


def _after(state: Conversation, bare: bool) -> list[tuple[str, str]]:
    """Return the items that stand after what is said, the state block among them."""
    words = words_of(state.lang)
    found = []
    for kind, key in SIDE_SECTIONS.items():
        aside = [one for one in state.entries if one.kind is kind]
        if aside:
            found += [_heading(state, key), *(_aside(state, one, words) for one in aside)]
    found += [_heading(state, "h:convergence"), *_lines(words, _convergence(state, words))]
    found += [_heading(state, "h:next"), *_lines(words, _next(state, words))]
    return [*found, ("state", "" if bare else state_block(state).decode()), ("eof", EOF)]


def _heading(state: Conversation, key: str) -> tuple[str, str]:
    return key, f"## {heading_of(key, titles_of(state.titles), state.lang)}"


def state_block(state: Conversation) -> bytes:
    """Return the state block as it is written."""
    return block_of(to_record(state))


def _lines(words: dict[str, str], values: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (key, f"- {words[key]}:{'' if value[:1] == chr(10) else ' '}{value}".rstrip())
        for key, value in values.items()
    ]


def _metadata(state: Conversation, words: dict[str, str]) -> dict[str, str]:
    speaker = _speaker(state, words)
    return {
        "meta:id": state.conversation_id,
        "meta:mode": state.mode,
        "meta:phase": state.phase,
        "meta:tour": str(state.tour),
        "meta:created": render_instant(state.created_at),
        "meta:updated": render_instant(state.updated_at),
        "meta:timeout": render_instant(state.timeout_at),
        "meta:status": str(state.status),
        **({"meta:speaker": speaker} if speaker else {}),
    }


def _speaker(state: Conversation, words: dict[str, str]) -> str:
    """Return who has the floor and until when, "" where nobody has."""
    who = owing(state) if takes_turns(state) else ()
    if not who:
        return ""
    label = line_of(label_of(state, who[0]))
    if state.paused_at is not None or not state.rounds or state.rounds[-1].speaker != who[0]:
        return label
    return words["until"].format(who=label, end=render_instant(state.timeout_at))


def _told(state: Conversation) -> dict[tuple[str, str], list[Entry]]:
    told: dict[tuple[str, str], list[Entry]] = {}
    for one in state.entries:
        if one.kind not in SIDE_SECTIONS:
            section = section_of(state.procedure, one.phase, one.tour)
            told.setdefault((section, one.agent), []).append(one)
    return told


def entry_item(entry: Entry, said_by: str = "") -> str:
    """Return an entry between its marks; `said_by` is a line for readers before it."""
    return entry_text(entry.id, entry.tour, entry.digest, entry.text, said_by)


def _told_there(entry: Entry, who: str, words: dict[str, str]) -> str:
    """Return what is said in a subsection; a draft stands before the answer that replaced it."""
    if entry.kind is not EntryKind.DRAFT:
        return entry_item(entry)
    return entry_item(entry, words["draft"].format(who=who, tour=entry.tour))


def _aside(state: Conversation, entry: Entry, words: dict[str, str]) -> tuple[str, str]:
    said_by = words[str(entry.kind) if entry.kind is EntryKind.LATE else "guidance"].format(
        who=label_of(state, entry.agent),
        phase=entry.phase,
        tour=entry.tour,
        target=label_of(state, entry.target) if entry.target else words["everybody"],
    )
    return f"e:{entry.id}", entry_item(entry, line_of(said_by))


def _convergence(state: Conversation, words: dict[str, str]) -> dict[str, str]:
    total = len(state.participants)
    blockers = [line_of(issue) for issue in state.blocking_issues]
    listed = "".join(f"\n  - {issue}" for issue in blockers if issue)
    return {
        "conv:rate": f"{round(state.response_rate * total)}/{total}",
        "conv:consensus": _consensus(state, words),
        "conv:blockers": listed or words["none"],
    }


def _consensus(state: Conversation, words: dict[str, str]) -> str:
    """Return what the statuses came to, or the stances of the last round that was judged."""
    if PROCEDURES[state.procedure].verdict != "stances":
        return words["yes" if state.has_consensus else "no"]
    verdict = next((one.verdict for one in reversed(state.rounds) if one.verdict), {})
    if not verdict:
        return words["unjudged"]
    type_, who = str(verdict.get("type")), str(verdict.get("reference") or "")
    counts = {key: verdict.get(key, 0) for key in ("agree", "partial", "disagree", "absent")}
    towards = verdict.get("towards")
    said = words["verdict"].format(
        type=words[type_] if type_ in ("strong", "soft") else words["none"],
        who=label_of(state, who) if who else words["nobody"],
        total=len(towards) if isinstance(towards, dict) else len(state.participants),
        threshold=verdict.get("threshold", 0),
        **counts,
    )
    return line_of(said)


def _next(state: Conversation, words: dict[str, str]) -> dict[str, str]:
    writes = current_phase(state).speakers == "synthesizer"
    who = ", ".join(label_of(state, agent) for agent in owing(state))
    if state.finished_at is not None:
        action = words["minutes"]
    elif state.paused_at is not None:
        action = words["paused"]
    elif writes:
        action = words["synthesis"].format(who=who or words["nobody"])
    elif current_phase(state).form != "text" or takes_turns(state):
        action = _next_turn(state, who, words)
    else:
        phase = next_phase(state) if state.status is Status.ACTIVE else SYNTHESIZE
        action = words["answers" if who else "advance"].format(who=who, phase=phase)
    in_turn = "when_spoken" if takes_turns(state) else "when"
    return {
        "next:condition": words["when_written" if writes else in_turn],
        "next:actions": line_of(action),
    }


def _next_turn(state: Conversation, who: str, words: dict[str, str]) -> str:
    """Return what is due where one speaks after the other, or where a form is asked for."""
    form = current_phase(state).form
    if state.status is not Status.ACTIVE:
        return words["ended"].format(phase=last_word(state))
    phase = next_phase(state)
    if who and takes_turns(state):
        others = ", ".join(label_of(state, agent) for agent in awaited(state)[1:])
        close = words["close"] if form == "turn" else phase
        return words["floor"].format(who=who, after=others or close)
    if form == "turn":
        return words["turns"].format(who=who) if who else words["judged"]
    kind = "votes" if form == "vote" else "answers"
    return words[kind if who else "advance"].format(who=who, phase=phase)


@lru_cache(4096)
def default_gap(key: str, following: str) -> str:
    """Return what stands between two items when nobody wrote anything there."""
    if not key or not following:
        return "" if following else "\n"
    kind, after = key.partition(":")[0], following.partition(":")[0]
    if kind == after and kind + ":" in _LISTS:
        return "\n"
    if kind in ("h", "a") and after not in ("h", "state"):
        return "\n\n" if kind == "a" and after == "a" else "\n"
    return "\n" if kind == "state" and after == "eof" else "\n\n"


_ASIDES = frozenset(SIDE_SECTIONS.values())


class Known(Record):
    """What is known of a file's structure before its lines are read.

    `sections` maps each section to the agents with a subsection there, None
    where the file does not say; `ledger` maps entry ids to (digest, nonce),
    None where there is none. `labels` maps headings to agents, `titles`
    renamed headings to keys, `asides` are the side sections it has. `judged`
    tells whether it may have the lines of a conversation with turns and stances.
    """

    sections: dict[str, list[str]] | None = None
    ledger: dict[str, tuple[str, str]] | None = None
    labels: dict[str, str] = {}
    titles: dict[str, str] = {}
    asides: set[str] = set()  # never changed in place
    bare_title: bool = False
    judged: bool = True
    brief_digest: str = ""

    def agent_of(self, heading: str) -> str:
        """Return the agent whose section a heading opens, "" for none."""
        found = self.labels.get(heading) or self.labels.get(folded(heading))
        if not found and heading.endswith(")") and "(agent:" in heading:
            found = heading[heading.rfind("(agent:") + 7 : -1]
        return found or ""

    def has(self, key: str) -> bool:
        """Tell whether a file like this one has the section."""
        if key.startswith("h:phase:"):
            return self.sections is None or key[8:] in self.sections
        if key in _ASIDES and self.sections is not None:
            return key in self.asides
        return True


def known_of(record: dict[str, Any] | None, like: Conversation | None) -> Known:
    """Return what a state block, and a conversation it resembles, tell of the file."""
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
    people = table_of(record.get("participants"))
    labels = {}
    for agent, value in people.items():
        name, emoji = _text(table_of(value).get("name")), _text(table_of(value).get("emoji"))
        labels[agent] = label_line(emoji, name, agent)
    for agent, heading in told_apart(labels).items():
        known.labels[heading] = agent
    for agent, value in people.items():
        known.labels.setdefault(line_of(_text(table_of(value).get("name"))) or agent, agent)
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


def fits(text: str, digest: str, nonce: str) -> bool:
    """Tell whether a text is the one an entry of the ledger speaks of."""
    try:
        return (sealed_digest(nonce, text) if nonce else text_digest(text)) == digest
    except UnicodeEncodeError:
        return False


def status_of(written: str) -> str:
    """Return the status that a person wrote, `RÉPONDU` and `D'ACCORD` included; else the word."""
    word = written.upper()
    if not word or word in tuple(ParticipantStatus):
        return word
    from council.core.reading_answers.contribution_lines import status_word  # it reads prose

    return status_word(written).upper() or word
