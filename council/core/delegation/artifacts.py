"""What an artifact is: its name, what is known of it, and when a text becomes one.

An artifact is bytes that are named by their digest. A program that has the name can
check whether the bytes are right, so no sender needs to be believed.

The brief of a hand-off is what one agent gives another to work with. It is short by rule:
a goal, what there is to begin with, what must hold, and references to artifacts. Whatever
is longer is an artifact.

Source: P8-031, P8-033, P8-036, P8-041, P8-042, PR-536, XC-107, A-91, A-93, A-94.
"""

from __future__ import annotations

from datetime import datetime

from council.core.delegation.delegation import checked_trace
from council.core.errors import InvalidInputError, RefusedError
from council.core.ids import checked_name, sha256_hex
from council.core.reading import Reader
from council.core.record import Any, Record

SCHEMA_VERSION = 1
PREFIX = "art_"
MARK = "#REF:"
OVERSIZE_CHARS = 800
DEFAULT_TYPE = "application/octet-stream"
TEXT_TYPE = "text/plain; charset=utf-8"
_DIGEST_CHARS = 64
_HEX = frozenset("0123456789abcdef")
MAX_ITEMS = 50


class Artifact(Record):
    """What is known of published bytes; who published them first says the rest."""

    _keys = "size_bytes:size publisher? trace:traceId?"

    schema_version: int = SCHEMA_VERSION
    artifact_id: str
    size_bytes: int
    content_type: str = DEFAULT_TYPE
    publisher: str = ""
    trace: str = ""
    created_at: datetime
    extra: dict[str, Any] = {}


def artifact_of(record: object) -> Artifact:
    """Return the artifact that metadata describe.

    Raises:
        InvalidStateError: They do not have that form.
    """
    read = Reader(record, "metadata", nulls=True)
    read.left.pop("schemaVersion", None)
    artifact = read.make(Artifact)
    if not is_artifact_id(artifact.artifact_id):
        raise read.fail("artifactId", "the id of an artifact")
    artifact.content_type = artifact.content_type or DEFAULT_TYPE
    return artifact


def artifact_id(digest: str) -> str:
    """Return the id of bytes by their SHA-256 in lower-case hex (P8-031)."""
    return PREFIX + digest


def id_of_bytes(data: bytes) -> str:
    """Return the id that these bytes have as an artifact."""
    return artifact_id(sha256_hex(data))


def is_artifact_id(text: object) -> bool:
    """Return true if `text` is `art_` and 64 lower-case hex digits."""
    if not isinstance(text, str) or not text.startswith(PREFIX):
        return False
    digits = text[len(PREFIX) :]
    return len(digits) == _DIGEST_CHARS and not set(digits) - _HEX


def checked_id(text: str) -> str:
    """Return the id in `text`, which may be written as a reference, `#REF:art_…`.

    Raises:
        RefusedError: It is a path: an id never leads out of the folder (XC-009).
        InvalidInputError: It is no id.
    """
    wanted = text.removeprefix(MARK)
    if is_artifact_id(wanted):
        return wanted
    if "/" in wanted or "\\" in wanted or wanted.startswith(".") or "\0" in wanted:
        raise RefusedError(
            f"{wanted[:80]!r} is a path and no artifact id", "give art_ and 64 hex digits"
        )
    raise InvalidInputError(
        f"not an artifact id: {wanted[:80]!r}", "give art_ and 64 hex digits, as published"
    )


def reference_to(wanted: str) -> str:
    """Return how a message refers to an artifact: `#REF:art_…` (XC-107)."""
    return MARK + wanted


def ids_in(text: str) -> list[str]:
    """Return every artifact id that stands in a text, in order, each once."""
    found: dict[str, None] = {}
    at = text.find(PREFIX)
    while at >= 0:
        end = at + len(PREFIX) + _DIGEST_CHARS
        if is_artifact_id(text[at:end]) and text[end : end + 1] not in _HEX:
            found[text[at:end]] = None
        at = text.find(PREFIX, at + 1)
    return list(found)


def shortened(text: str, limit: int = OVERSIZE_CHARS) -> tuple[str, str]:
    """Return a text of at most `limit` characters and, if it was cut, the id of the whole.

    The whole has that id once its UTF-8 bytes are published: the one who passes the
    short text on must publish them first.

    Raises:
        InvalidInputError: The text cannot be written as UTF-8.
    """
    return text[:limit], id_of_bytes(bytes_of(text)) if len(text) > limit else ""


def bytes_of(text: str) -> bytes:
    """Return the UTF-8 bytes of a text.

    Raises:
        InvalidInputError: It holds what no UTF-8 can.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInputError(
            "the text is not UTF-8", "save it as UTF-8, send it again"
        ) from None


# --- Briefs of hand-offs


class Brief(Record):
    """What is handed over: `refs` are ids of artifacts, all else is short text."""

    _keys = "trace:traceId from_agent:fromAgentId to_agent:toAgentId"

    schema_version: int = SCHEMA_VERSION
    trace: str
    from_agent: str
    to_agent: str
    created_at: datetime
    goal: str
    inputs: list[str] = []
    constraints: list[str] = []
    refs: list[str] = []
    extra: dict[str, Any] = {}


def checked_brief(brief: Brief) -> Brief:
    """Return a brief as it may be written: its references as bare ids, each once.

    Raises:
        InvalidInputError: It has no goal, is too long to be brief, or names what is no artifact.
        RefusedError: Its trace or a reference is a path.
    """
    checked_trace(brief.trace)
    checked_name(brief.from_agent, "agent id")
    checked_name(brief.to_agent, "agent id")
    if not brief.goal.strip():
        raise InvalidInputError("a brief needs a goal", "say what is to be done")
    for what, texts in (("inputs", brief.inputs), ("constraints", brief.constraints)):
        if len(texts) > MAX_ITEMS:
            raise InvalidInputError(f"{len(texts)} {what} are too many", f"up to {MAX_ITEMS}")
    for text in (brief.goal, *brief.inputs, *brief.constraints):
        if len(text) > OVERSIZE_CHARS:
            raise InvalidInputError(
                f"{text[:40]!r}… is {len(text)} characters long, in a brief at most"
                f" {OVERSIZE_CHARS}",
                "publish it as an artifact and refer to it",
            )
    return brief.copy(refs=list(dict.fromkeys(checked_id(one) for one in brief.refs)))


def file_name(brief: Brief, number: int = 1) -> str:
    """Return the name of the file of a brief: the first of its kind, or the `number`th (A-94)."""
    more = f"-{number}" if number > 1 else ""
    return f"{brief.trace}-{brief.from_agent}-to-{brief.to_agent}{more}.json"


def brief_of(record: object) -> Brief:
    """Return the brief that a file holds.

    Raises:
        CouncilError: It does not have that form.
    """
    read = Reader(record, "brief", nulls=True)
    read.left.pop("schemaVersion", None)
    return checked_brief(read.make(Brief))
