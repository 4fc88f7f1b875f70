"""The participants of a conversation as a person may change them in the file.

Who takes part, how they are called, how they stand; each change is checked
against the rules of the round under way.

Source: C0-009, C0-010, C0-017, `store.md` section 3.
"""

from __future__ import annotations

from council.core.conversations.answers import refuse_empty_agreement
from council.core.conversations.conversation import (
    Participant,
    ParticipantStatus,
    withdraw_blockers,
)
from council.core.conversations.due import due_agents, passed_over, takes_turns
from council.core.errors import NotYourTurnError, RefusedError
from council.core.ids import is_name
from council.core.record import Any
from council.store.statefile.facts import MISSING, Facts
from council.store.statefile.marks import line_of
from council.store.statefile.statefile import split_label, status_of, table_of

_LABEL_MAX_CHARS = 200
_OURS = ("status", "name", "emoji", "role", "model", "lastAction", "sealed", "again")
_SET_BY_TOOL = ("sealed", "again")


class People(Facts):
    """A person's wishes, those about participants included."""

    def take_people(self) -> None:
        """Read every wish about participants and apply all but the statuses."""
        self._people()
        self._labels()
        self._statuses()

    def _people(self) -> None:
        old, value = self.old_people, self.new.get("participants")
        if not isinstance(value, dict):
            self.refuse("participants", value, "it is not an object")
            value = self.new_people = old
        lines = self._line_agents()
        known = set(old) | set(self.state.participants)
        for agent in dict.fromkeys([*value, *(lines or ())]):
            if agent not in known:
                self._add(agent, value.get(agent))
        for agent in old:
            in_line = lines is None or agent in lines or value.get(agent) != old[agent]
            if agent in self.state.participants and (agent not in value or not in_line):
                self._remove(agent)

    def _line_agents(self) -> list[str] | None:
        """Return the agents of the participant lines, None where the lines say nothing."""
        found = [key[2:] for key in self.theirs.order if key.startswith("p:")]
        whole = self.lines_count and self.theirs.complete and "h:participants" in self.theirs.order
        return found if whole and found else None

    def _add(self, agent: str, value: Any) -> None:
        value = value if isinstance(value, dict) else {}
        if not is_name(agent):
            self.refuse(f"participants.{agent}", value, "not a legal agent id", keep=True)
            return
        one = Participant(id=agent)
        one.name = _text(value.get("name")) or self.theirs.names.get(agent, "")
        one.emoji = _text(value.get("emoji")) or self.theirs.emoji.get(agent, "")
        one.role, one.model = _text(value.get("role")), _text(value.get("model"))
        one.extra = {key: item for key, item in value.items() if key not in _OURS}
        self.state.participants[agent] = one
        self.accept(f"participants.{agent}", None, "added", agent)
        wished = _text(value.get("status")) or self.theirs.lines.get(f"p:{agent}", "")
        if status_of(wished) not in ("", ParticipantStatus.WAITING):
            self.wish_status(agent, status_of(wished))

    def _remove(self, agent: str) -> None:
        one = self.state.participants[agent]
        if self._has_answered(one):
            reason = "it has answered this round; set it DONE instead"
        elif len(self.state.participants) == 1:
            reason = "it is the last participant"
        else:
            del self.state.participants[agent]
            self.accept(f"participants.{agent}", str(one.status), None, agent)
            return
        self.refuse(f"participants.{agent}", None, reason)

    def _labels(self) -> None:
        for agent, one in self.state.participants.items():
            old, new = self.old_people.get(agent), self.new_people.get(agent)
            if not isinstance(old, dict):
                continue
            if not isinstance(new, dict):
                if new is not None:
                    self.refuse(f"participants.{agent}", new, "it is not an object", keep=True)
                new = old
            said = self._said_label(agent)
            for field in ("name", "emoji", "role", "model"):
                value = new.get(field, "")
                if value == old.get(field, ""):
                    value = said.get(field, getattr(one, field))
                if not isinstance(value, str) or len(value) > _LABEL_MAX_CHARS:
                    self.refuse(f"participants.{agent}.{field}", value, "not a short text")
                elif value != getattr(one, field):
                    self.accept(f"participants.{agent}.{field}", getattr(one, field), value, agent)
                    setattr(one, field, line_of(value))
            self._other_fields(one, old, new)

    def _said_label(self, agent: str) -> dict[str, str]:
        """Return name and emoji where a readable line or a heading says others than before."""
        theirs, base = self.theirs, self.base_page
        said: dict[str, str] = {}
        if agent in theirs.names and agent in base.names and self.lines_count:
            if theirs.names[agent] != base.names[agent]:
                said["name"] = theirs.names[agent]
            if theirs.emoji[agent] != base.emoji[agent]:
                said["emoji"] = theirs.emoji[agent]
        if not said and agent in theirs.renamed:
            emoji, name = split_label(theirs.renamed[agent].removesuffix(f" ({agent})"))
            said = {"name": name, "emoji": emoji}
        return said

    def _other_fields(self, one: Participant, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Put back what the tool owns; take in fields of other programs."""
        for field in dict.fromkeys([*old, *new]):
            if old.get(field) == new.get(field):
                continue
            if field in _SET_BY_TOOL:
                self.refuse(f"participants.{one.id}.{field}", new.get(field), "set by the tool")
            elif field not in _OURS:
                self.accept(f"participants.{one.id}.{field}", old.get(field), new.get(field))
                one.extra.pop(field, None)
                if field in new:
                    one.extra[field] = new[field]

    def _statuses(self) -> None:
        old, new = self.old_people, self.new_people
        for agent in self.state.participants:
            was, now = table_of(old.get(agent)), table_of(new.get(agent, old.get(agent)))
            if not was:
                continue
            field = f"participants.{agent}.status"
            value = self.wish(
                field, was.get("status"), now.get("status", MISSING), f"p:{agent}", status_of
            )
            if value is not MISSING:
                self.wish_status(agent, value)
            acted = now.get("lastAction") != was.get("lastAction")
            if acted and agent not in self.statuses:
                self.refuse(
                    f"participants.{agent}.lastAction", now.get("lastAction"), "set by the tool"
                )

    def wish_status(self, agent: str, value: Any) -> None:
        """Note the wish for a status, if it is possible."""
        why = self._status_why_not(self.state.participants[agent], value)
        if why:
            self.refuse(f"participants.{agent}.status", value, why, keep=True)
        else:
            self.statuses[agent] = ParticipantStatus(value)

    def _status_why_not(self, one: Participant, value: Any) -> str:
        """Return why an agent cannot have this status, "" when they can."""
        why = ""
        if value not in tuple(ParticipantStatus):
            why = f"a status is one of {', '.join(ParticipantStatus)}"
        elif value in (ParticipantStatus.DONE, one.status):
            pass
        elif self.base.tour != self.state.tour:
            why = f"round {self.base.tour} was closed meanwhile"
        elif ParticipantStatus(value).agrees:
            try:
                refuse_empty_agreement(self.state)
            except RefusedError as no:
                why = no.message
        elif value == ParticipantStatus.WAITING and self._has_answered(one):
            why = "it has answered this round"
        return why

    def _has_answered(self, one: Participant) -> bool:
        return bool(one.sealed) or self.state.entry_of(one.id, self.state.tour) is not None

    def set_status(self, agent: str, status: ParticipantStatus) -> None:
        """Set a wished status that came without a text."""
        one = self.state.participants[agent]
        if status is one.status:
            return
        why = self._due_text(one, status)
        if why:
            self.refuse(f"participants.{agent}.status", str(status), why, keep=True)
            return
        self.accept(f"participants.{agent}.status", str(one.status), str(status), agent)
        one.status = status
        if status is not ParticipantStatus.WAITING:
            one.last_action = self.now
        if status.agrees:
            withdraw_blockers(self.state, agent)
        if status is ParticipantStatus.DONE:
            one.again = 0

    def _due_text(self, one: Participant, status: ParticipantStatus) -> str:
        """Return why a status alone is no turn, "" where it is one: the floor is for saying it."""
        leaves = status in (ParticipantStatus.DONE, ParticipantStatus.WAITING)
        state = self.state
        if leaves or not takes_turns(state) or state.entry_of(one.id, state.tour) is not None:
            return ""
        if one.id not in (*due_agents(state), *passed_over(state)):
            return NotYourTurnError(one.id, state.phase, due_agents(state)).message
        return f"a turn in {state.phase} is a text; write it into the section of {one.id} as well"


def _text(value: Any) -> str:
    return line_of(value) if isinstance(value, str) else ""
