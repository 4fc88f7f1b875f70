"""Taking in what a person, an editor or an agent's own tools wrote into a conversation file.

Three texts decide: the one they started from, the one they saved, and ours,
which may have gone on meanwhile. Only what differs between the first two is
their edit; it is applied to ours, part by part. What cannot be applied is put
back, said in an event and kept. No text makes this fail, and nothing that was
recorded is lost or stands twice.

Source: C0-001, C0-008, C0-010, C0-019, C0-067, A-07, A-10, `store.md` sections 3 and 5.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import (
    ANSWERED,
    SCHEMA_VERSION,
    Conversation,
    ParticipantStatus,
    SealedText,
    measure,
)
from council.core.conversations.machine import enter_phase
from council.core.conversations.procedures import SYNTHESIZE
from council.core.conversations.records import to_record
from council.core.errors import InvalidStateError, NewerVersionError
from council.core.events import Event
from council.core.record import Any
from council.store.statefile.claims import drop_said, found_notes, take_claims
from council.store.statefile.facts import Facts, Kept, Taken, clipped, take_rules
from council.store.statefile.freetext import (
    Restoring,
    grafted_gaps,
    is_cut,
    merged_gaps,
    without_torn_line,
)
from council.store.statefile.layout import current_section, items
from council.store.statefile.marks import plain
from council.store.statefile.people import People
from council.store.statefile.statefile import (
    Page,
    free_text,
    lines_of,
    load,
    outline,
    parse,
    render,
    settled_gaps,
    written,
)

_DERIVED_LINES = {
    "meta:id": "conversationId",
    "meta:tour": "tour",
    "meta:created": "createdAt",
    "meta:updated": "updatedAt",
    "meta:speaker": "speaker",
    "conv:rate": "convergence.responseRate",
    "conv:consensus": "convergence.hasConsensus",
    "next:condition": "the passing condition",
    "next:actions": "the required actions",
}
_SETTLE_TRIES = 4
_WISHES = frozenset(
    (
        *("status", "currentPhase", "timeoutAt", "mode", "lang", "coordinator", "synthesizer"),
        *("titles", "participants", "order", "config"),
    )
)


def take_in(
    base: str,
    theirs: str,
    ours: str,
    *,
    now: datetime,
    nonce: str,
    sealed: dict[str, SealedText] | None = None,
    strict: bool = False,
) -> Taken:
    """Apply to `ours` what a person changed from `base` to `theirs`.

    Args:
        base: The revision that `theirs` names, or `ours` where it is unknown.
        theirs: Any text at all.
        ours: The last revision.
        now: The time of the edit.
        nonce: Chance for the seals of texts that must be hidden.
        sealed: The sealed texts of the round under way; without them a person
            cannot end a blind phase by hand.
        strict: Whether text in a section stays a note, as nothing shows who wrote it.

    Raises:
        NewerVersionError: `theirs` was written by a newer council.
        InvalidStateError: `base` or `ours` is not a revision.
    """
    state, page = load(ours, "the last revision")
    state.sealed = {**state.sealed, **(sealed or {})}
    if plain(theirs) == plain(ours):
        return Taken(state=state, page=page)
    if plain(theirs) == plain(base):
        rev = (outline(base).record or {}).get("rev")
        event = Event(type="edit.reverted", data={"rev": clipped(rev), "to": state.rev})
        return Taken(state=state, page=page, events=[event])
    start = load(base, "an earlier revision") if base != ours else (state, page)
    found = parse(theirs, like=start[0])
    if _is_out_of_place(found, start[1]):
        found = parse(theirs, like=start[0], trust_block=False)
    if is_cut(found):
        found = parse(without_torn_line(plain(theirs), plain(ours)), like=start[0])
    version = (found.record or {}).get("schemaVersion")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerVersionError("the file", version, SCHEMA_VERSION)
    return _Edit(start, found, state).taken(page, now, plain(ours), nonce, strict)


def take_texts(
    state: Conversation, page: Page, *, now: datetime, nonce: str, strict: bool = False
) -> Taken:
    """Take in what agents wrote into a file of ours whose history is lost.

    Without a revision to compare with, only a text that stands there together
    with its author's status is known to be new.
    """
    facts = People((state, page), page, state.copy(), now=now, lines_count=True)
    for agent, one in state.participants.items():
        wished = page.lines.get(f"p:{agent}", "").upper()
        said = page.sections.get(f"{current_section(state)}:{agent}")
        if said and one.status is ParticipantStatus.WAITING and wished not in ("", one.status):
            facts.wish_status(agent, wished)
    gaps = settled_gaps(page, [key for key, _ in items(state)])
    seal = take_claims(facts, gaps, nonce, strict)
    page = page.copy(gaps=gaps)
    return Taken(state=facts.state, page=page, events=facts.events, kept=facts.kept, seal=seal)


def _is_out_of_place(theirs: Page, base: Page) -> bool:
    """Return true if the state block stands before where ours does: then it is part of a text."""
    order = theirs.order
    if "state" not in order or not base.order:
        return False
    before = set(base.order[: base.order.index("state")])
    return any(key in before for key in order[order.index("state") :])


class _Edit(Restoring):
    """One edit on its way in: texts that must not change, free text, facts, contributions."""

    def taken(
        self, ours_page: Page, now: datetime, ours_text: str, nonce: str, strict: bool
    ) -> Taken:
        """Apply the edit to ours; the arguments are those of `take_in`."""
        self.restore()
        if self.cut:
            gaps = grafted_gaps(self.theirs, ours_page, ours_text)
        else:
            gaps, lost = merged_gaps(self.base_page, self.theirs, ours_page)
            self.kept += [Kept(what="free text that gave way", text=one) for one in lost]
        drop_said(self.ours, gaps, ours_page.gaps)
        facts = People(
            (self.base, self.base_page),
            self.theirs,
            self.ours.copy(),
            now=now,
            lines_count=self._lines_count(),
        )
        facts.take_people()
        facts.take()
        take_rules(facts)
        if facts.phase_wish:  # a person who ends a round by hand also resets the statuses by hand
            facts.statuses = {
                agent: status for agent, status in facts.statuses.items() if status in ANSWERED
            }
        deadline = facts.state.timeout_at
        seal = take_claims(facts, gaps, nonce, strict)
        _change_phase(facts, self.ours, deadline)
        if facts.touched:
            _measure(facts.state)
        self._put_back(facts)
        self._lost_items(facts)
        page = self._settled(facts.state, ours_page.copy(gaps=gaps, order=self._order(ours_page)))
        notes = found_notes(facts.state, gaps, self.theirs.sections, self.base_page.sections)
        return Taken(
            state=facts.state,
            page=page,
            events=self.events + facts.events + notes,
            kept=self.kept + facts.kept,
            seal=seal,
        )

    def _settled(self, state: Conversation, page: Page) -> Page:
        """Return a page that reads back as written; free text that prevents it is kept apart."""
        for _ in range(_SETTLE_TRIES):
            text = render(state, page)
            try:
                back, again = load(text, "the edited file")
            except InvalidStateError:
                break
            if written(back) != written(state):
                break
            if render(back, again) == text:
                return page
            page = again
        for gap in page.gaps.values():
            if free_text(gap):
                self.kept.append(Kept(what="free text that has no place", text=free_text(gap)))
        return Page()

    def _order(self, ours_page: Page) -> list[str]:
        """Return the items as they stand in our file, with those only theirs has among them."""
        ours = set(ours_page.order)
        after: dict[str, list[str]] = {}  # what only theirs has, by the item of ours before it
        last = ""
        for key in self.theirs.order:
            if key in ours:
                last = key
            else:
                after.setdefault(last, []).append(key)
        return [one for key in ["", *ours_page.order] for one in (key, *after.get(key, ()))][1:]

    def _lines_count(self) -> bool:
        """Return true if readable lines are an edit: without a block only if they are not stale."""
        if self.theirs.record is not None:
            return True
        return all(
            self.theirs.lines.get(key) == self.base_page.lines.get(key)
            for key in ("meta:tour", "meta:updated")
        )

    def _put_back(self, facts: Facts) -> None:
        """Report what was changed of that which the tool owns."""
        if self.theirs.record is not None:
            final = to_record(facts.state)
            for field, value in (self.base_page.record or {}).items():
                if field not in _WISHES and field in final:
                    new = self.theirs.record.get(field)
                    _refuse_changed(facts, field, value, new, final[field])
        if not facts.lines_count:
            return
        final_lines = lines_of(facts.state)
        for key, field in _DERIVED_LINES.items():
            said = self.theirs.lines.get(key)
            if said is None or said in (self.base_page.lines.get(key), final_lines.get(key)):
                continue
            if not any(one.data.get("field") == field for one in facts.events):
                facts.refuse(field, said, "set by the tool")

    def _lost_items(self, facts: Facts) -> None:
        """Keep the lines that were read as ours and have no place in the file that is written."""
        present = {key for key, _ in items(facts.state)} | set(self.base_page.order)
        for key, line in self.theirs.raw.items():
            if key not in present and line.strip():
                self.kept.append(Kept(what="a line that has no place", text=line))


def _change_phase(facts: Facts, ours: Conversation, deadline: datetime) -> None:
    """Go on to the phase a person wished for; the deadline they gave counts for it."""
    if not facts.phase_wish:
        return
    hidden = [
        one.id
        for one in facts.state.participants.values()
        if one.sealed and one.id not in facts.state.sealed
    ]
    if hidden:
        reason = f"the sealed answers of {', '.join(hidden)} cannot be read here"
        facts.refuse("currentPhase", facts.phase_wish, reason, keep=True)
        return
    facts.accept("currentPhase", facts.state.phase, facts.phase_wish)
    step = enter_phase(facts.state, facts.phase_wish, "by-hand", facts.now)
    facts.state = step.state
    facts.events += step.events
    if deadline != ours.timeout_at:
        facts.state.timeout_at = deadline


def _measure(state: Conversation) -> None:
    """Bring the numbers up to date; what was agreed stays so in the synthesis."""
    agreed = state.has_consensus
    measure(state)
    if state.phase == SYNTHESIZE:
        state.has_consensus = agreed


def _refuse_changed(facts: Facts, field: str, old: Any, new: Any, final: Any) -> None:
    if new in (old, final):
        return
    if field != "convergence":
        facts.refuse(field, new, "set by the tool")
        return
    if not isinstance(new, dict):
        facts.refuse(field, new, "it is not an object")
        return
    for part in ("responseRate", "hasConsensus"):
        if new.get(part) not in (old.get(part), final.get(part)):
            facts.refuse(f"convergence.{part}", new.get(part), "set by the tool")
