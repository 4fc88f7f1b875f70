"""The JSON form of a conversation: the record of the state block, both ways.

Reading is strict about meaning and lenient about what is missing; it says
which field is wrong. Fields it does not know are kept and written back.

Source: C0-015, C0-018, XC-013.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.bounds import Ceiling
from council.core.conversations.conversation import (
    SCHEMA_VERSION,
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Participant,
    ParticipantStatus,
    Round,
    Status,
)
from council.core.conversations.procedures import (
    EARLY_STOPS,
    MAX_ROUNDS,
    MODES,
    ORDERS,
    PROCEDURES,
    Procedure,
    Rules,
)
from council.core.conversations.task_records import task_from_record, task_to_record
from council.core.errors import NewerVersionError, UsageError
from council.core.ids import is_name
from council.core.reading import Reader, written_instant
from council.core.reporting.trace_context import is_w3c
from council.core.times import parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


RULE_KEYS = {
    "max_rounds": "maxRounds",
    "threshold": "consensusThreshold",
    "early_stop": "earlyStop",
    "stability": "stabilityStop",
    "alike": "alike",
    "domination": "domination",
    "confidence_floor": "confidenceFloor",
    "anonymous": "anonymous",
    "advocate": "advocate",
    "search": "search",
    "verify": "verify",
}

CEILING = "runs tokens usd spent_runs spent_tokens spent_usd largest_tokens largest_usd"


def to_record(state: Conversation) -> dict[str, Any]:
    """Return the JSON object of the state block, in the order in which it is written."""
    return {
        **state.as_json(
            "schema_version rev conversation_id name procedure mode phases phase:currentPhase"
            " tour created_at updated_at timeout_at ends_at"
        ),
        "phaseTimeoutS": int(state.phase_timeout.total_seconds()),
        **state.as_json("status closed_reason"),
        "participants": {one.id: participant_to_record(one) for one in state.participants.values()},
        "convergence": {
            **state.as_json("response_rate has_consensus blocking_issues"),
            **state.convergence_extra,
        },
        "sealed": state.sealed_phases,
        **_chosen(state),
        **state.as_json(
            "lang coordinator synthesizer cwd paused_at finished_at notified_tour brief_digest"
            " titles"
        ),
        "rounds": [
            {
                **one.as_json("tour phase started_at ended_at reason absent"),
                **_floor(one),
                **one.extra,
            }
            for one in state.rounds
        ],
        "tasks": {one.id: task_to_record(one) for one in state.tasks.values()},
        "ledger": [entry_to_record(one) for one in state.entries],
        **state.extra,
    }


def _chosen(state: Conversation) -> dict[str, Any]:
    """Return what was chosen of order and rules; nothing for a conversation that has neither."""
    chosen: dict[str, Any] = {"order": state.order} if state.order else {}
    if state.session_id:
        chosen["id"] = state.session_id
    if state.trace_id:
        chosen["traceId"] = state.trace_id
    if state.ceiling is not None:
        chosen["ceiling"] = state.ceiling.as_json(CEILING)
    if state.rules is not None:
        rules = state.rules
        chosen["config"] = {
            **{key: getattr(rules, field) for field, key in RULE_KEYS.items()},
            **rules.extra,
        }
    return chosen


def _floor(one: Round) -> dict[str, Any]:
    """Return who has the floor and what the stances came to, where a round has them."""
    said: dict[str, Any] = {}
    if one.speaker:
        said = {"speaker": one.speaker, "turnAt": written_instant(one.turn_at)}
    if one.verdict:
        said["verdict"] = dict(one.verdict)
    return said


def participant_to_record(one: Participant) -> dict[str, Any]:
    """Return the JSON object of one who takes part; its id is the key under which it stands."""
    return {
        **one.as_json("status last_action name emoji role model sealed"),
        **({"again": one.again} if one.again else {}),
        **one.extra,
    }


def entry_to_record(entry: Entry) -> dict[str, Any]:
    """Return the line of the ledger for one entry: everything but its text."""
    return {
        "id": entry.id,
        "kind": str(entry.kind),
        "agent": entry.agent,
        "phase": entry.phase,
        "tour": entry.tour,
        "at": written_instant(entry.at),
        "status": entry.status,
        "origin": str(entry.origin),
        "task": entry.task,
        "target": entry.target,
        "blocking": list(entry.blocking),
        "digest": entry.digest,
        "nonce": entry.nonce,
        **entry.extra,
    }


def from_record(
    record: object,
    *,
    topic: str = "",
    brief: str = "",
    texts: dict[str, str] | None = None,
) -> Conversation:
    """Read the JSON object of a state block.

    Only the ten fields of the original document are required, and of those
    only the ids, the phase and the times matter; the rest has defaults.
    `texts` maps entry ids to the texts found in the file; a missing one reads
    as "" (the caller decides what that means).

    Raises:
        NewerVersionError: The block is of a newer major version.
        InvalidStateError: A field is missing or has a value it cannot have.

    Source: C0-015, XC-013.
    """
    read = Reader(record, "state block")
    version = read.whole("schemaVersion", SCHEMA_VERSION, 1)
    if version > SCHEMA_VERSION:
        raise NewerVersionError("state block", version, SCHEMA_VERSION)
    conversation_id = read.text("conversationId", None)
    if not is_name(conversation_id.lower()):
        raise read.fail("conversationId", "an identifier")
    procedure_name = read.text("procedure") or "council"
    procedure = PROCEDURES.get(procedure_name)
    if procedure is None:
        raise read.fail("procedure", f"one of {', '.join(PROCEDURES)}")
    mode = read.text("mode") or MODES[0]
    if mode not in MODES:
        raise read.fail("mode", f"one of {', '.join(MODES)} (it is {mode!r})")
    known = tuple(phase.name for phase in procedure.phases)
    phases = tuple(read.texts("phases")) or known
    if phases != tuple(name for name in known if name in phases) or phases[-1] != known[-1]:
        raise read.fail("phases", f"some of {', '.join(known)} in this order, the last included")
    phase = read.text("currentPhase", None)
    if phase not in known:
        raise read.fail("currentPhase", f"one of {', '.join(known)} (it is {phase!r})")
    if phase not in phases:
        raise read.fail("currentPhase", f"one of the phases of this conversation ({phase})")
    created_at = read.instant("createdAt")
    timeout_at = read.instant("timeoutAt")
    if created_at is None or timeout_at is None:
        raise read.fail("createdAt, timeoutAt", "both given")
    reason = read.left.pop("closedReason", None)
    if reason is not None and reason not in tuple(ClosedReason):
        raise read.fail("closedReason", f"null or one of {', '.join(ClosedReason)}")
    convergence = Reader(read.table("convergence"), "state block: convergence")
    state = Conversation(
        conversation_id=conversation_id,
        name=read.text("name"),
        topic=topic,
        brief=brief,
        brief_digest=read.text("briefDigest"),
        mode=mode,
        procedure=procedure_name,
        phases=phases,
        phase=phase,
        tour=read.whole("tour", 1, 1),
        created_at=created_at,
        updated_at=read.instant("updatedAt") or created_at,
        timeout_at=timeout_at,
        ends_at=read.instant("endsAt"),
        phase_timeout=timedelta(
            seconds=min(read.whole("phaseTimeoutS", _first_span(created_at, timeout_at), 1), 10**9)
        ),
        status=read.choice("status", Status, Status.ACTIVE),
        closed_reason=None if reason is None else ClosedReason(reason),
        participants={
            agent: _participant(agent, value) for agent, value in read.table("participants").items()
        },
        response_rate=convergence.number("responseRate"),
        has_consensus=convergence.flag("hasConsensus", False),
        blocking_issues=convergence.texts("blockingIssues"),
        sealed_phases=read.flag("sealed", procedure.sealed),
        order=_order(read),
        rules=_rules(read, procedure),
        ceiling=_ceiling(read),
        session_id=read.text("id") if procedure.verdict == "stances" else "",
        trace_id=_trace(read),
        lang=read.text("lang") or "en",
        coordinator=read.text("coordinator"),
        synthesizer=read.text("synthesizer"),
        cwd=read.text("cwd"),
        paused_at=read.instant("pausedAt"),
        finished_at=read.instant("finishedAt"),
        notified_tour=read.whole("notifiedTour", 1),
        rev=read.whole("rev", 0),
        schema_version=version,
        titles=read.text_table("titles"),
        rounds=[_round(value) for value in read.items("rounds")],
        tasks={key: task_from_record(key, value) for key, value in read.table("tasks").items()},
        entries=_ledger(read.items("ledger"), texts or {}),
    )
    state.convergence_extra = convergence.left
    state.extra = read.left
    return state


def _trace(read: Reader) -> str:
    """Take the trace of others; what is none stays an unknown field, as it was before."""
    trace = read.left.get("traceId")
    return str(read.left.pop("traceId")) if isinstance(trace, str) and is_w3c(trace) else ""


def _order(read: Reader) -> str:
    order = read.text("order")
    if order and order not in ORDERS:
        raise read.fail("order", f"one of {', '.join(ORDERS)}")
    return order


def _ceiling(read: Reader) -> Ceiling | None:
    if not isinstance(read.left.get("ceiling"), dict):
        return None  # anybody's field in a file of somebody else
    bounds = Reader(read.table("ceiling"), "state block: ceiling")
    return Ceiling(
        runs=bounds.whole("runs", 0),
        tokens=bounds.whole("tokens", 0),
        usd=bounds.number("usd", 0.0, 1e9),
        spent_runs=bounds.whole("spentRuns", 0),
        spent_tokens=bounds.whole("spentTokens", 0),
        spent_usd=bounds.number("spentUsd", 0.0, 1e9),
        largest_tokens=bounds.whole("largestTokens", 0),
        largest_usd=bounds.number("largestUsd", 0.0, 1e9),
    )


def _rules(read: Reader, procedure: Procedure) -> Rules | None:
    """Read what was chosen of the rules; `config` is anybody's field where none are needed."""
    if procedure.verdict != "stances":
        return None
    config = Reader(read.table("config"), "state block: config")
    usual = Rules()
    rules = Rules(
        max_rounds=config.whole("maxRounds", usual.max_rounds, 1),
        threshold=config.whole("consensusThreshold", 0),
        early_stop=config.text("earlyStop") or usual.early_stop,
        stability=config.flag("stabilityStop", usual.stability),
        alike=config.number("alike", usual.alike),
        domination=config.number("domination", usual.domination, 1000.0),
        confidence_floor=config.whole("confidenceFloor", 0),
        anonymous=config.flag("anonymous", False),
        advocate=config.text("advocate"),
        search=config.flag("search", False),
        verify=config.flag("verify", False),
    )
    if rules.early_stop not in EARLY_STOPS:
        raise config.fail("earlyStop", f"one of {', '.join(EARLY_STOPS)}")
    if rules.max_rounds > MAX_ROUNDS:
        raise config.fail("maxRounds", f"at most {MAX_ROUNDS}")
    rules.extra = config.left
    return rules


