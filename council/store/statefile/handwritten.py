"""A conversation file that a person wrote by hand, in the form of the document.

It has no marks, its state block holds ten fields or is missing, and its
contributions stand as `[Tour N]: text` under headings. What it does not say
is derived from what it does say; nothing is drawn or read from a clock.

Source: HR-030, C0-015, XC-012, `store.md` section 5.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from council.core.conversations.conversation import (
    ANSWERED,
    Conversation,
    Entry,
    EntryKind,
    Participant,
    ParticipantStatus,
    Round,
    has_answered,
    measure,
)
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.records import from_record
from council.core.errors import InvalidStateError
from council.core.ids import text_digest
from council.core.reading_answers.cleaning import blockers_in
from council.core.record import Any
from council.core.times import render_instant
from council.store.statefile.layout import SIDE_SECTIONS, current_section, fits, phase_of, tour_of
from council.store.statefile.marks import without_prefix
from council.store.statefile.statefile import Page, brief_of, parse, placed, status_of

_TOUR_MAX_CHARS = 6
_FIELDS = {
    "conversationId": "meta:id",
    "mode": "meta:mode",
    "currentPhase": "meta:phase",
    "tour": "meta:tour",
    "createdAt": "meta:created",
    "updatedAt": "meta:updated",
    "timeoutAt": "meta:timeout",
    "status": "meta:status",
}


def import_page(text: str, name: str, now: datetime | None = None) -> tuple[Conversation, Page]:
    """Make a conversation of a file that has no journal.

    Texts under the headings of participants become entries of claimed origin
    and leave the free text. Unless the file says otherwise its answers are
    sealed where those of its procedure are: what lies open in it already stands
    in no prompt before the phase closes (HR-030). A file of ours is
    taken as it stands: an altered text counts as what its author claims.

    Args:
        text: The file.
        name: The name under which it lies.
        now: The time for what the file does not date; without it such a file is refused.

    Raises:
        NewerVersionError: A newer council wrote it.
        InvalidStateError: It holds no conversation.
    """
    page = parse(text)
    record = _record(page, now)
    ours = "ledger" in record
    record.setdefault("lang", page.lang)
    if ours:
        record["ledger"] = [
            one
            for one in record["ledger"]
            if not isinstance(one, dict) or one.get("id") in page.texts
        ]
    try:
        state = from_record(record, topic=page.topic, brief=brief_of(page), texts=page.texts)
    except InvalidStateError as error:
        error.message = f"{name}: {error.message}"
        error.args = (error.message,)
        raise
    state.name = name
    page = page.copy()
    _add_people(state, page)
    if page.brief is None:
        page.gaps.pop("h:brief", None)
    state.brief_digest = state.brief_digest or text_digest(state.brief)
    state.titles = {**state.titles, **page.titles}
    if not ours:
        _add_rounds(state)
        _add_entries(state, page)
    for entry in state.entries:
        if not fits(entry.text, entry.digest, entry.nonce):
            entry.digest, entry.nonce = text_digest(entry.text), ""
    return state, page


def _record(page: Page, now: datetime | None) -> dict[str, Any]:
    """Return the state block, with what it lacks taken from the readable lines."""
    record: dict[str, Any] = dict(page.record or {})
    for field, key in _FIELDS.items():
        value = page.lines.get(key, "").strip("[]")
        if field not in record and value:
            record[field] = int(value) if field == "tour" and value.isdecimal() else value
    if not record and not any(key.startswith("p:") for key in page.order):
        raise InvalidStateError(
            "the file holds no conversation: no state block and no metadata",
            "start one with: council convene",
        )
    if now is not None:
        record.setdefault("createdAt", render_instant(now))
    record.setdefault("currentPhase", "COLLECT")
    record.setdefault("procedure", _procedure(page, record["currentPhase"]))
    record.setdefault("timeoutAt", record.get("createdAt"))
    record.setdefault("conversationId", _derived_id(page))
    return record


def _procedure(page: Page, phase: object) -> str:
    """Return the first procedure that has all the phases of which a file speaks."""
    said = {phase, *(phase_of(key[8:]) for key in page.order if key.startswith("h:phase:"))}
    known = ((one.name, {phase.name for phase in one.phases}) for one in PROCEDURES.values())
    return next((name for name, phases in known if said <= phases), next(iter(PROCEDURES)))


def _derived_id(page: Page) -> str:
    """Return an identifier in the form of a version 4 UUID that follows from the file."""
    seed = "\n".join((page.topic, brief_of(page), page.lines.get("meta:created", "")))
    hexes = hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()
    return f"{hexes[:8]}-{hexes[8:12]}-4{hexes[13:16]}-a{hexes[17:20]}-{hexes[20:32]}"


def _add_people(state: Conversation, page: Page) -> None:
    """Add names from the readable lines, and participants that stand only there."""
    added = False
    for agent, name in page.names.items():
        known = state.participants.get(agent)
        if known is None:
            status = status_of(page.lines.get(f"p:{agent}", ""))
            known = Participant(id=agent)
            if status in ANSWERED:
                known.status = ParticipantStatus(status)
            state.participants[agent] = known
            added = True
        if not known.name and not known.emoji:
            known.name, known.emoji = name, page.emoji.get(agent, "")
    if added:
        measure(state)


def _add_rounds(state: Conversation) -> None:
    """Add the rounds that led here: one a phase, all others those of a phase that may have many."""
    procedure = PROCEDURES[state.procedure]
    at, tour = state.phases.index(state.phase), state.tour
    rounds: list[Round] = []
    while at >= 0 and tour >= 1:
        many = procedure.phase(state.phases[at]).max_rounds > 1 and tour > at + 1
        rounds.append(
            Round(
                tour=tour,
                phase=state.phases[at],
                started_at=state.created_at,
                ended_at=state.updated_at if tour < state.tour else None,
            )
        )
        tour -= 1
        at -= 0 if many else 1
    state.rounds = rounds[::-1]


def _add_entries(state: Conversation, page: Page) -> None:
    """Make entries of the texts under the headings, with marks or without. Changes `page`."""
    by_tour = {one.tour: one.phase for one in state.rounds}
    by_phase = {one.phase: one.tour for one in state.rounds}
    marked, spoken = _marked_entries(state, page, by_tour)
    state.entries += marked
    for place, said in page.sections.items():
        section, agent = place.split(":", 1)
        phase, own_tour = phase_of(section), tour_of(section)
        texts = _split(said)
        known = state.participants.get(agent)
        waits = known is not None and not has_answered(known)
        pending = section == current_section(state) and waits and not texts[0][0]
        if pending or place in spoken:
            continue
        for said_tour, text in texts:
            tour = min(own_tour or said_tour or by_phase.get(phase, state.tour), state.tour)
            if text:
                state.entries.append(_entry(state, agent, by_tour.get(tour, phase), tour, text))
        for key, where in placed(page.order):
            if where == place:
                page.gaps.pop(key, None)
    state.entries.sort(key=lambda one: one.tour)
    _set_drafts_aside(state)


def _marked_entries(
    state: Conversation, page: Page, by_tour: dict[int, str]
) -> tuple[list[Entry], set[str]]:
    """Return the texts that stand between marks, and the sections in which one does."""
    found: list[Entry] = []
    places: set[str] = set()
    asides = {key: kind for kind, key in SIDE_SECTIONS.items()}
    place, aside = "", None
    for key in page.order:
        if key.startswith(("h:", "a:")):
            place, aside = key[2:] if key[:2] == "a:" else "", asides.get(key)
        number, _, stem = key[2:].partition("-")
        if key[:2] != "e:" or not number.isdecimal() or not (place or aside):
            continue
        tour = min(max(int(number[:_TOUR_MAX_CHARS]), 1), state.tour)
        text = page.texts[key[2:]]
        if aside is None:
            section, agent = place.split(":", 1)
            places.add(place)
            entry = _entry(state, agent, phase_of(section), tour, text)
        else:
            agent = stem.rpartition(f"-{aside}")[0] or stem
            entry = _entry(state, agent, by_tour.get(tour, state.phase), tour, text)
            entry.kind, entry.status, entry.blocking = aside, "", []
        entry.id = key[2:]
        found.append(entry)
    return found, places


def _set_drafts_aside(state: Conversation) -> None:
    """Let only the last of several answers to one round count where a form is asked for."""
    last: dict[tuple[str, int], Entry] = {}
    for entry in state.entries:
        known = PROCEDURES[state.procedure].phases
        formal = any(one.name == entry.phase and one.form != "text" for one in known)
        if entry.kind is EntryKind.CONTRIBUTION and formal:
            before = last.get((entry.agent, entry.tour))
            if before is not None:
                before.kind = EntryKind.DRAFT
            last[entry.agent, entry.tour] = entry


def _split(said: str) -> list[tuple[int, str]]:
    """Return (round, text) of each `[Tour N]:` at a line start; round 0 for what stands before."""
    texts: list[tuple[int, list[str]]] = [(0, [])]
    for line in said.split("\n"):
        bare = without_prefix(line)
        if bare != line:
            texts.append((int(line[6 : line.index("]:")]), [bare]))
        else:
            texts[-1][1].append(line)
    whole = [(tour, "\n".join(lines).strip("\n")) for tour, lines in texts]
    return whole[1:] if not whole[0][1].strip() and len(whole) > 1 else whole


def _entry(state: Conversation, agent: str, phase: str, tour: int, text: str) -> Entry:
    known = state.participants.get(agent)
    current = tour == state.tour and known is not None and has_answered(known)
    kind = EntryKind.SYNTHESIS if phase == SYNTHESIZE else EntryKind.CONTRIBUTION
    acted_at = known.last_action if current and known is not None else None
    entry = state.new_entry(kind, agent, text, acted_at or state.updated_at, tour)
    status = str(known.status) if current and known is not None else "RESPONDED"
    return entry.copy(phase=phase, status=status, blocking=blockers_in(text))
