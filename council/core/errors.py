"""Every refusal of the product, one class each.

An error is built from values and knows its one-line message, what the user
can do about it (`hint`), the exit code of the command line and the status of
the web. Nothing here decides when to refuse.

Source: XC-006, `cli.md` section 1.
"""

from __future__ import annotations


class CouncilError(Exception):
    """The base of every refusal that a user may see."""

    exit_code = 1
    http_status = 500
    code = "unexpected"

    def __init__(self, message: str, hint: str = "", **more: object) -> None:
        """Build it; `more` is what programs need to know besides."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.more = more

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The messages and hints of all lines that people read."""
        return [(self.message, self.hint)]

    def to_record(self) -> dict[str, object]:
        """Return the error as the JSON object that `--json` prints."""
        return {"code": self.code, "message": self.message, "hint": self.hint, **self.more}


class UsageError(CouncilError):
    """The command was called wrongly: exit 2."""

    exit_code = 2
    http_status = 400
    code = "usage"


class NobodyNamedError(UsageError):
    """A council is to be made of nobody: neither an agent nor a person was chosen (FW-011)."""

    code = "nobody-named"

    def __init__(self) -> None:
        super().__init__(
            "--agents and --people name nobody; at least two must take part",
            "name agents with --agents a,b or people with --people ann,bob",
        )


class InvalidInputError(CouncilError):
    """A text, a file or a value cannot be accepted: exit 3."""

    exit_code = 3
    http_status = 422
    code = "invalid-input"


class InvalidStateError(CouncilError):
    """A file of the workspace is damaged or of a version we must not write: exit 3."""

    exit_code = 3
    http_status = 409
    code = "invalid-state"


class NewerVersionError(InvalidStateError):
    """A file was written by a newer major version; it is read and never written."""

    code = "newer-version"

    def __init__(self, where: str, found: int, known: int) -> None:
        super().__init__(
            f"{where} has schemaVersion {found}; this council knows {known}",
            f"install a council that knows schemaVersion {found}, then try again",
        )
        self.found = found


class DamagedArtifactError(InvalidStateError):
    """The bytes of an artifact are not those that its id names (P8-035)."""

    code = "damaged-artifact"

    def __init__(self, artifact_id: str, where: str, found: str) -> None:
        super().__init__(
            f"{where} is damaged: its bytes are those of {found}",
            "publish the same bytes again: council artifact publish FILE",
        )
        self.artifact_id = artifact_id


class ConflictError(CouncilError):
    """The wish contradicts what is already recorded: exit 4."""

    exit_code = 4
    http_status = 409
    code = "conflict"


class ReusedKeyError(ConflictError):
    """A key that stands for one request came with another one (OP-008)."""

    code = "key-reused"

    def __init__(self) -> None:
        super().__init__(
            "this Idempotency-Key was sent with another request", "draw a new key for each request"
        )


class AlreadyAnsweredError(ConflictError):
    """An agent sends another text after its answer was recorded (C0-042)."""

    code = "already-answered"

    def __init__(self, agent: str, phase: str, tour: int) -> None:
        super().__init__(
            f"{agent} has already answered {phase} (round {tour}) with another text",
            "nothing was changed; wait for the next round, or correct it there",
        )


class IdConflictError(ConflictError):
    """A joining agent wants a protocol id that another one bears (PR-405, PR-514).

    `answer` is the message that says so.
    """

    code = "ID_CONFLICT"

    def __init__(self, reason: str, answer: str) -> None:
        hint = "leave the id out: the next free one is given"
        super().__init__(f"ID_CONFLICT: {reason}", hint, answer=answer)
        self.answer = answer


class ProtocolRefusedError(InvalidInputError):
    """The registry refuses a message; `answer` is what it sends back, with the wire code."""

    code = "protocol-refused"

    def __init__(self, reason: str, protocol_code: str, answer: str) -> None:
        told = f"{protocol_code}: {reason}" if protocol_code else reason
        super().__init__(told, protocolCode=protocol_code or None, answer=answer or None)
        self.answer = answer


class StaleError(ConflictError):
    """A change was meant for an earlier revision than the one that stands."""

    http_status = 412
    code = "stale"

    def __init__(self, name: str, expected: int, found: int, difference: object = None) -> None:
        super().__init__(
            f"{name} is at revision {found}; the change was meant for revision {expected}",
            "read what has changed, then send it again for the new revision",
            expected=expected,
            found=found,
        )
        self.name = name
        self.expected = expected
        self.difference = difference


class FinishedError(ConflictError):
    """A conversation that only waits for its minutes is to be changed."""

    code = "finished"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is finished", "its minutes come with the next: council heartbeat")


class MovedOnError(ConflictError):
    """The connection to the engine was lost, and another machine went on meanwhile (EN-008)."""

    code = "moved-on"

    def __init__(self) -> None:
        super().__init__(
            "the connection to the engine was lost, and another machine went on",
            "nothing of this was recorded; try again",
        )


class LockTimeoutError(ConflictError):
    """A lock was not obtained in time."""

    code = "locked"

    def __init__(self, path: str, holder: str, waited_s: float) -> None:
        super().__init__(
            f"waited {waited_s:.0f} s for {path}, held by {holder or 'an unknown process'}",
            "try again; if that process hangs, stop it: its lock ends with it",
        )
        self.holder = holder
        self.waited_s = waited_s