def _first_span(created_at: datetime, timeout_at: datetime) -> int:
    """Return the seconds a phase gets in a file that does not say: its first span, or an hour."""
    seconds = int((timeout_at - created_at).total_seconds())
    return seconds if seconds > 0 else 3600


def _participant(agent: str, value: object) -> Participant:
    read = Reader(value, f"state block: participants.{agent}")
    if not is_name(agent):
        raise read.fail("id", "a legal agent id")
    one = Participant(
        id=agent,
        status=read.choice("status", ParticipantStatus, ParticipantStatus.WAITING),
        last_action=read.instant("lastAction"),
        name=read.text("name"),
        emoji=read.text("emoji"),
        role=read.text("role"),
        model=read.text("model"),
        sealed=read.text("sealed"),
        again=read.whole("again", 0),
    )
    one.extra = read.left
    return one


def _round(value: object) -> Round:
    read = Reader(value, "state block: rounds")
    started_at = read.instant("startedAt")
    if started_at is None:
        raise read.fail("startedAt", "given")
    one = Round(
        tour=read.whole("tour", 1, 1),
        phase=read.text("phase"),
        started_at=started_at,
        ended_at=read.instant("endedAt"),
        reason=read.text("reason"),
        absent=read.text_table("absent"),
        speaker=read.text("speaker"),
        turn_at=read.instant("turnAt"),
        verdict=read.table("verdict"),
    )
    one.extra = read.left
    return one


