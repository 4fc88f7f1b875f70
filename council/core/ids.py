"""Names and derived identifiers.

Nothing random is stored: task ids follow from conversation, round, agent and
attempt; the id of a contribution from its round and author. The one drawn id,
the conversation's, is drawn by the caller.

`sha256_hex` pays for no more than is needed: `hashlib` loads OpenSSL, which costs a
short command about a quarter of the interpreter's own start. CPython has a plain
implementation of its own; where much is digested, at once or one after the other,
OpenSSL's is seven times faster and worth loading.

Source: XC-004, `store.md` section 6, `architecture.md` section 4.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime

from council.core.errors import InvalidInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256 as _plain_sha256
else:
    try:
        from _sha256 import sha256 as _plain_sha256  # CPython 3.11
    except ImportError:
        try:
            from _sha2 import sha256 as _plain_sha256  # CPython 3.12 and later
        except ImportError:
            from hashlib import sha256 as _plain_sha256

_LARGE_BYTES = 256 * 1024
_MANY_BYTES = 1024 * 1024
_digested = [0]  # by the plain implementation, in this process


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    if len(data) > _LARGE_BYTES or _digested[0] > _MANY_BYTES:
        import hashlib

        return hashlib.sha256(data).hexdigest()
    _digested[0] += len(data)
    return _plain_sha256(data).hexdigest()


_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_NAME_REST = _NAME_START | frozenset("_-")
NAME_MAX_CHARS = 64
CONVERSATION_NAME_MAX_BYTES = 180


def is_name(text: str) -> bool:
    """Return true if `text` is a legal name: `[a-z0-9][a-z0-9_-]{0,63}`."""
    return 0 < len(text) <= NAME_MAX_CHARS and text[0] in _NAME_START and not set(text) - _NAME_REST


def checked_name(text: str, what: str) -> str:
    """Return `text` if it is a legal name.

    Raises:
        InvalidInputError: It is not; the message names `what`.
    """
    if not is_name(text):
        raise InvalidInputError(
            f"not a legal {what}: {text!r}",
            "use lower-case letters, digits, - and _, up to 64, starting with a letter or digit",
        )
    return text


def folded(name: str) -> str:
    """Return what a person calls a conversation as files have it: NFC, case folded.

    Source: OP-017.
    """
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_conversation_name(text: str) -> bool:
    """Return true if files have such a name for a conversation.

    Letters and digits of any script, `-` and `_`, at most 180 bytes of UTF-8, folded; the
    first is a letter or digit.

    Source: OP-017.
    """
    return is_name(text) or (
        text[:1].isalnum()
        and all(one in "-_" or _is_of_word(one) for one in text)
        and len(text.encode()) <= CONVERSATION_NAME_MAX_BYTES
        and text == folded(text)
    )


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter)[0] == "M"


def checked_conversation_name(text: str) -> str:
    """Return what a person calls a conversation, folded, if that is a legal name.

    Raises:
        InvalidInputError: It is not.

    Source: OP-017.
    """
    name = folded(text)
    if not is_conversation_name(name):
        raise InvalidInputError(
            f"not a legal conversation name: {text!r}",
            f"use letters, digits, - and _, up to {CONVERSATION_NAME_MAX_BYTES} bytes, starting "
            "with a letter or digit",
        )
    return name


# Left out of a name where the whole topic is too long for one.
_SMALL_WORDS = (
    "a an and are at be by do does for from in is it of on or our should than that the this to use "
    "we which with au aux avec ce cette de des doit dois dans du en est et il la le les nos notre "
    "nous on ou par pour quel quelle que qui sur un une"
)
TOPIC_NAME_MAX_CHARS = 40


def topic_name(topic: str) -> str:
    """Return the name of a conversation about a topic; `question` where the topic has no letters.

    >>> topic_name("Which database for orders?"), topic_name("Où aller ?"), topic_name("…")
    ('which-database-for-orders', 'où-aller', 'question')
    """
    plain = (one if one in "-_" or _is_of_word(one) else " " for one in folded(topic))
    words = [one.strip("-_") for one in "".join(plain).split()]
    words = [one for one in words if one[:1].isalnum()]
    if len("-".join(words)) > TOPIC_NAME_MAX_CHARS:
        words = [one for one in words if one not in _SMALL_WORDS.split()] or words
    name = "-".join(words)
    if len(name) > TOPIC_NAME_MAX_CHARS:
        short = name[: TOPIC_NAME_MAX_CHARS + 1].rpartition("-")[0]
        name = short or name[:TOPIC_NAME_MAX_CHARS]
    while len(name.encode()) > CONVERSATION_NAME_MAX_BYTES - len("-9999"):
        name = name[:-1]
    return name if is_conversation_name(name) else "question"


def is_uuid4(text: str) -> bool:
    """Return true if `text` is a version 4 UUID in its usual form (C0-016)."""
    parts = text.split("-")
    is_hex = not set("".join(parts)) - frozenset("0123456789abcdef")
    has_form = is_hex and [len(part) for part in parts] == [8, 4, 4, 4, 12]
    return has_form and parts[2][0] == "4" and parts[3][0] in "89ab"


_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def cuid(conversation_id: str, created_at: datetime) -> str:
    """Derive the other id of a deliberation, in the form of a cuid (DL-051).

    `c`, the time in milliseconds in base 36, and 16 letters and digits that
    follow from the conversation's id.
    """
    millis = int(created_at.timestamp() * 1000)
    drawn = int(sha256_hex(conversation_id.encode("utf-8")), 16)
    return "c" + _base36(millis)[-8:].rjust(8, "0") + _base36(drawn)[-16:]


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"


def task_id(conversation_id: str, tour: int, agent: str, attempt: int) -> str:
    """Derive the id of one attempt to get one turn from one agent."""
    return f"{conversation_id}.{tour}.{agent}.{attempt}"


def split_task_id(task: str) -> tuple[str, int, str, int] | None:
    """Return (conversation id, round, agent, attempt), or None when it is no task id."""
    parts = task.rsplit(".", 3)
    if len(parts) != 4 or not all(
        part.isascii() and part.isdigit() and len(part) < 10 for part in (parts[1], parts[3])
    ):
        return None
    return parts[0], int(parts[1]), parts[2], int(parts[3])


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes as lower-case hex."""
    return sha256_hex(text.encode("utf-8"))


def answer_op_id(conversation_id: str, tour: int, agent: str, text: str) -> str:
    """Derive the idempotency key of a contribution (`store.md` section 2 step 5)."""
    return f"answer:{tour}:{agent}:{text_digest(conversation_id + chr(10) + text)[:32]}"


def slug(text: str, max_chars: int = 60) -> str:
    """Return `text` as a file name part: ASCII, lower case, hyphens; `conversation` if empty."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    short = "-".join(words)
    if len(short) > max_chars:
        short = short[:max_chars].rsplit("-", 1)[0]
    return short or "conversation"
