"""The managed items of a conversation file: which there are, in what order, how each reads.

An item is a piece of the file that follows from the state: a heading, a line,
a text between marks, the state block. It has a key that is unique in the file
and no line end after it; everything between two items is a person's free
text. Reading and writing both ask this module, so they cannot disagree.

A phase of one round has one section, named like the phase. Of a phase of
several rounds each round has its own, named `PHASE/ROUND`, so that people read
it in the order in which it was said and an agent finds where to write. In it
those who spoke stand in the order in which they did, then those to come.

A line under an agent's name may say how it stands in a round: that its answer is
sealed, that it has the floor, that it is asked once more and why, that it did not
answer. Such a line is ours: it comes and goes with the
state and is never part of a contribution.

Source: C0-003, C0-004, C0-009, C0-011 to C0-014, C0-048, DL-002, DL-013, DL-015, DL-021,
DL-053, DL-081.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from council.core.conversations.answers import sealed_digest
from council.core.conversations.conversation import (
    Conversation,
    Entry,
    EntryKind,
    Participant,
    Status,
)
from council.core.conversations.due import (
    awaited,
    current_phase,
    due_agents,
    is_asked_again,
    last_word,
    next_phase,
    passed_over,
    takes_turns,
)
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE, Procedure
from council.core.conversations.records import to_record
from council.core.ids import text_digest
from council.core.reading import by_language
from council.core.times import render_instant
from council.store.statefile.marks import (
    EOF,
    block_text,
    brief_text,
    entry_text,
    label_line,
    line_of,
    section_key,
    words_of,
)

_LISTS = ("meta:", "p:", "conv:", "next:")
SIDE_SECTIONS = {EntryKind.LATE: "h:late", EntryKind.INJECTION: "h:guidance"}
_IN_ROUNDS = frozenset(
    (procedure.name, phase.name)
    for procedure in PROCEDURES.values()
    for phase in procedure.phases
    if phase.max_rounds > 1
)


def section_of(procedure: str, phase: str, tour: int) -> str:
    """Return the name of the section in which round `tour` of a phase stands."""
    return f"{phase}/{tour}" if (procedure, phase) in _IN_ROUNDS else phase


def phase_of(section: str) -> str:
    """Return the phase that a section belongs to."""
    return section.partition("/")[0]


def tour_of(section: str) -> int:
    """Return the round that has this section for its own, 0 for the section of a whole phase."""
    number = section.partition("/")[2]
    return int(number) if number else 0


def current_section(state: Conversation) -> str:
    """Return the section of the round under way."""
    return section_of(state.procedure, state.phase, state.tour)


def sections_of(state: Conversation) -> dict[str, list[str]]:
    """Return every section, in order, with the agents that have a subsection there, in order.

    Those are the rounds reached and those that hold an entry; in each the
    participants, the one who writes the synthesis, and all authors.
    """
    authors: dict[str, list[str]] = {}
    for one in state.rounds:
        authors.setdefault(section_of(state.procedure, one.phase, one.tour), [])
    for entry in state.entries:
        if entry.kind not in SIDE_SECTIONS:
            section = section_of(state.procedure, entry.phase, entry.tour)
            authors.setdefault(section, []).append(entry.agent)
    here = current_section(state)
    authors.setdefault(here, [])
    people = list(state.participants)
    found = {}
    for section, spoke in authors.items():
        if section == SYNTHESIZE and (state.synthesizer or state.coordinator):
            agents = [*people, state.synthesizer or state.coordinator, *spoke]
        elif not tour_of(section):
            agents = [*people, *spoke]
        elif section == here and takes_turns(state):
            agents = [*spoke, *awaited(state), *people]
        else:
            agents = [*spoke, *people]
        if section:
            found[section] = list(dict.fromkeys(agents))
    return found


def claims_its_section(state: Conversation, agent: str, section: str) -> bool:
    """Return true if free text in an agent's section may still become its contribution."""
    if section != current_section(state) or state.finished_at is not None:
        return False
    known = state.participants.get(agent)
    if known is not None and known.sealed:
        return False
    if section == SYNTHESIZE:
        return not any(one.kind is EntryKind.SYNTHESIS for one in state.entries)
    return state.entry_of(agent, state.tour) is None


def takes_text(state: Conversation, agent: str, section: str) -> bool:
    """Return true if text that is added to an agent's section now may be its contribution.

    Besides a first answer that is one it was asked for once more.
    """
    if claims_its_section(state, agent, section):
        return True
    open_yet = section == current_section(state) and state.finished_at is None
    return open_yet and is_asked_again(state, agent)


_HINTS = by_language("""
sealed || *(sealed until the phase closes)* || *(scellée jusqu'à la fin de la phase)*
sealed_round || *(sealed until the round closes)* || *(scellée jusqu'à la fin du tour)*
sealed_again || *(sealed, and asked once more: write the whole answer anew below)*
    || *(scellée, et redemandée : récrire toute la réponse ci-dessous)*
again || *(asked once more{what}: write the whole answer anew below)*
    || *(redemandée{what} : récrire toute la réponse ci-dessous)*
write || *(to answer: write below, then set the status above to RESPONDED)*
    || *(pour répondre : écrire ci-dessous, puis mettre le statut à RÉPONDU)*
floor || *(has the floor: write below, then set the status)*
    || *(a la parole : écrire ci-dessous, puis changer le status)*
later || *(speaks later in this round)* || *(parle plus tard dans ce tour)*
passed || *(was passed over: {why}; may answer until the round closes)*
    || *(son tour est passé : {why} ; peut répondre jusqu'à la fin du tour)*
silent || *(no answer: {why})* || *(pas de réponse : {why})*
""")
_OPENS, _CLOSES = "*(", ")*"
_PLAIN = frozenset(words[key] for words in _HINTS.values() for key in ("sealed", "write"))
_WHOLE = frozenset(one for words in _HINTS.values() for one in words.values() if "{" not in one)
_STARTS = tuple(
    one[: one.index("{")] for words in _HINTS.values() for one in words.values() if "{" in one
)