class NotFoundError(CouncilError):
    """A workspace, conversation, agent or revision does not exist: exit 5."""

    exit_code = 5
    http_status = 404
    code = "not-found"


class PurgedError(NotFoundError):
    """It was purged on a machine; what another one still has of it goes when that catches up."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} was purged",
            "its name is not given again; what is left of it here goes: council engine pull",
        )


class RefusedError(CouncilError):
    """A guard or a permission says no: exit 6."""

    exit_code = 6
    http_status = 403
    code = "refused"


class NotShownError(RefusedError):
    """A run does not show that it is the one it says it is."""

    http_status = 401
    code = "unauthorized"


class NotAdoptedError(RefusedError):
    """No command made a conversation's file, or not as it stands, and trust is strict (SC-003)."""

    code = "not-adopted"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"trust is strict, and no command made the file of {name!r} as it stands: "
            f"it waits for council adopt {name}",
            f"read it first: council show {name}",
        )


class NotAParticipantError(RefusedError):
    """An agent answers that does not take part."""

    code = "not-a-participant"

    def __init__(self, agent: str, participants: tuple[str, ...]) -> None:
        super().__init__(
            f"{agent} does not take part in this conversation",
            f"participants are: {', '.join(participants)}",
        )


class NotYourTurnError(RefusedError):
    """An agent answers whose turn it is not."""

    code = "not-your-turn"

    def __init__(self, agent: str, phase: str, speakers: tuple[str, ...]) -> None:
        who = ", ".join(speakers) or "nobody"
        super().__init__(
            f"it is not the turn of {agent}: {phase} waits for {who}",
            "see who is owed an answer with: council status",
        )


class TimedOutError(CouncilError):
    """Something was waited for and did not come in time: exit 7."""

    exit_code = 7
    http_status = 504
    code = "timed-out"


IN_DOUBT = "it may have been recorded: look before you try again"


class UnreachableError(TimedOutError):
    """The database of the engine does not answer, or not in time (EN-005).

    Attributes:
        why: Why it does not.
        fix: What to do about that.
    """

    http_status = 503
    code = "engine_unreachable"

    def __init__(self, url: str, why: str, hint: str = "") -> None:
        super().__init__(
            f"the engine at {url} is not reached: {why}",
            hint or "try again, or see: council engine status",
        )
        self.why, self.fix = why, hint or "try again"


# What is not recorded for one of these is recorded later: nothing is wrong with it.
TRANSIENT = (TimedOutError, LockTimeoutError, MovedOnError)


class KeptError(TimedOutError):
    """The engine is not reached, and what was said waits in a file until it is (EN-005)."""

    http_status = 202
    code = "kept"

    def __init__(self, path: str, why: UnreachableError) -> None:
        super().__init__(
            f"{why.message}; this is kept in {path} and sent once, by the first heartbeat that"
            " reaches it",
            "there is no need to say it again",
            file=path,
        )


class LateAnswerError(TimedOutError):
    """The answer to a request did not come in time; it may still come into its context."""

    def __init__(self, context: str, waited_s: float) -> None:
        message = f"no answer in {context} within {waited_s:g}s"
        super().__init__(message, f"see: council task show {context}", context=context)


class StorageError(CouncilError):
    """The disk does not do what it should: it is full, or reading or writing it fails."""

    http_status = 507
    code = "storage"


class NotReadyError(CouncilError):
    """Something is missing that can be known before anything is opened; a line for each.

    The exit code is that of the kind of the first.
    """

    http_status = 409
    code = "not-ready"

    def __init__(self, missing: list[tuple[str, str]], kind: type[CouncilError]) -> None:
        """Build it of messages and hints; the first one is the error's own."""
        super().__init__(*missing[0])
        self._missing = missing
        self.exit_code = kind.exit_code
        if len(missing) > 1:
            self.more["also"] = [{"message": what, "hint": hint} for what, hint in missing[1:]]

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The messages and hints of all that is missing."""
        return self._missing


class InvalidMessageError(InvalidInputError):
    """A protocol message has faults; each is its code, its rule and its segment or None."""

    code = "invalid-message"

    def __init__(self, faults: list[dict[str, object]], told: str = "", hint: str = "") -> None:
        told = told or ", ".join(f"{fault['code']} by rule {fault['rule']}" for fault in faults)
        hint = hint or "see why with: council msg explain"
        super().__init__(f"the message is not valid: {told}", hint, faults=faults)
        self.faults = faults


class ConversionRefusedError(InvalidInputError):
    """A message holds what the version asked for has no place for."""

    code = "REFUSED"

    def __init__(self, reason: str, source: str, target: str, *, is_final: bool = True) -> None:
        super().__init__(
            f"{source} to {target} is refused: {reason}",
            f"{target} has nothing that could stand for it"
            if is_final
            else "--lossy gives it up, and says what was lost",
            rule=reason,
            segment=None,
        )
        self.reason = reason


class MasterUnreachableError(CouncilError):
    """The master of a slave does not answer, or nothing that is an answer (DG-161)."""

    http_status = 503
    code = "master_unreachable"

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"the master at {url} is not reached: {why}",
            "nothing was decided here; ask again when it answers",
        )
