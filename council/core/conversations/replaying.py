"""A conversation as it was at an earlier revision, rebuilt from what it became.

Archiving keeps one text for each phase. The final state still holds every contribution, and
the journal keeps the events of every revision, so the states in between follow: which texts
were readable, which were sealed, who had answered, who had the floor, which round it was.

Rebuilt are texts, statuses, rounds, deadlines and blockers. Lost are free text that people
wrote between the items, changes that they made in the file, and runs and their cost. A revision
that a later `restore` discarded cannot be rebuilt.

Without a journal the revisions are made up from the final state: one for the opening, one for
each text, one for the end.

Source: FW-012, C0-078.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.conversations.conversation import (
    TURNS,
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Participant,
    ParticipantStatus,
    Round,
    Status,
    has_answered,
    measure,
    raise_blockers,
    withdraw_blockers,
)
from council.core.conversations.machine import conclude
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.reasons import read_reason
from council.core.record import Any, Record

_SAID = (EntryKind.CONTRIBUTION, EntryKind.DRAFT)


class Moment(Record):
    """One revision as its journal line describes it; `events` are those of the event log."""

    rev: int
    at: datetime
    phase: str
    tour: int
    events: list[dict[str, Any]] = []


class Replay:
    """The states that led to a final one.

    Args:
        final: The conversation as it is now, or as its minutes keep it.
        moments: Its revisions, oldest first; none where there is no journal.
    """

    def __init__(self, final: Conversation, moments: list[Moment]) -> None:
        self.final = final
        self.moments = moments or made_up(final)
        self._places = {one.rev: at for at, one in enumerate(self.moments)}
        self._standing = _not_discarded(self.moments)
        self._recorded, self._visible = _when(final, self.moments, self._standing)

    def can_show(self, rev: int) -> bool:
        """Return true if a revision can be rebuilt: it exists and no `restore` discarded it."""
        return self._places.get(rev) in self._standing

    def answers_of(self, rev: int) -> list[Entry]:
        """Return the texts that were given in a revision, those included that were sealed."""
        at = self._places.get(rev)
        return [one for one in self.final.entries if self._recorded[one.id] == at]

    def state_at(self, rev: int) -> Conversation:
        """Return the conversation as it was at a revision that `can_show`.

        Raises:
            KeyError: There is no such revision.
        """
        at = self._places[rev]
        moment = self.moments[at]
        past = [self.moments[one] for one in self._standing if one <= at]
        if at == self._standing[-1]:
            return self.final.copy(rev=moment.rev)
        if _has(past, "conversation.finished"):  # what came later is late
            readable = [one for one in self.final.entries if self._visible[one.id] <= at]
            return self.final.copy(rev=moment.rev, updated_at=moment.at, entries=readable)
        new = self.final.copy(
            rev=moment.rev,
            phase=moment.phase,
            tour=moment.tour,
            updated_at=moment.at,
            finished_at=None,
            tasks={},
            usage={},
            sealed={},
            status=Status.ACTIVE,
            closed_reason=None,
        )
        self._fill_in_entries(new, at)
        _fill_in_round(new, past)
        _fill_in_deadline(new, past)
        self._fill_in_statuses(new, past, at)
        _measure(new, self.final)
        _conclude(new, self.final, past)
        return new

    def _fill_in_entries(self, new: Conversation, at: int) -> None:
        """Set the readable entries and the blockers that they leave open. Changes `new`."""
        readable = [one for one in new.entries if self._visible[one.id] <= at]
        newest = {(one.agent, one.tour): one.id for one in readable if one.kind in _SAID}
        new.entries, new.blocking_issues = [], []
        for entry in readable:
            is_replaced = newest.get((entry.agent, entry.tour)) != entry.id
            one = entry
            if one.kind is EntryKind.DRAFT and not is_replaced:  # what replaced it came later
                one = one.copy(kind=EntryKind.CONTRIBUTION)
            new.entries.append(one)
            if one.kind in _SAID:
                if one.standing.agrees:
                    withdraw_blockers(new, one.agent)
                raise_blockers(new, one.blocking)

    def _fill_in_statuses(self, new: Conversation, past: list[Moment], at: int) -> None:
        """Set how each participant stood, and what it had sealed. Changes `new`."""
        given = [one for one in self.final.entries if self._recorded[one.id] <= at]
        for agent, participant in new.participants.items():
            mine = [one for one in given if one.agent == agent and one.kind in (*_SAID, *TURNS)]
            participant.status, participant.again = ParticipantStatus.WAITING, 0
            # A sealed draft has the instant of the text that took its place.
            times = [min(one.at, self.moments[self._recorded[one.id]].at) for one in mine]
            participant.last_action = max(times, default=None)
            hidden = [one for one in mine if self._visible[one.id] > at]
            participant.sealed = hidden[-1].digest if hidden else ""
            if mine and (mine[-1].tour == new.tour or mine[-1].standing is ParticipantStatus.DONE):
                participant.status = mine[-1].standing
        for one, event, data in _events_in(past):
            someone = new.participants.get(str(event.get("agentId")))
            if event["type"] == "contribution.recorded" and someone is not None:
                _restate(someone, one, data, new.tour)
            elif event["type"] == "turn.incomplete" and someone is not None:
                someone.again = 0


def _fill_in_round(new: Conversation, past: list[Moment]) -> None:
    """Set the rounds, who had the floor and who had missed its turn. Changes `new`."""
    new.rounds = [one for one in new.rounds if one.tour <= new.tour]
    if not new.rounds or new.rounds[-1].tour != new.tour:
        new.rounds.append(Round(tour=new.tour, phase=new.phase, started_at=new.updated_at))
    under_way = new.rounds[-1]
    under_way.ended_at, under_way.reason, under_way.verdict = None, "", {}
    under_way.speaker, under_way.turn_at, under_way.absent = "", None, {}
    for one, event, data in _events_in(past):
        if data.get("tour") != new.tour:
            continue
        agent = str(event.get("agentId"))
        if event["type"] == "turn.started":
            under_way.speaker, under_way.turn_at = agent, one.at
        elif event["type"] == "turn.missed":
            under_way.absent[agent] = read_reason(data.get("reason"))
        elif event["type"] == "contribution.recorded":
            under_way.absent.pop(agent, None)


def _fill_in_deadline(new: Conversation, past: list[Moment]) -> None:
    """Set deadline and pause as the events up to then left them. Changes `new`."""
    span, queued = new.phase_timeout, dict[str, datetime]()
    new.timeout_at, new.paused_at = new.rounds[-1].started_at + span, None
    for one, event, data in _events_in(past):
        kind, task = event["type"], str(data.get("task"))
        is_passed_on = kind == "turn.missed" and data.get("phase") == SYNTHESIZE
        if kind in ("phase.changed", "round.changed", "turn.started") or is_passed_on:
            new.timeout_at = one.at + span
        if kind == "task.queued":
            queued[task] = one.at
        elif kind == "task.started" and task in queued:  # its wait was given back
            waited = min(new.timeout_at + (one.at - queued[task]), one.at + span)
            new.timeout_at = max(new.timeout_at, waited)
        elif kind == "deadline.extended":
            since = new.paused_at or one.at
            new.timeout_at = max(new.timeout_at, since) + _seconds(data, "seconds")
        elif kind == "conversation.resumed":
            new.timeout_at += _seconds(data, "pausedS")
        if kind == "conversation.paused":
            new.paused_at = one.at
        elif kind in ("conversation.resumed", "phase.changed", "round.changed"):
            new.paused_at = None  # a round that is ended by hand ends the pause, too


def _restate(participant: Participant, moment: Moment, data: dict[str, Any], tour: int) -> None:
    """Set the status that an answer gave its author. Changes `participant`."""
    participant.last_action = max(participant.last_action or moment.at, moment.at)
    known = [one for one in ParticipantStatus if one == data.get("status")]
    if known and (data.get("tour") == tour or known[0] is ParticipantStatus.DONE):
        participant.status = known[0]
        participant.again = tour if data.get("askedAgain") else 0


def _measure(new: Conversation, final: Conversation) -> None:
    """Set response rate and consensus. Changes `new`."""
    measure(new)
    if PROCEDURES[new.procedure].verdict == "stances":
        verdicts = [one.verdict for one in new.rounds if one.verdict]
        new.has_consensus = bool(verdicts and verdicts[-1].get("reached"))
    elif new.phase == SYNTHESIZE:
        new.has_consensus = final.has_consensus
    if new.phase == SYNTHESIZE:
        answered = [has_answered(one) for one in new.participants.values()]
        new.response_rate = round(sum(answered) / len(answered), 4) if answered else 0.0


def _conclude(new: Conversation, final: Conversation, past: list[Moment]) -> None:
    """Set status and reason of the end where the last round has closed. Changes `new`."""
    if new.phase != SYNTHESIZE:
        return
    new.status, new.closed_reason = final.status, final.closed_reason
    if final.closed_reason is ClosedReason.CANCELLED:  # that came later
        reasons = [data.get("reason") for _, _, data in _events_in(past) if data.get("to")]
        new.status, new.closed_reason = Status.ACTIVE, None
        conclude(new, str(reasons[-1]) if reasons else "")


def _seconds(data: dict[str, Any], key: str) -> timedelta:
    value = data.get(key)
    return timedelta(seconds=value if isinstance(value, int) else 0)


def _events_in(moments: list[Moment]) -> list[tuple[Moment, dict[str, Any], dict[str, Any]]]:
    """Return each event with its moment and its data."""
    return [(one, event, event.get("data") or {}) for one in moments for event in one.events]


def _has(moments: list[Moment], kind: str) -> bool:
    return any(event["type"] == kind for _, event, _ in _events_in(moments))


def _not_discarded(moments: list[Moment]) -> list[int]:
    """Return the places of the moments that no later `restore` undid."""
    standing: list[int] = []
    for at, one in enumerate(moments):
        for _, event, data in _events_in([one]):
            back = data.get("to")
            if event["type"] == "conversation.restored" and isinstance(back, int):
                standing = [place for place in standing if moments[place].rev <= back]
        standing.append(at)
    return standing


def _when(
    final: Conversation, moments: list[Moment], standing: list[int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return with which moment each entry was given, and with which it became readable."""
    recorded: dict[str, int] = {}
    visible: dict[str, int] = {}
    turns: dict[tuple[str, Any], list[str]] = {}
    for one in final.entries:
        if one.kind in _SAID:
            turns.setdefault((one.agent, one.tour), []).append(one.id)
    summaries = [one.id for one in final.entries if one.kind is EntryKind.SYNTHESIS]
    left = {key: list(ids) for key, ids in turns.items()}
    for at in standing:
        for _, event, data in _events_in([moments[at]]):
            kind, key = event["type"], (str(event.get("agentId")), data.get("tour"))
            if kind == "contribution.recorded" and left.get(key):
                entry = left[key].pop(0)
                recorded[entry] = at
                if not data.get("sealed"):
                    visible[entry] = at
            elif kind == "seal.opened":
                visible.update((one, at) for one in turns.get(key, ()) if one not in visible)
            elif kind in ("guidance.added", "contribution.late"):
                recorded[str(data.get("entry"))] = at
            elif kind in ("synthesis.written", "digest.written"):
                recorded.update(dict.fromkeys(summaries, at))
    last = standing[-1]
    for one in final.entries:
        if one.id not in recorded:  # its line is gone from the journal, or a person wrote it in
            times = (at for at in standing if _is_after(moments[at], one))
            recorded[one.id] = min(next(times, last), visible.get(one.id, last))
        visible.setdefault(one.id, recorded[one.id])
    return recorded, visible