def is_hint(line: str, judged: bool) -> bool:
    """Return true if a line is one of ours; only a `judged` conversation has them all."""
    said = line.strip()
    if not judged or said in _PLAIN:
        return said in _PLAIN
    closed = said.startswith(_OPENS) and said.endswith(_CLOSES)
    return closed and (said in _WHOLE or said.startswith(_STARTS))


def has_hints(procedure: Procedure | None, order: object) -> bool:
    """Return true if a file may say more of an agent than that its answer is sealed."""
    return bool(order) or (procedure is not None and procedure.verdict == "stances")


def hints_of(state: Conversation) -> dict[tuple[str, str], str]:
    """Return the lines that stand in a file, by section and agent."""
    words = _HINTS.get(state.lang, _HINTS["en"])
    here = current_section(state)
    procedure = PROCEDURES[state.procedure]
    is_judged = has_hints(procedure, state.order)
    found = {}
    for one in state.participants.values():
        if one.sealed:
            kind = "sealed_round" if tour_of(here) else "sealed"
            kind = "sealed_again" if is_judged and one.again == state.tour else kind
            found[here, one.id] = words[kind]
    if not is_judged:
        is_open = state.finished_at is None and not takes_turns(state)
        return found | {(here, one): words["write"] for one in due_agents(state) if is_open}
    known = {phase.name for phase in procedure.phases if phase.form != "text"}
    for over in state.rounds:
        if over.ended_at is not None and over.phase in known:
            section = section_of(state.procedure, over.phase, over.tour)
            for agent, why in over.absent.items():
                found[section, agent] = words["silent"].format(why=why.cause)
    if state.finished_at is None:
        found |= _under_way(state, words, found)
    return found


def _under_way(
    state: Conversation, words: dict[str, str], sealed: dict[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    here = current_section(state)
    found = {}
    for one in state.participants.values():
        if one.again == state.tour and (here, one.id) not in sealed:
            found[here, one.id] = words["again"].format(what=_lacking(state, one))
    if takes_turns(state):
        out = passed_over(state)
        kinds = dict.fromkeys(awaited(state), "later") | dict.fromkeys(out, "passed")
        kinds |= dict.fromkeys(due_agents(state), "floor")
        for agent, kind in kinds.items():
            if (here, agent) not in found:
                found[here, agent] = words[kind].format(
                    why=out[agent].cause if agent in out else ""
                )
    return found


def _lacking(state: Conversation, one: Participant) -> str:
    """Return what the answer of one that is asked once more lacks, as an insertion."""
    from council.core.deliberation.deliberation import faults_of  # only where a form is asked for
    from council.core.deliberation.fault_words import fault_in_words

    entry = state.entry_of(one.id, state.tour)
    faults = [] if entry is None else faults_of(state, one.id, entry.text)
    said = [
        fault_in_words(fault.code, state.lang, agent=fault.agent, found=line_of(fault.found))
        for fault in faults
    ]
    return f" ({'; '.join(said)})" if said else ""


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
    """Return the renamed headings that can be distinguished; an empty title is the bare topic."""
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
    entry that stands there for itself: `block_text` and `entry_item` know them.
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
                is_draft = one.kind is EntryKind.DRAFT
                said_by = words["draft"].format(who=heading, tour=one.tour) if is_draft else ""
                is_left_out = bare and not is_draft
                found.append((f"e:{one.id}", "" if is_left_out else entry_item(one, said_by)))
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
    return [*found, ("state", "" if bare else block_text(to_record(state))), ("eof", EOF)]


def _heading(state: Conversation, key: str) -> tuple[str, str]:
    return key, f"## {heading_of(key, titles_of(state.titles), state.lang)}"


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
    """Return who has the floor and until when, "" where none has."""
    who = due_agents(state) if takes_turns(state) else ()
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
    who = ", ".join(label_of(state, agent) for agent in due_agents(state))
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
    """Return what stands between two items when nothing was written there."""
    if not key or not following:
        return "" if following else "\n"
    kind, after = key.partition(":")[0], following.partition(":")[0]
    if kind == after and kind + ":" in _LISTS:
        return "\n"
    if kind in ("h", "a") and after not in ("h", "state"):
        return "\n\n" if kind == "a" and after == "a" else "\n"
    return "\n" if kind == "state" and after == "eof" else "\n\n"


def fits(text: str, digest: str, nonce: str) -> bool:
    """Return true if a text is the one an entry of the ledger speaks of."""
    try:
        return (sealed_digest(nonce, text) if nonce else text_digest(text)) == digest
    except UnicodeEncodeError:
        return False
