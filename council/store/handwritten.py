"""A conversation file that a person wrote by hand, in the form of the document.

It has no marks, its state block holds ten fields or is missing, and its
contributions stand as `[Tour N]: text` under headings. What it does not say
is derived from what it does say; nothing is drawn or read from a clock.

Source: C0-015, XC-012, `store.md` section 5.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from council.core.convergence import blocking_lines, measure
from council.core.conversation import (
    Conversation,
    Entry,
    EntryKind,
    Participant,
    ParticipantStatus,
    Round,
    has_answered,
)
from council.core.errors import InvalidStateError
from council.core.ids import text_digest
from council.core.procedures import SYNTHESIZE
from council.core.records import from_record
from council.core.times import render_instant
from council.store.known import fits
from council.store.marks import without_prefix
from council.store.statefile import Page, brief_of, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    and leave the free text. Answers lie open in such a file, so unless it
    says otherwise the conversation is not a sealed one. A file of ours is
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
    record.setdefault("sealed", False)
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
    record.setdefault("timeoutAt", record.get("createdAt"))
    record.setdefault("conversationId", _derived_id(page))
    return record


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
            status = page.lines.get(f"p:{agent}", "").upper()
            legal = status in tuple(ParticipantStatus)
            known = Participant(
                id=agent,
                status=ParticipantStatus(status) if legal else ParticipantStatus.WAITING,
            )
            state.participants[agent] = known
            added = True
        if not known.name and not known.emoji:
            known.name, known.emoji = name, page.emoji.get(agent, "")
    if added:
        measure(state)


def _add_rounds(state: Conversation) -> None:
    at = state.phases.index(state.phase)
    for back in range(at, -1, -1):
        if state.tour - back >= 1:
            state.rounds.append(
                Round(
                    tour=state.tour - back,
                    phase=state.phases[at - back],
                    started_at=state.created_at,
                    ended_at=state.updated_at if back else None,
                )
            )


def _add_entries(state: Conversation, page: Page) -> None:
    by_tour = {one.tour: one.phase for one in state.rounds}
    by_phase = {one.phase: one.tour for one in state.rounds}
    found: list[Entry] = []
    for section, said in page.sections.items():
        phase, agent = section.split(":", 1)
        usual = by_phase.get(phase, state.tour)
        texts = _split(said)
        known = state.participants.get(agent)
        waits = phase == state.phase and known is not None and not has_answered(known)
        if waits and not texts[0][0]:
            continue
        for said_tour, text in texts:
            tour = min(said_tour or usual, state.tour)
            if text:
                found.append(_entry(state, agent, by_tour.get(tour, phase), tour, text))
        for key in _keys_of(page, section):
            page.gaps.pop(key, None)
    taken: dict[str, int] = {}
    for entry in sorted(found, key=lambda one: one.tour):
        count = taken[entry.id] = taken.get(entry.id, 0) + 1
        entry.id += f"-{count}" if count > 1 else ""
        state.entries.append(entry)


def _keys_of(page: Page, section: str) -> list[str]:
    keys: list[str] = []
    inside = False
    for key in page.order:
        inside = key == f"a:{section}" or (inside and key.startswith(("e:", "s:")))
        if inside:
            keys.append(key)
    return keys


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
    return Entry(
        id=f"{tour}-{agent}",
        kind=kind,
        agent=agent,
        phase=phase,
        tour=tour,
        at=acted_at or state.updated_at,
        text=text,
        digest=text_digest(text),
        status=str(known.status) if current and known is not None else "RESPONDED",
        blocking=blocking_lines(text),
    )
