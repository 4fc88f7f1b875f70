"""The facts that a person may change in a conversation file, and what becomes of each change.

A fact stands in the state block and often in a readable line too; either may
be edited, and the block wins where both were and disagree. This module finds
the wishes and checks them one by one; texts are decided elsewhere.

Of the rules that a conversation was convened with a person may change the order of
speaking, the most rounds, the threshold and the early stop; the other rules were chosen
for the whole of it and are put back. Fields that we do not know belong to other
programs.

Source: C0-005 to C0-010, C0-019, A-07, `store.md` section 3, DL-022, DL-042, A-82.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from council.core.conversations.conversation import (
    Conversation,
    ParticipantStatus,
    SealedText,
    Status,
)
from council.core.conversations.due import last_word
from council.core.conversations.procedures import EARLY_STOPS, MAX_ROUNDS, MODES, ORDERS, Rules
from council.core.conversations.records import to_record
from council.core.errors import CouncilError
from council.core.events import Event
from council.core.ids import is_name
from council.core.record import Any, Record, json_form
from council.core.times import parse_instant, render_instant
from council.store.statefile.marks import WORDS
from council.store.statefile.statefile import Page, table_of

MISSING = object()
_VALUE_MAX_CHARS = 200


class Kept(Record):
    """A text that could not stay in the file; it goes to `conflicts/` and is never lost."""

    what: str
    text: str


class Taken(Record):
    """What a text came to: the state and the page to write, what happened, what to keep apart.

    `seal` holds the texts that must lie in `sealed/` before the state is
    committed. `changed` says that the file must be written anew.
    """

    state: Conversation
    page: Page
    events: list[Event] = []
    kept: list[Kept] = []
    seal: list[SealedText] = []
    changed: bool = True


class Facts:
    """One reading of a person's wishes: what they changed, applied to the state that is ours now.

    `state` is changed in place. `lines_count` says if readable lines
    are wishes too; `phase_wish` is the phase to go on to, "" for none; `statuses` collects the
    wished statuses, which are applied together with the texts that came with them.
    """

    def __init__(
        self,
        base: tuple[Conversation, Page],
        theirs: Page,
        state: Conversation,
        *,
        now: datetime,
        lines_count: bool,
    ) -> None:
        self.base, self.base_page = base
        self.theirs, self.state, self.now = theirs, state, now
        self.lines_count = lines_count
        self.old: dict[str, Any] = self.base_page.record or {}
        self.new: dict[str, Any] = self.old if theirs.record is None else theirs.record
        self.events: list[Event] = []
        self.kept: list[Kept] = []
        self.old_people = table_of(self.old.get("participants"))
        self.new_people = table_of(self.new.get("participants"))
        self.statuses: dict[str, ParticipantStatus] = {}
        self.phase_wish = ""
        self.touched = False

    def take(self) -> None:
        """Read every wish that is not about participants; all but the phase is applied."""
        self._topic()
        self._take("mode", "mode", "meta:mode", str.lower)
        self._take("timeoutAt", "timeout_at", "meta:timeout", _instant)
        self._take("status", "status", "meta:status", str.upper)
        self._take("currentPhase", "phase_wish", "meta:phase", str.upper)
        self._blockers()
        for field in ("lang", "coordinator", "synthesizer"):
            self._take(field, field, "", str)
        self._unknown()

    # Wishes

    def wish(self, field: str, old: Any, new: Any, line: str, canon: Callable[[str], Any]) -> Any:
        """Return the value wished for a fact, `MISSING` for none; the block wins over the line."""
        was = canon(old) if isinstance(old, str) else old
        block = canon(new) if isinstance(new, str) else new
        said: Any = MISSING
        if line and self.lines_count and line in self.theirs.lines:
            before = self.base_page.lines.get(line, "")
            if canon(self.theirs.lines[line]) != canon(before):
                said = canon(self.theirs.lines[line])
        if new is MISSING:
            self.refuse(field, None, "it was removed")
            block = was
        if block == was:
            return said
        if said is not MISSING and said != block:
            values = {"field": field, "json": clipped(block), "line": clipped(said)}
            self.events.append(Event(type="edit.conflict", data=values))
            self.kept.append(Kept(what=f"{field}, as the readable line had it", text=str(said)))
        return block

    def _take(self, field: str, attribute: str, line: str, canon: Callable[[str], Any]) -> None:
        """Apply the wish for a fact, or refuse it."""
        value = self.wish(field, self.old.get(field), self.new.get(field, MISSING), line, canon)
        if value is MISSING:
            return
        why = self._why_not(field, value)
        if why:
            self.refuse(field, value, why, keep=True)
        elif field == "currentPhase":
            self.phase_wish = "" if value == self.state.phase else value
        elif clipped(value) != clipped(old := getattr(self.state, attribute)):
            self.accept(field, old, value)
            if field == "timeoutAt":
                value = value.replace(microsecond=0)
            setattr(self.state, attribute, Status(value) if field == "status" else value)

    def accept(self, field: str, old: Any, new: Any, agent: str = "") -> None:
        """Report a wish that was granted."""
        self.touched = True
        data = {"field": field, "old": clipped(old), "new": clipped(new)}
        self.events.append(Event(type="edit.accepted", agent=agent, data=data))

    def refuse(self, field: str, value: Any, reason: str, *, keep: bool = False) -> None:
        """Report a wish that was not granted; a value that a person wrote is kept."""
        data = {"field": field, "value": clipped(value), "reason": reason}
        self.events.append(Event(type="edit.refused", data=data))
        if keep or len(str(value)) > _VALUE_MAX_CHARS:
            self.kept.append(Kept(what=f"{field}, refused: {reason}", text=str(value)))

    # The facts one by one

    def _topic(self) -> None:
        theirs, base = self.theirs, self.base_page
        if "title" in theirs.order and theirs.topic != base.topic:
            if not theirs.topic:
                self.refuse("topic", "", "a conversation needs a topic")
            elif theirs.topic != self.state.topic:
                self.accept("topic", self.state.topic, theirs.topic)
                self.state.topic = theirs.topic
        wished = theirs.record.get("titles") if theirs.record is not None else None
        titles = wished if isinstance(wished, dict) and wished != self.old.get("titles") else {}
        for key in theirs.order:
            said = theirs.titles.get(key)
            if said != base.titles.get(key) and key in base.order:
                titles = {**titles, key: said}
        for key, title in titles.items():
            if title is None and key in self.state.titles:
                self.accept(f"titles.{key}", self.state.titles.pop(key), None)
            elif isinstance(title, str) and self.state.titles.get(key) != title:
                self.accept(f"titles.{key}", self.state.titles.get(key), title)
                self.state.titles[key] = title

    def _why_not(self, field: str, value: Any) -> str:
        """Return why a fact cannot have this value, "" when it can."""
        state, why = self.state, ""
        possible = {"mode": MODES, "status": tuple(Status), "currentPhase": state.phases}
        if isinstance(value, dict) or value is None:
            why = "it is not a text"
        elif field in possible and value not in possible[field]:
            what = "phase" if field == "currentPhase" else field
            why = f"the {what} is one of {', '.join(possible[field])}"
        elif field == "currentPhase" and value != state.phase:
            why = self._why_not_on_to(value)
        elif field == "status" and value != state.status and state.closed_reason is not None:
            why = "the rounds of this conversation are over"
        elif field == "timeoutAt" and not isinstance(value, datetime):
            why = "it is not a time like 2026-02-08T20:00:00Z"
        elif field == "timeoutAt" and value <= state.created_at:
            why = "it lies before the conversation began"
        elif field in ("lang", "coordinator", "synthesizer"):
            is_text = isinstance(value, str)
            known = is_text and (value in WORDS if field == "lang" else not value or is_name(value))
            why = "" if known else "this value is not possible"
        return why

    def _why_not_on_to(self, phase: str) -> str:
        """Return why a conversation cannot go on to another phase, "" when it can."""
        state, before = self.state, last_word(self.state)
        at = state.phases.index(phase)
        if at < state.phases.index(state.phase):
            return "phases only go forward"
        if at > state.phases.index(before):
            return f"{before} comes before {phase}"
        return "the conversation is finished" if state.finished_at is not None else ""

    def _blockers(self) -> None:
        old, new = (
            table_of(one.get("convergence")).get("blockingIssues", MISSING)
            for one in (self.old, self.new)
        )
        value = self.wish("convergence.blockingIssues", old, new, "conv:blockers", _issues)
        if value is MISSING:
            return
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self.refuse("convergence.blockingIssues", value, "it is not a list of texts", keep=True)
        elif value != self.state.blocking_issues:
            self.accept("convergence.blockingIssues", self.state.blocking_issues, value)
            self.state.blocking_issues = list(value)

    def _unknown(self) -> None:
        """Take in fields that we do not know: they belong to other programs."""
        known = set(to_record(self.base)) - set(self.base.extra) | {"order"}
        if self.state.rules is not None:
            known |= {"config", "id"}
        for field in dict.fromkeys([*self.base.extra, *self.new]):
            if field in known or self.new.get(field) == self.old.get(field):
                continue
            self.accept(field, self.state.extra.get(field), self.new.get(field))
            if field in self.new:
                self.state.extra[field] = self.new[field]
            else:
                self.state.extra.pop(field, None)


def clipped(value: Any) -> Any:
    """Return a value as an event may carry it: JSON, and not long."""
    if isinstance(value, datetime):
        value = render_instant(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= _VALUE_MAX_CHARS else text[: _VALUE_MAX_CHARS - 1] + "…"


def _instant(text: str) -> Any:
    try:
        return parse_instant(text)
    except CouncilError:
        return text


def _issues(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


_FIELDS = {key: field for field, key in json_form(Rules)[0]}


def take_rules(facts: Facts) -> None:
    """Take in what a person wished of order and rules. Changes the state of `facts`."""
    _take_order(facts)
    rules = facts.state.rules
    if rules is None:
        return
    if "id" not in facts.old and "id" in facts.new:
        facts.refuse("id", facts.new["id"], "set by the tool")
    old, new = table_of(facts.old.get("config")), facts.new.get("config", {})
    if not isinstance(new, dict):
        facts.refuse("config", new, "it is not an object", keep=True)
        return
    for key in dict.fromkeys([*old, *new]):
        value = new.get(key, MISSING)
        if not _is_same(value, old.get(key, MISSING)):
            _take_rule(facts, rules, key, value)


def _take_order(facts: Facts) -> None:
    value = facts.new.get("order", "")
    if value == facts.old.get("order", "") or value == facts.state.order:
        return
    if value not in ("", *ORDERS):
        facts.refuse("order", value, f"the order is one of {', '.join(ORDERS)}", keep=True)
        return
    facts.accept("order", facts.state.order, value)
    facts.state.order = value


def _take_rule(facts: Facts, rules: Rules, key: str, value: Any) -> None:
    name, field = f"config.{key}", _FIELDS.get(key, "")
    said = None if value is MISSING else value
    if not field:
        facts.accept(name, rules.extra.pop(key, None), said)
        if value is not MISSING:
            rules.extra[key] = value
        return
    standing = getattr(rules, field)
    if _is_same(value, standing):
        return
    why = _why_not(key, value, len(facts.state.participants))
    if why:
        facts.refuse(name, said, why, keep=value is not MISSING)
        return
    facts.accept(name, standing, value)
    setattr(rules, field, value)


def _why_not(key: str, value: Any, agents: int) -> str:
    """Return why a rule cannot have this value, "" when it can."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is MISSING:
        return "it was removed"
    if key == "maxRounds":
        possible = is_whole and 1 <= value <= MAX_ROUNDS
        return "" if possible else f"it is a whole number from 1 to {MAX_ROUNDS}"
    if key == "consensusThreshold":
        possible = is_whole and 0 <= value <= agents
        return "" if possible else f"it is a whole number up to {agents}, 0 for two thirds"
    if key == "earlyStop":
        return "" if value in EARLY_STOPS else f"it is one of {', '.join(EARLY_STOPS)}"
    return "it was chosen when the conversation was convened"


def _is_same(one: Any, other: Any) -> bool:
    """Return true if two JSON values are equal and of one type: `true` is not 1."""
    return type(one) is type(other) and bool(one == other)