def _is_after(moment: Moment, entry: Entry) -> bool:
    return moment.tour >= entry.tour and moment.at >= entry.at


def made_up(final: Conversation) -> list[Moment]:
    """Return the moments of a conversation without a journal, numbered from 1.

    The opening, each text in the order in which it was given, and the end.
    """
    opened = _event("conversation.opened", "", name=final.name, topic=final.topic)
    opened["data"]["participants"] = [*final.participants]
    first = final.rounds[0] if final.rounds else None
    phase, tour = (first.phase, first.tour) if first else (final.phases[0], 1)
    moments = [Moment(rev=1, at=final.created_at, phase=phase, tour=tour, events=[opened])]
    placed = [(_round_of(final, one), one) for one in final.entries]
    for number, one in sorted(placed, key=lambda pair: (pair[0], pair[1].at)):
        before = moments[-1]
        started = [each for each in final.rounds if before.tour < each.tour <= number]
        events = [
            _event("phase.changed", "", **{"from": before.phase, "to": each.phase}, tour=each.tour)
            for each in started
        ]
        moments.append(
            Moment(
                rev=len(moments) + 1,
                at=one.at,
                phase=started[-1].phase if started else before.phase,
                tour=started[-1].tour if started else before.tour,
                events=[*events, _event_of(one)],
            )
        )
    if final.finished_at is not None:
        reason = str(final.closed_reason) if final.closed_reason else None
        over = _event("conversation.finished", "", status=str(final.status), closedReason=reason)
        if moments[-1].at == final.finished_at and moments[-1].tour == final.tour:
            moments[-1].events.append(over)
        else:
            moments.append(
                Moment(
                    rev=len(moments) + 1,
                    at=final.finished_at,
                    phase=final.phase,
                    tour=final.tour,
                    events=[over],
                )
            )
    return moments


def _round_of(final: Conversation, entry: Entry) -> int:
    """Return in which round an entry was given; a late one belongs to an earlier round."""
    if entry.kind is not EntryKind.LATE:
        return entry.tour
    begun = [one.tour for one in final.rounds if one.started_at <= entry.at]
    return max([*begun, entry.tour])


def _event(kind: str, agent: str, **data: object) -> dict[str, Any]:
    return {"type": kind, "agentId": agent or None, "data": data}


def _event_of(entry: Entry) -> dict[str, Any]:
    """Return the event that an entry leaves in the journal as it is given."""
    round_ = {"phase": entry.phase, "tour": entry.tour}
    if entry.kind is EntryKind.INJECTION:
        return _event(
            "guidance.added", entry.agent, entry=entry.id, target=entry.target or None, **round_
        )
    if entry.kind is EntryKind.LATE:
        return _event("contribution.late", entry.agent, entry=entry.id, **round_)
    if entry.kind is EntryKind.SYNTHESIS:
        return _event("synthesis.written", entry.agent, tour=entry.tour, origin=str(entry.origin))
    return _event(
        "contribution.recorded",
        entry.agent,
        status=str(entry.standing),
        origin=str(entry.origin),
        sealed=False,
        **round_,
    )