def _ledger(values: list[Any], texts: dict[str, str]) -> list[Entry]:
    """Return the entries; of two lines with one id, which speak of one text, the first counts."""
    known: dict[str, Entry] = {}
    for value in values:
        entry = _entry(value, texts)
        known.setdefault(entry.id, entry)
    return list(known.values())


def _entry(value: object, texts: dict[str, str]) -> Entry:
    return _usual_entry(value, texts) or _any_entry(value, texts)


_ENTRY_TEXTS = ("id", "agent", "phase", "status", "task", "target", "digest", "nonce")


def _usual_entry(value: object, texts: dict[str, str]) -> Entry | None:
    """Return an entry that has just our fields, each of its kind, as nearly all have.

    None is no judgement: `_any_entry` says what is wrong, if anything is.
    """
    if not isinstance(value, dict) or len(value) != len(_ENTRY_TEXTS) + 5:
        return None
    try:
        for name in _ENTRY_TEXTS:
            if value[name].__class__ is not str:
                raise ValueError(name)
        kind, origin = EntryKind(value["kind"]), Origin(value["origin"])
        tour, at, blocking = value["tour"], value["at"], value["blocking"]
        at = parse_instant(at if at.__class__ is str else "")
    except (KeyError, ValueError, UsageError):
        return None
    if tour.__class__ is not int or not 1 <= tour < 2**53 or blocking.__class__ is not list:
        return None
    if any(one.__class__ is not str for one in blocking):
        return None
    entry = Entry.__new__(Entry)  # a long conversation has thousands, and all is there
    fields = entry.__dict__
    fields.update(value)
    fields["kind"], fields["origin"], fields["at"] = kind, origin, at
    fields["extra"], fields["text"] = {}, texts.get(value["id"], "")
    return entry


def _any_entry(value: object, texts: dict[str, str]) -> Entry:
    read = Reader(value, "state block: ledger")
    entry_id = read.text("id", None)
    at = read.instant("at")
    if at is None:
        raise read.fail("at", "given")
    entry = Entry(
        id=entry_id,
        kind=read.choice("kind", EntryKind),
        agent=read.text("agent", None),
        phase=read.text("phase"),
        tour=read.whole("tour", 1, 1),
        at=at,
        text=texts.get(entry_id, ""),
        digest=read.text("digest"),
        nonce=read.text("nonce"),
        status=read.text("status"),
        origin=read.choice("origin", Origin, Origin.CLAIMED),
        task=read.text("task"),
        target=read.text("target"),
        blocking=read.texts("blocking"),
    )
    entry.extra = read.left
    return entry
