"""The JSON form of a conversation: the record of the state block, both ways.

Reading is strict about meaning and lenient about what is missing; it says
which field is wrong. Fields it does not know are kept and written back.

Source: C0-015, C0-018, XC-013.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.bounds import Ceiling, Usage
from council.core.conversations.conversation import (
    SCHEMA_VERSION,
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Participant,
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
from council.core.errors import NewerVersionError, UsageError
from council.core.events import is_w3c
from council.core.ids import is_name
from council.core.reading import Reader
from council.core.record import Any
from council.core.times import parse_instant


def to_record(state: Conversation) -> dict[str, Any]:
    """Return the JSON object of the state block, in the order in which it is written."""
    return {
        **state.as_json(
            "schema_version rev conversation_id name procedure mode phases phase:currentPhase"
            " tour created_at updated_at timeout_at ends_at"
        ),
        "phaseTimeoutS": int(state.phase_timeout.total_seconds()),
        **state.as_json("status closed_reason participants"),
        "convergence": {
            **state.as_json("response_rate has_consensus blocking_issues"),
            **state.convergence_extra,
        },
        "sealed": state.sealed_phases,
        **state.as_json(
            "order~ session_id:id~ trace_id~ ceiling~ usage~ rules:config~ lang coordinator"
            " synthesizer cwd paused_at finished_at notified_tour brief_digest titles rounds tasks"
            " entries:ledger"
        ),
        **state.extra,
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
    return read.make(
        Conversation,
        conversation_id=conversation_id,
        name=read.text("name"),
        topic=topic,
        brief=brief,
        mode=mode,
        procedure=procedure_name,
        phases=phases,
        phase=phase,
        created_at=created_at,
        updated_at=read.instant("updatedAt") or created_at,
        timeout_at=timeout_at,
        phase_timeout=timedelta(
            seconds=min(read.whole("phaseTimeoutS", _first_span(created_at, timeout_at), 1), 10**9)
        ),
        closed_reason=None if reason is None else ClosedReason(reason),
        participants=_participants(read),
        response_rate=convergence.number("responseRate"),
        has_consensus=convergence.flag("hasConsensus", False),
        blocking_issues=convergence.texts("blockingIssues"),
        convergence_extra=convergence.left,
        sealed_phases=read.flag("sealed", procedure.sealed),
        order=_order(read),
        rules=_rules(read, procedure),
        ceiling=_ceiling(read),
        usage=_usage(read),
        session_id=read.text("id") if procedure.verdict == "stances" else "",
        trace_id=_trace(read),
        lang=read.text("lang") or "en",
        schema_version=version,
        entries=_ledger(read.items("ledger"), texts or {}),
    )


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
        return None  # any field in a file of another program
    bounds = Reader(read.table("ceiling"), "state block: ceiling")
    return bounds.make(
        Ceiling,
        usd=bounds.number("usd", 0.0, 1e9),
        spent_usd=bounds.number("spentUsd", 0.0, 1e9),
        largest_usd=bounds.number("largestUsd", 0.0, 1e9),
    )


def _usage(read: Reader) -> dict[str, Usage]:
    """Take what agents have used; what is something else stays the field of another program."""
    told = read.left.get("usage")
    if not isinstance(told, dict) or not all(isinstance(one, dict) for one in told.values()):
        return {}
    each = {agent: Reader(one, f"state block: usage.{agent}") for agent, one in told.items()}
    del read.left["usage"]
    return {agent: one.make(Usage, usd=one.number("usd", 0.0, 1e9)) for agent, one in each.items()}


def _rules(read: Reader, procedure: Procedure) -> Rules | None:
    """Read what was chosen of the rules; `config` is anybody's field where none are needed."""
    if procedure.verdict != "stances":
        return None
    config = Reader(read.table("config"), "state block: config")
    rules = config.make(
        Rules,
        early_stop=config.text("earlyStop") or Rules().early_stop,
        domination=config.number("domination", Rules().domination, 1000.0),
    )
    if rules.early_stop not in EARLY_STOPS:
        raise config.fail("earlyStop", f"one of {', '.join(EARLY_STOPS)}")
    if rules.max_rounds > MAX_ROUNDS:
        raise config.fail("maxRounds", f"at most {MAX_ROUNDS}")
    return rules


def _first_span(created_at: datetime, timeout_at: datetime) -> int:
    """Return the seconds a phase gets in a file that does not say: its first span, or an hour."""
    seconds = int((timeout_at - created_at).total_seconds())
    return seconds if seconds > 0 else 3600


def _participants(read: Reader) -> dict[str, Participant]:
    found = read.records_by_id("participants", Participant)
    for agent in found:
        if not is_name(agent):
            where = f"{read.where}: participants.{agent}"
            raise Reader({}, where).fail("id", "a legal agent id")
    return found


def _ledger(values: list[Any], texts: dict[str, str]) -> list[Entry]:
    """Return the entries; of two lines with one id, which speak of one text, the first counts."""
    known: dict[str, Entry] = {}
    for value in values:
        entry = _entry(value, texts)
        known.setdefault(entry.id, entry)
    return list(known.values())


def _entry(value: object, texts: dict[str, str]) -> Entry:
    return _usual_entry(value, texts) or _any_entry(value, texts)


def _any_entry(value: object, texts: dict[str, str]) -> Entry:
    read = Reader(value, "state block: ledger")
    entry_id = read.text("id", None)
    return read.make(Entry, id=entry_id, text=texts.get(entry_id, ""))


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
