"""Delegation under guard: what one agent may ask of another, and when it is refused.

A trace is everything that one request has caused; its calls stand in one
ledger. The rules here are asked before a call is written down: how deep it
lies, who stands in line above it, how many there were, how often this pair has
spoken, whether the same thing was asked just now. They decide and do nothing;
ledgers are kept by the store, agents are run by the operations.

A session key says where a transcript lies. Messages go to the inbox of an
agent, delegated work to a workflow of its trace, and the two never mix.

Source: P8-002, P8-011 to P8-028, P8-051 to P8-061, XC-013, XC-106, A-95 to A-99.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from council.core.errors import InvalidInputError, RefusedError, UsageError
from council.core.events import trace_of
from council.core.ids import is_uuid4, sha256_hex
from council.core.reading import Reader
from council.core.record import Any, Positive, Record

TIMEOUT = "timeoutMs"
DEPTH = "maxDepth"
CALLS = "maxCallsPerTrace"
TOOL_CALLS = "maxToolCalls"
DEDUPE = "dedupeWindowMs"
PAIR_RATE = "pairRateLimitPerMinute"
DEFAULTS: dict[str, int] = {
    TIMEOUT: 120_000,
    DEPTH: 3,
    CALLS: 8,
    TOOL_CALLS: 24,
    DEDUPE: 60_000,
    PAIR_RATE: 6,
}
# What a call hands on to the calls that are made inside it.
_TRACE_WIDE = (DEPTH, CALLS)
RATE_WINDOW = timedelta(seconds=60)

# The guards that are no limit by number.
CYCLE = "cycle"
POLICY = "policy"
LOOSER = "limits"
CHAIN = "chain"
BUSY = "busy"
HALT = "halt"
CAP = "cap"
REST = "rest"
FORM = "expectedSchema"

OK = "ok"
ERROR = "error"
TIMED_OUT = "timeout"
REJECTED = "rejected"

WAITING = "waiting"
RUNNING = "running"
LOST = "lost"
_UNDER_WAY = (WAITING, RUNNING)

PRIORITIES = ("P0", "P1", "P2")
SUMMARY_CHARS = 800
SCHEMA_VERSION = 1

CALL = "call"
MESSAGE = "message"

_TRACE_CHARS = 64
_TRACE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_SESSION_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_SESSION_LETTERS = _SESSION_START | frozenset("._-:@+")
SESSION_MAX_CHARS = 180
_INBOX = ":inbox"
_WORKFLOW = ":workflow:"


class Refusal(Record):
    """Why a guard says no: always a coded answer, never silence (P8-061).

    `wait_ms` is after how long the same request may pass, 0 where time alone
    helps no one. `path` are the agents in line, from the first to the one that
    was to be called.
    """

    _keys = "wait_ms:retryAfterMs~ path~"

    code: str
    guard: str
    message: str
    wait_ms: int = 0
    path: list[str] = []


class Chain(Record):
    """Who is calling, and where that stands: read from the ledger, never from the caller's word.

    Args:
        trace: The trace it belongs to.
        owner: What the trace was begun for: a conversation, a channel or a context; ""
            where a person began it.
        depth: The depth of a call made from here, 0 for a person or a turn.
        path: The agents in line, from the first to the one who calls.
        limits: The limits that hold for the call above, empty where there is none.
        in_run: Whether a run of the caller is under way and waits.
        ends_at: When the run that calls is ended, None where that is unknown.
    """

    trace: str
    owner: str = ""
    depth: int = 0
    path: list[str]
    limits: dict[str, int] = {}
    in_run: bool = False
    ends_at: datetime | None = None

    @property
    def counted_for(self) -> str:
        """Return the id that its runs are counted for."""
        return self.owner or self.trace


class Call(Record):
    """One accepted call of a trace, as its ledger describes it.

    `state` is `waiting` for a place, `running`, how it ended, or `lost` when
    its caller died before the answer. `path` ends with the caller. `brief` is
    the name of the brief of the hand-off, `result` what was answered. `expected` has the `schema`
    of the answer where another machine runs the call.
    """

    _keys = (
        "caller:fromAgentId target:toAgentId session:sessionKey refs:artifactRefs brief? expected~"
    )

    number: int
    caller: str
    target: str
    depth: int
    path: list[str]
    owner: str = ""
    session: str
    task_hash: str
    message: str = ""
    refs: list[str] = []
    limits: dict[str, int] = {}
    brief: str = ""
    state: str = WAITING
    at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    tool_calls: int = 0
    result: dict[str, Any] | None = None
    expected: dict[str, Any] = {}
    extra: dict[str, Any] = {}

    @property
    def is_under_way(self) -> bool:
        """Whether it has not ended."""
        return self.state in _UNDER_WAY


class Trace(Record):
    """The ledger of one trace: its accepted calls, in order of their numbers."""

    trace_id: str
    next_number: Positive = 1
    calls: list[Call] = []
    extra: dict[str, Any] = {}

    def call(self, number: int) -> Call | None:
        """Return the call of a number, None when there is none."""
        return next((one for one in self.calls if one.number == number), None)


class Sent(Record):
    """A message or a call that was let pass: what rate and repetition are judged by.

    `number` is that of the call in its trace, 0 for a message.
    """

    _keys = "sender:fromAgentId receiver:toAgentId trace:traceId"

    at: datetime
    sender: str
    receiver: str
    task_hash: str = ""
    trace: str = ""
    number: int = 0


def is_looser(name: str, value: int, than: int) -> bool:
    """Return true if a limit lets more pass than another of its name."""
    return value < than if name == DEDUPE else value > than


def base_limits(settings: Mapping[str, int], chain: Chain) -> dict[str, int]:
    """Return the limits that hold before the caller has a say.

    Those of the settings, and of those that span a trace nothing looser than
    what the call above was given.
    """
    limits = {name: settings.get(name, usual) for name, usual in DEFAULTS.items()}
    for name in _TRACE_WIDE:
        if name in chain.limits:
            limits[name] = chain.limits[name]
    return limits


def agreed_limits(
    base: Mapping[str, int], wanted: Mapping[str, int], allowed: Mapping[str, int]
) -> dict[str, int] | Refusal:
    """Return the limits of a call: tightened as its caller wants, loosened only where allowed.

    Args:
        base: What holds without the caller's wishes.
        wanted: The wishes.
        allowed: How far the policy of the target lets each limit be loosened.

    Source: P8-059, A-98.
    """
    limits = dict(base)
    for name, value in wanted.items():
        most = base[name]
        if name in allowed and is_looser(name, allowed[name], most):
            most = allowed[name]
        if is_looser(name, value, most):
            said = f"{name} = {value} is looser than {most}, and the target's policy.json"
            return Refusal(guard=LOOSER, code="E17", message=f"{said} does not allow that")
        limits[name] = value
    return limits


def shown_path(path: Iterable[str]) -> str:
    """Return agents in line as people read them."""
    return " → ".join(path)


def refuse_cycle(path: list[str]) -> Refusal | None:
    """Refuse a call to an agent that stands in line already: it waits for the answer (P8-060).

    `path` are the agents in line; the last one is to be called.
    """
    target = path[-1]
    if target not in path[:-1]:
        return None
    said = f"a cycle: {shown_path(path)}; {target} itself waits for this answer"
    return Refusal(guard=CYCLE, code="E16", message=said, path=path)


def refuse_depth(chain: Chain, target: str, limits: Mapping[str, int]) -> Refusal | None:
    """Refuse a call that lies too deep (P8-053)."""
    if chain.depth <= limits[DEPTH]:
        return None
    path = [*chain.path, target]
    said = f"depth {chain.depth} is over {DEPTH} = {limits[DEPTH]}: {shown_path(path)}"
    return Refusal(guard=DEPTH, code="E16", message=said, path=path)


def refuse_calls(trace: Trace, limits: Mapping[str, int], path: list[str]) -> Refusal | None:
    """Refuse a call when the trace has had all of its calls (P8-054)."""
    if len(trace.calls) < limits[CALLS]:
        return None
    said = f"the trace has had its {CALLS} = {limits[CALLS]} calls: {shown_path(path)}"
    return Refusal(guard=CALLS, code="E17", message=said, path=path)


def refuse_rate(
    sent: Iterable[Sent], sender: str, receiver: str, limits: Mapping[str, int], now: datetime
) -> Refusal | None:
    """Refuse one more message or call of a pair in a sliding minute (P8-056)."""
    most = limits[PAIR_RATE]
    recent = sorted(
        one.at
        for one in sent
        if one.sender == sender and one.receiver == receiver and now - one.at < RATE_WINDOW
    )
    if len(recent) < most:
        return None
    wait = RATE_WINDOW - (now - recent[-most]) if most else RATE_WINDOW
    wait_ms = max(1, int(wait.total_seconds() * 1000))
    wait_s = (wait_ms + 999) // 1000
    said = f"{sender} → {receiver} has had its {PAIR_RATE} = {most}; wait {wait_s} s"
    return Refusal(guard=PAIR_RATE, code="E31", message=said, wait_ms=wait_ms)


def asked_before(
    sent: Iterable[Sent], wanted_hash: str, limits: Mapping[str, int], now: datetime
) -> Sent | None:
    """Return the newest call for the same task that is not too long ago (P8-057)."""
    window = timedelta(milliseconds=limits[DEDUPE])
    found = [
        one for one in sent if one.number and one.task_hash == wanted_hash and now - one.at < window
    ]
    return found[-1] if found else None


def refuse_repeat(earlier: Call, limits: Mapping[str, int], now: datetime) -> Refusal:
    """Refuse the task that an agent is working on at this moment (P8-057)."""
    left = timedelta(milliseconds=limits[DEDUPE]) - (now - earlier.at)
    said = f"{earlier.target} is at work on the same task for {earlier.caller}"
    wait_ms = max(1, int(left.total_seconds() * 1000))
    return Refusal(guard=DEDUPE, code="E31", message=said, wait_ms=wait_ms)


def still_matters(sent: Iterable[Sent], window_ms: int, now: datetime) -> list[Sent]:
    """Return what rate and repetition are still judged by."""
    kept = max(RATE_WINDOW, timedelta(milliseconds=window_ms))
    return [one for one in sent if now - one.at < kept]


# --- What the work of a trace is called


def checked_trace(trace: str) -> str:
    """Return a trace id that may be part of the name of a file.

    Raises:
        RefusedError: It is a path.
        InvalidInputError: It is no trace id.
    """
    if "/" in trace or "\\" in trace or trace.startswith("."):
        raise RefusedError(f"{trace[:80]!r} is a path and no trace id", "give a bare id")
    if not 0 < len(trace) <= _TRACE_CHARS or set(trace) - _TRACE or trace[0] in "-_":
        raise InvalidInputError(
            f"not a trace id: {trace[:80]!r}",
            f"use letters, digits, - and _, up to {_TRACE_CHARS}",
        )
    return trace


def named_trace(text: str) -> str:
    """Return the trace that was named; the id of a conversation names that of the conversation.

    Raises:
        UsageError: None was.
        RefusedError: It is a path.
        InvalidInputError: It is no trace id.
    """
    if not text:
        raise UsageError(
            "which trace?",
            "say --trace and one name for all calls of a request, such as --trace t1; "
            "inside a run it is known",
        )
    return checked_trace(trace_of(text) if is_uuid4(text) else text)


def inbox_session(receiver: str) -> str:
    """Return the session that messages to an agent go to (P8-012).

    >>> inbox_session("w1")
    'agent:w1:inbox'
    """
    return f"agent:{receiver}{_INBOX}"


def workflow_session(target: str, trace: str) -> str:
    """Return the session of the calls to an agent in a trace (P8-022).

    >>> workflow_session("w1", "t9")
    'agent:w1:workflow:t9'
    """
    return f"agent:{target}{_WORKFLOW}{trace}"


def checked_session(key: str, *, for_call: bool) -> str:
    """Return a session key that fits: delegated work and the inbox never mix.

    Raises:
        RefusedError: It is a path (XC-009).
        InvalidInputError: It can name no file, or is of the other kind.
    """
    if "/" in key or "\\" in key or key.startswith("."):
        raise RefusedError(f"{key[:80]!r} is a path and no session key", "give a bare key")
    is_odd = key[:1] not in _SESSION_START or set(key) - _SESSION_LETTERS
    if is_odd or len(key) > SESSION_MAX_CHARS:
        raise InvalidInputError(
            f"not a session key: {key[:80]!r}",
            f"use letters, digits and : - _ . @ +, up to {SESSION_MAX_CHARS}",
        )
    if for_call and key.endswith(_INBOX):
        raise InvalidInputError(
            f"{key} is an inbox, and delegated work never uses one",
            "leave --session out, or name a workflow",
        )
    if not for_call and _WORKFLOW in key:
        raise InvalidInputError(
            f"{key} is the session of delegated work, and messages never go there",
            "leave --session out, or name an inbox",
        )
    return key


def task_hash(target: str, message: str, refs: Iterable[str], session: str) -> str:
    """Return the hash by which the same task is known again (P8-058).

    Fields are joined by line breaks, so none can run into the next; references
    are sorted and joined by commas; of the message only its words count.
    """
    import unicodedata

    words = " ".join(unicodedata.normalize("NFC", message).split())
    joined = "\n".join((target, words, ",".join(sorted(refs)), session))
    return sha256_hex(joined.encode("utf-8", "surrogatepass"))


# --- Ledgers as JSON, both ways; unknown fields survive


def trace_to_record(trace: Trace) -> dict[str, Any]:
    """Return the ledger of a trace as JSON."""
    return {"schemaVersion": SCHEMA_VERSION, **trace.to_record()}


def trace_from_record(record: object, where: str) -> Trace:
    """Read the ledger of a trace.

    Raises:
        InvalidStateError: It cannot be understood; says where.
    """
    read = Reader(record, where)
    read.left.pop("schemaVersion", None)
    calls = [
        _call_from_record(one, f"{where}, call {number}")
        for number, one in enumerate(read.items("calls"), start=1)
    ]
    return read.make(Trace, calls=calls)


def _call_from_record(record: object, where: str) -> Call:
    read = Reader(record, where)
    limits = read.table("limits")
    if not all(type(value) is int for value in limits.values()):
        raise read.fail("limits", "an object of whole numbers")
    result, expected = read.table("result") or None, read.table("expected")
    number = read.whole("number", 0, 1)
    return read.make(Call, number=number, limits=limits, result=result, expected=expected)


def sent_to_record(sent: list[Sent]) -> dict[str, Any]:
    """Return what was let pass lately as JSON."""
    return {"schemaVersion": SCHEMA_VERSION, "sent": [one.to_record() for one in sent]}


def sent_from_record(record: object, where: str) -> list[Sent]:
    """Read what was let pass lately.

    Raises:
        InvalidStateError: It cannot be understood; says where.
    """
    return [Reader(one, where).make(Sent) for one in Reader(record, where).items("sent")]
