"""What the work of a trace is called: trace ids, session keys, the hash of a task.

A session key says where a transcript lies. Messages go to the inbox of an
agent, delegated work to a workflow of its trace, and the two never mix.

Source: P8-012, P8-022, P8-058, A-97.
"""

from __future__ import annotations

from council.core.delegation.briefs import checked_trace
from council.core.errors import InvalidInputError, RefusedError, UsageError
from council.core.events import trace_of
from council.core.ids import is_uuid4, sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SESSION_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_SESSION_LETTERS = _SESSION_START | frozenset("._-:@+")
SESSION_MAX_CHARS = 180
_INBOX = ":inbox"
_WORKFLOW = ":workflow:"


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
    if (
        not key
        or len(key) > SESSION_MAX_CHARS
        or key[0] not in _SESSION_START
        or set(key) - _SESSION_LETTERS
    ):
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
